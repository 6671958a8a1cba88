//! From a response to what it means for its call.
//!
//! In: a response; the inputs that the application gives. Out: what came of the call that it belongs
//! to; or the next page; or, of a modern server, the input that it needs first.
//!
//! [Specification: Responses](https://modelcontextprotocol.io/specification/2026-07-28/basic#responses)

use alloc::string::String;

use super::calls::{self, Call, Goal, State};
use super::compose;
use super::http::Binding;
use super::inputs::{DroppedInput, Requester};
use super::legacy;
use super::negotiation::{self, probe::Outcome};
use super::recovery::Refusal;
use super::{CallError, Client, ClientEvent, InputReply, Life, Origin};
use crate::error::ProtocolError;
use crate::json::Json;
use crate::message::{ErrorData, RequestId, Response};
use crate::time::Instant;
use crate::version::Era;

impl Client {
    /// Gives what a server needs: the result of its request. An error goes to a legacy server as
    /// it is; a modern one cannot be told, and the call ends with [`CallError::InputRefused`].
    /// What is not wanted any more is dropped.
    #[expect(clippy::needless_pass_by_value, reason = "the right to answer is used up")]
    pub fn answer(&mut self, now: Instant, reply: InputReply, answer: Result<Json, ErrorData>) {
        let Some(requester) = self.inputs.take(reply.id) else { return };
        let answer = match answer {
            Ok(result) if !result.raw().is_object() => {
                Err(ErrorData::internal("the client's result is no JSON object"))
            }
            answer => answer,
        };
        match requester {
            Requester::Request { id, batch, .. } => {
                if self.binding == Binding::Http {
                    self.inputs.record_answer(id.clone(), reply.id);
                }
                if let Life::Legacy(session) = &mut self.life {
                    session.respond(batch, legacy::answer(id, answer), &mut self.outbox);
                }
                self.calls.resume(now, &self.inputs);
            }
            Requester::Call { call, key } => {
                let Some(number) = self.calls.find(call) else { return };
                let Some(mut call) = self.calls.remove(number) else { return };
                match answer.map(|answer| call.give(key, answer)) {
                    Ok(true) => self.send_anew(now, call),
                    Ok(false) => self.calls.insert(number, call),
                    Err(error) => self.finish(now, call, Err(CallError::InputRefused(error))),
                }
            }
        }
    }

    /// An input is not wanted any more.
    pub(super) fn drop_input(&mut self, dropped: DroppedInput) {
        let DroppedInput { id, batch } = dropped;
        self.leave_batch(batch);
        self.outbox.event(ClientEvent::InputCancelled { input: id });
    }

    pub(super) fn response(&mut self, now: Instant, response: Response, origin: Origin) {
        let Some(Response { id, body, .. }) = self.negotiation_response(now, response) else {
            return;
        };
        let Some(id) = id else { return self.outbox.fault(ProtocolError::UnexpectedResponse) };
        let Some(number) = calls::number(&id).filter(|number| self.is_awaited(*number)) else {
            return self.stray(&id);
        };
        match body {
            Err(error) => self.refused(now, number, error, origin),
            Ok(result) => self.answered(now, number, result),
        }
    }

    /// A response that cannot be read.
    pub(super) fn unreadable_response(
        &mut self,
        now: Instant,
        id: &RequestId,
        error: ProtocolError,
    ) {
        if self.negotiation_unreadable(now, id) {
            return;
        }
        let number = calls::number(id).filter(|number| self.is_awaited(*number));
        if let Some(call) = number.and_then(|number| self.calls.remove(number)) {
            self.finish(now, call, Err(CallError::Protocol(error)));
        }
    }

    pub(super) fn is_awaited(&self, number: u64) -> bool {
        self.calls.get(number).is_some_and(Call::is_sent)
    }

    /// A response to no call.
    fn stray(&mut self, id: &RequestId) {
        let abandoned = calls::number(id).is_some_and(|number| self.calls.take_abandoned(number));
        // The ids of probes are strings like this one, and an answer may come late.
        if !abandoned && !id.canonical_str().starts_with("\"discover-") {
            self.outbox.fault(ProtocolError::UnexpectedResponse);
        }
    }

    /// The server has answered with an error.
    fn refused(&mut self, now: Instant, number: u64, error: ErrorData, origin: Origin) {
        let Origin { status, is_resumed, .. } = origin;
        if negotiation::is_modern(error.code)
            && matches!(&self.life, Life::Modern(modern) if !modern.confirmed)
        {
            self.judge(now, Outcome::Modern);
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
        let kind = if self.era() == Some(Era::Legacy) { Kind::Complete } else { kind(&result) };
        match kind {
            Kind::Complete | Kind::InputRequired => self.served_typed(now),
            Kind::Untyped => self.served_untyped(now),
            Kind::Unknown(_) => {}
        }
        let Some(call) = self.calls.remove(number) else { return };
        if !result.raw().is_object() {
            let error = ProtocolError::InvalidResult { expected: "an object" };
            return self.finish(now, call, Err(CallError::Protocol(error)));
        }
        match kind {
            Kind::Complete | Kind::Untyped => self.complete(now, call, result),
            Kind::InputRequired => self.require_input(now, number, call, &result),
            Kind::Unknown(name) => {
                let error = ProtocolError::UnknownResultType { name };
                self.finish(now, call, Err(CallError::Protocol(error)));
            }
        }
    }

    fn require_input(&mut self, now: Instant, number: u64, mut call: Call, result: &Json) {
        match self.inputs.require(&call, result, &self.config, &mut self.outbox) {
            Ok(asking) => {
                call.rounds += 1;
                let is_complete = asking.missing.is_empty();
                call.state = State::Asking(asking);
                if is_complete {
                    return self.send_anew(now, call);
                }
                call.rest();
                self.calls.insert(number, call);
            }
            Err(error) => self.finish(now, call, Err(CallError::Protocol(error))),
        }
    }

    fn complete(&mut self, now: Instant, mut call: Call, result: Json) {
        let Goal::Pages(pages) = &mut call.goal else { return self.finish(now, call, Ok(result)) };
        let cursor = match pages.push(&result) {
            Err(error) => return self.finish(now, call, Err(CallError::Protocol(error))),
            Ok(None) => {
                let list = pages.whole();
                return self.finish(now, call, Ok(list));
            }
            Ok(Some(cursor)) => cursor,
        };
        let limits = &self.config.limits;
        if pages.is_full(limits) {
            let max_pages = limits.max_pages;
            let max_list_bytes = limits.max_list_bytes;
            let error = ProtocolError::ListTooLong { max_pages, max_list_bytes };
            return self.finish(now, call, Err(CallError::Protocol(error)));
        }
        call.params = compose::with_cursor(&call.params, cursor);
        self.send_anew(now, call);
    }
}

/// What a modern result says that it is.
enum Kind {
    Complete,
    InputRequired,
    /// It does not say; it is complete.
    Untyped,
    Unknown(String),
}

fn kind(result: &Json) -> Kind {
    if result.as_bytes().starts_with(b"{\"resultType\":\"complete\"") {
        return Kind::Complete;
    }
    let Some(kind) = result.raw().member("resultType") else { return Kind::Untyped };
    match kind.string().as_deref() {
        Some("complete") => Kind::Complete,
        Some("input_required") => Kind::InputRequired,
        Some(other) => Kind::Unknown(other.chars().take(100).collect()),
        None => Kind::Unknown(String::new()),
    }
}
