use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::cache::ttl_ms;
use super::codec::or_default;
use super::setters::{annotated, described, with_icons};
use super::{Annotations, CacheScope, Icon, ResultType};
use crate::json::Json;
use crate::json::integer::optional_integer;

/// A resource, as listed or linked to.
///
/// [Schema: Resource](https://modelcontextprotocol.io/specification/2026-07-28/schema#resource)
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Resource {
    /// The URI, for `resources/read`.
    pub uri: String,
    /// For programs, and for display if there is no title.
    pub name: String,
    /// For display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Hints for the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// The size in bytes, before any encoding, if known.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub size: Option<u64>,
    /// For display, in several sizes.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Metadata of the resource (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl Resource {
    /// The resource at this URI.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            annotations: None,
            size: None,
            icons: Vec::new(),
            meta: None,
        }
    }

    /// Sets the media type.
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Sets the size in bytes, before any encoding.
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }
}

/// A family of resources, whose URIs follow a template.
///
/// [Schema: `ResourceTemplate`](https://modelcontextprotocol.io/specification/2026-07-28/schema#resourcetemplate)
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceTemplate {
    /// A URI template (RFC 6570).
    pub uri_template: String,
    /// For programs, and for display if there is no title.
    pub name: String,
    /// For display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description of the resources, for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type of the resources, if it is the same for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Hints for the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// For display, in several sizes.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Metadata of the template (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl ResourceTemplate {
    /// The resources whose URIs follow this template.
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri_template: uri_template.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            annotations: None,
            icons: Vec::new(),
            meta: None,
        }
    }

    /// Sets the media type of the resources.
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }
}

described! { Resource ResourceTemplate }
with_icons! { Resource ResourceTemplate }
annotated! { Resource ResourceTemplate }

/// The result of `resources/list`.
///
/// [Schema: `ListResourcesResult`](https://modelcontextprotocol.io/specification/2026-07-28/schema#listresourcesresult)
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListResourcesResult {
    /// The type of the result; absent from legacy results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The resources of this page.
    pub resources: Vec<Resource>,
    /// The cursor of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
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

/// The result of `resources/templates/list`.
///
/// [Schema: `ListResourceTemplatesResult`](https://modelcontextprotocol.io/specification/2026-07-28/schema#listresourcetemplatesresult)
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListResourceTemplatesResult {
    /// The type of the result; absent from legacy results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The templates of this page.
    pub resource_templates: Vec<ResourceTemplate>,
    /// The cursor of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
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
