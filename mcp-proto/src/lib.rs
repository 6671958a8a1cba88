//! The Model Context Protocol as a pure state machine: bytes in, actions out.
//!
//! This crate is to MCP what `quinn-proto` is to QUIC. It owns no socket, no clock, no randomness
//! and no thread: whoever drives it passes in what was read and what time it is, and takes out
//! what to write and what happened. It serves both eras of the protocol from one declaration:
//! *legacy* clients, which open with `initialize` (2024-11-05 to 2025-11-25), and *modern* ones,
//! whose every request carries its version (2026-07-28). A client of it finds out which kind its
//! server is.
//!
//! # A whole conversation
//!
//! ```
//! use mcp_proto::server::{Config, Outcome, Registry, ServerEvent, Server};
//! use mcp_proto::stdio::Connection;
//! use mcp_proto::types::{CallToolResult, Implementation, Tool};
//! use mcp_proto::{Action, Bytes, Instant, Json, Machine};
//!
//! // What the server offers. The handler's type is the caller's; here it is a plain function.
//! type Handler = fn(&Json) -> CallToolResult;
//! fn greet(_: &Json) -> CallToolResult {
//!     CallToolResult::text("hello")
//! }
//! let mut registry = Registry::new(Implementation::new("greeter", "1.0.0"));
//! let schema = Json::parse(r#"{"type":"object"}"#)?;
//! registry.add_tool(Tool::new("greet", schema), greet as Handler)?;
//!
//! // What a driver does: bytes in, actions out, until there are none.
//! let talk = |connection: &mut Connection<Server>, line: &str| -> String {
//!     let now = Instant::ZERO;
//!     connection.handle_bytes(now, Bytes::from(format!("{line}\n")));
//!     let mut written = String::new();
//!     while let Some(action) = connection.poll_action() {
//!         match action {
//!             Action::Transmit(bytes) => written += core::str::from_utf8(&bytes).unwrap(),
//!             Action::Event(ServerEvent::Request(request)) => {
//!                 let handler = registry.handler(request.handler).unwrap();
//!                 let result = Json::encode(&handler(&request.arguments)).unwrap();
//!                 connection.respond(now, request.reply, Outcome::Complete(result));
//!             }
//!             Action::Event(_) | Action::Close => {}
//!         }
//!     }
//!     written
//! };
//!
//! // A legacy client opens with a handshake …
//! let mut legacy = Connection::server(registry.declaration(), Config::default());
//! assert_eq!(
//!     talk(&mut legacy, concat!(
//!         r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"#,
//!         r#""protocolVersion":"2025-11-25","capabilities":{},"#,
//!         r#""clientInfo":{"name":"old","version":"1"}}}"#,
//!     )),
//!     concat!(
//!         r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","#,
//!         r#""capabilities":{"tools":{}},"#,
//!         r#""serverInfo":{"name":"greeter","version":"1.0.0"}}}"#,
//!         "\n"
//!     ),
//! );
//! assert_eq!(talk(&mut legacy, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#), "");
//! assert_eq!(
//!     talk(&mut legacy, concat!(
//!         r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","#,
//!         r#""params":{"name":"greet","arguments":{}}}"#
//!     )),
//!     concat!(
//!         r#"{"jsonrpc":"2.0","id":1,"result":{"#,
//!         r#""content":[{"type":"text","text":"hello"}]}}"#,
//!         "\n"
//!     ),
//! );
//!
//! // … and a modern one says in each request what it speaks.
//! let mut modern = Connection::server(registry.declaration(), Config::default());
//! assert_eq!(
//!     talk(&mut modern, concat!(
//!         r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","_meta":{"#,
//!         r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
//!         r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#
//!     )),
//!     concat!(
//!         r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"#,
//!         r#""io.modelcontextprotocol/serverInfo":{"name":"greeter","version":"1.0.0"}},"#,
//!         r#""content":[{"type":"text","text":"hello"}]}}"#,
//!         "\n"
//!     ),
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to start
//!
//! | to | read |
//! |---|---|
//! | drive a server by hand | [`stdio`], and the example `sync` |
//! | drive a client by hand | [`client`], and the example `client` |
//! | drive several sockets by hand | [`http`], and the example `threads` |
//! | serve in a host that speaks HTTP | [`http::Exchange`], and the example `host` |
//! | serve without an operating system | the example `bare-metal` |
//! | test a server in both eras | the module `testing`, feature `testing` |
//! | say what a server offers | [`server::Registry`] |
//! | mirror arguments into HTTP headers | [`headers`] |
//! | write async handlers | the module `service`, feature `service`; the crates `mcp-tokio` and `mcp-async-std` build on it |
//! | keep state at the client between two rounds | the module `request_state`, feature `request-state` |
//! | bound what a peer may use | [`Limits`] |
//! | know which era a message belongs to | [`negotiate`] |
//!
//! # Features
//!
//! A feature adds API and changes no behaviour. `std`, `client` and `server` are on by default.
//!
//! | feature | adds |
//! |---|---|
//! | `std` | the standard library; without it the crate needs `core` and `alloc` alone |
//! | `server` | [`server`], and its side of [`stdio`] |
//! | `client` | [`client`], and its side of [`stdio`] |
//! | `service` | async handlers and clients without a runtime |
//! | `testing` | both sides in one place, with virtual time |
//! | `tracing` | spans of requests and calls; see `service::Catalog::on_span` |
//! | `request-state` | a `requestState` that clients cannot change or use elsewhere |
//! | `schemars` | schemas of tools and arguments of prompts from Rust types |

#![no_std]
#![cfg_attr(
    not(all(feature = "client", feature = "server")),
    allow(
        dead_code,
        unreachable_pub,
        unused_imports,
        reason = "without a role much of the base has no user"
    )
)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[cfg(feature = "client")]
mod challenge;
mod change;
#[cfg(feature = "client")]
pub mod client;
mod deadlines;
mod error;
pub mod frame;
pub mod headers;
#[cfg(any(feature = "client", feature = "server"))]
pub mod http;
mod json;
mod limits;
mod machine;
pub mod message;
mod meta;
pub mod negotiate;
mod progress;
#[cfg(feature = "request-state")]
pub mod request_state;
mod row;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "service")]
pub mod service;
#[cfg(any(feature = "client", feature = "server"))]
pub mod stdio;
#[cfg(feature = "testing")]
pub mod testing;
mod time;
mod trace;
pub mod types;
mod version;

pub use bytes::Bytes;
pub use error::{ErrorCode, ProtocolError, Rung, UsageError};
pub use json::{InvalidJson, Json};
pub use limits::Limits;
pub use machine::{Action, Machine};
pub use message::{ErrorData, ProgressToken, RequestId};
pub use time::{Duration, Instant};
pub use trace::TraceContext;
pub use version::{Era, EraPolicy, ProtocolVersion};
