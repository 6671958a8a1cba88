//! Model Context Protocol servers on tokio.
//!
//! [`mcp_proto`] is the protocol; this crate moves bytes between it and tokio's pipes and streams.
//! One registry serves legacy clients (2024-11-05 to 2025-11-25) and modern ones (2026-07-28).
//!
//! ```no_run
//! use mcp_tokio::{Implementation, Registry, serve_stdio};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Echo {
//!     message: String,
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let mut registry = Registry::new(Implementation::new("echo", "1.0.0"));
//!     registry.tool("echo", "Echoes its message", |echo: Echo, _| async { echo.message })?;
//!     Ok(serve_stdio(registry).await?)
//! }
//! ```
//!
//! On a runtime with several threads a handler that does not end at once is spawned; on one with
//! a single thread handlers take turns in the task that serves.
//!
//! With the environment variable `MCP_WIRE=1` the conversation is printed on stderr in the
//! transcript format, secrets masked.

mod blocking;
mod driver;
mod stdio;

pub use mcp_proto::server::{Config, Progress, Registry};
pub use mcp_proto::service::{Context, Handler};
pub use mcp_proto::types::{CallToolResult, ContentBlock, Implementation, Tool};

pub use driver::serve;
pub use stdio::{serve_stdio, serve_stdio_with};
