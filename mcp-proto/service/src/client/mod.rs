//! The client as futures: a handle for the application, and the service that an adapter drives.

mod answers;
mod ask;
#[cfg(feature = "auth")]
mod auth_slot;
#[cfg(feature = "auth")]
mod authorize;
mod binding;
mod call;
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
mod runner;
#[cfg(feature = "skills")]
mod skills;
mod slot;
mod subscription;

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

pub use answers::IntoAnswer;
pub use call::Call;
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

/// With more answers than this waiting for a server to read them, nothing more is read from it.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// A client's connection to a server, to be driven.
///
/// It begins with [`ClientService::handle_opened`], and again whenever it
/// [wants to](ClientService::wants_reopen): the server is started again then.
///
/// | state | [`drive`](super::drive) | leaves by |
/// |---|---|---|
/// | open | runs on the stream of the server | `Disconnected`, `Reopen`, `Closed` of the machine |
/// | disconnected | returns; the server is to be ended | [`ClientService::handle_idle`] |
/// | idle | runs without a stream | a call, or the time of the next attempt: `Reopen`; `Closed` |
/// | reopening | returns; the server is to be started | [`ClientService::handle_opened`], [`ClientService::handle_not_started`] |
/// | closed | returns once all is written, or given up | |
pub struct ClientService {
    connection: Connection<client::Client>,
    runner: ClientRunner,
    wire: Option<Wire>,
    output: Output,
    /// The bytes of answers that had been transmitted when all output was last written.
    answered: usize,
    /// The server does not read any more.
    deaf: bool,
    drain: Duration,
    life: ServiceState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ServiceState {
    Open,
    Disconnected,
    Idle,
    Reopening,
    /// All is said; what is not written by then is not waited for.
    Closed {
        until: Instant,
    },
    GivenUp,
}

impl ClientService {
    /// The service of a client.
    ///
    /// Fails with [`UsageError::AlreadyConnected`] if it has had one.
    pub fn new(client: &Client) -> Result<Self, UsageError> {
        let (runner, config) = ClientRunner::new(&client.mailbox)?;
        Ok(Self {
            drain: config.limits.drain,
            connection: Connection::client(config),
            runner,
            wire: None,
            output: Output::default(),
            answered: 0,
            deaf: false,
            life: ServiceState::Open,
        })
    }

    /// Shows the conversation to `sink`, line by line, in the transcript format; see
    /// [`Service::show_wire`](super::Service::show_wire). [`Client::on_wire`] sees it as well.
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

    /// The server is there, for the first time or anew.
    pub fn handle_opened(&mut self, now: Instant) {
        // What was set before the client is driven comes before its first message.
        self.runner.work(now, &mut self.connection);
        if self.wire.is_none() && self.runner.watcher().is_some() {
            self.show_wire(now, |_| ());
        }
        if let Some(wire) = &mut self.wire {
            wire.opened(now);
        }
        self.output.clear();
        self.answered = self.connection.answered_bytes();
        self.deaf = false;
        if self.life == ServiceState::Reopening {
            self.life = ServiceState::Open;
        }
        self.connection.handle_opened(now);
    }

    /// For adapters: whether the server has gone and may be started again later, by
    /// [`Config::restart`](client::Config::restart). The rest of it is to be ended; then comes
    /// [`ClientService::handle_idle`], and the service is driven without a stream.
    pub fn is_disconnected(&self) -> bool {
        self.life == ServiceState::Disconnected
    }

    /// For adapters: there is no stream until the service wants to be reopened, or is closed.
    pub fn handle_idle(&mut self) {
        if self.life == ServiceState::Disconnected {
            self.life = ServiceState::Idle;
            self.handle_write_closed();
        }
    }

    /// For adapters: the server could not be started again. Returns whether there will be another
    /// attempt; else the client is closed, for this reason.
    pub fn handle_not_started(&mut self, now: Instant, error: &io::Error) -> bool {
        self.handle_eof(now);
        self.act_on_all(now);
        if self.life == ServiceState::Disconnected {
            return true;
        }
        self.runner.ending = Ending::of(error);
        false
    }

    /// Returns whether the server is to be started anew: then comes
    /// [`ClientService::handle_opened`], or [`Drive::handle_eof`] if it cannot be.
    pub fn wants_reopen(&self) -> bool {
        self.life == ServiceState::Reopening
    }

