//! Handling of messages from the server, and of reports by the binding to HTTP.
//!
//! In: messages with their HTTP responses, requests that will get no response. Out: the results of
//! [`ClientCore`]; for refusals, the moves of the tables of `probe` and `recovery`.
//!
//! [`ClientCore`]: super::client_core::ClientCore
//! [Specification: Responses](https://modelcontextprotocol.io/specification/2026-07-28/basic#responses)

use alloc::vec::Vec;

use bytes::Bytes;

use super::binding::MessageSource;
use super::call::{Call, Goal, State};
use super::calls;
use super::client_core::ClientCore;
use super::connection::Conn;
use super::event::{CallId, InputId, SubscriptionId};
use super::forward;
use super::negotiation::probe::ProbeOutcome;
use super::negotiation::{self, ProbeResult, ResponseMeaning};
use super::recovery::Refusal;
use super::result::ResultType;
use super::{
    CallError, CallOptions, Client, ClientEvent, ClientTimer, ConnectError, Decision, Negotiation,
    Transport,
};
use crate::error::{ErrorCode, ProtocolError};
use crate::json::Json;
use crate::limits::Limits;
use crate::message::{
    self, Batch, ErrorData, Incoming, Malformed, Message, Method, RequestId, Response,
};
use crate::time::Instant;
use crate::version::ProtocolVersion;

impl Client {
    pub(crate) fn handle_message_of(
        &mut self,
        now: Instant,
        incoming: Incoming,
        origin: MessageSource,
    ) {
        if !self.conn.is_open() {
            return;
        }
        match (&self.conn, incoming) {
            (_, Incoming::Message(message)) => self.message(now, message, origin),
            (Conn::Legacy(session), Incoming::Batch(batch)) if session.has_batches() => {
                self.batch(now, &batch, origin);
            }
            (_, Incoming::Batch(_)) => self.core.outbox.fault(ProtocolError::UnexpectedBatch),
        }
    }

    pub(super) fn message(&mut self, now: Instant, message: Message, origin: MessageSource) {
        if let Message::Response(response) = message {
            return self.response(now, response, origin);
        }
        if let Some(negotiating) = self.conn.negotiating_mut() {
            return negotiating.keep(message, &mut self.core.outbox);
        }
        match message {
            Message::Request(request) if self.conn.is_open() => {
                self.core.request(&mut self.conn, request, origin);
            }
            Message::Notification(notification) => {
                let core = &mut self.core;
                let forwards = core.config.forwards && notification.method != Method::Cancelled;
                let has_advanced = if forwards {
                    let ClientCore { calls, inputs, outbox, .. } = core;
                    forward::notification(now, calls, inputs, notification, origin.call, outbox)
                } else {
                    core.notification(now, &mut self.conn, &notification)
                };
                if has_advanced {
                    self.restart_confirmation_timer(now);
                }
                self.poll_told_tasks(now);
            }
            Message::Request(_) | Message::Response(_) => {}
        }
    }

    fn batch(&mut self, now: Instant, batch: &Batch, origin: MessageSource) {
        let Conn::Legacy(session) = &mut self.conn else { return };
        let (id, texts) = match session.begin_batch(batch, &self.core.config.limits) {
            Ok(begun) => begun,
            Err(error) => return self.core.outbox.fault(error),
        };
        let origin = MessageSource { batch: Some(id), ..origin };
        for text in texts {
            match message::parse(&text, &self.core.config.limits) {
                Ok(Incoming::Message(message)) => self.message(now, message, origin),
                Ok(Incoming::Batch(_)) => self.core.outbox.fault(ProtocolError::NotAMessage),
                Err(malformed) => self.handle_malformed(now, malformed),
            }
        }
        self.conn.leave_batch(Some(id), &mut self.core.outbox);
    }

    /// Handles input of the server that is not a message.
    pub fn handle_malformed(&mut self, now: Instant, malformed: Malformed) {
        if !self.conn.is_open() {
            return;
        }
        let Malformed { error, id, answerable } = malformed;
        self.core.outbox.fault(error.clone());
        let Some(id) = id.filter(|_| !answerable) else { return };
        // The input is a response.
        if let Some(outcome) = self.conn.negotiating().and_then(|it| it.unreadable(&id)) {
            self.decide(now, outcome);
        } else if let Some(number) = self.core.calls.awaited(&id) {
            self.core.fail(now, &mut self.conn, number, CallError::Protocol(error));
        }
    }

