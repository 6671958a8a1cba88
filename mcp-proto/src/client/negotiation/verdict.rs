//! The negotiation of a version: what the application chooses, and what it gets.

use alloc::boxed::Box;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::types::{DiscoverResult, Implementation, ServerCapabilities};
use crate::version::{Era, ProtocolVersion};

/// How a client finds a version that the server speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Negotiation {
    /// It asks with `server/discover`, and opens with `initialize` if the server does not know
    /// that.
    #[default]
    Auto,
    /// It opens with `initialize` and takes any legacy revision.
    Legacy,
    /// This revision and no other: a modern one is asked for with `server/discover`, a legacy one
    /// with `initialize`.
    Pinned(ProtocolVersion),
}

/// The finding of a negotiation, to be stored and given to the next client of the same server,
/// which then need not probe: [`Config::verdict`](crate::client::Config::verdict). If it is wrong
/// by then, the client finds that out and probes the server.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The revision that was spoken; its era is the server's. A legacy server is asked for the
    /// newest revision all the same.
    pub version: ProtocolVersion,
    /// What a modern server says about itself, if it has said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discover: Option<DiscoverResult>,
}

impl Verdict {
    /// The server speaks this revision.
    pub fn new(version: ProtocolVersion) -> Self {
        Self { version, discover: None }
    }

    /// The era of the server.
    pub fn era(&self) -> Era {
        self.version.era()
    }
}

/// The server as far as the client knows it.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct ServerInfo {
    /// The revision that is spoken with it.
    pub version: ProtocolVersion,
    /// What it supports. A modern server that has not said so supports nothing that is known.
    pub capabilities: ServerCapabilities,
    /// Who it is; a modern server may leave it out.
    pub implementation: Option<Implementation>,
    /// How to use it, for the model.
    pub instructions: Option<String>,
    /// Of a legacy server, the result of `initialize` as it came: for an application that passes it
    /// on. A modern server can be asked again, with `server/discover`.
    pub initialized: Option<Box<Json>>,
}

impl ServerInfo {
    /// The era that it belongs to.
    pub fn era(&self) -> Era {
        self.version.era()
    }

    /// The settings of an extension, an object, if the server declares it.
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
        let meta = result.meta.as_ref().and_then(|meta| meta.decode::<Meta>().ok());
        Self {
            version,
            capabilities: result.capabilities.clone(),
            implementation: meta.and_then(|meta| meta.server_info),
            instructions: result.instructions.clone(),
            initialized: None,
        }
    }

    /// The version that an `InitializeResult` names, and what else it says, as far as it can be
    /// read: servers have been seen that leave something out. The version is not looked at.
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
        // `serde` would take an array for a struct.
        let result: Initialized = result.raw().is_object().then(|| result.decode().ok())??;
        let Initialized { protocol_version, capabilities, server_info, instructions } = result;
        let server = Self {
            version: ProtocolVersion::LATEST_LEGACY,
            capabilities: capabilities.and_then(|json| json.decode().ok()).unwrap_or_default(),
            implementation: server_info.and_then(|json| json.decode().ok()),
            instructions: instructions.and_then(|json| json.decode().ok()),
            initialized: Some(Box::new(text.detach())),
        };
        Some((protocol_version, server))
    }
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
