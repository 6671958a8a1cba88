//! The client: messages in, messages out, for servers of both eras.
//!
//! A [`Client`] is the protocol state of one connection to a server. On a byte stream the
//! connection is the stream, and [`stdio::Connection`](crate::stdio::Connection) is the binding.
//! The client finds out the era of the server ([`probe`]), so that applications need not know it.
//!
//! | input | output |
//! |---|---|
//! | `handle_opened` | `server/discover` or `initialize`, by [`Negotiation`] and the stored [`Verdict`] |
//! | their answers, silence, or the end of the stream | what `probe::TABLE` says; in the end `Connected`, or `Closed` with a reason |
//! | `call`, `list`, `ping`, `set_log_level` | a request, once the era is known; then exactly one `Response` |
//! | a response | `Response`; or, if the server needs input first, an `Input` for each; or the next page |
//! | a response that is a task, under [`Config::follow_tasks`] | a `Task` for each status, polls, in the end the `Response`, by [`task::TABLE`] |
//! | `answer` | legacy: a response; modern: the request again, with the input, once all of it is there |
//! | a legacy request | `Input`, or an answer: to `ping`, to `roots/list`, to what is not declared |
//! | `subscribe`, `unsubscribe` | modern: `subscriptions/listen` and its cancellation; legacy: `resources/subscribe` and `resources/unsubscribe` |
//! | a notification | `Progress`, `Log`, `Changed`, `Subscribed`, `ElicitationComplete`, or `Notification` |
//! | `handle_blocked`, `handle_unblocked` | nothing more is sent but answers and cancellations; the calls that were held |
//! | `cancel`, or the time of a call is over | `notifications/cancelled`, and the `Response` |
//! | anything that cannot be read or does not belong | `PeerFault`; a client answers no garbage |
//! | end of input | each call and each subscription ends; then `Closed`, or `Disconnected` under a [`Restart`] policy |
//! | a refusal that the server of the known era or session does not give | what [`recovery::TABLE`] says |
//!
//! States: unopened, negotiating, reopening, connected as modern or as legacy, unconnected, closed.
//! The module `call` has the states of a call, and `unconnected` the states of a lost connection.
//!
//! [Specification: Overview](https://modelcontextprotocol.io/specification/2026-07-28/basic)

mod binding;
mod cache;
mod call;
mod call_error;
mod calls;
mod compose;
mod config;
mod connect;
mod connect_error;
mod event;
mod follow;
mod forward;
mod inputs;
mod legacy;
mod life;
mod negotiation;
mod notification;
mod outbox;
mod pages;
mod receive;
pub mod recovery;
mod result;
mod subscriptions;
pub mod task;
mod unconnected;
mod verbs;
mod work;

use alloc::vec::Vec;

use crate::deadlines::Deadlines;
use crate::machine::Action;
use crate::message::{Incoming, Outgoing};
use crate::time::Instant;
use crate::types::ClientCapabilities;
use crate::version::Era;

pub use crate::change::{Change, List, TaskUpdate};
pub use crate::progress::Progress;
pub(crate) use binding::MessageSource;
use binding::TransportKind;
pub use cache::settings::{CacheConfig, CachePlace, SharedCache};
pub use cache::{Cache, CacheContext, CacheLimits, CacheTicket, Cached};
pub use call_error::CallError;
pub(crate) use compose::version_of;
pub use config::Config;
pub use connect_error::ConnectError;
pub use event::{
    CallId, CallOptions, ClientAction, ClientEvent, Input, InputId, InputReply, Listing,
    SubscriptionId, Undelivered,
};
use life::Life;
use negotiation::Before;
use negotiation::probe::Step;
pub use negotiation::{Decision, Negotiation, ServerInfo, Transport, Verdict, probe};
pub(crate) use receive::{is_modern_error, is_same_request};
use recovery::Pace;
pub use unconnected::Restart;
use work::Work;

