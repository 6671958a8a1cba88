//! Async client: a handle for the application, and the service that an adapter drives.

#[cfg(feature = "auth")]
mod auth_slot;
#[cfg(feature = "auth")]
mod authorize;
mod binding;
mod call;
mod callback_set;
mod callbacks;
mod client_mailbox;
mod closed;
mod connect_failure;
mod feed;
mod handle;
mod http;
mod inputs;
mod lists;
mod remote_task;
mod response_cache;
mod response_slot;
mod runner;
#[cfg(feature = "skills")]
mod skills;
mod subscription;
mod unsent_call;

use alloc::boxed::Box;
use core::task::Waker;
use std::io;
use std::process::ExitStatus;

use bytes::Bytes;

use super::Drive;
use super::output::Output;
use super::wire::Wire;
use crate::drive::TURN_ROUNDS;
use mcp_proto::UsageError;
use mcp_proto::client::{self, ClientEvent};
use mcp_proto::stdio::Connection;
use mcp_proto::{Action, Binding, Machine};
use mcp_proto::{Duration, Instant};

pub use call::Call;
pub use callback_set::IntoAnswer;
use closed::Ending;
pub use closed::{CloseCause, Closed};
pub use connect_failure::ConnectFailure;
pub use handle::Client;
#[cfg(feature = "proxy")]
pub use http::Proxies;
#[cfg(feature = "proxy")]
pub(crate) use http::Proxy;
pub use http::{Connecting, Connector, HttpClientConfig, HttpClientService};
pub use remote_task::{RemoteTask, Started};
pub use response_cache::ResponseCache;
use runner::ClientRunner;
#[cfg(feature = "skills")]
pub use skills::{LoadedSkill, SkillCallError};
pub use subscription::Subscription;

/// The most bytes of unread answers to a server; beyond them nothing more is read from it.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// A client's connection to a server, to be driven.
///
/// The driver calls [`ClientService::handle_opened`] when the server has started, for the first
/// time or because the service [wants to reopen](ClientService::wants_reopen).
///
/// | state | [`drive`](super::drive) | leaves by |
/// |---|---|---|
/// | open | runs on the stream of the server | `Disconnected`, `Reopen`, `Closed` of the machine |
/// | disconnected | returns; the adapter stops the server | [`ClientService::handle_idle`] |
/// | idle | runs without a stream | `Reopen`, for a call or at the time of the next attempt; `Closed` |
/// | reopening | returns; the adapter starts the server | [`ClientService::handle_opened`], [`ClientService::handle_not_started`] |
/// | closed | returns once all output is written, or after `Limits::drain` | |
pub struct ClientService {
    connection: Connection<client::Client>,
    runner: ClientRunner,
    wire: Option<Wire>,
    output: Output,
    /// Value of `answered_bytes` of the machine when all output was last written.
    flushed_answers: usize,
    /// The server has closed its input.
    is_write_closed: bool,
    drain: Duration,
    state: ServiceState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ServiceState {
    Open,
    Disconnected,
    Idle,
    Reopening,
    /// The conversation has ended; output that is unwritten at `until` is dropped.
    Closed {
        until: Instant,
    },
    Aborted,
}

impl ClientService {
    /// The service of a client.
    ///
    /// Fails with [`UsageError::AlreadyConnected`] if the client has had a service before.
    pub fn new(client: &Client) -> Result<Self, UsageError> {
        let (runner, config) = ClientRunner::new(&client.mailbox)?;
        Ok(Self {
            drain: config.limits.drain,
            connection: Connection::client(config),
            runner,
            wire: None,
            output: Output::default(),
            flushed_answers: 0,
            is_write_closed: false,
            state: ServiceState::Open,
        })
    }

    /// Shows the conversation to `sink`, line by line, in the transcript format; see
    /// [`Service::show_wire`](super::Service::show_wire). [`Client::on_wire`] gets the same lines.
    pub fn show_wire(&mut self, now: Instant, mut sink: impl FnMut(&str) + Send + 'static) {
        let watcher = self.runner.watcher();
        let sink = move |line: &str| {
            if let Some(watcher) = &watcher {
                watcher(line);
            }
            sink(line);
        };
        self.wire = Some(Wire::of_client(now, Box::new(sink)));
    }

    /// Handles the start of the server, the first one or a restart.
    pub fn handle_opened(&mut self, now: Instant) {
        // Settings from before the client is driven apply before its first message.
        self.runner.work(now, &mut self.connection);
        if self.wire.is_none() && self.runner.watcher().is_some() {
            self.show_wire(now, |_| ());
        }
        if let Some(wire) = &mut self.wire {
            wire.opened(now);
        }
        self.output.clear();
        self.flushed_answers = self.connection.answered_bytes();
        self.is_write_closed = false;
        if self.state == ServiceState::Reopening {
            self.state = ServiceState::Open;
        }
        self.connection.handle_opened(now);
    }

    /// For adapters: returns whether the server has ended and may be restarted later, by
    /// [`Config::restart`](client::Config::restart). Stop its process, call
    /// [`ClientService::handle_idle`], and drive the service without a stream.
    pub fn is_disconnected(&self) -> bool {
        self.state == ServiceState::Disconnected
    }

    /// For adapters: confirms that there is no stream, until the service wants to reopen or is
    /// closed.
    pub fn handle_idle(&mut self) {
        if self.state == ServiceState::Disconnected {
            self.state = ServiceState::Idle;
            self.handle_write_closed();
        }
    }

