use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;

use serde::de::Error;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::codec::variant;
use super::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams, ElicitRequestParams,
    ElicitRequestURLParams, ElicitResult, InputResponse, ListRootsResult, RequestParams,
    ResultType,
};
use crate::json::{Json, Raw};

/// The result of a request that needs input: the client gathers the input, and sends the request
/// again.
///
/// At least one of `input_requests` and `request_state` is present.
///
/// [Schema: `InputRequiredResult`](https://modelcontextprotocol.io/specification/2026-07-28/schema#inputrequiredresult)
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InputRequiredResult {
    /// The type of the result: [`ResultType::InputRequired`].
    pub result_type: ResultType,
    /// The requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// State that the client sends back unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// Metadata of the result (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

/// The requests of a server, by keys that the server chooses.
///
/// [Schema: `InputRequests`](https://modelcontextprotocol.io/specification/2026-07-28/schema#inputrequests)
pub type InputRequests = BTreeMap<String, InputRequest>;

/// An input request of a server: a JSON-RPC request in the legacy era, a part of an
/// [`InputRequiredResult`] in the modern era.
///
/// [Specification: Multi Round-Trip](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum InputRequest {
    /// `elicitation/create`: ask the user.
    Elicit(ElicitRequestParams),
    /// `sampling/createMessage`: ask the model.
    CreateMessage(Box<CreateMessageRequestParams>),
    /// `roots/list`: list the folders that the server may work in.
    ListRoots(RequestParams),
    /// Any request of another server, unchanged. Only the capability that it needs is checked.
    Forwarded {
        /// The method.
        method: Box<str>,
        /// The parameters, an object.
        params: Json,
    },
}

impl InputRequest {
    /// A request for the roots.
    pub fn list_roots() -> Self {
        Self::ListRoots(RequestParams::default())
    }

    /// The method of the request; one of the specification unless the request is forwarded.
    pub fn method_name(&self) -> Cow<'static, str> {
        match self {
            Self::Elicit(_) => "elicitation/create".into(),
            Self::CreateMessage(_) => "sampling/createMessage".into(),
            Self::ListRoots(_) => "roots/list".into(),
            Self::Forwarded { method, .. } => Cow::Owned(method.as_ref().into()),
        }
    }

    /// The method of the request.
    pub fn method(&self) -> &str {
        match self {
            Self::Forwarded { method, .. } => method,
            Self::Elicit(_) => "elicitation/create",
            Self::CreateMessage(_) => "sampling/createMessage",
            Self::ListRoots(_) => "roots/list",
        }
    }

    /// Returns whether the results of tools in messages for a model are where they must be.
    pub(crate) fn has_balanced_tools(&self) -> bool {
        match self {
            Self::CreateMessage(params) => params.has_balanced_tools(),
            Self::Elicit(_) | Self::ListRoots(_) | Self::Forwarded { .. } => true,
        }
    }
}

impl From<ElicitRequestFormParams> for InputRequest {
    fn from(params: ElicitRequestFormParams) -> Self {
        Self::Elicit(params.into())
    }
}

impl From<ElicitRequestURLParams> for InputRequest {
    fn from(params: ElicitRequestURLParams) -> Self {
        Self::Elicit(params.into())
    }
}

impl From<ElicitRequestParams> for InputRequest {
    fn from(params: ElicitRequestParams) -> Self {
        Self::Elicit(params)
    }
}

impl From<CreateMessageRequestParams> for InputRequest {
    fn from(params: CreateMessageRequestParams) -> Self {
        Self::CreateMessage(Box::new(params))
    }
}

impl Serialize for InputRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut request = serializer.serialize_struct("InputRequest", 2)?;
        request.serialize_field("method", self.method())?;
        match self {
            Self::Elicit(params) => request.serialize_field("params", params)?,
            Self::CreateMessage(params) => request.serialize_field("params", params)?,
            Self::ListRoots(params) if params.meta.is_none() => request.skip_field("params")?,
            Self::ListRoots(params) => request.serialize_field("params", params)?,
            Self::Forwarded { params, .. } => request.serialize_field("params", params)?,
        }
        request.end()
    }
}

impl<'de> Deserialize<'de> for InputRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Request {
            method: String,
            params: Option<Json>,
        }
        let request = Request::deserialize(deserializer)?;
        let params = request.params.unwrap_or(Json::EMPTY_OBJECT);
        match &*request.method {
            "elicitation/create" => variant(&params).map(Self::Elicit),
            "sampling/createMessage" => variant(&params).map(Self::CreateMessage),
            "roots/list" => variant(&params).map(Self::ListRoots),
            method => Err(D::Error::unknown_variant(
                method,
                &["elicitation/create", "sampling/createMessage", "roots/list"],
            )),
        }
    }
}

/// These methods are in this file to avoid an import cycle: results refer to tools, whose
/// parameters contain responses.
impl InputResponse {
    /// Decodes the answer to [`InputRequest::Elicit`]; fails for any other JSON.
    pub fn elicit(&self) -> Result<ElicitResult, serde_json::Error> {
        self.json().decode_lossy()
    }

    /// Decodes the answer to [`InputRequest::CreateMessage`]; fails for any other JSON.
    pub fn create_message(&self) -> Result<CreateMessageResult, serde_json::Error> {
        self.json().decode_lossy()
    }

    /// Decodes the answer to [`InputRequest::ListRoots`]; fails for any other JSON.
    pub fn list_roots(&self) -> Result<ListRootsResult, serde_json::Error> {
        self.json().decode_lossy()
    }

    /// Returns whether the answer has the type that a request for input expects: that of the result
    /// of its method. Any object answers a method that this library does not know.
    pub fn is_for(&self, request: &Json) -> bool {
        let method = request.raw().member("method").and_then(Raw::string);
        self.is_result_of(method.as_deref().unwrap_or_default())
    }

    /// The same for a request of this method.
    pub(crate) fn is_result_of(&self, method: &str) -> bool {
        let has_type = match method {
            "elicitation/create" => self.json().decode_lossy::<ElicitResult>().is_ok(),
            "sampling/createMessage" => self.json().decode_lossy::<CreateMessageResult>().is_ok(),
            "roots/list" => self.json().decode_lossy::<ListRootsResult>().is_ok(),
            _ => true,
        };
        has_type && self.json().raw().is_object()
    }
}
