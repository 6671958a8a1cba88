//! Lookups of registered tools, for `mcp-service`.
//!
//! In: a name, or the handler of a call. Out: the tool. The cost does not grow with the number of
//! tools: some calls need their tool.

use super::handler_id::HandlerId;
use super::registry::Registry;
use crate::types::Tool;

impl<H> Registry<H> {
    /// The tool of this name, and its handler.
    pub(crate) fn tool(&self, name: &str) -> Option<(&Tool, HandlerId)> {
        self.registered.tools.get(name)
    }

    /// The tool that has this handler.
    pub(crate) fn tool_of(&self, handler: HandlerId) -> Option<&Tool> {
        self.registered.tools.of_handler(handler)
    }
}
