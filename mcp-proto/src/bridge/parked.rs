//! Calls of legacy servers that wait for input of modern clients.
//!
//! In: requests of a legacy server for input; retries of a modern client; time. Out: `input_required`
//! results with a reference as their `requestState`; the call that a retry belongs to.
//!
//! | state of a call | leaves by |
//! |---|---|
//! | wanting, its request in flight | the result, which answers the request, and makes it parked |
//! | parked, the request is answered | a retry with the reference, which makes it wanting again or lets it go on; `Limits::input_timeout`, which cancels it |
//! | parked, and its response has come | a retry, which is answered at once; `Limits::input_timeout` |
//!
//! A reference is 128 random bits and valid once. It belongs to the principal, the method and the
//! parameters of its request, but for input and `_meta`.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::calls::{ClientRef, Forwarded};
use super::inputs::is_input;
use super::translate;
use crate::client::{CallId, InputId, InputReply};
use crate::json::write::List;
use crate::json::{Json, Raw};
use crate::message::ErrorData;
use crate::time::Instant;
use crate::types::InputRequest;
use crate::version::Era;

#[derive(Debug, Default)]
pub(super) struct Parked {
    calls: BTreeMap<CallId, Wanting>,
    references: BTreeMap<String, CallId>,
}

/// A call whose server wants input, or wanted some.
#[derive(Debug, Default)]
struct Wanting {
    wants: BTreeMap<String, Want>,
    /// The number of inputs that there were.
    count: u64,
    /// Since the request was answered; the reference, and when it expires.
    until: Option<(String, Instant)>,
    /// The response, if it came while nobody waited.
    response: Option<Box<LateResponse>>,
}

#[derive(Debug)]
struct Want {
    reply: InputReply,
    request: InputRequest,
}

/// A call with what its server has answered.
pub(super) type LateResponse = (Forwarded, Result<Json, ErrorData>);

/// The call that a retry continues.
pub(super) enum RetryMatch {
    /// Its call is in flight; these inputs are answered.
    Call(CallId, Vec<(InputReply, Json)>),
    /// Its call has been answered.
    LateResponse(Box<LateResponse>),
}

impl Parked {
    /// A legacy server wants input for the sake of a call.
    pub(super) fn want(&mut self, call: CallId, reply: InputReply, request: InputRequest) {
        let wanting = self.calls.entry(call).or_default();
        wanting.count += 1;
        let key = alloc::format!("input-{}", wanting.count);
        wanting.wants.insert(key, Want { reply, request });
    }

    /// The calls that want input, and whose requests are in flight.
    pub(super) fn to_park(&self) -> Vec<CallId> {
        let wanting = self.calls.iter();
        let wanting = wanting.filter(|(_, it)| it.until.is_none() && !it.wants.is_empty());
        wanting.map(|(call, _)| *call).collect()
    }

    /// Parks a call; returns the result that asks for its input.
    pub(super) fn park(&mut self, call: CallId, reference: String, until: Instant) -> Option<Json> {
        let wanting = self.calls.get_mut(&call)?;
        let mut out = Vec::new();
        let mut object = List::object(&mut out);
        object.text("resultType", "input_required");
        object.key("inputRequests");
        let mut requests = List::object(object.out());
        for (key, Want { request, .. }) in &wanting.wants {
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
        wanting.until = Some((reference, until));
        Some(Json::trusted(out))
    }

    /// A client retries its request with this reference. `original` is the parked call, by its id.
    ///
    /// `None` if the reference is unknown or expired, or not of this request.
    pub(super) fn retry<'a>(
        &mut self,
        reference: &str,
        (caller, method, params): (&ClientRef, &str, &Json),
        original: impl FnOnce(CallId) -> Option<&'a Forwarded>,
    ) -> Option<RetryMatch> {
        let call = *self.references.get(reference)?;
        let wanting = self.calls.get(&call)?;
        let parked = match &wanting.response {
            Some(response) => &response.0,
            None => original(call)?,
        };
        let same = parked.caller.principal == caller.principal
            && parked.method.name() == method
            && is_same(&parked.params, params);
        if !same {
            return None;
        }
        self.references.remove(reference);
        let mut wanting = self.calls.remove(&call)?;
        if let Some(response) = wanting.response {
            return Some(RetryMatch::LateResponse(response));
        }
        wanting.until = None;
        let mut answers = Vec::new();
        if let Some(responses) = params.raw().member("inputResponses") {
            responses.members(|key, answer| {
                let want = key.string().and_then(|key| wanting.wants.remove(&*key));
                if let Some(Want { reply, .. }) = want {
                    answers.push((reply, super::inputs::copy(answer)));
                }
            });
        }
        self.calls.insert(call, wanting);
        Some(RetryMatch::Call(call, answers))
    }

    /// The server has answered a call. Keeps the response if the call is parked.
    pub(super) fn respond(
        &mut self,
        id: CallId,
        call: Forwarded,
        response: Result<Json, ErrorData>,
    ) -> Option<LateResponse> {
        match self.calls.get_mut(&id) {
            Some(wanting) if wanting.until.is_some() => {
                wanting.wants.clear();
                wanting.response = Some(Box::new((call, response)));
                None
            }
            _ => {
                self.calls.remove(&id);
                Some((call, response))
            }
        }
    }

    /// The server wants this input no more.
    pub(super) fn withdraw(&mut self, input: InputId) {
        for wanting in self.calls.values_mut() {
            wanting.wants.retain(|_, want| want.reply.id() != input);
        }
    }

    /// A call is cancelled; returns the inputs that nobody answers any more.
    pub(super) fn cancel(&mut self, call: CallId) -> Vec<InputReply> {
        let Some(Wanting { wants, until, .. }) = self.calls.remove(&call) else {
            return Vec::new();
        };
        if let Some((reference, _)) = until {
            self.references.remove(&reference);
        }
        wants.into_values().map(|want| want.reply).collect()
    }

    /// The calls whose clients have not come back in time: they are to be cancelled.
    pub(super) fn expired(&self, now: Instant) -> Vec<CallId> {
        let due = |wanting: &Wanting| wanting.until.as_ref().is_some_and(|(_, at)| *at <= now);
        let found = self.calls.iter().filter(|(_, wanting)| due(wanting));
        found.map(|(call, _)| *call).collect()
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.calls.values().filter_map(|wanting| wanting.until.as_ref()).map(|(_, at)| *at).min()
    }
}

/// Returns whether two requests have the same parameters, but for input and `_meta`.
fn is_same(one: &Json, other: &Json) -> bool {
    members(one) == members(other)
}

fn members(params: &Json) -> BTreeMap<String, Option<serde_json::Value>> {
    let mut members = BTreeMap::new();
    params.raw().members(|key, Raw(value)| {
        let name = key.string().unwrap_or_default();
        if name != "_meta" && !is_input(key) {
            members.insert(name.into_owned(), serde_json::from_slice(value).ok());
        }
    });
    members
}
