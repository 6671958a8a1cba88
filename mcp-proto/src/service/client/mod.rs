//! The client as futures: a handle for the application, and the service that an adapter drives.

mod answers;
mod call;
mod handle;
mod inputs;
mod port;
mod subscription;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::task::Waker;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;

use super::Driven;
use super::output::Output;
use super::wire::Wire;
use crate::client::{self, CallError, ClientEvent, InputId, SubscriptionId};
use crate::error::UsageError;
use crate::machine::{Action, Machine};
use crate::row::Row;
use crate::stdio::Connection;
use crate::time::{Duration, Instant};

pub use answers::IntoAnswer;
pub use call::Call;
use call::Slot;
pub use handle::Client;
use inputs::Giving;
use port::{Ask, Command, OnProgress, Port, Stage, Work};
use subscription::Feed;
pub use subscription::Subscription;

/// With more answers than this waiting for a server to read them, nothing more is read from it.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// How often a turn looks for more work before others get theirs.
const ROUNDS: usize = 16;

/// A client's connection to a server, to be driven.
///
/// It begins with [`ClientService::handle_opened`], and does so anew whenever it
/// [wants to](ClientService::wants_reopen): the server is started again then.
pub struct ClientService {
    connection: Connection<client::Client>,
    port: Arc<Port>,
    /// By the numbers of their ids.
    calls: Row<Pending>,
    feeds: BTreeMap<SubscriptionId, Arc<Feed>>,
    inputs: BTreeMap<InputId, Giving>,
    /// Nothing, with room for what the next turn brings.
    work: Work,
    wire: Option<Wire>,
    output: Output,
    /// The bytes of answers that had been transmitted when all output was last written.
    answered: usize,
    /// The server does not read any more.
    deaf: bool,
    drain: Duration,
    life: Life,
}

/// A call that has had no response yet.
struct Pending {
    slot: Arc<Slot>,
    on_progress: Option<OnProgress>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    Open,
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
        let port = client.port.clone();
        let config = port.connect()?;
        Ok(Self {
            drain: config.limits.drain,
            connection: Connection::client(config),
            port,
            calls: Row::default(),
            feeds: BTreeMap::new(),
            inputs: BTreeMap::new(),
            work: Work::default(),
            wire: None,
            output: Output::default(),
            answered: 0,
            deaf: false,
            life: Life::Open,
        })
    }

    /// Shows the conversation to `sink`, line by line, in the transcript format; see
    /// [`Service::show_wire`](super::Service::show_wire).
    pub fn show_wire(&mut self, now: Instant, sink: impl FnMut(&str) + Send + 'static) {
        self.wire = Some(Wire::of_client(now, Box::new(sink)));
    }

    /// The server is there, for the first time or anew.
    pub fn handle_opened(&mut self, now: Instant) {
        // What was set before the client is driven comes before its first message.
        let mut work = core::mem::take(&mut self.work);
        self.port.take_work(&mut work);
        for command in work.commands.drain(..) {
            self.obey(now, command);
        }
        self.work = work;
        if let Some(wire) = &mut self.wire {
            wire.opened(now);
        }
        self.output.clear();
        self.answered = self.connection.answered_bytes();
        self.deaf = false;
        if self.life == Life::Reopening {
            self.life = Life::Open;
        }
        self.connection.handle_opened(now);
    }

    /// Whether the server is to be started anew: then comes [`ClientService::handle_opened`], or
    /// [`Driven::handle_eof`] if it cannot be.
    pub fn wants_reopen(&self) -> bool {
        self.life == Life::Reopening
    }

    fn act_on_all(&mut self, now: Instant) {
        while self.life != Life::Reopening
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
                    self.react(now, event);
                }
                Action::Close => self.life = Life::Closed { until: now + self.drain },
            }
        }
    }

    fn react(&mut self, now: Instant, event: ClientEvent) {
        match event {
            ClientEvent::Connected(server) => {
                if let Some(verdict) = self.connection.verdict() {
                    self.port.set_stage(Stage::Connected(Box::new((server, verdict))));
                }
            }
            ClientEvent::Reopen => self.life = Life::Reopening,
            ClientEvent::Response { call, result } => {
                if let Some(Pending { slot, on_progress }) = self.calls.remove(call.0) {
                    slot.finish(result);
                    unharmed(|| drop(on_progress));
                }
            }
            ClientEvent::Progress { call, progress } => {
                let pending = self.calls.get_mut(call.0);
                if let Some(on_progress) = pending.and_then(|pending| pending.on_progress.as_mut())
                {
                    unharmed(|| on_progress(progress));
                }
            }
            ClientEvent::Input(input) => self.give(now, input),
            ClientEvent::InputCancelled { input } => {
                let giving = self.inputs.remove(&input);
                unharmed(|| drop(giving));
            }
            ClientEvent::Subscribed { subscription, honoured } => {
                if let Some(feed) = self.feeds.get(&subscription) {
                    feed.honour(honoured);
                }
            }
            ClientEvent::SubscriptionEnded { subscription, cause } => {
                if let Some(feed) = self.feeds.remove(&subscription) {
                    feed.end(cause);
                }
            }
            ClientEvent::Changed { subscription, change } => {
                if let Some(feed) = subscription.and_then(|open| self.feeds.get(&open)) {
                    feed.push(&change);
                }
                if let Some(f) = self.port.answers().change {
                    unharmed(|| f(&change));
                }
            }
            ClientEvent::Log(message) => {
                if let Some(f) = self.port.answers().log {
                    unharmed(|| f(&message));
                }
            }
            ClientEvent::ElicitationComplete { elicitation_id } => {
                if let Some(f) = self.port.answers().elicitation_complete {
                    unharmed(|| f(&elicitation_id));
                }
            }
            ClientEvent::Notification { method, params } => {
                if let Some(f) = self.port.answers().notification {
                    unharmed(|| f(&method, &params));
                }
            }
            ClientEvent::ToolRejected { tool, reason } => {
                if let Some(f) = self.port.answers().tool_rejected {
                    unharmed(|| f(&tool, &reason));
                }
            }
            ClientEvent::PeerFault(error) => {
                if let Some(f) = self.port.answers().fault {
                    unharmed(|| f(&error));
                }
            }
            ClientEvent::Closed(error) => self.port.set_stage(Stage::Closed(error)),
        }
    }

    fn obey(&mut self, now: Instant, command: Command) {
        match command {
            Command::Start { slot, ask, options, on_progress } => {
                let connection = &mut self.connection;
                let started = match ask {
                    Ask::Call { method, params } => connection.call(now, method, params, options),
                    Ask::List(listing) => connection.list(now, listing, options),
                    Ask::Ping => connection.ping(now, options),
                    Ask::Level(level) => connection.set_log_level(now, level, options),
                };
                match started {
                    Ok(call) => {
                        slot.begin(call);
                        self.calls.insert(call.0, Pending { slot, on_progress });
                    }
                    Err(UsageError::Closed) => slot.finish(Err(CallError::Closed)),
                    Err(error) => slot.finish(Err(CallError::Usage(error))),
                }
            }
            Command::Cancel(slot) => {
                if let Some(call) = slot.call() {
                    // It may have had its response meanwhile.
                    let _ = self.connection.cancel(now, call);
                }
            }
            Command::Subscribe { feed, filter } => match self.connection.subscribe(now, filter) {
                Ok(subscription) => {
                    feed.begin(subscription);
                    self.feeds.insert(subscription, feed);
                }
                Err(UsageError::Closed) => feed.end(Err(CallError::Closed)),
                Err(error) => feed.end(Err(CallError::Usage(error))),
            },
            Command::Unsubscribe(feed) => {
                if let Some(subscription) = feed.subscription() {
                    // It may have ended meanwhile.
                    let _ = self.connection.unsubscribe(now, subscription);
                }
            }
            // What may not be sent, or not any more, goes nowhere.
            Command::Notify { method, params } => {
                let _ = self.connection.notify(now, method, params);
            }
            Command::Roots(roots) => {
                let _ = self.connection.set_roots(now, roots);
            }
            Command::Capabilities(capabilities) => self.connection.set_capabilities(capabilities),
            Command::Close => self.connection.close(now),
        }
    }
}

