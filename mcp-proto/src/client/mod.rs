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

mod cache;
mod call;
mod calls;
mod compose;
mod config;
mod connect;
mod connect_error;
mod event;
mod http;
mod inputs;
mod legacy;
mod negotiation;
mod notification;
mod outbox;
mod pages;
pub mod recovery;
mod response;
mod subscribe;
mod subscriptions;
mod unconnected;

use alloc::vec::Vec;

use crate::deadlines::Deadlines;
use crate::error::{ProtocolError, UsageError};
use crate::limits::Limits;
use crate::machine::Action;
use crate::message::{self, Batch, Incoming, Malformed, Message, Outgoing};
use crate::time::Instant;
use crate::types::{ClientCapabilities, LoggingLevel};
use crate::version::Era;

pub use crate::change::{Change, List};
pub use crate::progress::Progress;
pub use cache::{Cache, CacheLimits, CacheTicket, Cached};
use calls::Calls;
use compose::Envelope;
pub(crate) use compose::version_of;
pub use config::Config;
pub use connect_error::ConnectError;
pub use event::{
    CallError, CallId, CallOptions, ClientAction, ClientEvent, Input, InputId, InputReply, Listing,
    SubscriptionId, Undelivered,
};
use http::Binding;
pub(crate) use http::{Origin, is_modern_error, is_same_request};
use inputs::Inputs;
use negotiation::probe::Step;
use negotiation::{Before, Negotiating};
pub use negotiation::{Decision, Negotiation, ServerInfo, Verdict, probe};
use outbox::Outbox;
use recovery::Pace;
use subscriptions::Subscriptions;
pub use unconnected::Restart;
use unconnected::Unconnected;

