//! Declared media types of resources, as the default for their contents.
//!
//! In: the declaration of a resource or a template, and the result of a read. Out: the result with
//! the declared type. Called around the handlers of resources.

use alloc::string::String;
use alloc::sync::Arc;

use mcp_proto::types::{ReadResourceResult, ResourceContents};

/// The media type that a resource or a template declares, if it does.
#[derive(Clone, Debug, Default)]
pub(super) struct DeclaredMimeType(Option<Arc<str>>);

impl DeclaredMimeType {
    pub(super) fn new(mime_type: Option<&str>) -> Self {
        Self(mime_type.map(Arc::from))
    }

    /// The type for a read of this URI.
    pub(super) fn of(&self, uri: &str) -> Option<ReadMimeType> {
        let mime_type = self.0.clone()?;
        Some(ReadMimeType { uri: uri.into(), mime_type })
    }
}

/// The media type for the contents of one read.
#[derive(Clone, Debug)]
pub(super) struct ReadMimeType {
    uri: String,
    mime_type: Arc<str>,
}

impl ReadMimeType {
    /// Sets the type of contents without one. Contents with another URI are other resources.
    pub(super) fn fill(self, mut result: ReadResourceResult) -> ReadResourceResult {
        for contents in &mut result.contents {
            if contents.uri() != self.uri {
                continue;
            }
            let place = match contents {
                ResourceContents::Text(text) => &mut text.mime_type,
                ResourceContents::Blob(blob) => &mut blob.mime_type,
            };
            if place.is_none() {
                *place = Some(String::from(&*self.mime_type));
            }
        }
        result
    }
}
