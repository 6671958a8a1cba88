//! Pages of MCP Apps with HTML in memory.

use alloc::sync::Arc;

use mcp_proto::UsageError;
use mcp_proto::ext::ui::AppPage;

use crate::handler::Handler;
use crate::registry::Registry;

impl Registry {
    /// Adds a page, which hosts with MCP Apps show for the results of a tool; declares the
    /// extension. Other hosts show the tool's content as usual.
    ///
    /// ```
    /// use mcp_proto::ext::ui::AppPage;
    /// # use mcp_proto::types::Implementation;
    /// # use mcp_service::Registry;
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// # struct Place { city: String }
    ///
    /// # let mut registry = Registry::new(Implementation::new("weather", "1.0.0"));
    /// registry.tool("forecast", "Tells the weather", |place: Place, _| async move {
    ///     format!("Rain in {}.", place.city)
    /// })?;
    /// let html = "<!DOCTYPE html><title>Weather</title>";
    /// registry.app("forecast", AppPage::new("ui://weather/forecast", html))?;
    /// # Ok::<(), mcp_proto::UsageError>(())
    /// ```
    ///
    /// Fails as [`Registry::add_app`] does.
    pub fn app(&mut self, tool: &str, page: AppPage) -> Result<&mut Self, UsageError> {
        let page = Arc::new(page);
        let shared = page.clone();
        let handler = Handler::resource(move |_, _| {
            let page = shared.clone();
            async move { page.contents() }
        });
        self.add_app(tool, &page, handler)
    }
}