    fn response(&mut self, now: Instant, response: Response, origin: MessageSource) {
        let chosen = self.core.config.negotiation;
        let heard = match self.conn.negotiating_mut() {
            Some(negotiating) => negotiating.response(response, chosen),
            None => ResponseMeaning::OfCall(response),
        };
        let Response { id, body, .. } = match heard {
            ResponseMeaning::OfCall(response) => response,
            ResponseMeaning::Outcome(outcome, found) => {
                return self.decide_with(now, outcome, *found);
            }
            ResponseMeaning::Nothing => return,
        };
        let Some(id) = id else {
            return self.core.outbox.fault(ProtocolError::UnexpectedResponse);
        };
        let Some(number) = self.core.calls.awaited(&id) else {
            return self.handle_unmatched_response(now, &id, body.as_ref().ok());
        };
        match body {
            Err(error) => self.refused(now, number, error, origin),
            Ok(result) => self.answered(now, number, result),
        }
    }

    /// Handles a response that belongs to no call.
    fn handle_unmatched_response(&mut self, now: Instant, id: &RequestId, result: Option<&Json>) {
        let number = calls::number(id);
        let abandoned = number.is_some_and(|number| self.core.calls.take_abandoned(number));
        if let Some(result) = result.filter(|_| abandoned) {
            self.drop_task(now, result);
        }
        // The ids of probes are strings of this form, and an answer may be late.
        if !abandoned && !id.canonical_str().starts_with("\"discover-") {
            self.core.outbox.fault(ProtocolError::UnexpectedResponse);
        }
    }

    /// Handles an error in response to a call.
    fn refused(&mut self, now: Instant, number: u64, error: ErrorData, origin: MessageSource) {
        let MessageSource { status, is_resumed, .. } = origin;
        if negotiation::is_modern(error.code) && self.conn.is_unconfirmed() {
            self.decide(now, ProbeOutcome::Modern);
        }
        let refusal = Refusal::of_error(&error, status, self.version());
        let error = CallError::Error { error, status };
        if is_resumed {
            return self.refuse_call(now, number, Refusal::Unavailable, error.of_accepted_call());
        }
        self.refuse_call(now, number, refusal, error);
    }

    /// Handles a result in response to a call.
    fn answered(&mut self, now: Instant, number: u64, result: Json) {
        let is_late = self.conn.is_legacy() && self.core.calls.is_modern(number);
        let is_legacy = self.conn.is_legacy() && !is_late;
        let mut kind = if is_legacy { ResultType::Complete } else { ResultType::of(&result) };
        match kind {
            // No server waits for this input any more.
            ResultType::InputRequired if is_late => {
                return self.core.fail(now, &mut self.conn, number, CallError::Interrupted);
            }
            ResultType::Complete | ResultType::InputRequired => self.handle_modern_evidence(now),
            ResultType::Untyped => self.handle_missing_result_type(now),
            ResultType::Unknown(_) if kind.is_task() && self.core.config.follow_tasks => {
                self.handle_modern_evidence(now);
            }
            ResultType::Unknown(_) => {}
        }
        self.reconnect_rate.answered();
        if self.core.config.forwards || self.forwards_input(number, &kind) {
            kind = ResultType::Complete;
        }
        if self.is_of_task(number, &kind) {
            return self.task_answered(now, number, &kind, result);
        }
        if let Some(call) = self.core.answered(now, &mut self.conn, number, kind, result) {
            self.send_anew(now, call);
        }
    }

    /// Returns whether the result asks for input, and the application forwards requests for input
    /// of this call.
    fn forwards_input(&self, number: u64, kind: &ResultType) -> bool {
        let call = self.core.calls.get(number);
        matches!(kind, ResultType::InputRequired)
            && call.is_some_and(|call| call.options.forward_input.is_some())
    }

    /// Handles a request that will get no response, for this reason.
    pub(crate) fn handle_lost(
        &mut self,
        now: Instant,
        id: &RequestId,
        refusal: Refusal,
        error: CallError,
    ) {
        if self.is_probe(id) {
            let discovers = calls::number(id).is_none();
            let (outcome, found) = ProbeResult::lost(error, discovers);
            self.decide_with(now, outcome, found);
        } else if let Some(number) = self.core.calls.awaited(id) {
            self.refuse_call(now, number, refusal, error);
        }
    }

