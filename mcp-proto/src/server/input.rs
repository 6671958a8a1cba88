//! Input that a handler asks for: its checks, and the encoding for modern clients.
//!
//! In: an [`InputRequired`] and the capabilities of the client. Out: a result of the type
//! `input_required`, or an error. A legacy request continues in `legacy::server_requests`. Input in
//! a modern request becomes an [`Input`].
//!
//! [Specification: Multi Round-Trip Requests](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::adapt::with_allowed_code;
use super::call::Call;
use super::calls::Calls;
use super::context::{Context, ServerChannel};
use super::event::Peer;
use super::inputs::{Inputs, check_content, check_json};
use super::lifecycle::Lifecycle;
use super::outcome::{Input, InputRequired, Outcome};
use crate::error::{ErrorCode, ProtocolError, ValidationStep};
use crate::json::write::List;
use crate::json::{Json, Raw};
use crate::message::{ErrorData, Member, Outgoing, Params};
use crate::types::{
    ClientCapabilities, ElicitRequestParams, InputRequest, InputRequests, InputResponses,
    MissingRequiredClientCapabilityErrorData,
};
use crate::version::Era;

/// The error about input, or about the state of a handler, that exceeds a limit.
pub(super) fn too_long(what: &str, limit: &str) -> String {
    alloc::format!("the {what} is more than {limit} leaves room for")
}

/// Handles a request that was set aside because its handler asks for input. Answers a modern
/// request. Returns a legacy request, whose client must first be asked for the input.
pub(super) fn require(
    context: &mut Context,
    calls: &mut Calls,
    call: Call,
    mut required: InputRequired,
) -> Option<(Call, InputRequired)> {
    let result = check(&call, &required).and_then(|()| match call.era {
        Era::Legacy => Ok(None),
        Era::Modern => encode(&mut required).map(Some),
    });
    match result {
        Ok(None) => return Some((call, required)),
        Ok(Some(result)) => {
            let stamp = context.declaration().input_required_stamp.clone();
            calls.settle(&call);
            context.end_with_answer(
                call.path,
                None,
                Outgoing::Result { id: call.id, stamp, result: result.into() },
            );
        }
        Err(error) => {
            let undeclared = error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
            calls.fail(context, call, undeclared.then_some(ValidationStep::Capability), error);
        }
    }
    None
}

/// Reads the input in a modern request. The input is not validated; that is up to the handler.
pub(super) fn read(params: &Params) -> Result<Option<Box<Input>>, ProtocolError> {
    let responses = params.get(Member::InputResponses);
    let state = params.raw(Member::RequestState);
    if responses.is_none() && state.is_none() {
        return Ok(None);
    }
    let invalid =
        |member: Member, expected| ProtocolError::InvalidParam { member: member.name(), expected };
    let responses: InputResponses = match responses {
        None => InputResponses::new(),
        Some(json) => {
            json.decode().map_err(|_| invalid(Member::InputResponses, "an object of objects"))?
        }
    };
    if !responses.values().all(|response| response.json().raw().is_object()) {
        return Err(invalid(Member::InputResponses, "an object of objects"));
    }
    let state = match state.map(Raw::string) {
        None => None,
        Some(Some(state)) => Some(state.into_owned()),
        Some(None) => return Err(invalid(Member::RequestState, "a string")),
    };
    Ok(Some(Box::new(Input { responses, state })))
}

/// Checks that the request may ask for input, and that its client supports this input.
fn check(call: &Call, required: &InputRequired) -> Result<(), ErrorData> {
    if !call.kind.takes_input() {
        return Err(ErrorData::internal("the handler asked for input where none can be given"));
    }
    if !call.asks {
        return Err(ErrorData::internal("the handler asked for input, but its type excludes that"));
    }
    if required.requests.is_empty() && required.state.is_none() {
        return Err(ErrorData::internal("the handler asked for input, and for nothing"));
    }
    check_requests(call.era, call.inputs, required)
}

/// Checks that a handler may ask a legacy client for this input, and that `kept` bytes can be
/// stored meanwhile.
pub(super) fn may_ask(
    context: &Context,
    calls: &Calls,
    lifecycle: &Lifecycle,
    call: &Call,
    requests: &InputRequests,
    kept: usize,
) -> Result<(), String> {
    let (Some(session), Some(retry)) = (lifecycle.session(), &call.retry) else {
        return Err("the handler said that it never asks for input".into());
    };
    let rounds = context.limits().max_input_rounds;
    if retry.rounds >= rounds {
        return Err(alloc::format!("Limits::max_input_rounds = {rounds} are over"));
    }
    if kept > 0
        && let Some(limit) = calls.limit_of_input(context, kept)
    {
        return Err(too_long("state", limit));
    }
    if requests.is_empty() {
        return Ok(());
    }
    if !lifecycle.is_open() {
        return Err(no_more_input(context).into());
    }
    session.takes(requests)
}

