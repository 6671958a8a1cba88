//! Way of a message in, and what the binding to HTTP knows beside it.
//!
//! In: messages with the HTTP response that they came on, requests that no response will come to.
//! Out: what [`Work`] makes of them; what the tables of `probe` and `recovery` make of refusals.
//!
//! [`Work`]: super::work::Work
//! [Specification: Responses](https://modelcontextprotocol.io/specification/2026-07-28/basic#responses)

use bytes::Bytes;

use super::binding::MessageSource;
use super::call::{Call, Goal};
use super::calls;
use super::event::{InputId, SubscriptionId};
use super::forward;
use super::life::Life;
use super::negotiation::probe::Outcome;
use super::negotiation::{self, ProbeResult, ResponseMeaning};
use super::recovery::Refusal;
use super::result::ResultType;
use super::work::Work;
use super::{CallError, CallOptions, Client, ClientEvent, Reason};
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
        if !self.life.is_open() {
            return;
        }
        match (&self.life, incoming) {
            (_, Incoming::Message(message)) => self.message(now, message, origin),
            (Life::Legacy(session), Incoming::Batch(batch)) if session.has_batches() => {
                self.batch(now, &batch, origin);
            }
            (_, Incoming::Batch(_)) => self.work.outbox.fault(ProtocolError::UnexpectedBatch),
        }
    }

    pub(super) fn message(&mut self, now: Instant, message: Message, origin: MessageSource) {
        if let Message::Response(response) = message {
            return self.response(now, response, origin);
        }
        if let Some(negotiating) = self.life.negotiating_mut() {
            return negotiating.keep(message, &mut self.work.outbox);
        }
        match message {
            Message::Request(request) if self.life.is_open() => {
                self.work.request(&mut self.life, request, origin);
            }
            Message::Notification(notification) => {
                let work = &mut self.work;
                let forwards = work.config.forwards && notification.method != Method::Cancelled;
                let has_advanced = if forwards {
                    let Work { calls, inputs, outbox, .. } = work;
                    forward::notification(now, calls, inputs, notification, origin.call, outbox)
                } else {
                    work.notification(now, &mut self.life, &notification)
                };
                if has_advanced {
                    self.restart_confirmation_timer(now);
                }
            }
            Message::Request(_) | Message::Response(_) => {}
        }
    }

    fn batch(&mut self, now: Instant, batch: &Batch, origin: MessageSource) {
        let Life::Legacy(session) = &mut self.life else { return };
        let (id, texts) = match session.begin_batch(batch, &self.work.config.limits) {
            Ok(begun) => begun,
            Err(error) => return self.work.outbox.fault(error),
        };
        let origin = MessageSource { batch: Some(id), ..origin };
        for text in texts {
            match message::parse(&text, &self.work.config.limits) {
                Ok(Incoming::Message(message)) => self.message(now, message, origin),
                Ok(Incoming::Batch(_)) => self.work.outbox.fault(ProtocolError::NotAMessage),
                Err(malformed) => self.handle_malformed(now, malformed),
            }
        }
        self.life.leave_batch(Some(id), &mut self.work.outbox);
    }

    /// The server sent something that is no message.
    pub fn handle_malformed(&mut self, now: Instant, malformed: Malformed) {
        if !self.life.is_open() {
            return;
        }
        let Malformed { error, id, answerable } = malformed;
        self.work.outbox.fault(error.clone());
        let Some(id) = id.filter(|_| !answerable) else { return };
        // It is a response.
        if let Some(outcome) = self.life.negotiating().and_then(|it| it.unreadable(&id)) {
            self.decide(now, outcome);
        } else if let Some(number) = self.work.calls.awaited(&id) {
            self.work.fail(now, &mut self.life, number, CallError::Protocol(error));
        }
    }

    fn response(&mut self, now: Instant, response: Response, origin: MessageSource) {
        let chosen = self.work.config.negotiation;
        let heard = match self.life.negotiating_mut() {
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
            return self.work.outbox.fault(ProtocolError::UnexpectedResponse);
        };
        let Some(number) = self.work.calls.awaited(&id) else { return self.stray(&id) };
        match body {
            Err(error) => self.refused(now, number, error, origin),
            Ok(result) => self.answered(now, number, result),
        }
    }

    /// A response to no call.
    fn stray(&mut self, id: &RequestId) {
        let number = calls::number(id);
        let abandoned = number.is_some_and(|number| self.work.calls.take_abandoned(number));
        // The ids of probes are strings like this one, and an answer may come late.
        if !abandoned && !id.canonical_str().starts_with("\"discover-") {
            self.work.outbox.fault(ProtocolError::UnexpectedResponse);
        }
    }

    /// The server has answered with an error.
    fn refused(&mut self, now: Instant, number: u64, error: ErrorData, origin: MessageSource) {
        let MessageSource { status, is_resumed, .. } = origin;
        if negotiation::is_modern(error.code) && self.life.is_unconfirmed() {
            self.decide(now, Outcome::Modern);
        }
        let refusal = if is_resumed {
            Refusal::Unavailable
        } else {
            Refusal::of_error(&error, status, self.version())
        };
        self.refuse_call(now, number, refusal, CallError::Error { error, status });
    }

    /// The server has answered with a result.
    fn answered(&mut self, now: Instant, number: u64, result: Json) {
        let mut kind =
            if self.life.is_legacy() { ResultType::Complete } else { ResultType::of(&result) };
        match kind {
            ResultType::Complete | ResultType::InputRequired => self.served_typed(now),
            ResultType::Untyped => self.served_untyped(now),
            ResultType::Unknown(_) => {}
        }
        if self.work.config.forwards {
            kind = ResultType::Complete;
        }
        if let Some(call) = self.work.answered(now, &mut self.life, number, kind, result) {
            self.send_anew(now, call);
        }
    }

    /// No response will come to the request with this id, for this reason.
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
        } else if let Some(number) = self.work.calls.awaited(id) {
            self.refuse_call(now, number, refusal, error);
        }
    }

    /// A request did not leave the client: it waits for the next session.
    pub(crate) fn handle_unsent(&mut self, id: &RequestId) {
        let number = self.work.calls.awaited(id);
        if let Some(call) = number.and_then(|number| self.work.calls.get_mut(number))
            && let Goal::Answer | Goal::Pages(_) = call.goal
        {
            call.wait();
        }
    }

    /// The request of a subscription broke; it is sent again, under another id.
    pub(crate) fn listen_again(&mut self, now: Instant, id: &RequestId) {
        let number = calls::number(id);
        if let Some(mut call) = number.and_then(|number| self.work.calls.remove(number)) {
            call.begin_anew();
            self.send_anew(now, call);
        }
    }

    /// Asks a legacy server with `ping` whether it knows the session. The binding sees the answer.
    pub(crate) fn check_session(&mut self, now: Instant) {
        let params = Json::EMPTY_OBJECT;
        let options = CallOptions::default();
        // If there is no room for it, there are requests in flight that ask the same.
        let _ = self.start(now, "ping".into(), params, options, Goal::Nobody);
    }

    /// A legacy server has no stream for what it sends outside of calls: subscriptions end, those
    /// that are yet to come as well, until the server is another one.
    pub(crate) fn handle_no_stream(&mut self, now: Instant, cause: CallError) {
        if self.life.is_legacy() {
            self.work.subscriptions.end_without_stream(cause, &mut self.work.outbox);
            self.work.send_asks(now, &mut self.life);
        }
    }

    /// The stream of a legacy session has a gap: whatever is subscribed to may have changed.
    pub(crate) fn changes_missed(&mut self) {
        self.work.subscriptions.changes_missed(&mut self.work.outbox);
    }

    /// So many messages without a response have not been accepted by the server.
    pub(crate) fn set_unaccepted(&mut self, unaccepted: usize) {
        self.work.outbox.set_unaccepted(unaccepted);
    }

    /// The origin of what came on the HTTP response to the request with this id.
    pub(crate) fn origin(
        &self,
        id: Option<&RequestId>,
        status: u16,
        is_resumed: bool,
    ) -> MessageSource {
        let call = id.and_then(|id| self.call_of(id)).map(|call| call.id);
        MessageSource { batch: None, call, status: Some(status), is_resumed }
    }

    fn call_of(&self, id: &RequestId) -> Option<&Call> {
        calls::number(id).and_then(|number| self.work.calls.get(number))
    }

    /// Returns whether a response to the request with this id is waited for.
    pub(crate) fn awaits(&self, id: &RequestId) -> bool {
        self.is_probe(id) || self.work.calls.awaited(id).is_some()
    }

    /// Returns whether the request with this id asks what the server is.
    pub(crate) fn is_probe(&self, id: &RequestId) -> bool {
        self.life.negotiating().is_some_and(|negotiating| negotiating.has_in_flight(id))
    }

    /// The subscription that the request with this id is.
    pub(crate) fn subscription_of(&self, id: &RequestId) -> Option<SubscriptionId> {
        self.work.calls.subscription(calls::number(id)?)
    }

    /// Returns whether the server has honoured the subscription that the request with this id is.
    pub(crate) fn has_begun(&self, id: &RequestId) -> bool {
        self.subscription_of(id).is_some_and(|id| self.work.subscriptions.has_begun(id))
    }

    /// Returns whether the request with this id subscribes to a resource of a legacy server, and a
    /// subscription of the application still wants that.
    pub(crate) fn subscribes(&self, id: &RequestId) -> bool {
        let subscription = self.call_of(id).and_then(Call::subscribes);
        subscription.is_some_and(|id| self.work.subscriptions.contains(id))
    }

    /// The requests of a legacy server that were answered since
    /// [`forget_answered_inputs`](Self::forget_answered_inputs), and the inputs that they asked for.
    pub(crate) fn answered_inputs(&self) -> &[(RequestId, InputId)] {
        self.work.inputs.answered()
    }

    /// The binding has taken the answers.
    pub(crate) fn forget_answered_inputs(&mut self) {
        self.work.inputs.forget_answered();
    }

    /// A request waits in the binding: the time for its response rests meanwhile.
    pub(crate) fn rest_request(&mut self, id: &RequestId) {
        if self.is_probe(id) {
            self.deadlines.clear(Reason::Negotiation);
        }
        let number = calls::number(id);
        if let Some(call) = number.and_then(|number| self.work.calls.get_mut(number)) {
            call.rest();
        }
    }

    /// A request that has waited in the binding goes out.
    pub(crate) fn restart_request(&mut self, now: Instant, id: &RequestId) {
        if self.is_probe(id) {
            let timeout = self.work.config.initialize_timeout;
            self.deadlines.set(Reason::Negotiation, now + timeout);
        }
        if let Some(number) = calls::number(id) {
            self.work.calls.restart(now, number, &self.work.inputs);
        }
    }

    /// The version that is spoken with the server, once it is known. A request that goes out before
    /// has its version in its parameters.
    pub(crate) fn version(&self) -> Option<ProtocolVersion> {
        self.life.version()
    }

    /// The first members of the parameters of a request of the binding's own, if the server is
    /// modern.
    pub(crate) fn stamp(&self) -> Option<Bytes> {
        self.life.modern().map(|modern| modern.envelope.stamp())
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.work.config.limits
    }

    pub(crate) fn fault(&mut self, error: ProtocolError) {
        self.work.outbox.fault(error);
    }

    pub(crate) fn event(&mut self, event: ClientEvent) {
        self.work.outbox.event(event);
    }
}

/// Returns whether two ids are those of the same request of ours, however a server has spelled one
/// of them.
pub(crate) fn is_same_request(one: &RequestId, other: &RequestId) -> bool {
    one == other || calls::number(one).is_some_and(|number| calls::number(other) == Some(number))
}

/// Returns whether only a modern server answers with this code; -32022 is one of these.
pub(crate) fn is_modern_error(code: ErrorCode) -> bool {
    negotiation::is_modern(code) || code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
}
