//! Calls to legacy servers that wait for input of modern clients.
//!
//! In: requests of a legacy server for input; retries of a modern client; time. Out:
//! `input_required` results with a reference as their `requestState`; the call that a retry
//! continues.
//!
//! | state of a call | leaves by |
//! |---|---|
//! | waiting, its request in flight | the `input_required` result, which makes it parked; its response |
//! | parked, the request is answered | a retry with the reference, which makes it waiting again; its response; `Limits::input_timeout`, which cancels it |
//! | parked, and its response has come | a retry, which is answered at once; `Limits::input_timeout`; too many such responses, of which the oldest is dropped |
//!
//! A reference is 128 random bits, and valid once. A retry with an answer of another type is
//! refused and does not use up the reference. A reference is bound to the principal, the method and
//! the parameters of its request, except input and `_meta`.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::action::Config;
use super::calls::{ClientRef, UpstreamCall};
use super::inputs::{TooMuchInput, is_input};
use super::translate;
use crate::budget::{Account, BudgetExceeded};
use crate::client::{CallId, InputId, InputReply};
use crate::json::write::List;
use crate::json::{Json, Raw};
use crate::message::ErrorData;
use crate::server::SessionRef;
use crate::time::Instant;
use crate::types::{InputRequest, InputResponse};
use crate::version::Era;

#[derive(Debug, Default)]
pub(super) struct Parked {
    calls: BTreeMap<CallId, WaitingCall>,
    references: BTreeMap<String, CallId>,
}

/// A call whose server needs input, or needed input before.
#[derive(Debug)]
struct WaitingCall {
    /// The bytes of the call, and of the response if it has come.
    bytes: usize,
    account: Account,
    inputs: BTreeMap<String, PendingInput>,
    /// The number of inputs so far.
    count: u64,
    /// `None` while the request is in flight.
    parked: Option<ParkedRequest>,
}

/// A request that was answered with `input_required`.
#[derive(Debug)]
struct ParkedRequest {
    reference: String,
    until: Instant,
    /// The response to the call, if it has come.
    response: Option<Box<LateResponse>>,
}

/// A request of a legacy server that a modern client has not answered.
#[derive(Debug)]
pub(super) struct PendingInput {
    pub(super) reply: InputReply,
    pub(super) request: InputRequest,
    /// The client, if the request names no call and may be about any call of this client.
    pub(super) any_call_of: Option<SessionRef>,
}

/// A call and the server's answer.
pub(super) type LateResponse = (UpstreamCall, Result<Json, ErrorData>);

/// The call that a retry continues.
pub(super) enum RetryMatch {
    /// The call is in flight. Has the answers for its inputs.
    Call(CallId, Vec<(InputReply, Json)>),
    /// The call was answered.
    LateResponse(Box<LateResponse>),
    /// The answer with this key has another type than its request expects. The reference stays
    /// valid.
    Misfit(String),
}

impl Parked {
    /// Makes a call of this many bytes wait for its client. Fails if it is not the only one, and
    /// the calls that wait, without those whose responses have come, would have more than
    /// `Limits::max_in_flight_bytes`. Fails also if the whole bridge keeps too much.
    pub(super) fn admit(
        &mut self,
        call: CallId,
        bytes: usize,
        config: &Config,
    ) -> Result<(), TooMuchInput> {
        if self.calls.contains_key(&call) {
            return Ok(());
        }
        let others = self.calls.values().filter(|waiting| waiting.response().is_none());
        let others = others.fold(0_usize, |sum, waiting| sum.saturating_add(waiting.bytes));
        if others > 0 && others.saturating_add(bytes) > config.limits.max_in_flight_bytes {
            return Err(TooMuchInput::OfConnection);
        }
        let mut account = config.account();
        account.admit(bytes).map_err(|BudgetExceeded| TooMuchInput::OfBridge)?;
        self.calls.insert(call, WaitingCall::new(bytes, account));
        Ok(())
    }

    /// Records that a legacy server needs input for an admitted call.
    pub(super) fn add_input(&mut self, call: CallId, input: PendingInput) {
        let Some(waiting) = self.calls.get_mut(&call) else { return };
        waiting.count += 1;
        let key = alloc::format!("input-{}", waiting.count);
        waiting.inputs.insert(key, input);
    }

