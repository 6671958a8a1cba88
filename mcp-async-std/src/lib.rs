//! Model Context Protocol servers on async-std, and on smol.
//!
//! [`mcp_proto`] is the protocol; this crate moves bytes between it and streams of the
//! `futures-io` traits. One registry serves legacy clients (2024-11-05 to 2025-11-25) and modern
//! ones (2026-07-28).
//!
//! ```no_run
//! use mcp_async_std::{Implementation, Registry, serve_stdio};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Echo {
//!     message: String,
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let mut registry = Registry::new(Implementation::new("echo", "1.0.0"));
//!     registry.tool("echo", "Echoes its message", |echo: Echo, _| async { echo.message })?;
//!     Ok(async_std::task::block_on(serve_stdio(registry))?)
//! }
//! ```
//!
//! [`serve`] needs no runtime but a thread that blocks on it, so it serves smol as well.
//! async-std is discontinued (RUSTSEC-2025-0052) and recommends smol to its users.
//!
//! With the environment variable `MCP_WIRE=1` the conversation is printed on stderr in the
//! transcript format, secrets masked.

mod driver;
mod stdio;

pub use mcp_proto::server::{Config, Progress, Registry};
pub use mcp_proto::service::{Context, Handler};
pub use mcp_proto::types::{CallToolResult, ContentBlock, Implementation, Tool};

pub use driver::serve;
pub use stdio::{serve_stdio, serve_stdio_with};
