//! The client: messages in, messages out, for servers of both eras.
//!
//! A [`Client`] is the protocol state of one connection to a server. On a byte stream the
//! connection is the stream, and [`stdio::Connection`](crate::stdio::Connection) is the binding.
//! The client finds out the era of the server ([`probe`]), so that applications need not know it.
//!
//! | input | output |
//! |---|---|
//! | `handle_opened` | `server/discover` or `initialize`, by [`Negotiation`] and the stored [`Verdict`] |
//! | their answers, silence, or the end of the stream | the steps of `probe::TABLE`; in the end `Connected`, or `Closed` with a reason |
//! | `call`, `list`, `ping`, `set_log_level` | a request, once the era is known; then exactly one `Response` |
//! | a response | `Response`; or, if the server needs input first, an `Input` for each; or the next page |
//! | a response that is a task, under [`Config::follow_tasks`] | a `Task` for each status, polls, in the end the `Response`, by [`task::TABLE`] |
//! | `answer` | legacy: a response; modern: the request again, with the input, once all of it is there |
//! | a legacy request | `Input`; or an answer to `ping` and `roots/list`; or an error, if its capability is not declared |
//! | `subscribe`, `unsubscribe` | modern: `subscriptions/listen` and its cancellation; legacy: `resources/subscribe` and `resources/unsubscribe` |
//! | a notification | `Progress`, `Log`, `Changed`, `Subscribed`, `ElicitationComplete`, or `Notification` |
//! | `handle_blocked` | calls are held; only answers and cancellations are sent |
//! | `handle_unblocked` | the held calls |
//! | `cancel`, or the time of a call is over | `notifications/cancelled`, and the `Response` |
//! | a message that is invalid or unexpected | `PeerFault`; the client does not answer it |
//! | end of input | each call and each subscription ends; then `Closed`, or `Disconnected` under a [`Restart`] policy |
//! | a refusal that shows a changed era, or a lost session | the step of [`recovery::TABLE`] |
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
mod client_core;
mod commands;
mod compose;
mod config;
mod connect;
mod connect_error;
mod connection;
mod event;
mod follow;
mod forward;
mod inputs;
mod legacy;
mod negotiation;
mod notification;
mod outbox;
mod pages;
mod receive;
pub mod recovery;
mod resource_uses;
mod result;
mod subscriptions;
pub mod task;
mod unconnected;

use alloc::vec::Vec;

use crate::deadlines::Deadlines;
use crate::machine::Action;
use crate::message::{Incoming, Outgoing, RequestId};
use crate::time::{Duration, Instant};
use crate::types::ClientCapabilities;
use crate::version::Era;

pub use crate::change::{Change, List, TaskUpdate};
pub use crate::progress::Progress;
use binding::BindingKind;
pub(crate) use binding::MessageSource;
pub use cache::settings::{CacheConfig, CachePlace, SharedCache};
pub use cache::{Cache, CacheContext, CacheLimits, CacheTicket, Cached};
use call::Call;
pub use call_error::CallError;
use client_core::ClientCore;
pub(crate) use compose::version_of;
pub use config::Config;
pub use connect_error::ConnectError;
use connection::Conn;
pub use event::{
    CallId, CallOptions, ClientAction, ClientEvent, Input, InputId, InputReply, Listing,
    SubscriptionId, Undelivered,
};
use negotiation::probe::Step;
pub use negotiation::{Decision, Negotiation, ServerInfo, Transport, Verdict, probe};
use negotiation::{DecisionLog, PriorServer};
pub(crate) use receive::{is_modern_error, is_same_request};
use recovery::ReconnectRate;
pub use unconnected::Restart;