    /// For adapters: how the server has exited, if it runs in a process of its own;
    /// [`Client::closed`] reports it. To be called before the service is dropped.
    pub fn handle_exited(&mut self, status: ExitStatus) {
        self.runner.ending.exited(status);
    }

    /// For adapters: reading, writing, or starting the server has failed; [`Client::closed`] reports
    /// it. To be called before the service is dropped.
    pub fn handle_error(&mut self, error: &io::Error) {
        self.runner.ending.fail(error);
    }

    fn act_on_all(&mut self, now: Instant) {
        loop {
            self.act_on_queued(now);
            if self.deaf || self.output.is_full() {
                return self.connection.with(now, client::Client::handle_blocked);
            }
            if !self.connection.machine().is_blocked() {
                return;
            }
            self.connection.with(now, |client| client.handle_unblocked(now));
        }
    }

    fn act_on_queued(&mut self, now: Instant) {
        while self.life != ServiceState::Reopening
            && let Some(action) = self.connection.poll_action()
        {
            match action {
                Action::Transmit(bytes) => {
                    if let Some(wire) = &mut self.wire {
                        wire.sent(now, bytes.clone());
                    }
                    if !self.deaf {
                        self.output.push(bytes);
                    }
                }
                Action::Event(event) => {
                    if let Some(wire) = &mut self.wire {
                        wire.client_event(now, &event);
                    }
                    if matches!(event, ClientEvent::Reopen) {
                        self.life = ServiceState::Reopening;
                    } else if matches!(event, ClientEvent::Disconnected(_)) {
                        self.life = ServiceState::Disconnected;
                    }
                    self.runner.handle_event(now, &mut self.connection, event);
                }
                Action::Close => self.life = ServiceState::Closed { until: now + self.drain },
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
        if self.life == ServiceState::Reopening {
            self.life = ServiceState::Open;
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
        // What is left after that many rounds has the driver woken again.
        for _ in 0..=TURN_ROUNDS {
            self.act_on_all(now);
            if !self.runner.work(now, &mut self.connection) {
                break;
            }
        }
        self.act_on_all(now);
        self.runner.flush();
        self.runner.end_turn(&self.connection);
        if let ServiceState::Closed { until } = self.life
            && until <= now
        {
            self.output.clear();
            self.life = ServiceState::GivenUp;
        }
    }

    fn output(&self) -> &[u8] {
        self.output.front()
    }

    fn handle_written(&mut self, count: usize) {
        self.output.advance(count);
        if self.output.waiting() == 0 {
            self.answered = self.connection.answered_bytes();
        }
    }

    /// Its answers may be on their way.
    fn handle_write_closed(&mut self) -> bool {
        self.deaf = true;
        self.output.clear();
        true
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let until = match self.life {
            ServiceState::Closed { until } if self.output.waiting() > 0 => Some(until),
            ServiceState::Open
            | ServiceState::Disconnected
            | ServiceState::Idle
            | ServiceState::Reopening
            | ServiceState::Closed { .. }
            | ServiceState::GivenUp => None,
        };
        let due = self.connection.poll_timeout().into_iter().chain(self.runner.poll_timeout());
        due.chain(until).min()
    }

    fn wants_read(&self) -> bool {
        let unread = self.connection.answered_bytes().wrapping_sub(self.answered);
        self.life == ServiceState::Open
            && self.connection.wants_read()
            && (unread <= MAX_ANSWER_BYTES || self.output.waiting() == 0)
    }

    /// Always false: the machine holds back calls, and `wants_read` bounds the answers of the
    /// client.
    fn is_write_blocked(&self) -> bool {
        false
    }

    fn is_closed(&self) -> bool {
        !matches!(self.life, ServiceState::Open | ServiceState::Idle)
    }

    fn flush_deadline(&self) -> Option<Instant> {
        match self.life {
            ServiceState::Closed { until } => Some(until),
            ServiceState::Open
            | ServiceState::Disconnected
            | ServiceState::Idle
            | ServiceState::Reopening
            | ServiceState::GivenUp => None,
        }
    }

    fn is_aborted(&self) -> bool {
        matches!(
            self.life,
            ServiceState::GivenUp | ServiceState::Reopening | ServiceState::Disconnected
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