    /// The calls that need input, and whose requests are in flight.
    pub(super) fn to_park(&self) -> Vec<CallId> {
        let waiting = self.calls.iter();
        let waiting = waiting.filter(|(_, it)| it.parked.is_none() && !it.inputs.is_empty());
        waiting.map(|(call, _)| *call).collect()
    }

    /// Parks a call; returns the result that asks for its input.
    pub(super) fn park(&mut self, call: CallId, reference: String, until: Instant) -> Option<Json> {
        let waiting = self.calls.get_mut(&call)?;
        let mut out = Vec::new();
        let mut object = List::object(&mut out);
        object.text("resultType", "input_required");
        object.key("inputRequests");
        let mut requests = List::object(object.out());
        for (key, PendingInput { request, .. }) in &waiting.inputs {
            let InputRequest::Forwarded { method, params } = request else { continue };
            requests.key(key);
            let mut request = List::object(requests.out());
            request.text("method", method);
            let params = translate::elicitation(Era::Modern, method, params, 0);
            if params.as_bytes() != b"{}" {
                request.member("params", params.as_bytes());
            }
            request.end();
        }
        requests.end();
        object.text("requestState", &reference);
        object.end();
        self.references.insert(reference.clone(), call);
        waiting.parked = Some(ParkedRequest { reference, until, response: None });
        Some(Json::trusted(out))
    }

    /// Matches a retry with this reference. `original` returns the parked call by its id.
    ///
    /// Returns `None` if the reference is unknown or expired, or belongs to another request.
    pub(super) fn retry<'a>(
        &mut self,
        now: Instant,
        reference: &str,
        (caller, method, params): (&ClientRef, &str, &Json),
        original: impl FnOnce(CallId) -> Option<&'a UpstreamCall>,
    ) -> Option<RetryMatch> {
        let call = *self.references.get(reference)?;
        let waiting = self.calls.get(&call)?;
        if waiting.until().is_none_or(|until| until <= now) {
            return None;
        }
        let parked = match waiting.response() {
            Some((call, _)) => call,
            None => original(call)?,
        };
        let same = parked.caller.principal == caller.principal
            && parked.method.name() == method
            && is_same(&parked.params, params);
        if !same {
            return None;
        }
        let answers = match waiting.answers(params.raw().member("inputResponses")) {
            Ok(answers) => answers,
            Err(key) => return Some(RetryMatch::Misfit(key)),
        };
        self.references.remove(reference);
        let mut waiting = self.calls.remove(&call)?;
        if let Some(response) = waiting.parked.take().and_then(|parked| parked.response) {
            return Some(RetryMatch::LateResponse(response));
        }
        let answers = answers.into_iter().filter_map(|(key, answer)| {
            let PendingInput { reply, .. } = waiting.inputs.remove(&key)?;
            Some((reply, answer.json().clone()))
        });
        let answers = answers.collect();
        self.calls.insert(call, waiting);
        Some(RetryMatch::Call(call, answers))
    }

    /// Ends a call that the server has answered. Keeps the response if the call is parked,
    /// otherwise returns the response. Also returns the inputs that the server no longer needs.
    pub(super) fn respond(
        &mut self,
        id: CallId,
        call: UpstreamCall,
        response: Result<Json, ErrorData>,
        config: &Config,
    ) -> (Option<LateResponse>, Vec<PendingInput>) {
        let Some(waiting) = self.calls.get_mut(&id) else {
            return (Some((call, response)), Vec::new());
        };
        let unanswered = core::mem::take(&mut waiting.inputs).into_values().collect();
        let Some(parked) = &mut waiting.parked else {
            self.calls.remove(&id);
            return (Some((call, response)), unanswered);
        };
        let response = response.map(|result| result.detach()).map_err(ErrorData::detach);
        let response_bytes =
            response.as_ref().map_or_else(ErrorData::bytes, |result| result.as_bytes().len());
        let bytes = call.bytes().saturating_add(response_bytes);
        parked.response = Some(Box::new((call, response)));
        waiting.set_bytes(bytes);
        self.drop_oldest(config);
        (None, unanswered)
    }

    /// Drops the responses that wait longest, until the others are within the limits.
    fn drop_oldest(&mut self, config: &Config) {
        let limits = &config.limits;
        let late = |(id, waiting): (&CallId, &WaitingCall)| {
            waiting.response()?;
            Some((waiting.until()?, *id, waiting.bytes))
        };
        let mut late: Vec<(Instant, CallId, usize)> = self.calls.iter().filter_map(late).collect();
        late.sort_unstable();
        let mut count = late.len();
        let mut total = late.iter().fold(0_usize, |sum, (.., bytes)| sum.saturating_add(*bytes));
        for (_, id, bytes) in late {
            if count <= limits.max_in_flight && total <= limits.max_in_flight_bytes && config.fits()
            {
                return;
            }
            count -= 1;
            total = total.saturating_sub(bytes);
            self.cancel(id);
        }
    }

    /// Drops an input that the server has cancelled.
    pub(super) fn withdraw(&mut self, input: InputId) {
        for waiting in self.calls.values_mut() {
            waiting.inputs.retain(|_, it| it.reply.id() != input);
        }
    }

    /// Cancels a call; returns its unanswered inputs.
    pub(super) fn cancel(&mut self, call: CallId) -> Vec<PendingInput> {
        let Some(WaitingCall { inputs, parked, .. }) = self.calls.remove(&call) else {
            return Vec::new();
        };
        if let Some(parked) = parked {
            self.references.remove(&parked.reference);
        }
        inputs.into_values().collect()
    }

    /// The calls whose clients have not retried in time, and which must be cancelled.
    pub(super) fn expired(&self, now: Instant) -> Vec<CallId> {
        let due = |waiting: &WaitingCall| waiting.until().is_some_and(|at| at <= now);
        let found = self.calls.iter().filter(|(_, waiting)| due(waiting));
        found.map(|(call, _)| *call).collect()
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.calls.values().filter_map(WaitingCall::until).min()
    }
}

