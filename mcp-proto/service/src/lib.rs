//! Async handlers and clients of the Model Context Protocol, independent of any runtime: the code
//! that all adapters of [`mcp_proto`] share.
//!
//! Applications use an adapter, `mcp-tokio` or `mcp-async-std`, which re-exports the API that they
//! need. Use this crate directly to write an adapter for another runtime, or to test servers and
//! clients in virtual time.
//!
//! A [`Service`] is a [`stdio::Connection`](mcp_proto::stdio::Connection) with handlers that are
//! futures. A handler is first polled when its request arrives. If it is still pending, it
//! continues in the task of the connection, or in a task that the adapter spawns. A handler that
//! panics, or whose future is dropped, is answered with -32603. [`drive`] moves the bytes between a
//! service and an [`Io`]. [`runtime`] serves and connects on any runtime that implements its trait.
//!
//! ```
//! use mcp_proto::server::Config;
//! use mcp_proto::types::Implementation;
//! use mcp_proto::{Bytes, Instant};
//! use mcp_service::{Drive, Registry, Service};
//! use std::task::Waker;
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Echo {
//!     message: String,
//! }
//!
//! let mut registry = Registry::new(Implementation::new("echo", "1.0.0"));
//! registry.tool("echo", "Echoes its message", |echo: Echo, _| async move { echo.message })?;
//!
//! // `drive` does the same with an `Io`: bytes in, a turn, bytes out.
//! let mut service = Service::new(registry, Config::default());
//! let now = Instant::ZERO;
//! service.handle_bytes(now, Bytes::from(concat!(
//!     r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","#,
//!     r#""arguments":{"message":"hello"},"_meta":{"#,
//!     r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
//!     r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#,
//!     "\n"
//! )));
//! service.turn(now, Waker::noop());
//! assert_eq!(
//!     str::from_utf8(service.output()),
//!     Ok(concat!(
//!         r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"#,
//!         r#""io.modelcontextprotocol/serverInfo":{"name":"echo","version":"1.0.0"}},"#,
//!         r#""content":[{"type":"text","text":"hello"}]}}"#,
//!         "\n"
//!     )),
//! );
//! # Ok::<(), mcp_proto::UsageError>(())
//! ```
//!
//! # Where to start
//!
//! | to | read |
//! |---|---|
//! | register async handlers | [`Registry`], [`Handler`] |
//! | report progress, log, and notice cancellation in a handler | [`Context`] |
//! | share state between handlers | [`Registry::with`] |
//! | offer an entry to some callers only | [`Registry::only_for`] |
//! | mount one registry in another | [`Registry::mount`] |
//! | offer tools of another server | [`RemoteTools`] |
//! | put a function around handlers | [`Registry::around`] |
//! | let calls of a tool become tasks | [`Registry::tasks`], [`TaskManager`], [`TaskStore`] |
//! | serve and connect on another runtime | [`runtime`] |
//! | serve a byte stream | [`Service`], [`Io`] |
//! | serve HTTP | [`HttpServer`] |
//! | write a client | [`Client`]; [`ClientService`] and [`HttpClientService`] drive it |
//! | change the registry while the server runs | [`Catalog`] |
//! | start a server as a child process | [`Command`], [`ProcessGroup`] |
//! | test both sides in virtual time | the module `testing`, feature `testing` |
//!
//! # Your own loop
//!
//! | method | when |
//! |---|---|
//! | [`Drive::handle_bytes`], [`Drive::handle_eof`] | something was read; the input has ended |
//! | [`Drive::handle_stop`] | a signal asks to stop |
//! | [`Drive::turn`] | after each of these and after writing, when its waker was woken, and at [`Drive::poll_timeout`] |
//! | [`Drive::output`], [`Drive::handle_written`] | until it is empty: bytes to write |
//! | [`Drive::is_closed`] | the conversation has ended: flush and return |
//!
//! # Features
//!
//! A feature adds API. Two change a default: `proxy` uses the proxies of the environment, and with
//! `tracing` alarms are events in place of lines on stderr. `schemars` is on by default.
//!
//! | feature | adds |
//! |---|---|
//! | `auth` | sign-in of clients over HTTP; see [`auth`] |
//! | `jwt` | `JwtVerifier`: verification of tokens that are JWTs, with the crate `jsonwebtoken` |
//! | `proxy` | proxies of clients over HTTP: those of the environment, or `Proxies` |
//! | `schemars` | `Registry::tool`: input and output schemas from Rust types |
//! | `request-state` | `Context::binding`, for a `requestState` that clients cannot change |
//! | `skills` | `Registry::skill`, `Client::read_skill`; see `mcp_proto::ext::skills` |
//! | `testing` | client and server in one test, with virtual time |
//! | `sign` | signing keys of clients, for a sign-in |
//! | `tls` | `https` URLs of clients, with rustls and the platform's certificate authorities |
//! | `tracing` | spans of requests and calls; see `Catalog::on_span` |
//! | `validate` | JSON Schema for arguments, structured content and forms; see [`schema`] |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the enums of `mcp-proto` are non-exhaustive, so that a match has such an arm anyway"
)]

