//! The objects of the MCP schema, as plain typed values.
//!
//! Schemas, structured content and `_meta` stay raw [`Json`](crate::Json).

mod content;
mod implementation;
mod logging;
mod tool;

pub use content::ContentBlock;
pub use implementation::Implementation;
pub use logging::LoggingLevel;
pub use tool::{CallToolResult, Tool, ToolAnnotations};
