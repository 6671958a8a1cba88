//! Pages of MCP Apps: their HTML, and the member `ui` of their `_meta`.
//!
//! In: the page that a server registers, or the contents that a host has read. Out: the resource,
//! its contents, or the page.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::csp::Csp;
use super::{MIME_TYPE, is_app_uri, is_mime_type, with_ui};
use crate::error::UsageError;
use crate::json::write::List;
use crate::json::{Json, Raw};
use crate::types::{Resource, ResourceContents};

/// Permissions that a page requests; a host need not grant them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "the specification has four flags")]
#[non_exhaustive]
pub struct AppPermissions {
    /// The camera.
    pub camera: bool,
    /// The microphone.
    pub microphone: bool,
    /// The location of the device.
    pub geolocation: bool,
    /// Writing to the clipboard.
    pub clipboard_write: bool,
}

impl AppPermissions {
    /// The attribute `allow` of the page's frame, if the host grants all of these permissions.
    pub fn allow(self) -> String {
        let granted = self.flags().into_iter().filter(|(_, _, asked)| *asked);
        granted.map(|(_, feature, _)| feature).collect::<Vec<_>>().join("; ")
    }

    /// The member, the feature of the permissions policy, and whether the page requests it.
    fn flags(self) -> [(&'static str, &'static str, bool); 4] {
        [
            ("camera", "camera", self.camera),
            ("microphone", "microphone", self.microphone),
            ("geolocation", "geolocation", self.geolocation),
            ("clipboardWrite", "clipboard-write", self.clipboard_write),
        ]
    }

    fn read(permissions: Raw<'_>) -> Self {
        Self {
            camera: permissions.has_object("camera"),
            microphone: permissions.has_object("microphone"),
            geolocation: permissions.has_object("geolocation"),
            clipboard_write: permissions.has_object("clipboardWrite"),
        }
    }
}

/// The member `ui` of the `_meta` of a page's resource and of its contents.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct AppMeta {
    /// The origins that the page may use.
    pub csp: Csp,
    /// The permissions that the page requests.
    pub permissions: AppPermissions,
    /// A separate domain for the page's frame; hosts define the format.
    pub domain: Option<String>,
    /// True for a visible border and background, false for none; `None` leaves it to the host.
    pub prefers_border: Option<bool>,
}

impl AppMeta {
    /// The member of this `_meta`; the default if it is missing or malformed.
    pub fn of(meta: Option<&Json>) -> Self {
        let Some(ui) = meta.and_then(|meta| meta.raw().member("ui")) else {
            return Self::default();
        };
        let prefers_border = match ui.member("prefersBorder").map(|value| value.0) {
            Some(b"true") => Some(true),
            Some(b"false") => Some(false),
            _ => None,
        };
        Self {
            csp: ui.member("csp").map(Csp::read).unwrap_or_default(),
            permissions: ui.member("permissions").map(AppPermissions::read).unwrap_or_default(),
            domain: ui.member("domain").and_then(Raw::string).map(Cow::into_owned),
            prefers_border,
        }
    }

    /// `_meta` with the member; `None` if it would be empty.
    fn to_meta(&self) -> Option<Json> {
        let mut text = Vec::new();
        let mut object = List::object(&mut text);
        if self.csp != Csp::default() {
            // Serializing lists of strings does not fail.
            let csp = Json::encode(&self.csp).unwrap_or(Json::EMPTY_OBJECT);
            object.member("csp", csp.as_bytes());
        }
        if self.permissions != AppPermissions::default() {
            object.key("permissions");
            let mut permissions = List::object(object.out());
            for (member, _, asked) in self.permissions.flags() {
                if asked {
                    permissions.member(member, b"{}");
                }
            }
            permissions.end();
        }
        if let Some(domain) = &self.domain {
            object.text("domain", domain);
        }
        if let Some(prefers_border) = self.prefers_border {
            object.member("prefersBorder", if prefers_border { b"true" } else { b"false" });
        }
        let is_empty = object.is_empty();
        object.end();
        (!is_empty).then(|| with_ui(None, &Json::trusted(text)))
    }
}

/// A page of an MCP App.
///
/// ```
/// use mcp_proto::ext::ui::{AppPage, Csp};
///
/// let page = AppPage::new("ui://weather/forecast", "<!DOCTYPE html><title>Weather</title>")
///     .csp(Csp::default().resource("https://cdn.example.com"))
///     .prefers_border(true);
/// assert_eq!(page.name, "forecast");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct AppPage {
    /// The URI, which begins with `ui://`.
    pub uri: String,
    /// The name in lists; by default the last part of the URI.
    pub name: String,
    /// The description in lists.
    pub description: Option<String>,
    /// The document, HTML 5.
    pub html: String,
    /// The settings of its frame.
    pub meta: AppMeta,
}

impl AppPage {
    /// The page at this URI.
    pub fn new(uri: impl Into<String>, html: impl Into<String>) -> Self {
        let uri = uri.into();
        let name = uri.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default().into();
        Self { uri, name, description: None, html: html.into(), meta: AppMeta::default() }
    }

    /// Sets the description in lists.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the origins that the page may use.
    pub fn csp(mut self, csp: Csp) -> Self {
        self.meta.csp = csp;
        self
    }

    /// Changes the permissions that the page requests.
    pub fn permissions(mut self, change: impl FnOnce(&mut AppPermissions)) -> Self {
        change(&mut self.meta.permissions);
        self
    }

    /// Sets the domain of its frame.
    pub fn domain(mut self, domain: impl Into<String>) -> Self {
        self.meta.domain = Some(domain.into());
        self
    }

    /// Sets whether the page has a visible border and background.
    pub fn prefers_border(mut self, prefers_border: bool) -> Self {
        self.meta.prefers_border = Some(prefers_border);
        self
    }

    /// The page in contents that a host has read. `None` unless the contents have the media type of
    /// a page, a URI that begins with `ui://`, and text, which may be in Base64.
    pub fn read(contents: &ResourceContents) -> Option<Self> {
        let (mime_type, meta) = match contents {
            ResourceContents::Text(text) => (&text.mime_type, &text.meta),
            ResourceContents::Blob(blob) => (&blob.mime_type, &blob.meta),
        };
        if !is_mime_type(mime_type.as_deref()?) || !is_app_uri(contents.uri()) {
            return None;
        }
        let html = match contents {
            ResourceContents::Text(text) => text.text.clone(),
            ResourceContents::Blob(blob) => String::from_utf8(blob.bytes().ok()?).ok()?,
        };
        let page = Self::new(contents.uri(), html);
        Some(Self { meta: AppMeta::of(meta.as_ref()), ..page })
    }

    /// The entry in the list of resources.
    pub fn resource(&self) -> Resource {
        let mut resource = Resource::new(&*self.uri, &*self.name).mime_type(MIME_TYPE);
        resource.description.clone_from(&self.description);
        resource.meta = self.meta.to_meta();
        resource
    }

    /// The contents, for `resources/read`.
    pub fn contents(&self) -> ResourceContents {
        let mut contents = ResourceContents::text(&*self.uri, &*self.html).mime_type(MIME_TYPE);
        if let ResourceContents::Text(text) = &mut contents {
            text.meta = self.meta.to_meta();
        }
        contents
    }

    /// Fails with [`UsageError::InvalidAppUri`] and [`UsageError::InvalidCspSource`].
    pub(crate) fn check(&self) -> Result<(), UsageError> {
        if !is_app_uri(&self.uri) {
            return Err(UsageError::InvalidAppUri { uri: self.uri.clone() });
        }
        self.meta.csp.check()
    }
}
