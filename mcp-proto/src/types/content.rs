use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::json::Json;

/// A piece of what a tool returns.
///
/// [Schema: `ContentBlock`](https://modelcontextprotocol.io/specification/2026-07-28/schema#contentblock)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum ContentBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// Its bytes in Base64.
        data: String,
        /// Its media type, such as `image/png`.
        mime_type: String,
    },
    /// A sound.
    Audio {
        /// Its bytes in Base64.
        data: String,
        /// Its media type, such as `audio/wav`.
        mime_type: String,
    },
    /// The contents of a resource.
    Resource {
        /// A `TextResourceContents` or `BlobResourceContents`.
        resource: Json,
    },
}

impl ContentBlock {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}
