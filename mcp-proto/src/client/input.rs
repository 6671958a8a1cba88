//! What a server needs of the client before it answers, in both eras.
//!
//! In: the requests of a legacy server; the `input_required` results of a modern one; what the
//! application gives. Out: an [`Input`] for each, and what was given: as a response to a legacy
//! server, as the same call once more to a modern one. Roots are given by the machine.
//!
//! [Specification: Multi Round-Trip Requests](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::calls::{Asking, Call, State};
use super::event::{Input, InputId, InputReply};
use super::http::Binding;
use super::{CallError, CallId, Client, ClientEvent};
use crate::error::ProtocolError;
use crate::json::Json;
use crate::limits::Limits;
use crate::message::{ErrorData, MethodRow, Outgoing, RequestId};
use crate::time::Instant;
use crate::types::{
    ElicitRequestParams, ElicitationCapability, InputRequest, InputResponse, InputResponses,
    ListRootsResult,
};

/// The inputs that the application has been asked for.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// With the bytes that each was asked for with.
    pending: BTreeMap<InputId, (Asker, usize)>,
    serials: u64,
    bytes: usize,
    /// For the binding to HTTP, the requests that were answered and whose answers it may not have
    /// taken.
    answered: Vec<(RequestId, InputId)>,
}

/// Who waits for an input.
#[derive(Debug)]
pub(super) enum Asker {
    /// A call of a modern server, under this key.
    Call { call: CallId, key: String },
    /// A request of a legacy server, of a batch perhaps; it is for the sake of this call, or of
    /// whichever.
    Request { id: RequestId, batch: Option<u64>, call: Option<CallId> },
}

impl Asked {
    /// Whether so many more inputs, of so many bytes in all, may be asked for.
    pub(super) fn admit(
        &self,
        count: usize,
        bytes: usize,
        limits: &Limits,
    ) -> Result<(), ProtocolError> {
        let Limits { max_in_flight, max_in_flight_bytes, .. } = *limits;
        if self.pending.len().saturating_add(count) > max_in_flight {
            return Err(ProtocolError::TooManyInFlight { max_in_flight });
        }
        if self.bytes.saturating_add(bytes) > max_in_flight_bytes {
            return Err(ProtocolError::TooManyBytesInFlight { max_in_flight_bytes });
        }
        Ok(())
    }

    fn insert(&mut self, asker: Asker, bytes: usize) -> InputId {
        self.serials += 1;
        let input = InputId(self.serials);
        self.pending.insert(input, (asker, bytes));
        self.bytes = self.bytes.saturating_add(bytes);
        input
    }

    /// The input that a legacy server's request asks for.
    pub(super) fn find(&self, wanted: &RequestId) -> Option<InputId> {
        let is_it = |asker: &Asker| matches!(asker, Asker::Request { id, .. } if id == wanted);
        self.pending.iter().find(|(_, (asker, _))| is_it(asker)).map(|(input, _)| *input)
    }

    /// Whether a legacy server waits for input for the sake of this call, or of whichever.
    fn rests(&self, id: CallId) -> bool {
        self.pending.values().any(|(asker, _)| match asker {
            Asker::Request { call, .. } => call.is_none_or(|call| call == id),
            Asker::Call { .. } => false,
        })
    }

    pub(super) fn remove(&mut self, input: InputId) -> Option<Asker> {
        let (asker, bytes) = self.pending.remove(&input)?;
        self.bytes = self.bytes.saturating_sub(bytes);
        Some(asker)
    }
}

impl Client {
    /// Gives what a server needs: the result of its request. An error goes to a legacy server as
    /// it is; a modern one cannot be told, and the call ends with [`CallError::InputRefused`].
    /// What is not wanted any more is dropped.
    #[expect(clippy::needless_pass_by_value, reason = "the right to answer is used up")]
    pub fn answer(&mut self, now: Instant, reply: InputReply, answer: Result<Json, ErrorData>) {
        let Some(asker) = self.asked.remove(reply.id) else { return };
        let answer = match answer {
            Ok(result) if !result.raw().is_object() => {
                Err(ErrorData::internal("the client's result is no JSON object"))
            }
            answer => answer,
        };
        match asker {
            Asker::Request { id, batch, .. } => {
                if self.binding == Binding::Http {
                    self.asked.answered.push((id.clone(), reply.id));
                }
                self.respond_legacy(batch, id, answer);
                self.resume(now);
            }
            Asker::Call { call, key } => self.given(now, call, key, answer),
        }
    }