/// The client's side of one connection.
#[derive(Debug)]
pub struct Client {
    life: Life,
    pace: Pace,
    decisions: Vec<Decision>,
    deadlines: Deadlines<ClientTimer>,
    /// The transport that the binding to HTTP has found.
    transport: Transport,
    work: Work,
}

/// Reason of a deadline.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum ClientTimer {
    /// The server's answer to `server/discover` or `initialize`.
    Negotiation,
    /// The call with the earliest deadline.
    Call,
    /// The next attempt to send held calls while the driver can write.
    Held,
    /// The next attempt to connect again.
    Recovery,
}

impl Client {
    /// A client without a connection so far.
    pub fn new(config: Config) -> Self {
        Self::over(config, TransportKind::Stream)
    }

    /// A client whose binding is HTTP.
    pub(crate) fn over_http(config: Config) -> Self {
        Self::over(config, TransportKind::Http)
    }

    fn over(config: Config, binding: TransportKind) -> Self {
        Self {
            life: Life::Unopened,
            pace: Pace::default(),
            decisions: Vec::new(),
            deadlines: Deadlines::new(),
            transport: Transport::default(),
            work: Work::new(config, binding),
        }
    }

    /// Handles the opening of the stream, the first time or after [`ClientEvent::Reopen`].
    pub fn handle_opened(&mut self, now: Instant) {
        if let Life::Unopened = self.life {
            let Config { negotiation, verdict, .. } = &self.work.config;
            self.begin(now, Step::first(*negotiation, verdict.as_ref()));
        } else if let Life::Reopening { step, before } = self.life {
            self.enter_after(now, step, before);
        }
    }

    /// Handles a message of the server.
    pub fn handle_message(&mut self, now: Instant, incoming: Incoming) {
        self.handle_message_of(now, incoming, MessageSource::default());
    }

    /// Handles the end of the server's output. A driver that stops reading also calls this.
    pub fn handle_eof(&mut self, now: Instant) {
        match &self.life {
            Life::Reopening { before, .. } if self.recovers() => {
                self.attempt_failed(now, before.era(), ConnectError::Closed);
            }
            Life::Unopened | Life::Reopening { .. } => self.end(now, Some(ConnectError::Closed)),
            Life::Negotiating(negotiating) => match negotiating.before() {
                // This connection had a server of this era, which may already execute the earlier
                // requests.
                Before::Here(era) => self.end_of_stream(now, era),
                Before::Nothing | Before::Earlier(_) => self.decide(now, probe::ProbeOutcome::Eof),
            },
            Life::Modern(_) if self.is_in_doubt() => self.decide(now, probe::ProbeOutcome::Eof),
            Life::Modern(_) => self.end_of_stream(now, Era::Modern),
            Life::Legacy(_) => self.end_of_stream(now, Era::Legacy),
            Life::Unconnected(_) | Life::Closed => {}
        }
    }