/// The reason why no input can arrive after the end of the client's output. Over HTTP only the stop
/// of the server ends the output of a session.
pub(super) fn no_more_input(context: &Context) -> &'static str {
    match context.channel() {
        ServerChannel::Stream => "the client sends nothing more, and so no input",
        ServerChannel::Session | ServerChannel::Exchange => {
            "the server is about to stop, and so cannot wait for input"
        }
    }
}

/// Checks that these requests may be sent to a client that supports `inputs`.
fn check_requests(era: Era, inputs: Inputs, required: &InputRequired) -> Result<(), ErrorData> {
    let mut keys = Vec::new();
    let mut lacking = Inputs::default();
    for (key, request) in &required.requests {
        if let Err(error) = check_content(request) {
            return Err(ErrorData::internal(alloc::format!("the input `{key}`: {error}")));
        }
        if let Err(error) = check_json(request) {
            let text = alloc::format!("the input `{key}` cannot be written as JSON: {error}");
            return Err(ErrorData::internal(text));
        }
        let lacks = inputs.lacks(Inputs::of_request(request));
        if lacks != Inputs::default() {
            keys.push(alloc::format!("`{key}` (`{}`)", request.method()));
            lacking = lacking.or(lacks);
        }
    }
    if keys.is_empty() {
        return Ok(());
    }
    Err(undeclared(era, &keys.join(", "), lacking.capabilities()))
}

/// The outcome of a handler whose request has become a task, as its modern client may get it. Input
/// that the client does not declare becomes an error, and a code that is not allowed another one.
pub(crate) fn task_outcome(peer: &Peer, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::InputRequired(required) => {
            match task_input(Inputs::of(&peer.capabilities), required) {
                Ok(required) => Outcome::InputRequired(required),
                Err(error) => Outcome::Error(error),
            }
        }
        Outcome::Error(error) => Outcome::Error(task_error(error)),
        Outcome::Complete(_) | Outcome::Text(_) | Outcome::Task(_) => outcome,
    }
}

/// The input of a task, as a modern client that supports `inputs` may be asked for it.
pub(super) fn task_input(
    inputs: Inputs,
    mut required: InputRequired,
) -> Result<InputRequired, ErrorData> {
    check_requests(Era::Modern, inputs, &required)?;
    remove_elicitation_ids(&mut required);
    Ok(required)
}

/// Checks that a modern client with these capabilities may be asked for the input that another
/// server requires.
pub(crate) fn check_forwarded(
    capabilities: &Json,
    requests: InputRequests,
) -> Result<(), ErrorData> {
    let required = InputRequired { requests, ..InputRequired::default() };
    check_requests(Era::Modern, Inputs::of(capabilities), &required)
}

/// The error of a task, with a code that its modern client may get.
pub(crate) fn task_error(error: ErrorData) -> ErrorData {
    with_allowed_code(Era::Modern, error)
}

/// Removes ids that handlers may set, and only revision 2025-11-25 defines.
fn remove_elicitation_ids(required: &mut InputRequired) {
    for request in required.requests.values_mut() {
        if let InputRequest::Elicit(ElicitRequestParams::Url(url)) = request {
            url.elicitation_id = None;
        }
    }
}

/// The members of the modern result.
fn encode(required: &mut InputRequired) -> Result<Json, ErrorData> {
    remove_elicitation_ids(required);
    let InputRequired { requests, state } = required;
    let mut out = Vec::new();
    let mut object = List::object(&mut out);
    if !requests.is_empty() {
        let requests = Json::encode(requests)
            .map_err(|_| ErrorData::internal("the input requests cannot be written as JSON"))?;
        object.member("inputRequests", requests.as_bytes());
    }
    if let Some(state) = state {
        object.text("requestState", state);
    }
    object.end();
    Ok(Json::trusted(out))
}

fn undeclared(era: Era, inputs: &str, lacking: ClientCapabilities) -> ErrorData {
    let needed = Json::encode(&lacking).unwrap_or(Json::EMPTY_OBJECT);
    let message =
        alloc::format!("the input {inputs} needs what the client does not declare: {needed}");
    match era {
        Era::Legacy => ErrorData::internal(message),
        Era::Modern => {
            let data = MissingRequiredClientCapabilityErrorData::new(lacking);
            let code = ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
            ErrorData { data: Json::encode(&data).ok(), ..ErrorData::new(code, message) }
        }
    }
}