    /// Over HTTP, the requests of a legacy server that were answered since
    /// [`forget_answered_inputs`](Self::forget_answered_inputs), and the inputs that they asked for.
    pub(crate) fn answered_inputs(&self) -> &[(RequestId, InputId)] {
        &self.asked.answered
    }

    /// The binding has taken the answers.
    pub(crate) fn forget_answered_inputs(&mut self) {
        self.asked.answered.clear();
    }

    /// Whether the time of a call rests: a legacy server waits for input, for this one or for
    /// whichever.
    pub(super) fn is_resting(&self, id: CallId) -> bool {
        self.asked.rests(id)
    }

    /// The time of calls goes on for which nothing is asked any more.
    pub(super) fn resume(&mut self, now: Instant) {
        let asked = &self.asked;
        let rested = |call: &&mut Call| call.is_sent() && call.rests() && !asked.rests(call.id);
        for call in self.calls.iter_mut().filter(rested) {
            call.restart(now);
        }
        self.calls.watch_again();
    }

    /// Asks the application; the input was asked for with so many bytes.
    pub(super) fn ask(
        &mut self,
        asker: Asker,
        bytes: usize,
        call: Option<CallId>,
        request: InputRequest,
    ) {
        let id = self.asked.insert(asker, bytes);
        let pending = &self.asked;
        self.calls.iter_mut().filter(|call| pending.rests(call.id)).for_each(Call::rest);
        self.outbox.event(ClientEvent::Input(Input { reply: InputReply { id }, call, request }));
    }

    /// A modern server needs input before it answers.
    pub(super) fn input_required(
        &mut self,
        now: Instant,
        number: u64,
        mut call: Call,
        result: &Json,
    ) {
        let max_input_rounds = self.config.limits.max_input_rounds;
        call.rounds += 1;
        let required = if call.rounds > max_input_rounds {
            Err(ProtocolError::TooManyInputRounds { max_input_rounds })
        } else {
            Required::read(&call.method, result)
        };
        let bytes = result.as_bytes().len();
        let required = required.and_then(|required| {
            if let Some(capability) = self.undeclared(&required.requests) {
                return Err(ProtocolError::UndeclaredInput { capability });
            }
            let count = required.requests.len();
            self.asked.admit(count, bytes, &self.config.limits).map(|()| required)
        });
        let Required { requests, request_state } = match required {
            Ok(required) => required,
            Err(error) => return self.finish(now, call, Err(CallError::Protocol(error))),
        };
        let mut responses = InputResponses::new();
        let mut missing = BTreeSet::new();
        let mut asked = Vec::new();
        for (key, request) in requests {
            if let InputRequest::ListRoots(_) = request {
                responses.insert(key, self.list_roots().into());
            } else {
                missing.insert(key.clone());
                asked.push((key, request));
            }
        }
        call.state = State::Asking(Asking { missing, responses, request_state });
        if asked.is_empty() {
            return self.send_anew(now, call);
        }
        let id = call.id;
        call.rest();
        self.calls.insert(number, call);
        // The last one that is asked for stands for the bytes of all.
        let last = asked.len().saturating_sub(1);
        for (at, (key, request)) in asked.into_iter().enumerate() {
            let bytes = if at == last { bytes } else { 0 };
            self.ask(Asker::Call { call: id, key }, bytes, Some(id), request);
        }
    }