extern crate alloc;

mod app;
#[cfg(feature = "auth")]
pub mod auth;
mod bridge;
mod cancel;
mod catalog;
mod changes;
mod checks;
mod client;
mod command;
mod commands;
mod context;
mod drive;
pub mod exports;
mod handler;
mod handler_call;
mod hidden_error;
mod hidden_interrupt;
mod http;
mod inherited_env;
mod input;
mod io;
mod jobs;
#[cfg(feature = "jwt")]
mod jwt;
mod link;
mod lock;
#[cfg(any(feature = "jwt", feature = "proxy"))]
mod loopback_host;
mod mailbox;
mod middleware;
mod mime_type;
mod misfit;
mod missing_scopes;
mod nearest;
mod output;
mod panics;
mod prepared_call;
mod process_group;
mod program_file;
mod read_ahead;
mod registry;
mod remote_tools;
mod result;
mod runner;
pub mod runtime;
pub mod schema;
mod service;
mod service_mailbox;
mod session;
#[cfg(feature = "skills")]
mod skill_folder;
#[cfg(feature = "skills")]
mod skills;
mod state;
mod stderr;
#[cfg(feature = "schemars")]
mod structured;
mod task;
#[cfg(feature = "testing")]
pub mod testing;
mod trace;
mod unread_changes;
mod validation;
mod wire;

pub use bridge::{Bridge, BridgeConfig, Sharing};
pub use catalog::Catalog;
#[cfg(feature = "proxy")]
pub use client::Proxies;
pub use client::{
    Call, Client, ClientService, CloseCause, Closed, ConnectFailure, Connecting, Connector,
    HttpClientConfig, HttpClientService, IntoAnswer, RemoteTask, ResponseCache, Started,
    Subscription,
};
#[cfg(feature = "skills")]
pub use client::{LoadedSkill, SkillCallError};
pub use command::Command;
pub use context::{Cancelled, Context, Sleep};
pub use drive::{Drive, drive};
pub use handler::Handler;
pub use http::{Admission, Answering, EndpointWaker, HttpLink, HttpServer, Part};
pub use inherited_env::InheritedEnv;
pub use io::{BoxReader, BoxWriter, Clock, Duplex, Io, Reader, Socket, Spawned, Writer};
#[cfg(feature = "jwt")]
pub use jwt::{JwtAlgorithm, JwtVerifier, KeySource};
pub use link::{EndpointVisitor, Link};
pub use middleware::{HandlerKind, HandlerRequest, Next, limit_concurrency, limit_rate};
pub use missing_scopes::MissingScopes;
#[doc(hidden)]
pub use nearest::nearest;
pub use process_group::ProcessGroup;
pub use registry::Registry;
pub use remote_tools::{RemoteTools, RemoteToolsError};
#[cfg(feature = "schemars")]
pub use result::Structured;
pub use result::{Interrupt, IntoInterrupt, IntoResult, IntoToolError, IntoToolResult};
pub use runner::Scope;
pub use service::Service;
pub use session::{Answer, Sent, Session, SessionError, SessionScope};
#[cfg(feature = "skills")]
pub use skill_folder::read_skill_folder;
pub use state::{StateHandler, WithState};
pub use stderr::Stderr;
pub use task::{
    MemoryStore, NewTask, StoreError, StoreFuture, TaskConfig, TaskError, TaskHost, TaskManager,
    TaskStore, TaskWatcher, Tasks,
};
