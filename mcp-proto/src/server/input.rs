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
use crate::error::{ErrorCode, ProtocolError, Rung};
use crate::json::write::List;
use crate::json::{Json, Raw};
use crate::message::{ErrorData, Member, Outgoing, Params};
use crate::time::Instant;
use crate::types::{
    ClientCapabilities, ElicitRequestParams, ElicitationCapability, InputRequest, InputResponses,
    ListChangedCapability, MissingRequiredClientCapabilityErrorData, SamplingCapability,
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

    /// What a client must declare to be asked this.
    fn of_request(request: &InputRequest) -> Self {
        let none = Self::default();
        match request {
            InputRequest::ListRoots(_) => Self { roots: true, ..none },
            InputRequest::CreateMessage(params) => {
                Self { sampling: true, sampling_tools: params.needs_tools(), ..none }
            }
            InputRequest::Elicit(ElicitRequestParams::Form(_)) => {
                Self { elicitation_form: true, ..none }
            }
            InputRequest::Elicit(ElicitRequestParams::Url(_)) => {
                Self { elicitation_url: true, ..none }
            }
        }
    }

    /// The capability that a client must declare to be asked this, if it does not.
    pub(super) fn missing(self, request: &InputRequest) -> Option<&'static str> {
        let lacks = self.lacks(Self::of_request(request));
        [
            (lacks.roots, "roots"),
            (lacks.sampling, "sampling"),
            (lacks.sampling_tools, "sampling.tools"),
            (lacks.elicitation_form, "elicitation.form"),
            (lacks.elicitation_url, "elicitation.url"),
        ]
        .into_iter()
        .find_map(|(lacks, capability)| lacks.then_some(capability))
    }

    /// What of `needed` there is not.
    fn lacks(self, needed: Self) -> Self {
        Self {
            roots: needed.roots && !self.roots,
            sampling: needed.sampling && !self.sampling,
            sampling_tools: needed.sampling_tools && !self.sampling_tools,
            elicitation_form: needed.elicitation_form && !self.elicitation_form,
            elicitation_url: needed.elicitation_url && !self.elicitation_url,
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            roots: self.roots || other.roots,
            sampling: self.sampling || other.sampling,
            sampling_tools: self.sampling_tools || other.sampling_tools,
            elicitation_form: self.elicitation_form || other.elicitation_form,
            elicitation_url: self.elicitation_url || other.elicitation_url,
        }
    }

    fn capabilities(self) -> ClientCapabilities {
        let present = |is: bool| is.then_some(Json::EMPTY_OBJECT);
        let sampling = SamplingCapability { tools: present(self.sampling_tools), context: None };
        let elicitation = ElicitationCapability {
            form: present(self.elicitation_form),
            url: present(self.elicitation_url),
        };
        ClientCapabilities {
            roots: self.roots.then(ListChangedCapability::default),
            sampling: (self.sampling || self.sampling_tools).then_some(sampling),
            elicitation: (self.elicitation_form || self.elicitation_url).then_some(elicitation),
            ..ClientCapabilities::default()
        }
    }
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
            Err(error) => {
                let undeclared = error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
                let rung = undeclared.then_some(Rung::Capability);
                self.calls.settle(&call);
                self.deliver(call.via, rung, Outgoing::Error { id: Some(call.id), error });
            }
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

/// Whether the request may ask for input, and its client may be asked that.
fn check(call: &Call, required: &InputRequired) -> Result<(), ErrorData> {
    if !call.kind.takes_input() {
        return Err(ErrorData::internal("the handler asked for input where none can be given"));
    }
    if !call.asks {
        return Err(ErrorData::internal("the handler asked for input, and its type says never"));
    }
    if required.requests.is_empty() && required.state.is_none() {
        return Err(ErrorData::internal("the handler asked for input, and for nothing"));
    }
    let (mut keys, mut lacking) = (Vec::new(), Inputs::default());
    for (key, request) in &required.requests {
        let lacks = call.inputs.lacks(Inputs::of_request(request));
        if lacks != Inputs::default() {
            keys.push(alloc::format!("`{key}` (`{}`)", request.method()));
            lacking = lacking.or(lacks);
        }
    }
    if keys.is_empty() {
        return Ok(());
    }
    Err(undeclared(call.era, &keys.join(", "), lacking.capabilities()))
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