    /// Handles the end of the stream of an HTTP+SSE server. Calls in flight fail; the next call
    /// begins another negotiation.
    pub(crate) fn handle_stream_lost(&mut self, now: Instant, reason: &str) {
        let Some(era) = self.era() else { return };
        let fails = |call: &Call| {
            call.is_sent() && matches!(call.goal, Goal::Answer { .. } | Goal::Pages(_))
        };
        for number in self.core.calls.numbers_of(fails) {
            self.core.fail(now, &mut self.conn, number, CallError::Connection(reason.into()));
        }
        self.stream_ended(now, era, ConnectError::Connection(reason.into()));
    }

    /// Records that the binding tries HTTP+SSE after this error, because of this row of
    /// `answer::TABLE`.
    pub(crate) fn handle_old_transport(
        &mut self,
        now: Instant,
        row: &'static str,
        error: CallError,
    ) {
        let Some(step) = self.conn.step() else { return };
        self.decisions.push(Decision::old_transport(now, step, row), Some(error));
    }

    /// Records the transport that the binding has found.
    pub(crate) fn set_transport(&mut self, transport: Transport) {
        self.transport = transport;
    }

    /// Returns whether the client may use this legacy revision.
    pub(crate) fn may_speak(&self, version: ProtocolVersion) -> bool {
        match self.core.config.negotiation {
            Negotiation::Auto | Negotiation::Legacy => true,
            Negotiation::Pinned(pinned) => pinned == version,
        }
    }

    /// Handles a request that was not sent: it waits for the next session.
    pub(crate) fn handle_unsent(&mut self, id: &RequestId) {
        let number = self.core.calls.awaited(id);
        if let Some(call) = number.and_then(|number| self.core.calls.get_mut(number))
            && let Goal::Answer { .. } | Goal::Pages(_) | Goal::Task(_) = call.goal
        {
            call.wait();
        }
    }

    /// Sends a broken subscription again, under another id.
    pub(crate) fn listen_again(&mut self, now: Instant, id: &RequestId) {
        let number = calls::number(id);
        if let Some(mut call) = number.and_then(|number| self.core.calls.remove(number)) {
            call.begin_anew();
            self.send_anew(now, call);
        }
    }

    /// Sends `ping` to check that a legacy server knows the session. The binding reads the answer.
    pub(crate) fn check_session(&mut self, now: Instant) {
        let params = Json::EMPTY_OBJECT;
        // If there is no room for the `ping`, the requests in flight show a lost session as well.
        let _ = self.start(now, "ping".into(), params, CallOptions::default(), Goal::Nobody);
    }

    /// Ends subscriptions, also later ones: a legacy server has no stream for messages outside of
    /// calls. Another server may have such a stream.
    pub(crate) fn handle_no_stream(&mut self, now: Instant, cause: CallError) {
        if self.conn.is_legacy() {
            self.core.subscriptions.end_without_stream(cause, &mut self.core.outbox);
            self.core.send_resource_requests(now, &mut self.conn);
        }
    }

    /// Handles a gap in the stream of a legacy session: every subscribed item may have changed.
    pub(crate) fn report_missed_changes(&mut self) {
        if self.core.config.forwards {
            return self.core.outbox.event(ClientEvent::ChangesMissed);
        }
        self.core.subscriptions.report_missed_changes(&mut self.core.outbox);
    }

    /// Sets the number of messages without a response that the server has not accepted.
    pub(crate) fn set_unaccepted(&mut self, unaccepted: usize) {
        self.core.outbox.set_unaccepted(unaccepted);
    }

    /// The source of a message in the HTTP response to the request with this id, even if it ended.
    pub(crate) fn origin(
        &self,
        id: Option<&RequestId>,
        status: u16,
        is_resumed: bool,
    ) -> MessageSource {
        let ended = id.and_then(calls::number).map(CallId);
        let call = id.and_then(|id| self.call_of(id)).map(|call| call.id).or(ended);
        MessageSource { batch: None, call, status: Some(status), is_resumed }
    }

    /// The number of the last request of a call, if the call is in flight.
    pub(crate) fn request_number(&self, call: CallId) -> Option<u64> {
        self.core.calls.find(call)
    }

    fn call_of(&self, id: &RequestId) -> Option<&Call> {
        calls::number(id).and_then(|number| self.core.calls.get(number))
    }

    /// Returns whether the client waits for a response to the request with this id.
    pub(crate) fn awaits(&self, id: &RequestId) -> bool {
        self.is_probe(id) || self.core.calls.awaited(id).is_some()
    }

