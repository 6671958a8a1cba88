//! Input that a handler asks for: what a client may be asked, and the answer of a modern request.
//!
//! In: an [`InputRequired`] and the capabilities of the client. Out: a result of the type
//! `input_required`, or an error; a legacy request goes on to `legacy::bridge`. The other way,
//! what a modern request brings along becomes an [`Input`].
//!
//! [Specification: Multi Round-Trip Requests](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::calls::Call;
use super::{Input, InputRequired, Server};
use crate::error::{ErrorCode, ProtocolError};
use crate::json::write::List;
use crate::json::{Json, Raw};
use crate::message::{ErrorData, Member, Outgoing, Params};
use crate::time::Instant;
use crate::types::{
    ClientCapabilities, CreateMessageRequestParams, ElicitRequestParams, ElicitationCapability,
    InputRequest, InputResponses, ListChangedCapability, MissingRequiredClientCapabilityErrorData,
    SamplingCapability,
};
use crate::version::Era;

/// What a client lets servers ask of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are as many capabilities")]
pub(super) struct Inputs {
    roots: bool,
    sampling: bool,
    sampling_tools: bool,
    elicitation_form: bool,
    elicitation_url: bool,
}

impl Inputs {
    /// What these `ClientCapabilities` say.
    pub(super) fn of(capabilities: &Json) -> Self {
        let mut inputs = Self::default();
        capabilities.raw().members(|key, value| match key.string().as_deref() {
            Some("roots") => inputs.roots = value.is_object(),
            Some("sampling") => {
                inputs.sampling = value.is_object();
                inputs.sampling_tools = value.has_object("tools");
            }
            Some("elicitation") => {
                inputs.elicitation_url = value.has_object("url");
                // A client that names no mode shows forms, as those before 2025-11-25.
                let form = value.has_object("form") || !inputs.elicitation_url;
                inputs.elicitation_form = value.is_object() && form;
            }
            _ => {}
        });
        inputs
    }

    /// What the client would have to declare to be asked this.
    fn lacks(self, request: &InputRequest) -> Option<ClientCapabilities> {
        let mut lacking = ClientCapabilities::default();
        match request {
            InputRequest::ListRoots(_) if !self.roots => {
                lacking.roots = Some(ListChangedCapability::default());
            }
            InputRequest::CreateMessage(params) => {
                let tools = needs_tools(params) && !self.sampling_tools;
                if self.sampling && !tools {
                    return None;
                }
                let tools = needs_tools(params).then_some(Json::EMPTY_OBJECT);
                lacking.sampling = Some(SamplingCapability { tools, ..Default::default() });
            }
            InputRequest::Elicit(ElicitRequestParams::Form(_)) if !self.elicitation_form => {
                let form = Some(Json::EMPTY_OBJECT);
                lacking.elicitation = Some(ElicitationCapability { form, ..Default::default() });
            }
            InputRequest::Elicit(ElicitRequestParams::Url(_)) if !self.elicitation_url => {
                let url = Some(Json::EMPTY_OBJECT);
                lacking.elicitation = Some(ElicitationCapability { url, ..Default::default() });
            }
            InputRequest::ListRoots(_) | InputRequest::Elicit(_) => return None,
        }
        Some(lacking)
    }
}

/// Whether the model is to use tools.
pub(super) fn needs_tools(params: &CreateMessageRequestParams) -> bool {
    params.tools.is_some() || params.tool_choice.is_some()
}

impl Server {
    /// A handler asks for input; its request was set aside.
    pub(super) fn input_required(&mut self, now: Instant, call: Call, mut required: InputRequired) {
        let result = check(&call, &required).and_then(|()| match call.era {
            Era::Legacy => Ok(None),
            Era::Modern => encode(&mut required).map(Some),
        });
        match result {
            Ok(None) => self.bridge(now, call, required),
            Ok(Some(result)) => {
                let stamp = self.declaration.input_required_stamp.clone();
                self.settle(call, |call| Outgoing::Result { id: call.id, stamp, result });
            }
            Err(error) => self.settle_with(call, error),
        }
    }
}

/// What a modern request brings along; its handler has to check what is in it.
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
        Some(json) if json.raw().is_object() => json.decode().unwrap_or_default(),
        Some(_) => return Err(invalid(Member::InputResponses, "an object")),
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

/// Whether the request may ask for input, and its client may be asked that.
fn check(call: &Call, required: &InputRequired) -> Result<(), ErrorData> {
    if !call.kind.takes_input() {
        return Err(ErrorData::internal("the handler asked for input where none can be given"));
    }
    if required.requests.is_empty() && required.state.is_none() {
        return Err(ErrorData::internal("the handler asked for input, and for nothing"));
    }
    for (key, request) in &required.requests {
        if let Some(lacking) = call.inputs.lacks(request) {
            return Err(undeclared(call.era, key, request, lacking));
        }
    }
    Ok(())
}

/// The members of the modern result.
fn encode(required: &mut InputRequired) -> Result<Json, ErrorData> {
    let InputRequired { requests, state } = required;
    for request in requests.values_mut() {
        if let InputRequest::Elicit(ElicitRequestParams::Url(url)) = request {
            // A handler that may be asked by a client of 2025-11-25 has named it.
            url.elicitation_id = None;
        }
    }
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

fn undeclared(
    era: Era,
    key: &str,
    request: &InputRequest,
    lacking: ClientCapabilities,
) -> ErrorData {
    let needed = Json::encode(&lacking).unwrap_or(Json::EMPTY_OBJECT);
    let method = request.method();
    let message = alloc::format!(
        "the input `{key}` (`{method}`) needs what the client does not declare: {needed}"
    );
    match era {
        Era::Legacy => ErrorData::internal(message),
        Era::Modern => {
            let data = MissingRequiredClientCapabilityErrorData::new(lacking);
            let code = ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
            ErrorData { data: Json::encode(&data).ok(), ..ErrorData::new(code, message) }
        }
    }
}
