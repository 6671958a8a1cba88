//! Registration of pages of MCP Apps.
//!
//! In: a tool to register, and its page. Out: the tool with a link to the page, the page as a
//! resource, and the declared extension.

use super::registry::Registry;
use crate::error::UsageError;
use crate::ext::ui::{self, AppPage, ToolApp};
use crate::json::Json;

impl<H> Registry<H> {
    /// Adds a page that hosts with MCP Apps show for the results of a tool, and declares the
    /// extension. The handler answers `resources/read` with [`AppPage::contents`]. The tool still
    /// works in other hosts, which show the content of its results.
    ///
    /// Another tool with the same page is added with
    /// [`Tool::with_app`](crate::types::Tool::with_app).
    ///
    /// Fails, and changes nothing, with [`UsageError::UnknownTool`], with
    /// [`UsageError::InvalidAppUri`] unless the URI begins with `ui://`, with
    /// [`UsageError::InvalidCspSource`], and with [`UsageError::Duplicate`].
    ///
    /// [Specification: MCP Apps](https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx)
    pub fn add_app(
        &mut self,
        tool: &str,
        page: &AppPage,
        handler: H,
    ) -> Result<&mut Self, UsageError> {
        page.check()?;
        if !self.registered.tools.has(tool) {
            return Err(UsageError::UnknownTool { name: tool.into() });
        }
        self.add_resource(page.resource(), handler)?;
        self.registered.tools.change(tool, |tool| {
            let visibility = tool.app().map(|app| app.visibility);
            let app = ToolApp::new(&*page.uri);
            let app = visibility.into_iter().fold(app, ToolApp::visibility);
            tool.with_app(&app)
        });
        // The application may have declared the extension with settings.
        if self.registered.extensions.contains_key(ui::ID) {
            return Ok(self);
        }
        self.extension(ui::ID, Json::EMPTY_OBJECT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Implementation, Tool};

    #[test]
    fn page_does_not_change_declared_settings() {
        let settings = Json::constant(r#"{"x":1}"#);
        for declared in [None, Some(settings)] {
            let mut registry = Registry::new(Implementation::new("a", "1"));
            registry.add_tool(Tool::new("t", Json::constant(r#"{"type":"object"}"#)), ()).unwrap();
            if let Some(settings) = declared.clone() {
                registry.extension(ui::ID, settings).unwrap();
            }
            registry.add_app("t", &AppPage::new("ui://a/b", ""), ()).unwrap();
            let found = registry.registered.extensions.get(ui::ID);
            assert_eq!(found, Some(&declared.unwrap_or(Json::EMPTY_OBJECT)));
        }
    }
}
