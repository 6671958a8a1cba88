//! Rounds of input: requests that a client sends again with its input.
//!
//! In: inputs that a legacy server needs of a modern client, and the retries of this client; the
//! answers of a legacy client. Out: `input_required` results; answers to a legacy server; the
//! repeated request to a modern server.

use alloc::string::String;

use super::calls::{CallPurpose, ClientRef, UpstreamCall};
use super::inputs::copy;
use super::machine::Bridge;
use super::parked::{self, PendingInput, RetryMatch};
use super::translate;
use crate::client::{CallId, Client};
use crate::json::{Json, Raw};
use crate::message::{ErrorData, Method, MethodRow};
use crate::server::{Outcome, ReplyId, check_forwarded};
use crate::types::{InputRequest, InputRequests};
use crate::version::Era;

/// The result of a modern server for a modern client. Fails if the result asks for input that the
/// client does not declare: a connection that several clients share may declare it.
pub(super) fn declared(call: &UpstreamCall, up: Era, result: Json) -> Result<Json, ErrorData> {
    let is_modern = (call.caller.era, up) == (Era::Modern, Era::Modern);
    if !is_modern || !translate::is_of_type(&result, "input_required") {
        return Ok(result);
    }
    let mut requests = InputRequests::new();
    if let Some(asked) = result.raw().member("inputRequests") {
        asked.members(|key, request| {
            let method = request.member("method").and_then(Raw::string).unwrap_or_default();
            let params = request.member("params").map_or(Json::EMPTY_OBJECT, copy);
            let request = InputRequest::Forwarded { method: method.into(), params };
            requests.insert(key.string().unwrap_or_default().into_owned(), request);
        });
    }
    check_forwarded(&call.caller.capabilities, requests)?;
    Ok(result)
}

impl Bridge {
    /// Continues the parked call that the `requestState` of a request names. Returns false if the
    /// request has no `requestState` of the bridge.
    pub(super) fn retry(
        &mut self,
        about: ReplyId,
        (caller, method, params): (&ClientRef, &Method, &Json),
        client: &mut Client,
    ) -> bool {
        if !method.row().is_some_and(MethodRow::may_require_input) {
            return false;
        }
        let Some(reference) = parked::reference(params) else { return false };
        let Self { parked, calls, .. } = self;
        let name = method.name();
        match parked.retry(self.now, &reference, (caller, name, params), |call| calls.get(call)) {
            Some(RetryMatch::Call(call, answers)) => {
                self.calls.set_purpose(call, CallPurpose::Answer(about));
                for (reply, answer) in answers {
                    client.answer(self.now, reply, Ok(answer));
                }
            }
            Some(RetryMatch::LateResponse(response)) => {
                let (call, response) = *response;
                self.deliver(about, &call, Era::Legacy, response);
            }
            Some(RetryMatch::Misfit(key)) => {
                let why =
                    alloc::format!("params: the input `{key}` is no answer to what was asked");
                self.fail(about, ErrorData::invalid_params(why));
            }
            None => {
                let why = "`requestState` has expired, was used before, or is of another request";
                self.fail(about, ErrorData::invalid_params(why));
            }
        }
        true
    }

    /// Handles a legacy server's request for input of a modern client. The server gets an error if
    /// the calls that wait for input have too many bytes.
    pub(super) fn require_input(&mut self, call: CallId, input: PendingInput, client: &mut Client) {
        let bytes = self.calls.get(call).map_or(0, UpstreamCall::bytes);
        match self.parked.admit(call, bytes, &self.config) {
            Ok(()) => self.parked.add_input(call, input),
            Err(error) => {
                client.answer(self.now, input.reply, Err(error.describe(&self.config.limits)));
            }
        }
    }

    /// Answers requests whose legacy server needs input of a modern client.
    pub(super) fn park(&mut self) {
        for call in self.parked.to_park() {
            let Some(about) = self.calls.get(call).and_then(|call| call.purpose.about()) else {
                continue;
            };
            let bits = u128::from_be_bytes((self.config.random)());
            let reference = alloc::format!("{bits:032x}");
            let until = self.now + self.config.limits.input_timeout;
            if let Some(result) = self.parked.park(call, reference, until) {
                self.calls.set_purpose(call, CallPurpose::Parked);
                let result = translate::modern(&result, false, self.upstream.server_info());
                self.respond(about, Outcome::Complete(result));
            }
        }
    }

    /// Calls the server again, if the round has all its input.
    pub(super) fn end_round(&mut self, about: ReplyId, client: &mut Client) {
        let Some(round) = self.inputs.take_complete(about) else { return };
        let params = round.params();
        let name = String::from(round.call.method.name());
        let purpose = CallPurpose::Answer(about);
        match client.call(self.now, name, params, round.call.options.clone()) {
            Ok(call) => self.calls.insert(call, UpstreamCall { purpose, ..round.call }),
            Err(error) => self.fail(about, ErrorData::internal(alloc::format!("{error}"))),
        }
    }
}
