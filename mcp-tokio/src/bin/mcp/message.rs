//! A JSON-RPC message whose values keep their text: numbers keep their digits.
//!
//! In: a line. Out: the members of the message, and the same message with another id or progress
//! token.

use std::collections::BTreeMap;

use mcp_tokio::Json;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A JSON object, whose members are not decoded.
#[derive(Clone, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub(crate) struct Message(BTreeMap<String, Json>);

impl Message {
    /// Reads a text. Fails with a JSON-RPC error for a text that is no JSON, or no object.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, Self> {
        let json = Json::parse(text.to_vec())
            .map_err(|_| Self::error(None, -32700, "the message is not JSON"))?;
        json.decode().map_err(|_| Self::error(None, -32600, "the message is not a JSON object"))
    }

    /// The empty result of a request.
    pub(crate) fn empty_result(id: &Json) -> Self {
        Self::default().with("jsonrpc", "2.0").with("id", id).with("result", &json!({}))
    }

    /// An error. Without an id it is about a message whose id cannot be read: MCP has no `null`.
    pub(crate) fn error(id: Option<&Json>, code: i32, message: &str) -> Self {
        let error = json!({ "code": code, "message": message });
        let response = Self::default().with("jsonrpc", "2.0").with("error", &error);
        id.into_iter().fold(response, |response, id| response.with("id", id))
    }

    pub(crate) fn get(&self, member: &str) -> Option<&Json> {
        self.0.get(member)
    }

    pub(crate) fn method(&self) -> Option<String> {
        self.get("method")?.decode().ok()
    }

    /// The id, a string or a number.
    pub(crate) fn id(&self) -> Option<&Json> {
        let is_id = |c| matches!(c, '"' | '-' | '0'..='9');
        self.get("id").filter(|id| id.as_str().starts_with(is_id))
    }

    /// Returns whether the message answers a request.
    pub(crate) fn is_response(&self) -> bool {
        !self.has("method") && (self.has("result") || self.has("error"))
    }

    pub(crate) fn has(&self, member: &str) -> bool {
        self.0.contains_key(member)
    }

    /// The parameters without `_meta`; empty if there are none.
    pub(crate) fn params(&self) -> Json {
        let Some(params) = self.get("params") else { return Json::EMPTY_OBJECT };
        match params.decode::<Self>() {
            Ok(Self(mut members)) => {
                members.remove("_meta");
                encoded(&members)
            }
            Err(_) => params.clone(),
        }
    }

    /// The token under which the sender of a request wants its progress.
    pub(crate) fn progress_token(&self) -> Option<Json> {
        let params: Self = self.get("params")?.decode().ok()?;
        let meta: Self = params.get("_meta")?.decode().ok()?;
        meta.get("progressToken").cloned()
    }

    /// The token of a progress notification.
    pub(crate) fn progress_of(&self) -> Option<Json> {
        let params: Self = self.get("params")?.decode().ok()?;
        params.get("progressToken").cloned()
    }

    /// The message with this value of a member.
    pub(crate) fn with(mut self, member: &str, value: &(impl Serialize + ?Sized)) -> Self {
        self.0.insert(member.to_owned(), encoded(value));
        self
    }

    /// The progress notification with another token.
    pub(crate) fn with_progress_of(self, token: &Json) -> Self {
        let params: Option<Self> = self.get("params").and_then(|params| params.decode().ok());
        let params = params.unwrap_or_default().with("progressToken", token);
        self.with("params", &params)
    }
}

/// Returns whether two ids or tokens are the same: a string may have several spellings.
pub(crate) fn is_same_id(one: &Json, other: &Json) -> bool {
    let text = |id: &Json| id.decode::<String>().ok();
    one == other || text(one).is_some_and(|one| text(other) == Some(one))
}

/// The value of JSON; its text if it has a number or a string that no [`Value`] can hold.
pub(crate) fn decoded(json: &Json) -> Value {
    json.decode().unwrap_or_else(|_| Value::String(json.to_string()))
}

/// JSON of a value whose encoding cannot fail: its keys are strings.
fn encoded(value: &(impl Serialize + ?Sized)) -> Json {
    Json::encode(value).unwrap_or(Json::EMPTY_OBJECT)
}
