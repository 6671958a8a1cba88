use alloc::string::String;
use alloc::vec::Vec;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::blob::{self, InvalidBase64};
use super::codec::variant;
use crate::json::Json;

/// The contents of a resource: text if they have the member `text`, otherwise bytes.
///
/// [Schema: `ReadResourceResult`](https://modelcontextprotocol.io/specification/2026-07-28/schema#readresourceresult)
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ResourceContents {
    /// Text.
    Text(TextResourceContents),
    /// Bytes.
    Blob(BlobResourceContents),
}

impl ResourceContents {
    /// Text.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Text(TextResourceContents {
            uri: uri.into(),
            mime_type: None,
            text: text.into(),
            meta: None,
        })
    }

    /// Bytes, in Base64.
    pub fn blob(uri: impl Into<String>, blob: impl Into<String>) -> Self {
        Self::Blob(BlobResourceContents {
            uri: uri.into(),
            mime_type: None,
            blob: blob.into(),
            meta: None,
        })
    }

    /// Bytes, which are written in Base64.
    pub fn blob_from_bytes(uri: impl Into<String>, bytes: &[u8]) -> Self {
        Self::Blob(BlobResourceContents::of_bytes(uri, bytes))
    }

    /// Sets the media type.
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        let place = match &mut self {
            Self::Text(contents) => &mut contents.mime_type,
            Self::Blob(contents) => &mut contents.mime_type,
        };
        *place = Some(mime_type.into());
        self
    }

    /// The text; `None` for bytes.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(contents) => Some(&contents.text),
            Self::Blob(_) => None,
        }
    }

    /// The URI of the resource.
    pub fn uri(&self) -> &str {
        match self {
            Self::Text(contents) => &contents.uri,
            Self::Blob(contents) => &contents.uri,
        }
    }
}

/// Contents that are text.
///
/// [Schema: `TextResourceContents`](https://modelcontextprotocol.io/specification/2026-07-28/schema#textresourcecontents)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TextResourceContents {
    /// The URI of the resource.
    pub uri: String,
    /// The media type, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The text.
    pub text: String,
    /// Metadata of the contents (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

/// Contents that are bytes.
///
/// [Schema: `BlobResourceContents`](https://modelcontextprotocol.io/specification/2026-07-28/schema#blobresourcecontents)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BlobResourceContents {
    /// The URI of the resource.
    pub uri: String,
    /// The media type, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The bytes in Base64; serializing any other text fails.
    #[serde(with = "blob")]
    pub blob: String,
    /// Metadata of the contents (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl BlobResourceContents {
    /// The bytes of this resource.
    pub fn of_bytes(uri: impl Into<String>, bytes: &[u8]) -> Self {
        Self { uri: uri.into(), mime_type: None, blob: blob::encode(bytes), meta: None }
    }

    /// The bytes.
    ///
    /// Fails with [`InvalidBase64`].
    pub fn bytes(&self) -> Result<Vec<u8>, InvalidBase64> {
        blob::decode(&self.blob)
    }
}

impl Serialize for ResourceContents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(contents) => contents.serialize(serializer),
            Self::Blob(contents) => contents.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ResourceContents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Shape {
            text: Option<IgnoredAny>,
        }
        let json = Json::deserialize(deserializer)?;
        let shape: Shape = variant(&json)?;
        match shape.text {
            Some(_) => variant(&json).map(Self::Text),
            None => variant(&json).map(Self::Blob),
        }
    }
}
