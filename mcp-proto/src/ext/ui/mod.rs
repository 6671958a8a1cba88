//! MCP Apps: pages that a host shows for a tool (SEP-1865, revision 2026-01-26).
//!
//! In: capabilities and `_meta` of tools and resources, from either side. Out: typed views of them.
//! Called by [`Registry::add_app`](crate::server::Registry::add_app), and by hosts.
//!
//! A server links a tool to a page, a resource with a URI `ui://…`. A host that shows pages reads
//! the page and renders it in a frame. Every other host shows the content of the tool's result. The
//! messages between a page and its host (`ui/*`) are not part of this library.
//!
//! Views of received data never fail. A missing or malformed value reads as the strictest value: no
//! caller may use the tool, no origin is allowed, no permission is requested.
//!
//! [Specification: MCP Apps](https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx)

mod csp;
mod page;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::json::write::List;
use crate::json::{Json, Raw};
use crate::types::{ClientCapabilities, Tool};

pub use csp::Csp;
pub use page::{AppMeta, AppPage, AppPermissions};

/// The identifier of the extension.
pub const ID: &str = super::UI;

/// The media type of a page.
pub const MIME_TYPE: &str = "text/html;profile=mcp-app";

/// Declares that a client shows pages of HTML.
///
/// ```
/// use mcp_proto::ext::ui;
/// use mcp_proto::types::ClientCapabilities;
///
/// let mut capabilities = ClientCapabilities::default();
/// ui::declare(&mut capabilities);
/// let settings = capabilities.extensions[ui::ID].as_str();
/// assert_eq!(settings, r#"{"mimeTypes":["text/html;profile=mcp-app"]}"#);
/// ```
pub fn declare(capabilities: &mut ClientCapabilities) {
    let settings = Json::constant("{\"mimeTypes\":[\"text/html;profile=mcp-app\"]}");
    capabilities.extensions.insert(ID.into(), settings);
}

/// The tools that a host may show to its model: all except those for pages only.
pub fn for_model<'a>(tools: impl IntoIterator<Item = &'a Tool>) -> impl Iterator<Item = &'a Tool> {
    tools.into_iter().filter(|tool| tool.is_for_model())
}

/// The settings that a client declares.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AppCapability {
    /// The media types of the pages that the client shows.
    pub mime_types: Vec<String>,
}

impl AppCapability {
    /// The settings in a client's capabilities; `None` if they have no `mimeTypes`.
    pub fn of(settings: &Json) -> Option<Self> {
        settings.decode().ok()
    }

    /// Returns whether the client shows pages of HTML.
    pub fn shows_html(&self) -> bool {
        self.mime_types.iter().any(|it| is_mime_type(it))
    }
}

/// The callers that a tool is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ToolVisibility {
    /// A model may call the tool.
    pub model: bool,
    /// Pages of the same server may call the tool.
    pub app: bool,
}

impl ToolVisibility {
    /// Models and pages; the default.
    pub const BOTH: Self = Self { model: true, app: true };
    /// Models only.
    pub const MODEL: Self = Self { model: true, app: false };
    /// Pages only.
    pub const APP: Self = Self { model: false, app: true };

    /// Reads the callers; unknown callers are ignored.
    fn read(value: Raw<'_>) -> Self {
        let mut visibility = Self { model: false, app: false };
        value.elements(|caller| match caller.string().as_deref() {
            Some("model") => visibility.model = true,
            Some("app") => visibility.app = true,
            _ => {}
        });
        visibility
    }
}

/// The member `ui` of a tool's `_meta`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ToolApp {
    /// The page that shows the tool's results, a URI that begins with `ui://`.
    pub resource_uri: Option<String>,
    /// The callers that the tool is for.
    pub visibility: ToolVisibility,
}

impl ToolApp {
    /// A tool whose results are shown by the page at this URI.
    pub fn new(resource_uri: impl Into<String>) -> Self {
        Self { resource_uri: Some(resource_uri.into()), visibility: ToolVisibility::BOTH }
    }

    /// Sets the callers that the tool is for.
    pub fn visibility(mut self, visibility: ToolVisibility) -> Self {
        self.visibility = visibility;
        self
    }

    /// Reads the member. A URI with another scheme is ignored. Servers from before the final
    /// specification write `ui/resourceUri` next to `ui`.
    fn read(meta: &Json) -> Option<Self> {
        let meta = meta.raw();
        let ui = meta.member("ui").filter(|ui| ui.is_object());
        let of_ui = ui.and_then(|ui| ui.member("resourceUri"));
        let uri = of_ui.or_else(|| meta.member("ui/resourceUri")).and_then(Raw::string);
        if ui.is_none() && uri.is_none() {
            return None;
        }
        let callers = ui.and_then(|ui| ui.member("visibility")).filter(|it| it.0 != b"null");
        Some(Self {
            resource_uri: uri.map(Cow::into_owned).filter(|uri| is_app_uri(uri)),
            visibility: callers.map_or(ToolVisibility::BOTH, ToolVisibility::read),
        })
    }

    /// The member's value.
    fn to_json(&self) -> Json {
        let mut text = Vec::new();
        let mut object = List::object(&mut text);
        if let Some(uri) = &self.resource_uri {
            object.text("resourceUri", uri);
        }
        match self.visibility {
            ToolVisibility::BOTH => {}
            ToolVisibility::MODEL => object.member("visibility", b"[\"model\"]"),
            ToolVisibility::APP => object.member("visibility", b"[\"app\"]"),
            ToolVisibility { .. } => object.member("visibility", b"[]"),
        }
        object.end();
        Json::trusted(text)
    }
}

impl Tool {
    /// The page of this tool, and its callers; `None` if `_meta` has nothing about MCP Apps.
    pub fn app(&self) -> Option<ToolApp> {
        ToolApp::read(self.meta.as_ref()?)
    }

    /// Sets the page of this tool, and its callers. Other members of `_meta` stay.
    pub fn with_app(mut self, app: &ToolApp) -> Self {
        self.meta = Some(with_ui(self.meta.as_ref(), &app.to_json()));
        self
    }

    /// Returns whether a model may see and call this tool. A host "MUST NOT include tools in the
    /// agent's tool list when their visibility does not include `"model"`".
    pub fn is_for_model(&self) -> bool {
        self.app().is_none_or(|app| app.visibility.model)
    }

    /// Returns whether pages of the same server may call this tool. A host "MUST reject
    /// `tools/call` requests from apps for tools that don't include `"app"` in visibility".
    pub fn is_for_app(&self) -> bool {
        self.app().is_none_or(|app| app.visibility.app)
    }
}

/// Returns whether a URI is the URI of a page.
pub(crate) fn is_app_uri(uri: &str) -> bool {
    let path = uri.strip_prefix("ui://").unwrap_or_default();
    !path.is_empty() && path.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns whether a media type is [`MIME_TYPE`]; blanks and case do not matter.
fn is_mime_type(text: &str) -> bool {
    let bytes = text.bytes().filter(|byte| *byte != b' ').map(|byte| byte.to_ascii_lowercase());
    bytes.eq(MIME_TYPE.bytes())
}

/// A copy of `_meta` with this member `ui`.
fn with_ui(meta: Option<&Json>, ui: &Json) -> Json {
    let mut text = Vec::new();
    let mut object = List::object(&mut text);
    if let Some(meta) = meta {
        meta.raw().members(|key, value| {
            if key.string().as_deref() != Some("ui") {
                object.copy(key, value);
            }
        });
    }
    object.member("ui", ui.as_bytes());
    object.end();
    Json::trusted(text)
}