    /// Returns whether the request with this id belongs to a negotiation.
    pub(crate) fn is_probe(&self, id: &RequestId) -> bool {
        self.conn.negotiating().is_some_and(|negotiating| negotiating.has_in_flight(id))
    }

    /// The subscription of the request with this id.
    pub(crate) fn subscription_of(&self, id: &RequestId) -> Option<SubscriptionId> {
        self.core.calls.subscription(calls::number(id)?)
    }

    /// Returns whether the server has honoured the subscription of the request with this id.
    pub(crate) fn has_begun(&self, id: &RequestId) -> bool {
        self.subscription_of(id).is_some_and(|id| self.core.subscriptions.has_begun(id))
    }

    /// Returns whether the request with this id subscribes to a resource of a legacy server, and a
    /// subscription of the application still needs it.
    pub(crate) fn subscribes(&self, id: &RequestId) -> bool {
        let subscription = self.call_of(id).and_then(Call::subscribes);
        subscription.is_some_and(|id| self.core.subscriptions.contains(id))
    }

    /// The requests of a legacy server that were answered since
    /// [`clear_answered_inputs`](Self::clear_answered_inputs), and their inputs.
    pub(crate) fn answered_inputs(&self) -> &[(RequestId, InputId)] {
        self.core.inputs.answered()
    }

    /// Clears the list of answered requests after the binding has polled the answers.
    pub(crate) fn clear_answered_inputs(&mut self) {
        self.core.inputs.clear_answered();
    }

    /// Pauses the timeout of a request that waits in the binding; `is_queued` if it was not sent.
    pub(crate) fn pause_timeout(&mut self, id: &RequestId, is_queued: bool) {
        if self.is_probe(id) {
            self.deadlines.clear(ClientTimer::Negotiation);
        }
        let number = calls::number(id);
        if let Some(call) = number.and_then(|number| self.core.calls.get_mut(number)) {
            call.pause_timeout();
            if let State::Sent { era, .. } = call.state {
                call.state = State::Sent { era, is_queued, is_paused: true };
            }
        }
    }

    /// Restarts the timeout of a request that has waited in the binding and is sent now.
    pub(crate) fn restart_request(&mut self, now: Instant, id: &RequestId) {
        if self.is_probe(id) {
            let timeout = self.core.config.initialize_timeout;
            self.deadlines.set(ClientTimer::Negotiation, now + timeout);
        }
        if let Some(number) = calls::number(id) {
            self.core.calls.restart(now, number, &self.core.inputs);
        }
    }

    /// The negotiated version, once it is known. A request that is sent earlier has its version in
    /// its parameters.
    pub(crate) fn version(&self) -> Option<ProtocolVersion> {
        self.conn.version()
    }

    /// The first members of the parameters in the binding's own requests, if the server is modern.
    pub(crate) fn stamp(&self) -> Option<Bytes> {
        self.conn.modern().map(|modern| modern.envelope.stamp())
    }

    /// Handles a possible change of the credentials.
    pub(crate) fn credentials_changed(&mut self) {
        self.core.cache.credentials_changed();
    }

    /// Returns whether the client connects again only for its subscriptions: no call waits.
    #[cfg(feature = "auth")]
    pub(crate) fn connects_for_subscriptions(&self) -> bool {
        let is_call = |call: &Call| call.waits() && call.listens().is_none();
        self.reconnect_rate.has_connected()
            && self.conn.server().is_none()
            && !self.core.calls.any(is_call)
    }

    /// Lists of tools that were found in the cache, so that the binding has not received them.
    pub(crate) fn take_found_tools(&mut self) -> Vec<Json> {
        self.core.cache.take_tools()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.core.config.limits
    }

    pub(crate) fn fault(&mut self, error: ProtocolError) {
        self.event(ClientEvent::PeerFault(error));
    }

    /// Reports an event of the transport. `Closed` is the last event, also if exchanges fail after
    /// it at the same time.
    pub(crate) fn event(&mut self, event: ClientEvent) {
        if !self.conn.is_closed() {
            self.core.outbox.event(event);
        }
    }
}

/// Returns whether two ids belong to the same request of this client, even if the server spells one
/// of them differently.
pub(crate) fn is_same_request(one: &RequestId, other: &RequestId) -> bool {
    one == other || calls::number(one).is_some_and(|number| calls::number(other) == Some(number))
}

/// Returns whether only modern servers answer with this code; -32022 is such a code.
pub(crate) fn is_modern_error(code: ErrorCode) -> bool {
    negotiation::is_modern(code) || code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
}