impl WaitingCall {
    fn new(bytes: usize, account: Account) -> Self {
        Self { bytes, account, inputs: BTreeMap::new(), count: 0, parked: None }
    }

    /// The time at which the call expires, if it is parked.
    fn until(&self) -> Option<Instant> {
        self.parked.as_ref().map(|parked| parked.until)
    }

    fn response(&self) -> Option<&LateResponse> {
        self.parked.as_ref()?.response.as_deref()
    }

    fn set_bytes(&mut self, bytes: usize) {
        self.bytes = bytes;
        self.account.set(bytes);
    }

    /// The answers of a retry to pending inputs, by their keys. Fails with the key of the first
    /// answer that has another type than its request expects.
    fn answers(&self, responses: Option<Raw<'_>>) -> Result<Vec<(String, InputResponse)>, String> {
        let mut answers = Ok(Vec::new());
        responses.unwrap_or(Raw(b"{}")).members(|key, answer| {
            let key = key.string().unwrap_or_default();
            let (Some(input), Ok(found)) = (self.inputs.get(&*key), &mut answers) else { return };
            let answer = InputResponse::from(super::inputs::copy(answer));
            if answer.is_result_of(input.request.method()) {
                found.push((key.into_owned(), answer));
            } else {
                answers = Err(key.into_owned());
            }
        });
        answers
    }
}

/// The reference in a retry's `requestState`.
pub(super) fn reference(params: &Json) -> Option<Cow<'_, str>> {
    let params = Some(params.raw()).filter(|params| params.may_contain(&["requestState"]))?;
    params.member("requestState").and_then(Raw::string)
}

/// Returns whether two requests have the same parameters, except input and `_meta`.
fn is_same(one: &Json, other: &Json) -> bool {
    members(one) == members(other)
}

/// The members by name; a number that is too large is compared as text.
fn members(params: &Json) -> BTreeMap<String, Result<serde_json::Value, Vec<u8>>> {
    let mut members = BTreeMap::new();
    params.raw().members(|key, Raw(value)| {
        let name = key.string().unwrap_or_default();
        if name != "_meta" && !is_input(key) {
            members.insert(
                name.into_owned(),
                serde_json::from_slice(value).map_err(|_| value.to_vec()),
            );
        }
    });
    members
}
