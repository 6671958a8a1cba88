//! The Model Context Protocol as a pure state machine: bytes in, actions out.
//!
//! This crate is to MCP what `quinn-proto` is to QUIC. It owns no socket, no clock, no randomness
//! and no thread. A driver passes in the bytes that it read and the time, and takes out the bytes
//! to write and the events. One declaration serves both eras of the protocol. *Legacy* clients open
//! with `initialize` (2024-11-05 to 2025-11-25). *Modern* clients send the version in each request
//! (2026-07-28). The client detects the era of its server.
//!
//! # A whole conversation
//!
//! ```
//! use mcp_proto::server::{Config, Outcome, Registry, ServerEvent, Server};
//! use mcp_proto::stdio::Connection;
//! use mcp_proto::types::{CallToolResult, Implementation, Tool};
//! use mcp_proto::{Action, Binding, Bytes, Instant, Json, Machine};
//!
//! // The declaration of the server. The handler's type is the caller's; here it is a function.
//! type Handler = fn(&Json) -> CallToolResult;
//! fn greet(_: &Json) -> CallToolResult {
//!     CallToolResult::text("hello")
//! }
//! let mut registry = Registry::new(Implementation::new("greeter", "1.0.0"));
//! let schema = Json::parse(r#"{"type":"object"}"#)?;
//! registry.add_tool(Tool::new("greet", schema), greet as Handler)?;
//!
//! // A driver: bytes in, then all actions out.
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
//!                 let outcome = Outcome::Complete(result);
//!                 connection.with(now, |server| server.respond(now, request.reply, outcome));
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
//! // … and a modern client sends the version in each request.
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
//! # A loop on a stream
//!
//! The following is a complete server on any reader and writer, for handlers that answer at once.
//! The example `sync` is a whole program, with deadlines.
//!
//! ```
//! # use mcp_proto::server::{Config, Outcome, Registry, Server, ServerEvent};
//! # use mcp_proto::types::{CallToolResult, Implementation, Tool};
//! # use mcp_proto::{Action, Binding, Bytes, Instant, Json, Machine, stdio::Connection};
//! # use std::io::{self, Read, Write};
//! # type Handler = fn(&Json) -> CallToolResult;
//! fn serve(
//!     registry: &Registry<Handler>,
//!     mut input: impl Read,
//!     mut output: impl Write,
//! ) -> io::Result<()> {
//!     let start = std::time::Instant::now();
//!     let now = || Instant::ZERO + start.elapsed();
//!     let mut connection = Connection::server(registry.declaration(), Config::default());
//!     let mut buffer = [0; 4096];
//!     loop {
//!         while let Some(action) = connection.poll_action() {
//!             match action {
//!                 Action::Transmit(bytes) => output.write_all(&bytes)?,
//!                 Action::Event(ServerEvent::Request(request)) => {
//!                     let Some(handler) = registry.handler(request.handler) else { continue };
//!                     let result = Json::encode(&handler(&request.arguments))?;
//!                     let outcome = Outcome::Complete(result);
//!                     connection.with(now(), |server| server.respond(now(), request.reply, outcome));
//!                 }
//!                 Action::Event(_) => {}
//!                 Action::Close => return output.flush(),
//!             }
//!         }
//!         output.flush()?;
//!         match input.read(&mut buffer)? {
//!             0 => connection.handle_eof(now()),
//!             count => connection.handle_bytes(now(), Bytes::copy_from_slice(&buffer[..count])),
//!         }
//!     }
//! }
//! # let mut registry = Registry::new(Implementation::new("greeter", "1.0.0"));
//! # let tool = Tool::new("greet", Json::parse(r#"{"type":"object"}"#)?);
//! # registry.add_tool(tool, (|_| CallToolResult::text("hello")) as Handler)?;
//! # let input = concat!(
//! #     r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","_meta":{"#,
//! #     r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
//! #     r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#,
//! #     "\n"
//! # );
//! # let mut output = Vec::new();
//! # serve(&registry, input.as_bytes(), &mut output)?;
//! # let output = String::from_utf8(output)?;
//! # assert!(output.ends_with("\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]}}\n"), "{output}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A loop on several sockets
//!
//! Over HTTP the sockets of a server share an [`http::Endpoint`], which owns the sessions and the
//! listeners. An [`http::Connection`] visits the endpoint, and may wake other connections. The
//! following function runs after each read from a socket; `first` is the number of the socket. The
//! example `threads` is a whole program.
//!
//! ```
//! # use mcp_proto::http::{Config, Connection, Endpoint, EndpointAction};
//! # use mcp_proto::server::{Outcome, Registry, Request, ServerEvent};
//! # use mcp_proto::types::{CallToolResult, Implementation, Tool};
//! # use mcp_proto::{Action, Bytes, Instant, Json, Machine};
//! # use std::sync::Arc;
//! fn turn(
//!     now: Instant,
//!     first: usize,
//!     sockets: &mut [Socket],
//!     endpoint: &mut Endpoint<usize>,
//!     call: impl Fn(&Request) -> Outcome,
//! ) {
//!     let mut due = vec![first];
//!     while let Some(number) = due.pop() {
//!         let Socket { connection, output } = &mut sockets[number];
//!         connection.visit(now, endpoint, &number);
//!         while let Some(action) = connection.poll_action() {
//!             match action {
//!                 Action::Transmit(bytes) => output.extend_from_slice(&bytes),
//!                 Action::Event(ServerEvent::Request(request)) => {
//!                     let outcome = call(&request);
//!                     connection.respond(now, request.reply, outcome);
//!                 }
//!                 Action::Event(_) | Action::Close => {}
//!             }
//!         }
//!         if connection.needs_endpoint() {
//!             due.push(number);
//!         }
//!         while let Some(action) = endpoint.poll_action() {
//!             match action {
//!                 EndpointAction::Wake(other) => due.push(other),
//!                 EndpointAction::Event(ServerEvent::Request(request)) => {
//!                     let outcome = call(&request);
//!                     endpoint.respond(now, request.reply, outcome);
//!                 }
//!                 _ => {}
//!             }
//!         }
//!     }
//! }
//! # struct Socket {
//! #     connection: Connection,
//! #     output: Vec<u8>,
//! # }
//! # let mut registry = Registry::new(Implementation::new("greeter", "1.0.0"));
//! # registry.add_tool(Tool::new("greet", Json::parse(r#"{"type":"object"}"#)?), ())?;
//! # let (declaration, config) = (registry.declaration(), Arc::new(Config::default()));
//! # let mut endpoint = Endpoint::new(declaration.clone(), config.clone(), Box::new(|| [7; 16]));
//! # let call = |_: &Request| {
//! #     Outcome::Complete(Json::encode(&CallToolResult::text("hello")).unwrap())
//! # };
//! # let now = Instant::ZERO;
//! # let mut sockets: Vec<Socket> = (0..2)
//! #     .map(|_| Connection::new(now, declaration.clone(), config.clone()))
//! #     .map(|connection| Socket { connection, output: Vec::new() })
//! #     .collect();
//! # let mut ask = |number: usize, session: &str, body: &str| {
//! #     let request = format!(
//! #         "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
//! #          Accept: application/json, text/event-stream\r\n{session}Content-Length: {}\r\n\r\n{body}",
//! #         body.len()
//! #     );
//! #     sockets[number].connection.handle_bytes(now, Bytes::from(request));
//! #     turn(now, number, &mut sockets, &mut endpoint, call);
//! #     String::from_utf8(std::mem::take(&mut sockets[number].output)).unwrap()
//! # };
//! # let opened = ask(0, "", concat!(
//! #     r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"#,
//! #     r#""protocolVersion":"2025-11-25","capabilities":{},"#,
//! #     r#""clientInfo":{"name":"old","version":"1"}}}"#,
//! # ));
//! # assert!(opened.starts_with("HTTP/1.1 200 OK\r\n"), "{opened}");
//! # let (_, session) = opened.split_once("Mcp-Session-Id: ").ok_or("no session")?;
//! # let session = format!("Mcp-Session-Id: {}\r\n", session.split("\r\n").next().unwrap_or_default());
//! # // On the other socket, in the same session.
//! # ask(1, &session, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
//! # let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet"}}"#;
//! # let answer = ask(1, &session, call);
//! # assert!(answer.contains("hello"), "{answer}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to start
//!
//! | to | read |
//! |---|---|
//! | drive a server by hand | [`stdio`], and the example `sync` |
//! | drive a client by hand | [`client`], and the example `client` |
//! | carry messages over another byte stream than lines | [`stream`] |
//! | serve HTTP with your own sockets | [`http`], and the example `threads` |
//! | serve behind another HTTP stack | [`http::Exchange`], and the example `host` |
//! | serve without an operating system | the example `bare-metal` |
//! | call servers over HTTP with any HTTP library | [`http::Client`] |
//! | test a server in both eras | the crate `mcp-service`, feature `testing` |
//! | declare what a server offers | [`server::Registry`] |
//! | require an extension | [`ext`] |
//! | mirror arguments into HTTP headers | [`headers`] |
//! | write async handlers | the crates `mcp-tokio` and `mcp-async-std`; for another runtime `mcp-service`, which they build on |
//! | sign in to servers that require a token | the module `auth`, feature `auth` |
//! | protect a server with tokens | [`resource_server`] |
//! | keep state at the client between two rounds | the module `request_state`, feature `request-state` |
//! | bound what a peer may use | [`Limits`] |
//! | find the era of a message | [`negotiate`] |
//! | read on, example first | the guide, `docs/guide` in the repository |
//!
//! # Features
//!
//! A feature adds API and changes no behaviour. `std` is on by default. The client and the server
//! have no feature: a linker removes the one that a program does not use.
//!
//! | feature | adds |
//! |---|---|
//! | `std` | no API: the crate itself needs `core` and `alloc` only. Its dependencies use the standard library, to search text with the instructions of the CPU |
//! | `auth` | an OAuth client: signs in to servers that require a token |
//! | `request-state` | a `requestState` that clients cannot change or use elsewhere |
//! | `skills` | skills of servers, for servers and hosts: `ext::skills` |
//! | `schemars` | schemas of tools and arguments of prompts from Rust types |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

#[cfg(feature = "auth")]
pub mod auth;
pub mod bridge;
mod budget;
mod challenge;
mod change;
pub mod client;
mod deadlines;
#[doc(hidden)]
pub mod decision_table;
mod error;
pub mod ext;
pub mod frame;
pub mod headers;
pub mod http;
#[doc(hidden)]
pub mod internals;
mod json;
mod limits;
mod machine;
pub mod message;
mod meta;
pub mod negotiate;
mod progress;
#[cfg(feature = "request-state")]
pub mod request_state;
pub mod resource_server;
pub mod schema;
mod scopes;
mod seq_map;
pub mod server;
pub mod stdio;
pub mod stream;
mod time;
mod trace;
pub mod types;
mod url;
mod version;

pub use bytes::{Bytes, BytesMut};
pub use error::{ErrorCode, ProtocolError, UsageError, ValidationStep};
pub use json::{InvalidJson, Json, Spare};
pub use limits::Limits;
pub use machine::{Action, Binding, Machine};
pub use message::{ErrorData, ProgressToken, RequestId};
pub use time::{Duration, Instant, iso8601};
pub use trace::TraceContext;
pub use version::{Era, EraPolicy, ProtocolVersion, UnknownVersion};
