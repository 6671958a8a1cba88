//! The client: messages in, messages out, for servers of both eras.
//!
//! A [`Client`] is the protocol state of one connection to a server; on a byte stream that is the
//! stream, and [`stdio::Connection`](crate::stdio::Connection) is its binding. It finds out which
//! era the server belongs to ([`probe`]), and from then on an application need not know.
//!
//! | input | output |
//! |---|---|
//! | `handle_opened` | `server/discover` or `initialize`, by [`Negotiation`] and the stored [`Verdict`] |
//! | their answers, silence, or the end of the stream | what `probe::TABLE` says; in the end `Connected`, or `Closed` with a reason |
//! | `call`, `list`, `ping`, `set_log_level` | a request, once the era is known; then exactly one `Response` |
//! | a response | `Response`; or, if the server needs input first, an `Input` for each; or the next page |
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
//! The states of a call are those of `calls`, and those of a lost connection are in `unconnected`.
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

pub use crate::change::{Change, List};
pub use crate::progress::Progress;
pub(crate) use binding::MessageSource;
use binding::TransportKind;
pub use cache::{Cache, CacheLimits, CacheTicket, Cached};
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
pub use negotiation::{Decision, Negotiation, ServerInfo, Verdict, probe};
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
    deadlines: Deadlines<Reason>,
    work: Work,
}

/// Reason of a deadline.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Reason {
    /// The server's answer to `server/discover` or `initialize`.
    Negotiation,
    /// The call that is due first.
    Call,
    /// Calls that are held although the driver can write.
    Held,
    /// The next attempt to connect again.
    Recovery,
}

impl Client {
    /// A client of a server that is yet to be connected.
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
            work: Work::new(config, binding),
        }
    }

    /// The server is there, for the first time or after [`ClientEvent::Reopen`].
    pub fn handle_opened(&mut self, now: Instant) {
        if let Life::Unopened = self.life {
            let Config { negotiation, verdict, .. } = &self.work.config;
            self.begin(now, Step::first(*negotiation, verdict.as_ref()));
        } else if let Life::Reopening { step, before } = self.life {
            self.enter_after(now, step, before);
        }
    }

    /// The server sent a message.
    pub fn handle_message(&mut self, now: Instant, incoming: Incoming) {
        self.handle_message_of(now, incoming, MessageSource::default());
    }

    /// The server sends nothing more, or is not listened to any more.
    pub fn handle_eof(&mut self, now: Instant) {
        match &self.life {
            Life::Reopening { before, .. } if self.recovers() => {
                self.attempt_failed(now, before.era(), ConnectError::Closed);
            }
            Life::Unopened | Life::Reopening { .. } => self.end(now, Some(ConnectError::Closed)),
            Life::Negotiating(negotiating) => match negotiating.before() {
                // It has been a server of this era, and may have begun with what it was asked.
                Before::Here(era) => self.end_of_stream(now, era),
                Before::Nothing | Before::Earlier(_) => self.decide(now, probe::Outcome::Eof),
            },
            Life::Modern(_) if self.is_in_doubt() => self.decide(now, probe::Outcome::Eof),
            Life::Modern(_) => self.end_of_stream(now, Era::Modern),
            Life::Legacy(_) => self.end_of_stream(now, Era::Legacy),
            Life::Unconnected(_) | Life::Closed => {}
        }
    }

    /// It is `now`; due deadlines take effect.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((_, reason)) = self.next_deadline().filter(|(at, _)| *at <= now) {
            self.deadlines.clear(reason);
            match reason {
                Reason::Negotiation => self.judge_silence(now),
                Reason::Recovery => self.reconnect(now),
                Reason::Held => {
                    self.work.outbox.expire();
                    self.send_held(now);
                }
                Reason::Call => {
                    for number in self.work.calls.expire(now) {
                        self.work.stop(now, &mut self.life, number, CallError::TimedOut);
                    }
                }
            }
        }
    }

    /// The application is done: each call and each subscription ends, and the connection closes.
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

    /// What the client supports, from the next message on: a modern server reads it in every
    /// request, a legacy one in `initialize` alone. Roots are declared by [`Client::set_roots`]
    /// too.
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

    /// What has been found out about the server, to be stored; once it is known.
    pub fn verdict(&self) -> Option<Verdict> {
        match self.life.modern() {
            Some(modern) => Some(modern.verdict.clone()),
            None => self.life.version().map(Verdict::new),
        }
    }

    /// How the negotiation went, or the last one if there was another: which rows of
    /// [`probe::TABLE`] were taken, in order, also after it has failed. What changed nothing is not
    /// among them; so there are as many as there are [steps](probe::Step), at most.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// For drivers: the server does not read, and enough waits to be written. Calls are held until
    /// [`Client::handle_unblocked`], with their time running; answers and cancellations are not.
    pub fn handle_blocked(&mut self) {
        self.work.outbox.set_blocked(true);
    }

    /// For drivers: there is room for more messages. Sends the calls that were held.
    pub fn handle_unblocked(&mut self, now: Instant) {
        self.work.outbox.set_blocked(false);
        self.send_held(now);
    }

    /// Returns whether the driver has said that the server does not read.
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

    /// When [`Client::handle_timeout`] is to be called at the latest.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.next_deadline().map(|(at, _)| at)
    }

    /// Returns whether more messages are wanted: a client reads whatever comes, but takes its
    /// actions first, and nothing after the end.
    pub fn wants_read(&self) -> bool {
        let is_connected = self.life.is_open() && !matches!(self.life, Life::Unconnected(_));
        is_connected && self.work.outbox.is_empty()
    }

    /// The stream of a server that was known has ended.
    fn end_of_stream(&mut self, now: Instant, era: Era) {
        if self.recovers() { self.stream_ended(now, era) } else { self.end(now, None) }
    }

    /// Ends every call and every subscription, and closes.
    fn end(&mut self, now: Instant, error: Option<ConnectError>) {
        self.life = Life::Closed;
        self.deadlines.clear(Reason::Negotiation);
        self.deadlines.clear(Reason::Recovery);
        let cause = error.clone().map_or(CallError::Closed, CallError::Connect);
        self.work.end(now, &mut self.life, &cause);
        self.work.outbox.event(ClientEvent::Closed(error));
        self.work.outbox.close();
    }

    /// The earliest deadline of the client and of its parts.
    fn next_deadline(&self) -> Option<(Instant, Reason)> {
        let call = self.work.calls.next_due().map(|at| (at, Reason::Call));
        let held = self.work.outbox.next_due().map(|at| (at, Reason::Held));
        self.deadlines.first().into_iter().chain(call).chain(held).min()
    }
}