/// The client's side of one connection.
#[derive(Debug)]
pub struct Client {
    config: Config,
    binding: Binding,
    /// The least severe log messages that are wanted; none said yet if `None`.
    log_level: Option<LoggingLevel>,
    life: Life,
    pace: Pace,
    decisions: Vec<Decision>,
    calls: Calls,
    outbox: Outbox,
    inputs: Inputs,
    subscriptions: Subscriptions,
    deadlines: Deadlines<Reason>,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one of it")]
enum Life {
    Unopened,
    Negotiating(Negotiating),
    Reopening { step: Step, before: Before },
    Modern(Modern),
    Legacy(legacy::Session),
    Unconnected(Unconnected),
    Closed,
}

/// What is known of a modern server.
#[derive(Debug)]
struct Modern {
    server: ServerInfo,
    /// To be stored.
    verdict: Verdict,
    envelope: Envelope,
    /// Whether it has answered as one.
    confirmed: bool,
}

/// What a deadline is for.
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
        Self {
            config,
            binding: Binding::Stream,
            log_level: None,
            life: Life::Unopened,
            pace: Pace::default(),
            decisions: Vec::new(),
            calls: Calls::default(),
            outbox: Outbox::default(),
            inputs: Inputs::default(),
            subscriptions: Subscriptions::default(),
            deadlines: Deadlines::new(),
        }
    }

    /// The server is there, for the first time or after [`ClientEvent::Reopen`].
    pub fn handle_opened(&mut self, now: Instant) {
        match &self.life {
            Life::Unopened => {
                let verdict = self.config.verdict.as_ref();
                self.begin(now, Step::first(self.config.negotiation, verdict));
            }
            Life::Reopening { step, before } => {
                let step = *step;
                let before = *before;
                self.enter_after(now, step, before);
            }
            Life::Negotiating(_)
            | Life::Modern(_)
            | Life::Legacy(_)
            | Life::Unconnected(_)
            | Life::Closed => {}
        }
    }

    /// The server sent a message.
    pub fn handle_message(&mut self, now: Instant, incoming: Incoming) {
        self.handle_message_of(now, incoming, Origin::default());
    }

    pub(crate) fn handle_message_of(&mut self, now: Instant, incoming: Incoming, origin: Origin) {
        match (&self.life, incoming) {
            (Life::Unopened | Life::Reopening { .. } | Life::Closed, _) => {}
            (_, Incoming::Message(message)) => self.message(now, message, origin),
            (Life::Legacy(session), Incoming::Batch(batch)) if session.has_batches() => {
                self.batch(now, &batch, origin);
            }
            (_, Incoming::Batch(_)) => self.outbox.fault(ProtocolError::UnexpectedBatch),
        }
    }

    /// The server sent something that is no message.
    pub fn handle_malformed(&mut self, now: Instant, malformed: Malformed) {
        if matches!(self.life, Life::Unopened | Life::Reopening { .. } | Life::Closed) {
            return;
        }
        let Malformed { error, id, answerable } = malformed;
        self.outbox.fault(error.clone());
        if let Some(id) = id.filter(|_| !answerable) {
            self.unreadable_response(now, &id, error);
        }
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
                Before::Nothing | Before::Earlier(_) => self.judge(now, probe::Outcome::Eof),
            },
            Life::Modern(_) if self.is_in_doubt() => self.judge(now, probe::Outcome::Eof),
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
                Reason::Negotiation => self.judge(now, self.silence()),
                Reason::Recovery => self.reconnect(now),
                Reason::Held => {
                    self.outbox.expire();
                    self.send_held(now);
                }
                Reason::Call => {
                    for number in self.calls.expire(now) {
                        self.stop_call(now, number, CallError::TimedOut);
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
        let roots = self.config.capabilities.roots;
        self.config.capabilities = capabilities;
        if self.inputs.has_roots() && self.config.capabilities.roots.is_none() {
            self.config.capabilities.roots = roots;
        }
        self.envelop();
    }

    /// The server, once the era is known.
    pub fn server(&self) -> Option<&ServerInfo> {
        match &self.life {
            Life::Modern(modern) => Some(&modern.server),
            Life::Legacy(session) => Some(session.server()),
            Life::Unopened
            | Life::Negotiating(_)
            | Life::Reopening { .. }
            | Life::Unconnected(_)
            | Life::Closed => None,
        }
    }

    /// The era that the server belongs to, once it is known.
    pub fn era(&self) -> Option<Era> {
        self.server().map(ServerInfo::era)
    }

    /// What has been found out about the server, to be stored; once it is known.
    pub fn verdict(&self) -> Option<Verdict> {
        match &self.life {
            Life::Modern(modern) => Some(modern.verdict.clone()),
            Life::Legacy(session) => Some(Verdict::new(session.server().version)),
            Life::Unopened
            | Life::Negotiating(_)
            | Life::Reopening { .. }
            | Life::Unconnected(_)
            | Life::Closed => None,
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
        self.outbox.set_blocked(true);
    }

    /// For drivers: there is room for more messages. Sends the calls that were held.
    pub fn handle_unblocked(&mut self, now: Instant) {
        self.outbox.set_blocked(false);
        self.send_held(now);
    }

    /// Whether the driver has said that the server does not read.
    pub fn is_blocked(&self) -> bool {
        self.outbox.is_blocked()
    }

    /// The next action.
    pub fn poll_action(&mut self) -> Option<ClientAction> {
        self.outbox.poll()
    }

    /// The next action if it is to send a message.
    pub(crate) fn poll_send(&mut self) -> Option<Outgoing> {
        self.outbox.poll_send()
    }

    /// The next action if it is not to send a message.
    pub(crate) fn poll_event(&mut self) -> Option<Action<ClientEvent>> {
        self.outbox.poll_event()
    }

    /// When [`Client::handle_timeout`] is to be called at the latest.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.next_deadline().map(|(at, _)| at)
    }

    /// Whether more messages are wanted: a client reads whatever comes, but takes its actions
    /// first, and nothing after the end.
    pub fn wants_read(&self) -> bool {
        self.outbox.is_empty()
            && !matches!(
                self.life,
                Life::Unopened | Life::Reopening { .. } | Life::Unconnected(_) | Life::Closed
            )
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.config.limits
    }

    fn message(&mut self, now: Instant, message: Message, origin: Origin) {
        match message {
            Message::Response(response) => self.response(now, response, origin),
            message if self.is_negotiating() => self.keep(message),
            Message::Notification(notification) => self.notification(now, notification),
            Message::Request(request) => match &mut self.life {
                Life::Legacy(session) => {
                    let config = &self.config;
                    let inputs = &mut self.inputs;
                    let outbox = &mut self.outbox;
                    if session.handle_request(request, origin, config, inputs, outbox) {
                        self.calls.rest(&self.inputs);
                    }
                }
                Life::Modern(_) | Life::Negotiating(_) | Life::Unconnected(_) => {
                    let method = request.method.name().into();
                    self.outbox.fault(ProtocolError::UnexpectedRequest { method });
                }
                Life::Unopened | Life::Reopening { .. } | Life::Closed => {}
            },
        }
    }

    fn batch(&mut self, now: Instant, batch: &Batch, origin: Origin) {
        let Life::Legacy(session) = &mut self.life else { return };
        let (id, texts) = match session.begin_batch(batch, &self.config.limits) {
            Ok(begun) => begun,
            Err(error) => return self.fault(error),
        };
        let origin = Origin { batch: Some(id), ..origin };
        for text in texts {
            match message::parse(&text, &self.config.limits) {
                Ok(Incoming::Message(message)) => self.message(now, message, origin),
                Ok(Incoming::Batch(_)) => self.fault(ProtocolError::NotAMessage),
                Err(malformed) => self.handle_malformed(now, malformed),
            }
        }
        self.leave_batch(Some(id));
    }

    fn leave_batch(&mut self, batch: Option<u64>) {
        if let Life::Legacy(session) = &mut self.life {
            session.leave_batch(batch, &mut self.outbox);
        }
    }

    fn check_open(&self) -> Result<(), UsageError> {
        if matches!(self.life, Life::Closed) { Err(UsageError::Closed) } else { Ok(()) }
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
        self.inputs.end(&mut self.outbox);
        self.subscriptions.end_all(&cause, &mut self.outbox);
        self.end_calls(now, &cause);
        self.outbox.event(ClientEvent::Closed(error));
        self.outbox.close();
    }

    pub(crate) fn fault(&mut self, error: ProtocolError) {
        self.outbox.event(ClientEvent::PeerFault(error));
    }

    pub(crate) fn event(&mut self, event: ClientEvent) {
        self.outbox.event(event);
    }

    /// The earliest deadline of the client and of its parts.
    fn next_deadline(&self) -> Option<(Instant, Reason)> {
        let call = self.calls.next_due().map(|at| (at, Reason::Call));
        let held = self.outbox.next_due().map(|at| (at, Reason::Held));
        self.deadlines.first().into_iter().chain(call).chain(held).min()
    }
}
