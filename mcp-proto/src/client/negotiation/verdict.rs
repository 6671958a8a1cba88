//! Negotiation of a version: its strategy and its results.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::types::{DiscoverResult, Implementation, ServerCapabilities, read_capabilities};
use crate::version::{Era, ProtocolVersion};

/// Strategy of a client for finding a version that the server supports.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Negotiation {
    /// Sends `server/discover` first, then `initialize` if the server does not know that method.
    #[default]
    Auto,
    /// Sends `initialize` and accepts any legacy revision.
    Legacy,
    /// Accepts only this revision: a modern revision by `server/discover`, a legacy revision by
    /// `initialize`.
    Pinned(ProtocolVersion),
}

/// Result of a negotiation. The application stores it for the next client of the same server, which
/// then need not probe: see [`Config::verdict`](crate::client::Config::verdict). If a stored
/// verdict has become wrong, the client detects this and probes the server.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The negotiated revision; its era is the era of the server. The client still requests the
    /// newest legacy revision from a legacy server.
    pub version: ProtocolVersion,
    /// `DiscoverResult` of a modern server, if it has sent one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discover: Option<DiscoverResult>,
    /// The transport to the server over HTTP. The field is not serialized, and is only valid in
    /// this process, because the server may be updated later.
    #[serde(skip)]
    pub transport: Transport,
}

/// The transport to a server over HTTP.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Transport {
    /// Streamable HTTP, or a transport other than HTTP.
    #[default]
    Streamable,
    /// HTTP+SSE, of 2024-11-05.
    HttpSse,
}

impl Verdict {
    /// A verdict for a server with this revision.
    pub fn new(version: ProtocolVersion) -> Self {
        Self { version, discover: None, transport: Transport::default() }
    }

    /// The era of the server.
    pub fn era(&self) -> Era {
        self.version.era()
    }
}

/// The known facts about a server.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ServerInfo {
    /// The negotiated revision.
    pub version: ProtocolVersion,
    /// Capabilities of the server. Empty while a modern server has not declared any; such a server
    /// is assumed to support nothing.
    pub capabilities: ServerCapabilities,
    /// Name and version of the server; a modern server may leave them out.
    pub implementation: Option<Implementation>,
    /// Instructions for the model on using the server.
    pub instructions: Option<String>,
    /// The unchanged result of `initialize` of a legacy server, for an application that forwards
    /// it. A modern server can be asked again, with `server/discover`.
    pub initialized: Option<Box<Json>>,
}

impl ServerInfo {
    /// The era of the server.
    pub fn era(&self) -> Era {
        self.version.era()
    }

    /// The settings of an extension, an object, if the server declares the extension.
    pub fn extension(&self, identifier: &str) -> Option<&Json> {
        let settings = self.capabilities.extensions.get(identifier);
        settings.filter(|settings| settings.raw().is_object())
    }

    pub(in crate::client) fn discovered(
        version: ProtocolVersion,
        result: Option<&DiscoverResult>,
    ) -> Self {
        #[derive(Deserialize)]
        struct Meta {
            #[serde(rename = "io.modelcontextprotocol/serverInfo")]
            server_info: Option<Implementation>,
        }
        let Some(result) = result else {
            let capabilities = ServerCapabilities::default();
            return Self {
                version,
                capabilities,
                implementation: None,
                instructions: None,
                initialized: None,
            };
        };
        let meta = result.meta.as_ref().and_then(|meta| meta.decode_lossy::<Meta>().ok());
        Self {
            version,
            capabilities: result.capabilities.clone(),
            implementation: meta.and_then(|meta| meta.server_info),
            instructions: result.instructions.clone(),
            initialized: None,
        }
    }

    /// The version and the facts in an `InitializeResult`. Unreadable parts are left out, because
    /// some servers omit members. The version is not checked.
    pub(in crate::client) fn initialized(result: &Json) -> Option<(String, Self)> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Initialized {
            protocol_version: String,
            capabilities: Option<Json>,
            server_info: Option<Json>,
            instructions: Option<Json>,
        }
        let text = result;
        // `serde` would also read a struct from an array.
        let result: Initialized = result.raw().is_object().then(|| result.decode().ok())??;
        let Initialized { protocol_version, capabilities, server_info, instructions } = result;
        let server = Self {
            version: ProtocolVersion::LATEST_LEGACY,
            capabilities: capabilities.map(|it| read_capabilities(&it)).unwrap_or_default(),
            implementation: read(server_info),
            instructions: read(instructions),
            initialized: Some(Box::new(text.detach())),
        };
        Some((protocol_version, server))
    }
}

/// The `DiscoverResult` in an object. Unreadable parts are left out.
pub(super) fn discover_result(result: &Json) -> Option<DiscoverResult> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Discovered {
        supported_versions: Vec<String>,
        capabilities: Option<Json>,
        instructions: Option<Json>,
        #[serde(rename = "_meta")]
        meta: Option<Json>,
    }
    if let Ok(whole) = result.decode_lossy() {
        return Some(whole);
    }
    let parts: Discovered = result.decode().ok()?;
    Some(DiscoverResult {
        result_type: None,
        supported_versions: parts.supported_versions,
        capabilities: parts.capabilities.map(|it| read_capabilities(&it)).unwrap_or_default(),
        instructions: read(parts.instructions),
        ttl_ms: None,
        cache_scope: None,
        meta: parts.meta,
    })
}

/// A part of an answer; `None` if it is unreadable.
fn read<T: DeserializeOwned>(part: Option<Json>) -> Option<T> {
    part?.decode_lossy().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extension_of_a_server_has_an_object_as_its_settings() {
        let mut server = ServerInfo::discovered(ProtocolVersion::LATEST_MODERN, None);
        assert_eq!(server.extension("com.example/a"), None);
        let settings = Json::constant(r#"{"x":1}"#);
        server.capabilities.extensions.insert("com.example/a".into(), settings.clone());
        server.capabilities.extensions.insert("com.example/b".into(), Json::constant("true"));
        assert_eq!(server.extension("com.example/a"), Some(&settings));
        assert_eq!(server.extension("com.example/b"), None);
    }
}
