//! Inputs that a server requires from the client, in both eras.
//!
//! In: the requests of a legacy server; the `input_required` results of a modern server; the roots
//! of the application. Out: an [`Input`] for each requested input, and the call or request that
//! waits for it. The client itself answers requests for roots.
//!
//! [Specification: Multi Round-Trip Requests](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::call::{AwaitingInput, Call};
use super::config::Config;
use super::event::{CallId, ClientEvent, Input, InputId, InputReply};
use super::outbox::Outbox;
use crate::error::ProtocolError;
use crate::json::{Json, Raw};
use crate::limits::Limits;
use crate::message::{MethodRow, RequestId};
use crate::types::{
    ClientCapabilities, ElicitRequestParams, ElicitationCapability, InputRequest, InputResponses,
    ListRootsResult, Root,
};

/// The inputs that the application was asked for, and the roots.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    /// The pending inputs, with the bytes of their requests.
    pending: BTreeMap<InputId, (Requester, usize)>,
    serials: u64,
    bytes: usize,
    /// The answered requests whose answers the binding to HTTP may not have polled yet.
    answered: Vec<(RequestId, InputId)>,
    roots: Option<Vec<Root>>,
}

/// The call or request that waits for an input.
#[derive(Debug)]
pub(super) enum Requester {
    /// A call of a modern server; the input has this key.
    Call { call: CallId, key: String },
    /// A request of a legacy server, perhaps in a batch. Without a `call`, the request may belong
    /// to any call.
    Request { id: RequestId, batch: Option<u64>, call: Option<CallId> },
}

impl Requester {
    fn call(&self) -> Option<CallId> {
        match self {
            Self::Call { call, .. } => Some(*call),
            Self::Request { call, .. } => *call,
        }
    }
}

/// An input that is no longer needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct DroppedInput {
    pub(super) id: InputId,
    /// The batch of the request that waited for the input.
    pub(super) batch: Option<u64>,
}

impl Inputs {
    /// Checks that `count` more inputs, with this many bytes in all, may be requested.
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

    /// Asks the application for an input, whose request had this many bytes.
    pub(super) fn request_input(
        &mut self,
        requester: Requester,
        bytes: usize,
        request: InputRequest,
        outbox: &mut Outbox,
    ) {
        self.serials += 1;
        let id = InputId(self.serials);
        let call = requester.call();
        self.pending.insert(id, (requester, bytes));
        self.bytes = self.bytes.saturating_add(bytes);
        let input = Input { reply: InputReply { id }, call, request };
        outbox.event(ClientEvent::Input(Box::new(input)));
    }

    /// Asks for the inputs that a modern server requires before it answers a call. The call is no
    /// longer in flight.
    ///
    /// Fails if the result cannot be read, or asks for undeclared or too many inputs.
    pub(super) fn require_inputs(
        &mut self,
        call: &Call,
        result: &Json,
        config: &Config,
        outbox: &mut Outbox,
    ) -> Result<AwaitingInput, ProtocolError> {
        let Required { requests, request_state } = Required::read(&call.method, result)?;
        let asking =
            self.request_inputs(call, requests, result.as_bytes().len(), config, outbox)?;
        Ok(AwaitingInput { request_state, ..asking })
    }

    /// Asks the application for these inputs, for a call that is not in flight. `bytes` is the
    /// length of the result that has requested them.
    ///
    /// Fails if there are too many inputs or rounds, or if the client does not declare an input.
    pub(super) fn request_inputs(
        &mut self,
        call: &Call,
        requests: Vec<(String, InputRequest)>,
        bytes: usize,
        config: &Config,
        outbox: &mut Outbox,
    ) -> Result<AwaitingInput, ProtocolError> {
        let max_input_rounds = config.limits.max_input_rounds;
        if call.rounds >= max_input_rounds {
            return Err(ProtocolError::TooManyInputRounds { max_input_rounds });
        }
        let mut lacking = requests.iter().map(|(_, request)| lacks(&config.capabilities, request));
        if let Some(capability) = lacking.find_map(|capability| capability) {
            return Err(ProtocolError::UndeclaredInput { capability });
        }
        requests.iter().try_for_each(|(_, request)| check_messages(request))?;
        self.admit(requests.len(), bytes, &config.limits)?;
        let mut responses = InputResponses::new();
        let mut missing = BTreeSet::new();
        let is_asked = |request: &InputRequest| !matches!(request, InputRequest::ListRoots(_));
        // The last input that the application is asked for is charged with the bytes of all inputs.
        let last = requests.iter().rposition(|(_, request)| is_asked(request));
        for (at, (key, request)) in requests.into_iter().enumerate() {
            if let InputRequest::ListRoots(_) = request {
                responses.insert(key, self.list_roots().into());
            } else {
                missing.insert(key.clone());
                let requester = Requester::Call { call: call.id, key };
                let bytes = if last == Some(at) { bytes } else { 0 };
                self.request_input(requester, bytes, request, outbox);
            }
        }
        Ok(AwaitingInput { missing, responses, request_state: None })
    }

    /// Removes an answered input. Returns the call or request that waits for the input, if it is
    /// still pending.
    pub(super) fn take(&mut self, input: InputId) -> Option<Requester> {
        let (requester, bytes) = self.pending.remove(&input)?;
        if bytes > 0 && !self.charge_neighbour(input, &requester, bytes) {
            self.bytes = self.bytes.saturating_sub(bytes);
        }
        Some(requester)
    }

