use alloc::string::String;
use core::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::RequestedSchema;
use super::codec::{or_default, variant};
use crate::json::Json;

/// The parameters of `elicitation/create`, tagged by `mode`; the default is `form`.
///
/// [Schema: `ElicitRequestParams`](https://modelcontextprotocol.io/specification/2026-07-28/schema#elicitrequestparams)
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ElicitRequestParams {
    /// `form`: ask with a form.
    Form(ElicitRequestFormParams),
    /// `url`, since 2025-11-25: send the user to a URL.
    Url(ElicitRequestURLParams),
}

impl From<ElicitRequestFormParams> for ElicitRequestParams {
    fn from(params: ElicitRequestFormParams) -> Self {
        Self::Form(params)
    }
}

impl From<ElicitRequestURLParams> for ElicitRequestParams {
    fn from(params: ElicitRequestURLParams) -> Self {
        Self::Url(params)
    }
}

impl Serialize for ElicitRequestParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Form(params) => params.serialize(serializer),
            Self::Url(params) => params.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ElicitRequestParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Mode {
            Form,
            Url,
        }
        #[derive(Deserialize)]
        struct Tag {
            mode: Option<Mode>,
        }
        let json = Json::deserialize(deserializer)?;
        let tag: Tag = variant(&json)?;
        match tag.mode {
            None | Some(Mode::Form) => variant(&json).map(Self::Form),
            Some(Mode::Url) => variant(&json).map(Self::Url),
        }
    }
}

/// A form for the user. It must not ask for secrets.
///
/// [Schema: `ElicitRequestFormParams`](https://modelcontextprotocol.io/specification/2026-07-28/schema#elicitrequestformparams)
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitRequestFormParams {
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<FormMode>,
    /// The question for the user.
    pub message: String,
    /// The fields of the form. Some servers leave the schema out if there are none.
    #[serde(default, deserialize_with = "or_default")]
    pub requested_schema: RequestedSchema,
    /// Metadata of the request (`_meta`); legacy.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum FormMode {
    #[serde(rename = "form")]
    Form,
}

impl ElicitRequestFormParams {
    /// A form with these fields. `mode` is not written: `form` is the default, and revisions before
    /// 2025-11-25 have no modes.
    pub fn new(message: impl Into<String>, requested_schema: RequestedSchema) -> Self {
        Self { mode: None, message: message.into(), requested_schema, meta: None }
    }
}

/// A page for the user, outside of the client.
///
/// [Schema: `ElicitRequestURLParams`](https://modelcontextprotocol.io/specification/2026-07-28/schema#elicitrequesturlparams)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitRequestURLParams {
    mode: UrlMode,
    /// The reason to visit the URL, shown to the user.
    pub message: String,
    /// The URL that the user is sent to.
    pub url: String,
    /// The id that `notifications/elicitation/complete` will name. Only 2025-11-25 has it, and
    /// requires it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
    /// Metadata of the request (`_meta`); legacy.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum UrlMode {
    #[serde(rename = "url")]
    Url,
}

impl ElicitRequestURLParams {
    /// The page at this URL.
    pub fn new(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            mode: UrlMode::Url,
            message: message.into(),
            url: url.into(),
            elicitation_id: None,
            meta: None,
        }
    }
}

/// The answer to `elicitation/create`.
///
/// [Schema: `ElicitResult`](https://modelcontextprotocol.io/specification/2026-07-28/schema#elicitresult)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitResult {
    /// The action of the user.
    pub action: ElicitAction,
    /// The content of the form, if the user accepted one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Json>,
    /// Metadata of the result (`_meta`); legacy.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl ElicitResult {
    /// The answer of a user who submitted the form with this content, an object. The content is not
    /// checked; [`ElicitRequestFormParams::accept`] checks it.
    pub fn accept(content: Json) -> Self {
        Self { content: Some(content), ..Self::new(ElicitAction::Accept) }
    }

    /// An answer without content: the user declined, closed the form, or agreed to visit the URL.
    pub fn new(action: ElicitAction) -> Self {
        Self { action, content: None, meta: None }
    }

    /// Decodes the content of an accepted form, as [`Json::decode_arguments`] does, without
    /// checking it against the form. `None` if the form was not accepted, or has no content. An
    /// error names the fields that do not fit: `/age: expected an integer from 0 to 255, …`.
    pub fn accepted<T: DeserializeOwned>(&self) -> Option<Result<T, serde_json::Error>> {
        match self.action {
            ElicitAction::Accept => self.content.as_ref().map(Json::decode_located),
            ElicitAction::Decline | ElicitAction::Cancel => None,
        }
    }
}

/// The action of a user on an elicitation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitAction {
    /// Submitted the form, or went to the URL.
    Accept,
    /// Declined.
    Decline,
    /// Closed the form or the request without an answer.
    Cancel,
}

impl ElicitAction {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
        }
    }
}

impl fmt::Display for ElicitAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The parameters of `notifications/elicitation/complete`; only in 2025-11-25.
///
/// [Schema: `ElicitationCompleteNotification`](https://modelcontextprotocol.io/specification/2025-11-25/schema#elicitationcompletenotification)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitationCompleteNotificationParams {
    /// The `elicitationId` of the completed elicitation.
    pub elicitation_id: String,
}

impl ElicitationCompleteNotificationParams {
    /// The parameters for this elicitation.
    pub fn new(elicitation_id: impl Into<String>) -> Self {
        Self { elicitation_id: elicitation_id.into() }
    }
}