/// The client's side of one connection.
///
/// ```
/// use mcp_proto::client::{Client, ClientAction, Config};
/// use mcp_proto::Instant;
/// use mcp_proto::message::Outgoing;
/// use mcp_proto::types::Implementation;
///
/// let mut client = Client::new(Config::new(Implementation::new("host", "1.0.0")));
/// client.handle_opened(Instant::ZERO);
/// // The probe. A server that does not know this method gets `initialize` next.
/// let Some(ClientAction::Send(Outgoing::Request { method, .. })) = client.poll_action() else {
///     panic!("no request");
/// };
/// assert_eq!(method, "server/discover");
/// // The server has some time to answer.
/// assert!(client.poll_timeout().is_some());
/// ```
#[derive(Debug)]
pub struct Client {
    conn: Conn,
    reconnect_rate: ReconnectRate,
    decisions: DecisionLog,
    deadlines: Deadlines<ClientTimer>,
    /// True if the client connects again also without a call.
    connects_alone: bool,
    /// The transport that the binding to HTTP has found.
    transport: Transport,
    /// The application's side: calls, inputs, subscriptions, outbox.
    core: ClientCore,
}

/// Reason of a deadline.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum ClientTimer {
    /// The server's answer to `server/discover` or `initialize`.
    Negotiation,
    /// The call with the earliest deadline.
    Call,
    /// The next attempt to send calls that are held because too much is queued.
    Held,
    /// The next attempt to connect again.
    Recovery,
}

impl Client {
    /// A client without a connection so far.
    pub fn new(config: Config) -> Self {
        Self::over(config, BindingKind::Stream)
    }

    /// A client whose binding is HTTP. `random` is any byte, which spreads the attempts of many
    /// clients to connect again over time.
    pub(crate) fn over_http(config: Config, random: u8) -> Self {
        let mut client = Self::over(config, BindingKind::Http);
        client.reconnect_rate.spread(random);
        client
    }

    fn over(config: Config, binding: BindingKind) -> Self {
        Self {
            conn: Conn::Unopened,
            reconnect_rate: ReconnectRate::default(),
            decisions: DecisionLog::default(),
            deadlines: Deadlines::new(),
            connects_alone: false,
            transport: Transport::default(),
            core: ClientCore::new(config, binding),
        }
    }

    /// Handles the opening of the stream, the first time or after [`ClientEvent::Reopen`].
    pub fn handle_opened(&mut self, now: Instant) {
        if let Conn::Unopened = self.conn {
            let Config { negotiation, verdict, .. } = &self.core.config;
            self.start_negotiation(now, Step::first(*negotiation, verdict.as_ref()));
        } else if let Conn::Reopening { step, before } = self.conn {
            self.renegotiate(now, step, before);
        }
    }

    /// Handles a message of the server.
    pub fn handle_message(&mut self, now: Instant, incoming: Incoming) {
        self.handle_message_of(now, incoming, MessageSource::default());
    }

    /// Handles the end of the server's output. A driver that stops reading also calls this.
    pub fn handle_eof(&mut self, now: Instant) {
        match &self.conn {
            Conn::Reopening { before, .. } => {
                self.end_negotiation(now, before.era(), ConnectError::Closed);
            }
            Conn::Unopened => self.end(now, Some(ConnectError::Closed)),
            Conn::Negotiating(negotiating) => match negotiating.before() {
                // This connection had a server of this era, which may already execute the earlier
                // requests.
                PriorServer::Here(era) => self.end_of_stream(now, era),
                PriorServer::Nothing | PriorServer::Earlier(_) => {
                    self.decide(now, probe::ProbeOutcome::Eof);
                }
            },
            Conn::Modern(_) if self.is_in_doubt() => self.decide(now, probe::ProbeOutcome::Eof),
            Conn::Modern(_) => self.end_of_stream(now, Era::Modern),
            Conn::Legacy(_) => self.end_of_stream(now, Era::Legacy),
            Conn::Unconnected(_) | Conn::Closed => {}
        }
    }

