use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::Icon;
use super::codec::or_default;
use super::setters::{described, with_icons};

/// The identity of an implementation: a client's `clientInfo`, a server's `serverInfo`.
///
/// [Schema: Implementation](https://modelcontextprotocol.io/specification/2026-07-28/schema#implementation)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Implementation {
    /// For programs, and for display if there is no title.
    pub name: String,
    /// For display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The version of the implementation, not of the protocol.
    pub version: String,
    /// A description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The URL of further documentation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// For display, in several sizes.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
}

impl Implementation {
    /// An implementation with a name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            version: version.into(),
            description: None,
            website_url: None,
            icons: Vec::new(),
        }
    }

    /// Sets the URL of further documentation.
    pub fn website_url(mut self, url: impl Into<String>) -> Self {
        self.website_url = Some(url.into());
        self
    }
}

described! { Implementation }
with_icons! { Implementation }