    /// The application has given, or refused, one of the inputs that a call needs.
    fn given(&mut self, now: Instant, id: CallId, key: String, answer: Result<Json, ErrorData>) {
        let Some(number) = self.calls.find(id) else { return };
        let Some(mut call) = self.calls.remove(number) else { return };
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return self.finish(now, call, Err(CallError::InputRefused(error))),
        };
        if let State::Asking(asking) = &mut call.state {
            asking.missing.remove(&key);
            asking.responses.insert(key, InputResponse::from(answer));
            if asking.missing.is_empty() {
                return self.send_anew(now, call);
            }
        }
        self.calls.insert(number, call);
    }

    /// A call is over; what it has asked for, or a legacy server for its sake, is not wanted any
    /// more.
    pub(super) fn drop_inputs(&mut self, wanted: CallId) {
        let is_its = |asker: &Asker| match asker {
            Asker::Call { call, .. } => *call == wanted,
            Asker::Request { call, .. } => *call == Some(wanted),
        };
        let pending = &mut self.asked.pending;
        let dropped: Vec<InputId> =
            pending.iter().filter(|(_, (asker, _))| is_its(asker)).map(|(id, _)| *id).collect();
        for input in dropped {
            if let Some(Asker::Request { batch, .. }) = self.asked.remove(input) {
                self.leave_batch(batch);
            }
            self.outbox.event(ClientEvent::InputCancelled { input });
        }
    }

    /// No input is wanted any more.
    pub(super) fn end_inputs(&mut self) {
        self.asked.bytes = 0;
        for input in core::mem::take(&mut self.asked.pending).into_keys() {
            self.outbox.event(ClientEvent::InputCancelled { input });
        }
    }

    /// A capability that one of these needs and that is not declared.
    fn undeclared(&self, requests: &[(String, InputRequest)]) -> Option<&'static str> {
        requests.iter().find_map(|(_, request)| self.lacks(request))
    }

    /// The capability that a request needs, if it is not declared.
    pub(super) fn lacks(&self, request: &InputRequest) -> Option<&'static str> {
        let has = &self.config.capabilities;
        let elicits = has.elicitation.as_ref();
        match request {
            InputRequest::ListRoots(_) if has.roots.is_none() => Some("roots"),
            InputRequest::CreateMessage(_) if has.sampling.is_none() => Some("sampling"),
            InputRequest::CreateMessage(params) => {
                let has_tools = has.sampling.as_ref().is_some_and(|has| has.tools.is_some());
                (params.needs_tools() && !has_tools).then_some("sampling.tools")
            }
            InputRequest::Elicit(_) if elicits.is_none() => Some("elicitation"),
            InputRequest::Elicit(ElicitRequestParams::Form(_)) => {
                let forms = elicits.is_some_and(ElicitationCapability::accepts_form);
                (!forms).then_some("elicitation.form")
            }
            InputRequest::Elicit(ElicitRequestParams::Url(_)) => {
                let urls = elicits.is_some_and(|has| has.url.is_some());
                (!urls).then_some("elicitation.url")
            }
            InputRequest::ListRoots(_) => None,
        }
    }

    /// The result of `roots/list`.
    pub(super) fn list_roots(&self) -> Json {
        let roots = self.roots.clone().unwrap_or_default();
        // They are plain values, which always can be written.
        Json::encode(&ListRootsResult::new(roots)).unwrap_or(Json::EMPTY_OBJECT)
    }

    pub(super) fn respond_legacy(
        &mut self,
        batch: Option<u64>,
        id: RequestId,
        answer: Result<Json, ErrorData>,
    ) {
        let answer = match answer {
            Ok(result) => Outgoing::Result { id, stamp: Bytes::new(), result },
            Err(error) => Outgoing::Error { id: Some(id), error },
        };
        self.answer_batch(batch, answer);
        self.leave_batch(batch);
    }
}

/// An `input_required` result, checked.
struct Required {
    requests: Vec<(String, InputRequest)>,
    /// A JSON string, as it came.
    request_state: Option<Json>,
}

impl Required {
    fn read(method: &str, result: &Json) -> Result<Self, ProtocolError> {
        if !MethodRow::named(method).is_some_and(MethodRow::may_require_input) {
            let expected = "complete: this method needs no input";
            return Err(ProtocolError::InvalidResult { expected });
        }
        let invalid = || ProtocolError::InvalidResult {
            expected: "`inputRequests` of known methods, `requestState`, or both",
        };
        let (mut requests, mut state, mut readable) = (None, None, true);
        let mut keys = BTreeSet::new();
        result.raw().members(|key, value| match key.string().as_deref() {
            Some("inputRequests") => {
                readable &= value.is_object();
                let mut all = Vec::new();
                value.members(|key, value| {
                    // `serde` would take an array for a struct.
                    let object = Some(value).filter(|value| value.is_object());
                    let request = object.and_then(|value| serde_json::from_slice(value.0).ok());
                    match (key.string(), request) {
                        (Some(key), Some(request)) if keys.insert(key.clone().into_owned()) => {
                            all.push((key.into_owned(), request));
                        }
                        _ => readable = false,
                    }
                });
                requests = Some(all);
            }
            Some("requestState") => {
                readable &= value.is_string();
                state = Some(Json::trusted(value.0.to_vec()));
            }
            _ => {}
        });
        let requests: Vec<(String, InputRequest)> = requests.unwrap_or_default();
        if !readable || requests.is_empty() && state.is_none() {
            return Err(invalid());
        }
        Ok(Self { requests, request_state: state })
    }
}