    /// For adapters: handles a failed restart of the server. Returns whether there will be another
    /// attempt; else the client is closed with this error.
    pub fn handle_not_started(&mut self, now: Instant, error: &io::Error) -> bool {
        self.handle_eof(now);
        self.act_on_all(now);
        if self.state == ServiceState::Disconnected {
            return true;
        }
        self.runner.ending = Ending::of(error);
        false
    }

    /// Returns whether the server is to be started again. Then call
    /// [`ClientService::handle_opened`], or [`ClientService::handle_not_started`] if the start
    /// fails.
    pub fn wants_reopen(&self) -> bool {
        self.state == ServiceState::Reopening
    }

    /// For adapters: stores the exit status of a server that is a child process, for
    /// [`Client::closed`]. Call it before the service is dropped.
    pub fn handle_exited(&mut self, status: ExitStatus) {
        self.runner.ending.exited(status);
    }

    /// For adapters: stores an error of reading, writing, or starting the server, for
    /// [`Client::closed`]. Call it before the service is dropped.
    pub fn handle_error(&mut self, error: &io::Error) {
        self.runner.ending.fail(error);
    }

    fn act_on_all(&mut self, now: Instant) {
        loop {
            self.act_on_queued(now);
            if self.is_write_closed || self.output.is_full() {
                return self.connection.with(now, client::Client::handle_blocked);
            }
            if !self.connection.machine().is_blocked() {
                return;
            }
            self.connection.with(now, |client| client.handle_unblocked(now));
        }
    }

    fn act_on_queued(&mut self, now: Instant) {
        while let Some(action) = self.connection.poll_action() {
            match action {
                Action::Transmit(bytes) => {
                    if let Some(wire) = &mut self.wire {
                        wire.sent(now, bytes.clone());
                    }
                    if !self.is_write_closed {
                        self.output.push(bytes);
                    }
                }
                Action::Event(event) => {
                    if let Some(wire) = &mut self.wire {
                        wire.client_event(now, &event);
                    }
                    if matches!(event, ClientEvent::Reopen) {
                        self.state = ServiceState::Reopening;
                    } else if matches!(event, ClientEvent::Disconnected(_)) {
                        self.state = ServiceState::Disconnected;
                    }
                    self.runner.handle_event(now, &mut self.connection, event);
                }
                Action::Close => self.state = ServiceState::Closed { until: now + self.drain },
            }
        }
    }
}

impl Drive for ClientService {
    fn handle_bytes(&mut self, now: Instant, data: Bytes) {
        if let Some(wire) = &mut self.wire {
            wire.received(now, data.clone());
        }
        self.connection.handle_bytes(now, data);
    }

    fn handle_eof(&mut self, now: Instant) {
        if let Some(wire) = &mut self.wire {
            wire.ended(now);
        }
        if self.state == ServiceState::Reopening {
            self.state = ServiceState::Open;
        }
        self.connection.handle_eof(now);
    }

    fn handle_stop(&mut self, now: Instant) {
        self.runner.ending.begin(CloseCause::Requested);
        self.connection.with(now, |client| client.close(now));
    }

    fn turn(&mut self, now: Instant, waker: &Waker) {
        self.runner.begin_turn(waker);
        if self.connection.poll_timeout().is_some_and(|at| at <= now) {
            self.connection.handle_timeout(now);
        }
        self.runner.handle_timeout(now, &mut self.connection);
        self.act_on_all(now);
        // If work is left after these rounds, the driver is woken again.
        for _ in 0..TURN_ROUNDS {
            if !self.runner.work(now, &mut self.connection) {
                break;
            }
            self.act_on_all(now);
        }
        self.runner.flush();
        self.runner.end_turn(&self.connection);
        if let ServiceState::Closed { until } = self.state
            && until <= now
        {
            self.output.clear();
            self.state = ServiceState::Aborted;
        }
    }

    fn output(&self) -> &[u8] {
        self.output.front()
    }

    fn handle_written(&mut self, count: usize) {
        self.output.advance(count);
        if self.output.waiting() == 0 {
            self.flushed_answers = self.connection.answered_bytes();
        }
    }

    /// Continues to read: responses of the server may still arrive.
    fn handle_write_closed(&mut self) -> bool {
        self.is_write_closed = true;
        self.output.clear();
        true
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let until = self.flush_deadline().filter(|_| self.output.waiting() > 0);
        let due = self.connection.poll_timeout().into_iter().chain(self.runner.poll_timeout());
        due.chain(until).min()
    }

    fn wants_read(&self) -> bool {
        let unread = self.connection.answered_bytes().wrapping_sub(self.flushed_answers);
        self.state == ServiceState::Open
            && self.connection.wants_read()
            && (unread <= MAX_ANSWER_BYTES || self.output.waiting() == 0)
    }

    /// True while the machine holds calls back because of the output: once that is written, a turn
    /// sends them. Nothing else is delayed, since `wants_read` bounds the answers of the client.
    fn is_write_blocked(&self) -> bool {
        self.connection.machine().is_blocked() && self.output.waiting() > 0
    }

    fn is_closed(&self) -> bool {
        !matches!(self.state, ServiceState::Open | ServiceState::Idle)
    }

    fn flush_deadline(&self) -> Option<Instant> {
        match self.state {
            ServiceState::Closed { until } => Some(until),
            ServiceState::Open
            | ServiceState::Disconnected
            | ServiceState::Idle
            | ServiceState::Reopening
            | ServiceState::Aborted => None,
        }
    }

    fn is_aborted(&self) -> bool {
        matches!(
            self.state,
            ServiceState::Aborted | ServiceState::Reopening | ServiceState::Disconnected
        )
    }
}

impl core::fmt::Debug for ClientService {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ClientService")
            .field("connection", &self.connection)
            .finish_non_exhaustive()
    }
}
