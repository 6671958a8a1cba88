//! Model Context Protocol servers and clients on tokio.
//!
//! [`mcp_proto`] implements the protocol, and [`mcp_service`] turns handlers and calls into
//! futures; this crate moves bytes between them and tokio's pipes and sockets. Servers and clients
//! work with peers of 2024-11-05 to 2026-07-28. The guide is `docs/guide` in the repository.
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
//! On a stream, a handler that is not done after its first poll is spawned, unless the runtime has
//! a single thread. Over HTTP, handlers of modern clients run in the task of their connection, and
//! those of sessions are spawned. Standard output belongs to the protocol: print to stderr. The
//! functions panic outside of a tokio runtime that has drivers for time and I/O.
//!
//! | to | call |
//! |---|---|
//! | serve the client that started this process | [`serve_stdio`] |
//! | serve over HTTP | [`serve_http`], [`serve_http_until`]; behind axum or hyper `HttpService`, feature `tower`, with [`stop_signal`] |
//! | serve a stream | [`serve`] |
//! | use a server in a child process | [`connect_command`] |
//! | use a server over HTTP | [`connect_http`]; feature `tls` for `https`, `proxy`, `http2` |
//! | use a server at the end of a stream | [`connect`] |
//! | put a server behind a bridge, for clients of any era | [`bridge`] |
//! | drive a client in your own task | [`run`], [`run_command`], [`run_http`] |
//! | serve until a stop, serve and connect on streams of your own | [`mcp_service::runtime`] with [`Tokio`] |
//! | try a server from a terminal | `cargo install --path mcp-tokio --features cli` in the repository, then `mcp --help` |

mod client;
#[cfg(feature = "http2")]
pub mod http2;
mod runtime;
mod server;
mod signals;
#[cfg(feature = "tower")]
mod tower;

pub use mcp_service;
#[doc(inline)]
pub use mcp_service::exports::*;
mcp_service::export_behind_features!();

pub use client::{connect, connect_command, connect_http, run, run_command, run_http};
pub use runtime::{Stream, Tokio};
#[cfg(feature = "jwt")]
pub use server::jwks;
pub use server::{bridge, serve, serve_http, serve_http_until, serve_stdio, serve_stdio_with};
pub use signals::stop_signal;
#[cfg(feature = "tower")]
pub use tower::{HttpBody, HttpFuture, HttpService};