    /// Charges another input of the same result with the bytes of the removed `input`. Returns
    /// false if there is none. The inputs of a result have consecutive ids.
    fn charge_neighbour(&mut self, input: InputId, requester: &Requester, bytes: usize) -> bool {
        let Requester::Call { call, .. } = requester else { return false };
        let is_of_call = |other: &Requester| {
            matches!(other, Requester::Call { .. }) && other.call() == Some(*call)
        };
        let before = self.pending.range_mut(..input).next_back();
        let neighbour = match before.filter(|(_, (other, _))| is_of_call(other)) {
            Some(before) => Some(before),
            None => self.pending.range_mut(input..).next(),
        };
        let Some((_, (other, charged))) = neighbour else { return false };
        if !is_of_call(other) {
            return false;
        }
        *charged = charged.saturating_add(bytes);
        true
    }

    /// Records that an input has answered a request, until the binding has polled the answer.
    pub(super) fn record_answer(&mut self, request: RequestId, input: InputId) {
        self.answered.push((request, input));
    }

    pub(super) fn answered(&self) -> &[(RequestId, InputId)] {
        &self.answered
    }

    pub(super) fn clear_answered(&mut self) {
        self.answered.clear();
    }

    /// Returns whether a request of a legacy server with this id waits.
    pub(super) fn has_request(&self, id: &RequestId) -> bool {
        self.pending.values().any(|(requester, _)| requester.is_request(id))
    }

    /// Returns whether a legacy server waits for input that belongs to this call, or possibly to
    /// any call.
    pub(super) fn awaits_legacy_input(&self, id: CallId) -> bool {
        self.pending.values().any(|(requester, _)| match requester {
            Requester::Request { call, .. } => call.is_none_or(|call| call == id),
            Requester::Call { .. } => false,
        })
    }

    /// Removes the input of a request of a legacy server.
    pub(super) fn drop_request(&mut self, id: &RequestId) -> Option<DroppedInput> {
        self.remove_first(|requester| requester.is_request(id))
    }

    /// Removes an input that a call, or a legacy server on behalf of the call, has asked for.
    pub(super) fn drop_of_call(&mut self, call: CallId) -> Option<DroppedInput> {
        self.remove_first(|requester| requester.call() == Some(call))
    }

    /// Removes an input of a call whose key is not listed.
    pub(super) fn drop_unlisted(
        &mut self,
        call: CallId,
        is_listed: impl Fn(&str) -> bool,
    ) -> Option<DroppedInput> {
        self.remove_first(|requester| match requester {
            Requester::Call { call: other, key } => *other == call && !is_listed(key),
            Requester::Request { .. } => false,
        })
    }

    fn remove_first(&mut self, is_it: impl Fn(&Requester) -> bool) -> Option<DroppedInput> {
        let id = *self.pending.iter().find(|(_, (requester, _))| is_it(requester))?.0;
        let batch = match self.take(id)? {
            Requester::Request { batch, .. } => batch,
            Requester::Call { .. } => None,
        };
        Some(DroppedInput { id, batch })
    }

    /// Drops every input.
    pub(super) fn end(&mut self, outbox: &mut Outbox) {
        self.bytes = 0;
        for input in core::mem::take(&mut self.pending).into_keys() {
            outbox.event(ClientEvent::InputCancelled { input });
        }
    }

    pub(super) fn has_roots(&self) -> bool {
        self.roots.is_some()
    }

    /// Sets the roots; returns whether they have changed.
    pub(super) fn set_roots(&mut self, roots: Vec<Root>) -> bool {
        let roots = Some(roots);
        let is_news = self.roots != roots;
        self.roots = roots;
        is_news
    }

    /// The result of `roots/list`.
    pub(super) fn list_roots(&self) -> Json {
        let roots = self.roots.clone().unwrap_or_default();
        // Plain values: the encoding cannot fail.
        Json::encode(&ListRootsResult::new(roots)).unwrap_or(Json::EMPTY_OBJECT)
    }
}

impl Requester {
    fn is_request(&self, wanted: &RequestId) -> bool {
        matches!(self, Self::Request { id, .. } if id == wanted)
    }
}

/// The capability that a request needs and the client lacks.
pub(super) fn lacks(has: &ClientCapabilities, request: &InputRequest) -> Option<&'static str> {
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
        InputRequest::ListRoots(_) | InputRequest::Forwarded { .. } => None,
    }
}

/// Checks that the messages for a model have each result of a tool where it must be.
pub(super) fn check_messages(request: &InputRequest) -> Result<(), ProtocolError> {
    if request.has_balanced_tools() {
        return Ok(());
    }
    let expected = "messages in which tool uses are followed by exactly their results";
    Err(ProtocolError::InvalidParam { member: "messages", expected })
}

/// An `input_required` result that was checked.
struct Required {
    requests: Vec<(String, InputRequest)>,
    /// A JSON string, unchanged.
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
        let mut requests = None;
        let mut state = None;
        let mut readable = true;
        result.raw().members(|key, value| match key.string().as_deref() {
            // Some servers write members that they do not set.
            Some("inputRequests" | "requestState") if value.0 == b"null" => {}
            Some("inputRequests") => {
                requests = self::requests(value);
                readable &= requests.is_some();
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

/// The requests in `inputRequests`, by key; `None` if the value violates the schema.
pub(super) fn requests(value: Raw<'_>) -> Option<Vec<(String, InputRequest)>> {
    let mut requests = Vec::new();
    let mut keys = BTreeSet::new();
    let mut readable = value.is_object();
    value.members(|key, value| {
        // `serde` would also read a struct from an array.
        let object = Some(value).filter(|value| value.is_object());
        let request = object.and_then(|value| Json::trusted(value.0.to_vec()).decode_lossy().ok());
        match (key.string(), request) {
            (Some(key), Some(request)) if keys.insert(key.clone().into_owned()) => {
                requests.push((key.into_owned(), request));
            }
            _ => readable = false,
        }
    });
    readable.then_some(requests)
}
