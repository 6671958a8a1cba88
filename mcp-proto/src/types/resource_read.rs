//! The result of `resources/read`.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::cache::ttl_ms;
use super::codec::or_default;
use super::{CacheScope, InputResponses, ResourceContents, ResultType, TextResourceContents};
use crate::json::write::List;
use crate::json::{Json, Spare};

/// The parameters of `resources/read`.
///
/// [Schema: `ReadResourceRequestParams`](https://modelcontextprotocol.io/specification/2026-07-28/schema#readresourcerequestparams)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadResourceRequestParams {
    /// The URI of the resource.
    pub uri: String,
    /// The answers to the input requests of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The `requestState` of the last `input_required` result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// Metadata of the request (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

/// The result of `resources/read`.
///
/// [Schema: `ReadResourceResult`](https://modelcontextprotocol.io/specification/2026-07-28/schema#readresourceresult)
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadResourceResult {
    /// The type of the result; the server machine writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The contents; several if the resource has parts.
    #[serde(deserialize_with = "or_default")]
    pub contents: Vec<ResourceContents>,
    /// The milliseconds for which the result is fresh; 0 means never.
    #[serde(default, deserialize_with = "ttl_ms", skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// The scope of the caches that may store the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// Metadata of the result (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl ReadResourceResult {
    /// A result with these contents.
    pub fn new(contents: Vec<ResourceContents>) -> Self {
        Self { contents, ..Self::default() }
    }

    /// The result as JSON.
    ///
    /// Fails as [`Json::encode`] does.
    pub fn to_json(&self) -> Result<Json, serde_json::Error> {
        self.to_json_in(&mut Spare::new())
    }

    /// The result as JSON. Serde checks each byte of a text, so a single text is written
    /// without it, with a fifth of its instructions (1 MB). A large text is written into `spare`,
    /// whose memory the next result uses again.
    ///
    /// Fails as [`Json::encode`] does.
    pub fn to_json_in(&self, spare: &mut Spare) -> Result<Json, serde_json::Error> {
        if let Self { result_type: None, contents, ttl_ms: None, cache_scope: None, meta: None } =
            self
            && let [ResourceContents::Text(contents)] = &**contents
            && let TextResourceContents { uri, mime_type, text, meta: None } = contents
        {
            // The size, if no byte needs an escape.
            let mime_type = mime_type.as_deref();
            let length = uri.len() + mime_type.map_or(0, str::len) + text.len();
            let mut out = spare.take(length + 64);
            out.extend_from_slice(b"{\"contents\":[");
            let mut object = List::object(&mut out);
            object.text("uri", uri);
            if let Some(mime_type) = mime_type {
                object.text("mimeType", mime_type);
            }
            object.text("text", text);
            object.end();
            out.extend_from_slice(b"]}");
            return Ok(Json::trusted(spare.keep(out)));
        }
        Json::encode(self)
    }
}

/// The parameters of `resources/subscribe`; legacy.
///
/// [Schema: `SubscribeRequestParams`](https://modelcontextprotocol.io/specification/2025-11-25/schema#subscriberequestparams)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SubscribeRequestParams {
    /// The URI of the resource.
    pub uri: String,
    /// Metadata of the request (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

/// The parameters of `resources/unsubscribe`; legacy.
///
/// [Schema: `UnsubscribeRequestParams`](https://modelcontextprotocol.io/specification/2025-11-25/schema#unsubscriberequestparams)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnsubscribeRequestParams {
    /// The URI of the resource.
    pub uri: String,
    /// Metadata of the request (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

/// The parameters of `notifications/resources/updated`.
///
/// [Schema: `ResourceUpdatedNotificationParams`](https://modelcontextprotocol.io/specification/2026-07-28/schema#resourceupdatednotificationparams)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResourceUpdatedNotificationParams {
    /// The URI of the resource that changed, perhaps a part of the subscribed resource.
    pub uri: String,
    /// Metadata of the notification (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_without_serde_are_those_with_serde() {
        for text in ["", "plain", "a \"quote\"\n\tand \\", "\u{1}\u{1f}", "Zürich 東京 \u{2028}"]
        {
            let contents = ResourceContents::text("file:///a\"b", text);
            for contents in [contents.clone(), contents.mime_type("text/plain")] {
                let result = ReadResourceResult::new([contents].into());
                assert_eq!(result.to_json().unwrap(), Json::encode(&result).unwrap());
            }
        }
    }
}
