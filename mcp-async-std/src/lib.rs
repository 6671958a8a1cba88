//! Model Context Protocol servers and clients on smol, on async-std, and on any other executor.
//!
//! [`mcp_proto`] implements the protocol, and [`mcp_service`] turns handlers and calls into
//! futures; this crate moves bytes between them and streams of the `futures-io` traits. Servers and
//! clients work with peers of 2024-11-05 to 2026-07-28. The guide, `docs/guide` in the repository,
//! covers handlers, resources, prompts, input, clients, and printing the conversation to stderr
//! (`MCP_WIRE=1`).
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
//!     Ok(smol::block_on(serve_stdio(registry))?)
//! }
//! ```
//!
//! async-std is discontinued (RUSTSEC-2025-0052) and recommends smol to its users. This crate does
//! not depend on async-std; with it, call `async_std::task::block_on` instead. Every function here
//! returns a future that any executor may run. Background work runs on smol's threads: one, unless
//! the environment variable `SMOL_THREADS` sets another number. This work is the connections of
//! [`serve_http`], handlers of [`serve_stdio`] that are not done after their first poll, connected
//! clients, and connections of a [`bridge`]. [`serve`] spawns there only calls that become tasks
//! ([`Registry::tasks`]); [`serve_http_on`], [`run`], [`run_command`] and [`run_http`] spawn
//! nothing there. Standard output belongs to the protocol: print to stderr.
//!
//! | to | call |
//! |---|---|
//! | serve the client that started this process | [`serve_stdio`] |
//! | serve over HTTP | [`serve_http`], on another executor [`serve_http_on`], with [`stop_signal`] |
//! | serve a stream | [`serve`] |
//! | use a server in a child process | [`connect_command`] |
//! | use a server over HTTP | [`connect_http`]; feature `tls` for `https`, and `proxy` |
//! | use a server at the end of a stream | [`connect`] |
//! | put a server behind a bridge, for clients of any era | [`bridge`] |
//! | drive a client in your own task | [`run`], [`run_command`], [`run_http`] |
//! | serve until a stop, serve and connect on streams of your own | [`mcp_service::runtime`] with [`AsyncIo`] |

/// The code blocks of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

mod client;
mod runtime;
mod server;
mod signals;

pub use mcp_service;
#[doc(inline)]
pub use mcp_service::exports::*;
mcp_service::export_behind_features!();

pub use client::{connect, connect_command, connect_http, run, run_command, run_http};
pub use runtime::{AsyncIo, Stream};
#[cfg(feature = "jwt")]
pub use server::jwks;
pub use server::{bridge, serve, serve_http, serve_http_on, serve_stdio, serve_stdio_with};
pub use signals::stop_signal;
