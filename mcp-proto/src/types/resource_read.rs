use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::cache::ttl_ms;
use super::{CacheScope, InputResponses, ResourceContents, ResultType};
use crate::json::Json;

/// The parameters of `resources/read`.
///
/// [Schema: `ReadResourceRequestParams`](https://modelcontextprotocol.io/specification/2026-07-28/schema#readresourcerequestparams)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadResourceRequestParams {
    /// The resource.
    pub uri: String,
    /// The answers to what the server asked for before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The state that the server gave when it was asked before.
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
    pub contents: Vec<ResourceContents>,
    /// For how many milliseconds the result is fresh; 0 for not at all.
    #[serde(default, deserialize_with = "ttl_ms", skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// The scope of the cache that may hold the result while it is fresh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// Metadata of the result (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl ReadResourceResult {
    /// These contents.
    pub fn new(contents: Vec<ResourceContents>) -> Self {
        Self { contents, ..Self::default() }
    }
}

/// The parameters of `resources/subscribe`; legacy.
///
/// [Schema: `SubscribeRequestParams`](https://modelcontextprotocol.io/specification/2025-11-25/schema#subscriberequestparams)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SubscribeRequestParams {
    /// The resource.
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
    /// The resource.
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
    /// The resource that changed; perhaps a part of the one that was subscribed to.
    pub uri: String,
    /// Metadata of the notification (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}
