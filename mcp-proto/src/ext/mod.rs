//! Extensions of the protocol: their identifiers, and the features that need an extension.
//!
//! In: the capabilities of a client, and an identifier. Out: the settings of that extension. Called
//! by [`Registry::requires_extension`](crate::server::Registry::requires_extension) and by
//! [`Peer::extension`](crate::server::Peer::extension).
//!
//! Extensions have their own versions and change independently of the protocol. **This module may
//! break in a minor version of this crate**; the rest of the crate may not.
//!
//! [Specification: Extension Negotiation](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#extension-negotiation)

#[cfg(feature = "skills")]
pub mod skills;
pub mod ui;

use alloc::collections::BTreeMap;
use alloc::string::String;

use crate::json::Json;

/// Tasks: results of tools that clients fetch later (SEP-2663).
pub const TASKS: &str = "io.modelcontextprotocol/tasks";

/// MCP Apps: pages that a host shows for a tool (SEP-1865); see [`ui`].
pub const UI: &str = "io.modelcontextprotocol/ui";

/// Skills: instructions for models, with their files (SEP-2640). The module `skills` needs the
/// feature of that name.
pub const SKILLS: &str = "io.modelcontextprotocol/skills";

/// A part of a server that can require an extension.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Feature {
    /// The tool of this name.
    Tool(String),
    /// The method of this name, with a handler in the registry.
    Method(String),
}

impl Feature {
    /// The tool of this name.
    pub fn tool(name: impl Into<String>) -> Self {
        Self::Tool(name.into())
    }

    /// The method of this name.
    pub fn method(name: impl Into<String>) -> Self {
        Self::Method(name.into())
    }
}

/// The settings of an extension in these `ClientCapabilities`; `None` if the extension is missing
/// or its settings are not an object.
pub(crate) fn settings(capabilities: &Json, identifier: &str) -> Option<Json> {
    #[derive(serde::Deserialize)]
    struct Capabilities {
        #[serde(default)]
        extensions: BTreeMap<String, Json>,
    }
    let Capabilities { mut extensions } = capabilities.decode().ok()?;
    extensions.remove(identifier).filter(|settings| settings.raw().is_object())
}
