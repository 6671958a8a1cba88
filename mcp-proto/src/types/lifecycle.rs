use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::cache::ttl_ms;
use super::{CacheScope, ClientCapabilities, Implementation, ResultType, ServerCapabilities};
use crate::json::Json;

/// The parameters of `initialize`; legacy.
///
/// [Schema: `InitializeRequestParams`](https://modelcontextprotocol.io/specification/2025-11-25/schema#initializerequestparams)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InitializeRequestParams {
    /// The latest revision that the client supports.
    pub protocol_version: String,
    /// The capabilities of the client.
    pub capabilities: ClientCapabilities,
    /// The implementation of the client.
    pub client_info: Implementation,
    /// Metadata of the request (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

/// The result of `initialize`; legacy.
///
/// [Schema: `InitializeResult`](https://modelcontextprotocol.io/specification/2025-11-25/schema#initializeresult)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InitializeResult {
    /// The revision that the server selects; a client that does not support it disconnects.
    pub protocol_version: String,
    /// The capabilities of the server.
    pub capabilities: ServerCapabilities,
    /// The implementation of the server.
    pub server_info: Implementation,
    /// Instructions for the model: how to use the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Metadata of the result (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

/// The result of `server/discover`; modern. `_meta` may contain `serverInfo`.
///
/// [Schema: `DiscoverResult`](https://modelcontextprotocol.io/specification/2026-07-28/schema#discoverresult)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DiscoverResult {
    /// The type of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The revisions that the server supports.
    pub supported_versions: Vec<String>,
    /// The capabilities of the server.
    pub capabilities: ServerCapabilities,
    /// Instructions for the model: how to use the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
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