    /// Handles the deadlines that are due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((_, reason)) = self.next_deadline().filter(|(at, _)| *at <= now) {
            self.deadlines.clear(reason);
            match reason {
                ClientTimer::Negotiation => self.judge_silence(now),
                ClientTimer::Recovery => self.reconnect(now),
                ClientTimer::Held => {
                    self.work.outbox.expire();
                    self.send_held(now);
                }
                ClientTimer::Call => {
                    for number in self.work.calls.expire(now) {
                        self.expire_call(now, number);
                    }
                }
            }
        }
    }

    /// Closes the connection: each call and each subscription ends.
    pub fn close(&mut self, now: Instant) {
        match &self.life {
            Life::Closed => {}
            _ if self.pace.has_connected() => self.end(now, None),
            Life::Unopened | Life::Reopening { .. } | Life::Negotiating(_) => {
                self.end(now, Some(ConnectError::Closed));
            }
            Life::Modern(_) | Life::Legacy(_) | Life::Unconnected(_) => self.end(now, None),
        }
    }

    /// Sets the declared capabilities, from the next message on: a modern server reads them in
    /// every request, a legacy server only in `initialize`. [`Client::set_roots`] also declares
    /// roots.
    pub fn set_capabilities(&mut self, capabilities: ClientCapabilities) {
        let declared = &mut self.work.config.capabilities;
        let roots = declared.roots;
        *declared = capabilities;
        if self.work.inputs.has_roots() && declared.roots.is_none() {
            declared.roots = roots;
        }
        self.rebuild_envelope();
    }

    /// The server, once the era is known.
    pub fn server(&self) -> Option<&ServerInfo> {
        self.life.server()
    }

    /// The era that the server belongs to, once it is known.
    pub fn era(&self) -> Option<Era> {
        self.life.era()
    }

    /// Verdict about the server, for storage; `None` until the era is known.
    pub fn verdict(&self) -> Option<Verdict> {
        if let Some(modern) = self.life.modern() {
            return Some(modern.verdict.clone());
        }
        let verdict = self.life.version().map(Verdict::new)?;
        Some(Verdict { transport: self.transport, ..verdict })
    }

    /// Rows of [`probe::TABLE`] that decided in the last negotiation, in order, also after a
    /// failure. Rows without a change are left out, so there are at most as many as
    /// [steps](probe::Step). Over HTTP a row of
    /// [`answer::TABLE`](crate::http::client::answer::TABLE) may follow each of them: the client
    /// then tries HTTP+SSE.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// For drivers: the server does not read, and enough output is buffered. Calls are held until
    /// [`Client::handle_unblocked`], while their timeouts run; answers and cancellations are not
    /// held.
    pub fn handle_blocked(&mut self) {
        self.work.outbox.set_blocked(true);
    }

    /// For drivers: there is room for more messages. Sends the held calls.
    pub fn handle_unblocked(&mut self, now: Instant) {
        self.work.outbox.set_blocked(false);
        self.send_held(now);
    }

    /// Returns whether the driver has reported that the server does not read.
    pub fn is_blocked(&self) -> bool {
        self.work.outbox.is_blocked()
    }

    /// The next action.
    pub fn poll_action(&mut self) -> Option<ClientAction> {
        self.work.outbox.poll()
    }

    /// The next action if it is to send a message.
    pub(crate) fn poll_send(&mut self) -> Option<Outgoing> {
        self.work.outbox.poll_send()
    }

    /// The next action if it is not to send a message.
    pub(crate) fn poll_event(&mut self) -> Option<Action<ClientEvent>> {
        self.work.outbox.poll_event()
    }

    /// Time by which [`Client::handle_timeout`] must be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.next_deadline().map(|(at, _)| at)
    }

    /// Returns whether the driver should read more messages: all actions are polled, and the
    /// connection is open.
    pub fn wants_read(&self) -> bool {
        let is_connected = self.life.is_open() && !matches!(self.life, Life::Unconnected(_));
        is_connected && self.work.outbox.is_empty()
    }

    /// Handles the end of the stream of a known server.
    fn end_of_stream(&mut self, now: Instant, era: Era) {
        if self.recovers() {
            self.stream_ended(now, era, ConnectError::Closed);
        } else {
            self.end(now, None);
        }
    }

    /// Ends every call and every subscription, and closes the client.
    fn end(&mut self, now: Instant, error: Option<ConnectError>) {
        self.life = Life::Closed;
        self.deadlines.clear(ClientTimer::Negotiation);
        self.deadlines.clear(ClientTimer::Recovery);
        let cause = error.clone().map_or(CallError::Closed, CallError::Connect);
        self.work.end(now, &mut self.life, &cause);
        self.work.outbox.event(ClientEvent::Closed(error));
        self.work.outbox.close();
    }

    /// The earliest deadline of the client and of its parts.
    fn next_deadline(&self) -> Option<(Instant, ClientTimer)> {
        let call = self.work.calls.next_due().map(|at| (at, ClientTimer::Call));
        let held = self.work.outbox.next_due().map(|at| (at, ClientTimer::Held));
        self.deadlines.first().into_iter().chain(call).chain(held).min()
    }
}
