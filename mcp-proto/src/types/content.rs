use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::blob::{self, InvalidBase64};
use super::codec::tagged_by_type;
use super::setters::annotated;
use super::{Annotations, Resource, ResourceContents};
use crate::json::Json;

/// A block of content in the result of a tool or the message of a prompt.
///
/// Later revisions have more kinds, so an unknown kind is not an error.
///
/// [Schema: `ContentBlock`](https://modelcontextprotocol.io/specification/2026-07-28/schema#contentblock)
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ContentBlock {
    /// `text`.
    Text(TextContent),
    /// `image`.
    Image(ImageContent),
    /// `audio`, since 2025-03-26.
    Audio(AudioContent),
    /// `resource_link`, since 2025-06-18: a resource that the client can read.
    ResourceLink(Resource),
    /// `resource`: a resource with its contents.
    Resource(EmbeddedResource),
    /// A block of another kind, with its `type`.
    Other(Json),
}

tagged_by_type! {
    ContentBlock {
        "text" => Text(TextContent),
        "image" => Image(ImageContent),
        "audio" => Audio(AudioContent),
        "resource_link" => ResourceLink(Resource),
        "resource" => Resource(EmbeddedResource),
    }
}

impl ContentBlock {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// The text; `None` for other kinds.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            Self::Image(_)
            | Self::Audio(_)
            | Self::ResourceLink(_)
            | Self::Resource(_)
            | Self::Other(_) => None,
        }
    }

    /// An image: its bytes in Base64, and its media type.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent::new(data, mime_type))
    }

    /// A sound: its bytes in Base64, and its media type.
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Audio(AudioContent::new(data, mime_type))
    }

    /// An image from its bytes, and its media type, such as `image/png`.
    pub fn image_from_bytes(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent::of_bytes(bytes, mime_type))
    }

    /// A sound from its bytes, and its media type, such as `audio/wav`.
    pub fn audio_from_bytes(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::Audio(AudioContent::of_bytes(bytes, mime_type))
    }

    /// A resource that the client can read.
    pub fn resource_link(resource: Resource) -> Self {
        Self::ResourceLink(resource)
    }

    /// A resource with its contents.
    pub fn resource(contents: impl Into<ResourceContents>) -> Self {
        Self::Resource(EmbeddedResource::new(contents))
    }
}

/// Text.
///
/// [Schema: `TextContent`](https://modelcontextprotocol.io/specification/2026-07-28/schema#textcontent)
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TextContent {
    /// The text.
    pub text: String,
    /// Hints for the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata of the block (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl TextContent {
    /// A block with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), annotations: None, meta: None }
    }
}

/// An image.
///
/// [Schema: `ImageContent`](https://modelcontextprotocol.io/specification/2026-07-28/schema#imagecontent)
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ImageContent {
    /// The bytes in Base64; serializing any other text fails.
    #[serde(with = "blob")]
    pub data: String,
    /// The media type, such as `image/png`.
    pub mime_type: String,
    /// Hints for the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata of the block (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl ImageContent {
    /// An image: its bytes in Base64, and its media type.
    pub fn new(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self { data: data.into(), mime_type: mime_type.into(), annotations: None, meta: None }
    }

    /// An image: its bytes, and its media type.
    pub fn of_bytes(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::new(blob::encode(bytes), mime_type)
    }

    /// The bytes.
    ///
    /// Fails with [`InvalidBase64`].
    pub fn bytes(&self) -> Result<Vec<u8>, InvalidBase64> {
        blob::decode(&self.data)
    }
}

/// A sound.
///
/// [Schema: `AudioContent`](https://modelcontextprotocol.io/specification/2026-07-28/schema#audiocontent)
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AudioContent {
    /// The bytes in Base64; serializing any other text fails.
    #[serde(with = "blob")]
    pub data: String,
    /// The media type, such as `audio/wav`.
    pub mime_type: String,
    /// Hints for the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata of the block (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl AudioContent {
    /// A sound: its bytes in Base64, and its media type.
    pub fn new(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self { data: data.into(), mime_type: mime_type.into(), annotations: None, meta: None }
    }

    /// A sound: its bytes, and its media type.
    pub fn of_bytes(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::new(blob::encode(bytes), mime_type)
    }

    /// The bytes.
    ///
    /// Fails with [`InvalidBase64`].
    pub fn bytes(&self) -> Result<Vec<u8>, InvalidBase64> {
        blob::decode(&self.data)
    }
}

/// A resource with its contents.
///
/// [Schema: `EmbeddedResource`](https://modelcontextprotocol.io/specification/2026-07-28/schema#embeddedresource)
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmbeddedResource {
    /// The contents.
    pub resource: ResourceContents,
    /// Hints for the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata of the block (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl EmbeddedResource {
    /// A resource with these contents.
    pub fn new(contents: impl Into<ResourceContents>) -> Self {
        Self { resource: contents.into(), annotations: None, meta: None }
    }
}

annotated! { TextContent ImageContent AudioContent EmbeddedResource }
