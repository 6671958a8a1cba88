//! Capabilities of a client that decide which input a server may ask for.
//!
//! In: `ClientCapabilities`, and requests for input. Out: the capabilities that are missing.
//! A bridge asks about requests that it has not decoded.

use crate::error::UsageError;
use crate::json::{Json, Raw};
use crate::types::{
    ClientCapabilities, ElicitRequestParams, ElicitationCapability, InputRequest,
    ListChangedCapability, SamplingCapability,
};
use crate::url::has_scheme;

/// The capability that a client with these capabilities must declare for a forwarded request, if it
/// does not declare it.
pub(crate) fn missing_capability(
    capabilities: &Json,
    request: &InputRequest,
) -> Option<&'static str> {
    Inputs::of(capabilities).missing(request)
}

/// Checks what the type of a request does not: the URL to visit, and the results of tools in
/// messages for a model.
pub(super) fn check_content(request: &InputRequest) -> Result<(), UsageError> {
    if let InputRequest::Elicit(ElicitRequestParams::Url(params)) = request
        && !has_scheme(&params.url)
    {
        return Err(UsageError::InvalidUri { uri: params.url.clone() });
    }
    if request.has_balanced_tools() { Ok(()) } else { Err(UsageError::UnbalancedTools) }
}

/// Fails if a request cannot be written as JSON: messages for a model may have bytes that are not
/// in Base64. All other requests can be written.
pub(super) fn check_json(request: &InputRequest) -> Result<(), serde_json::Error> {
    match request {
        InputRequest::CreateMessage(params) => Json::encode(params).map(|_| ()),
        InputRequest::Elicit(_) | InputRequest::ListRoots(_) | InputRequest::Forwarded { .. } => {
            Ok(())
        }
    }
}

/// Kinds of input that a client supports.
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
    /// Reads the kinds of input from `ClientCapabilities`.
    pub(super) fn of(capabilities: &Json) -> Self {
        Self::of_raw(capabilities.raw())
    }

    /// Reads the kinds of input from a view of `ClientCapabilities`.
    pub(super) fn of_raw(capabilities: Raw<'_>) -> Self {
        let mut inputs = Self::default();
        capabilities.members(|key, value| match key.string().as_deref() {
            Some("roots") => inputs.roots = value.is_object(),
            Some("sampling") => {
                inputs.sampling = value.is_object();
                inputs.sampling_tools = value.has_object("tools");
            }
            Some("elicitation") => {
                inputs.elicitation_url = value.has_object("url");
                // A client that names no mode supports forms, as all clients before 2025-11-25 do.
                let form = value.has_object("form") || !inputs.elicitation_url;
                inputs.elicitation_form = value.is_object() && form;
            }
            _ => {}
        });
        inputs
    }

    /// Kinds of input that a client must declare before it gets this request.
    pub(super) fn of_request(request: &InputRequest) -> Self {
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
            InputRequest::Forwarded { method, params } => Self::of_forwarded(method, params),
        }
    }

    /// Kinds of input that a client must declare before it gets a request with this method and
    /// these parameters, which may be unreadable. No kind for other methods.
    fn of_forwarded(method: &str, params: &Json) -> Self {
        let none = Self::default();
        match method {
            "roots/list" => Self { roots: true, ..none },
            "sampling/createMessage" => {
                let has = |name| params.raw().member(name).is_some();
                Self { sampling: true, sampling_tools: has("tools") || has("toolChoice"), ..none }
            }
            "elicitation/create" => {
                let mode = params.raw().member("mode").and_then(Raw::string);
                let is_url = mode.as_deref() == Some("url");
                Self { elicitation_url: is_url, elicitation_form: !is_url, ..none }
            }
            _ => none,
        }
    }

    /// The capability that the client must declare for this request, if it does not declare it.
    pub(super) fn missing(self, request: &InputRequest) -> Option<&'static str> {
        self.lacks(Self::of_request(request)).first()
    }

    /// One of the capabilities for these kinds of input, if there are any.
    fn first(self) -> Option<&'static str> {
        [
            (self.roots, "roots"),
            (self.sampling, "sampling"),
            (self.sampling_tools, "sampling.tools"),
            (self.elicitation_form, "elicitation.form"),
            (self.elicitation_url, "elicitation.url"),
        ]
        .into_iter()
        .find_map(|(has, capability)| has.then_some(capability))
    }

    /// The kinds in `needed` that this set lacks.
    pub(super) fn lacks(self, needed: Self) -> Self {
        Self {
            roots: needed.roots && !self.roots,
            sampling: needed.sampling && !self.sampling,
            sampling_tools: needed.sampling_tools && !self.sampling_tools,
            elicitation_form: needed.elicitation_form && !self.elicitation_form,
            elicitation_url: needed.elicitation_url && !self.elicitation_url,
        }
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self {
            roots: self.roots || other.roots,
            sampling: self.sampling || other.sampling,
            sampling_tools: self.sampling_tools || other.sampling_tools,
            elicitation_form: self.elicitation_form || other.elicitation_form,
            elicitation_url: self.elicitation_url || other.elicitation_url,
        }
    }

    pub(super) fn capabilities(self) -> ClientCapabilities {
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