    /// Handles the deadlines that are due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((_, reason)) = self.next_deadline().filter(|(at, _)| *at <= now) {
            self.deadlines.clear(reason);
            match reason {
                ClientTimer::Negotiation => self.handle_probe_timeout(now),
                ClientTimer::Recovery => self.reconnect(now),
                ClientTimer::Held => {
                    self.core.outbox.expire();
                    self.send_held(now);
                }
                ClientTimer::Call => {
                    for number in self.core.calls.expire(now) {
                        self.expire_call(now, number);
                    }
                }
            }
        }
    }

    /// Closes the connection: each call and each subscription ends.
    pub fn close(&mut self, now: Instant) {
        match &self.conn {
            Conn::Closed => {}
            _ if self.reconnect_rate.has_connected() => self.end(now, None),
            Conn::Unopened | Conn::Reopening { .. } | Conn::Negotiating(_) => {
                self.end(now, Some(ConnectError::Closed));
            }
            Conn::Modern(_) | Conn::Legacy(_) | Conn::Unconnected(_) => self.end(now, None),
        }
    }

    /// Sets the declared capabilities, from the next message on: a modern server reads them in
    /// every request, a legacy server only in `initialize`. [`Client::set_roots`] also declares
    /// roots.
    pub fn set_capabilities(&mut self, capabilities: ClientCapabilities) {
        let declared = &mut self.core.config.capabilities;
        let roots = declared.roots;
        *declared = capabilities;
        if self.core.inputs.has_roots() && declared.roots.is_none() {
            declared.roots = roots;
        }
        self.rebuild_envelope();
    }

    /// The server, once the era is known.
    pub fn server(&self) -> Option<&ServerInfo> {
        self.conn.server()
    }

    /// The era that the server belongs to, once it is known.
    pub fn era(&self) -> Option<Era> {
        self.conn.era()
    }

    /// Verdict about the server, for storage; `None` until the era is known.
    pub fn verdict(&self) -> Option<Verdict> {
        if let Some(modern) = self.conn.modern() {
            return Some(modern.verdict.clone());
        }
        let verdict = self.conn.version().map(Verdict::new)?;
        Some(Verdict { transport: self.transport, ..verdict })
    }

    /// Rows of [`probe::TABLE`] that decided in the last negotiation, in order, also after a
    /// failure. Rows that do not lead to another step are left out, so there is at most one for
    /// each [step](probe::Step). Over HTTP a row of
    /// [`answer::TABLE`](crate::http::client::answer::TABLE) may follow each of them: the client
    /// then tries HTTP+SSE.
    pub fn decisions(&self) -> &[Decision] {
        self.decisions.decisions()
    }

    /// For each of the [`decisions`](Self::decisions), the error that it is about: the error of the
    /// server, or the reason why there was no answer. `None` after a result, or if nothing came in
    /// time. An error has at most 1,000 characters of its message, and no data.
    pub fn decision_errors(&self) -> &[Option<CallError>] {
        self.decisions.errors()
    }

    /// For drivers: the server does not read, and enough output is buffered. Calls are held until
    /// [`Client::handle_unblocked`], while their timeouts run; answers and cancellations are not
    /// held.
    pub fn handle_blocked(&mut self) {
        self.core.outbox.set_blocked(true);
    }

    /// For drivers: there is room for more messages. Sends the held calls.
    pub fn handle_unblocked(&mut self, now: Instant) {
        self.core.outbox.set_blocked(false);
        self.send_held(now);
    }

    /// Returns whether the driver has reported that the server does not read.
    pub fn is_blocked(&self) -> bool {
        self.core.outbox.is_blocked()
    }

    /// The next action.
    pub fn poll_action(&mut self) -> Option<ClientAction> {
        self.core.outbox.poll()
    }

    /// The next action if it is to send a message.
    pub(crate) fn poll_send(&mut self) -> Option<Outgoing> {
        self.core.outbox.poll_send()
    }

    /// The next action if it is not to send a message.
    pub(crate) fn poll_event(&mut self) -> Option<Action<ClientEvent>> {
        self.core.outbox.poll_event()
    }

    /// Time by which [`Client::handle_timeout`] must be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.next_deadline().map(|(at, _)| at)
    }

    /// Returns whether the driver should read more messages: all actions are polled, and the
    /// connection is open.
    pub fn wants_read(&self) -> bool {
        let is_connected = self.conn.is_open() && !matches!(self.conn, Conn::Unconnected(_));
        is_connected && self.core.outbox.is_empty()
    }

    /// Sets whether the client connects again also without a call, for subscriptions that a bridge
    /// keeps: they are no calls.
    pub(crate) fn connect_alone(&mut self, now: Instant, connects_alone: bool) {
        self.connects_alone = connects_alone;
        if connects_alone {
            self.call_unconnected(now);
        } else {
            self.schedule(now);
        }
    }

    /// Returns whether the transport is HTTP.
    pub(crate) fn is_over_http(&self) -> bool {
        self.core.binding == BindingKind::Http
    }

    /// The requests that renew a subscription, and whose timeout has passed. The binding may send
    /// them again.
    pub(crate) fn late_subscriptions(&self, now: Instant) -> Vec<RequestId> {
        let has_begun = |id| self.core.subscriptions.has_begun(id);
        let is_late = |call: &Call| {
            let subscription = call.listens().or_else(|| call.subscribes());
            call.due <= now && call.is_sent() && subscription.is_some_and(has_begun)
        };
        self.core.calls.numbers_of(is_late).into_iter().map(compose::id).collect()
    }

    /// Returns whether the response to this request has a deadline.
    pub(crate) fn has_timeout(&self, id: &RequestId) -> bool {
        let call = calls::number(id).and_then(|number| self.core.calls.get(number));
        call.is_some_and(|call| {
            call.options.timeout != Duration::MAX || call.ends != Instant::NEVER
        })
    }

    /// Drops the lists of tools from the cache, since they differ from those of the server.
    pub(crate) fn drop_cached_tools(&mut self) {
        self.core.cache.handle_change(&Change::ListChanged(List::Tools));
    }

    /// Handles the end of the stream of a known server.
    fn end_of_stream(&mut self, now: Instant, era: Era) {
        if self.recovers() {
            self.stream_ended(now, era, ConnectError::Lost);
        } else {
            self.end(now, None);
        }
    }

    /// Handles a failed negotiation. `era` is that of the earlier server, if there was one.
    fn end_negotiation(&mut self, now: Instant, era: Era, error: ConnectError) {
        if self.recovers() {
            self.abort_probe();
            self.attempt_failed(now, era, error);
        } else {
            self.end(now, Some(error));
        }
    }

    /// Ends every call and every subscription, and closes the client.
    fn end(&mut self, now: Instant, error: Option<ConnectError>) {
        self.conn = Conn::Closed;
        self.deadlines.clear(ClientTimer::Negotiation);
        self.deadlines.clear(ClientTimer::Recovery);
        let cause = error.clone().map_or(CallError::Closed, CallError::Connect);
        self.core.end(now, &mut self.conn, &cause);
        self.core.outbox.event(ClientEvent::Closed(error));
        self.core.outbox.close();
    }

    /// The earliest deadline of the client and of its parts.
    fn next_deadline(&self) -> Option<(Instant, ClientTimer)> {
        let call = self.core.calls.next_due().map(|at| (at, ClientTimer::Call));
        let held = self.core.outbox.next_due().map(|at| (at, ClientTimer::Held));
        self.deadlines.first().into_iter().chain(call).chain(held).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::UsageError;
    use crate::json::Json;
    use crate::types::Implementation;

    #[test]
    fn refused_notification_takes_no_room() {
        let mut config = Config::new(Implementation::new("c", "1"));
        config.limits.max_in_flight = 1;
        let mut client = Client::over_http(config, 0);
        let mut notify =
            |method: &'static str, params| client.notify(Instant::ZERO, method, params);
        assert!(notify("other", Json::EMPTY_OBJECT).is_err());
        assert!(notify("notifications/x", Json::constant("[]")).is_err());
        assert_eq!(notify("notifications/x", Json::EMPTY_OBJECT), Ok(()));
        let refused = notify("notifications/x", Json::EMPTY_OBJECT);
        assert_eq!(refused, Err(UsageError::TooManyCalls { max_in_flight: 1 }));
    }
}