impl Driven for ClientService {
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
        if self.life == Life::Reopening {
            self.life = Life::Open;
        }
        self.connection.handle_eof(now);
    }

    fn handle_stop(&mut self, now: Instant) {
        self.connection.close(now);
    }

    fn turn(&mut self, now: Instant, waker: &Waker) {
        self.port.begin_turn(waker);
        if self.connection.poll_timeout().is_some_and(|at| at <= now) {
            self.connection.handle_timeout(now);
        }
        let mut work = core::mem::take(&mut self.work);
        // What is left after that many rounds has the driver woken again.
        for _ in 0..=ROUNDS {
            self.act_on_all(now);
            if !self.port.take_work(&mut work) {
                break;
            }
            for command in work.commands.drain(..) {
                self.obey(now, command);
            }
            for input in work.ready.drain(..) {
                self.go_on(now, input);
            }
        }
        self.act_on_all(now);
        self.work = work;
        self.port.end_turn();
        if let Life::Closed { until } = self.life
            && until <= now
        {
            self.output.clear();
            self.life = Life::GivenUp;
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
    fn handle_deaf(&mut self) -> bool {
        self.deaf = true;
        self.output.clear();
        true
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let until = match self.life {
            Life::Closed { until } if self.output.waiting() > 0 => Some(until),
            Life::Open | Life::Reopening | Life::Closed { .. } | Life::GivenUp => None,
        };
        self.connection.poll_timeout().into_iter().chain(until).min()
    }

    fn wants_read(&self) -> bool {
        let unread = self.connection.answered_bytes().wrapping_sub(self.answered);
        self.life == Life::Open
            && self.connection.wants_read()
            && (unread <= MAX_ANSWER_BYTES || self.output.waiting() == 0)
    }

    /// What a client asks is bounded by its calls, and what it answers by `wants_read`.
    fn is_clogged(&self) -> bool {
        false
    }

    fn is_closed(&self) -> bool {
        self.life != Life::Open
    }

    fn patience(&self) -> Option<Instant> {
        match self.life {
            Life::Closed { until } => Some(until),
            Life::Open | Life::Reopening | Life::GivenUp => None,
        }
    }

    fn has_given_up(&self) -> bool {
        matches!(self.life, Life::GivenUp | Life::Reopening)
    }
}

impl Drop for ClientService {
    /// Tells those that wait that nobody will answer.
    fn drop(&mut self) {
        for pending in self.calls.values_mut() {
            pending.slot.finish(Err(CallError::Closed));
        }
        for feed in core::mem::take(&mut self.feeds).into_values() {
            feed.end(Err(CallError::Closed));
        }
        if !matches!(self.port.stage(), Stage::Closed(_)) {
            self.port.set_stage(Stage::Closed(None));
        }
        self.port.end();
    }
}

impl core::fmt::Debug for ClientService {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ClientService")
            .field("connection", &self.connection)
            .finish_non_exhaustive()
    }
}

/// Runs what an application gave; there is nobody to tell of a panic.
fn unharmed(f: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(f));
}
