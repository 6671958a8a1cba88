use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::codec::{number, open_strings, or_default, variant};
use crate::json::Json;

/// The sender of a message, or its intended audience.
///
/// [Schema: Role](https://modelcontextprotocol.io/specification/2026-07-28/schema#role)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The human.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Hints for the client about how to use or show something.
///
/// ```
/// use mcp_proto::types::{Annotations, Resource, Role};
///
/// let hints = Annotations::default().audience(Role::User).priority(0.5);
/// let report = Resource::new("file:///report.md", "report").annotations(hints);
/// ```
///
/// [Schema: Annotations](https://modelcontextprotocol.io/specification/2026-07-28/schema#annotations)
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Annotations {
    /// The intended audience; empty if unspecified.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<Role>,
    /// The importance, from 0 (optional) to 1 (effectively required).
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "number")]
    pub priority: Option<f64>,
    /// The time of the last change, in ISO 8601: `2025-01-12T15:00:58Z`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

impl Annotations {
    /// Adds a part of the intended audience.
    pub fn audience(mut self, role: Role) -> Self {
        self.audience.push(role);
        self
    }

    /// Sets the importance, from 0 (optional) to 1 (effectively required).
    pub fn priority(mut self, priority: f64) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Sets the time of the last change, in ISO 8601: `2025-01-12T15:00:58Z`.
    pub fn last_modified(mut self, time: impl Into<String>) -> Self {
        self.last_modified = Some(time.into());
        self
    }
}

/// An icon for a user interface.
///
/// ```
/// use mcp_proto::types::{Icon, IconTheme, Implementation};
///
/// let icon = Icon::new("https://example.com/logo.svg").mime_type("image/svg+xml").size("any");
/// let info = Implementation::new("greeter", "1.0.0").icon(icon.theme(IconTheme::Dark));
/// ```
///
/// [Schema: Icon](https://modelcontextprotocol.io/specification/2026-07-28/schema#icon)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Icon {
    /// The URI, with the scheme `https` or `data`. A client that shows icons must refuse other
    /// schemes, and redirections to other schemes or origins. It must fetch icons without
    /// credentials, and should fetch them only from the origin of the server. An SVG may contain
    /// scripts.
    ///
    /// [Specification: `icons`](https://modelcontextprotocol.io/specification/2026-07-28/basic#icons)
    pub src: String,
    /// The media type, if the source has none or a generic one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The usable sizes, such as `48x48` or `any`; empty for any size.
    #[serde(default, deserialize_with = "sizes", skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<String>,
    /// The background that the icon is designed for; `None` for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<IconTheme>,
}

impl Icon {
    /// The icon at this URI.
    pub fn new(src: impl Into<String>) -> Self {
        Self { src: src.into(), mime_type: None, sizes: Vec::new(), theme: None }
    }

    /// Sets the media type.
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Adds a usable size, such as `48x48` or `any`.
    pub fn size(mut self, size: impl Into<String>) -> Self {
        self.sizes.push(size.into());
        self
    }

    /// Sets the background that the icon is designed for.
    pub fn theme(mut self, theme: IconTheme) -> Self {
        self.theme = Some(theme);
        self
    }
}

/// Reads sizes. Servers that follow an earlier draft write one string: `48x48 96x96`.
fn sizes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let sizes = Json::deserialize(deserializer)?;
    if let Some(text) = sizes.raw().string() {
        return Ok(text.split_whitespace().map(String::from).collect());
    }
    variant(&sizes).map(Option::unwrap_or_default)
}

open_strings! {
    /// The background that an icon is designed for.
    IconTheme {
        /// A light background.
        Light = "light",
        /// A dark background.
        Dark = "dark",
    }
}
