//! The server: messages in, messages out, for both eras at once.
//!
//! A [`Server`] is the protocol state for one peer. On a byte stream,
//! [`stdio::Connection`](crate::stdio::Connection) is its binding. A [`Registry`] has the features
//! that the server offers. [`negotiate`](crate::negotiate) decides the era of each message.
//!
//! | input | output |
//! |---|---|
//! | a message | a response, or a [`Request`] event for a handler, or nothing (`negotiate::TABLE`) |
//! | `respond` with a result or an error | the response, adapted to the era; nothing if the request was cancelled |
//! | `respond` with input that is required | modern: a response that says so; legacy: requests to the client, and the [`Request`] again once they are answered |
//! | `notify` | progress and log messages, if the client asked for them |
//! | `publish`, `declare` | notifications to clients that subscribed, the legacy ones to list changes always |
//! | `ping`, `notify_session`, `request_input` | to a legacy client, about no request; then a `Pong`, or `InputAnswered` |
//! | `cancel_input` | withdraws such a request for input |
//! | `notifications/cancelled` | a `Cancelled` event, and never a response |
//! | end of input | subscriptions end; requests in flight get `Limits::drain`, then `Cancelled`; then `Closed` |
//! | `Limits::handler_timeout` | `Cancelled`, and -32603 |
//! | `Limits::input_timeout` | -32603 |
//!
//! A registry that [forwards](Registry::forward) has one handler for requests and notifications, as
//! in a gateway. The machine then only answers `ping`, and changes few members of the results.
//!
//! Otherwise the machine itself answers `initialize`, `server/discover`, `ping`, the lists,
//! `logging/setLevel`, `resources/subscribe`, `resources/unsubscribe`, `subscriptions/listen`, and
//! `completion/complete` for references without a completion handler.
//!
//! States: the opening of a connection is undecided, modern or legacy (with a session). In
//! addition, the connection is open, draining (no more input, requests in flight) or closed. A
//! request in flight is in its handler, waits for input (legacy), or is a subscription (modern).
//!
//! A server without a binding, as in a test:
//!
//! ```
//! use mcp_proto::message::{self, Outgoing};
//! use mcp_proto::server::{Config, Outcome, Registry, Server, ServerAction, ServerEvent};
//! use mcp_proto::types::{CallToolResult, Implementation, Tool};
//! use mcp_proto::{Instant, Json, Limits};
//!
//! let mut registry = Registry::new(Implementation::new("greeter", "1.0.0"));
//! registry.add_tool(Tool::new("greet", Json::parse(r#"{"type":"object"}"#)?), "hello")?;
//! let mut server = Server::new(registry.declaration(), Config::default());
//!
//! let text = concat!(
//!     r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","_meta":{"#,
//!     r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
//!     r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#,
//! );
//! let now = Instant::ZERO;
//! match message::parse(&text.into(), &Limits::default()) {
//!     Ok(incoming) => server.handle_message(now, incoming),
//!     Err(malformed) => server.handle_malformed(now, malformed),
//! }
//! let Some(ServerAction::Event(ServerEvent::Request(request))) = server.poll_action() else {
//!     panic!("no request");
//! };
//! let greeting = registry.handler(request.handler).ok_or("no handler")?;
//! let result = Json::encode(&CallToolResult::text(*greeting))?;
//! server.respond(now, request.reply, Outcome::Complete(result));
//! let Some(ServerAction::Send { message: Outgoing::Result { id, .. }, .. }) = server.poll_action()
//! else {
//!     panic!("no answer");
//! };
//! assert_eq!(id, 1.into());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [Specification: Server Features](https://modelcontextprotocol.io/specification/2026-07-28/server)

mod access;
mod adapt;
mod apps;
mod binding;
mod cacheable;
mod call;
mod caller_list;
mod calls;
mod config;
mod context;
mod declaration;
mod dispatch;
mod entries;
mod event;
mod extensions;
mod filter;
mod forward;
pub(crate) mod handler_id;
mod ids;
mod input;
mod inputs;
mod legacy;
mod lifecycle;
mod listener;
mod lists;
mod lookup;
mod machine;
mod modern;
mod mount;
mod names;
mod notification;
mod outbox;
mod outcome;
mod pages;
mod registered;
mod registry;
mod required_scopes;
mod restricted;
mod result_prefix;
mod sender;
mod serve;
mod subscriptions;
pub mod task;
mod template;

pub use crate::budget::Account;
pub use crate::change::{Change, List, TaskUpdate};
pub use crate::progress::{Progress, ProgressValue};
pub use access::ListEntry;
pub use cacheable::Cacheable;
pub use config::Config;
pub use declaration::Declaration;
pub(crate) use dispatch::{
    MessageSource, cancelled_id, claims, facts, is_initialize, refusal, request_id,
};
pub use event::{
    CancelCause, InputFailure, InputId, Peer, PingId, Reply, ReplyId, Request, ServerAction,
    ServerEvent, SessionRef, StreamId,
};
pub use extensions::Extensions;
pub(crate) use filter::Filter;
pub use handler_id::HandlerId;
pub(crate) use input::check_forwarded;
pub(crate) use input::{task_error, task_outcome};
pub(crate) use inputs::missing_capability;
pub(crate) use legacy::{wrapped_content, wrapped_schema};
pub use machine::Server;
pub use notification::Notification;
pub use outcome::{Input, InputRequired, Outcome};
pub use registry::Registry;
pub(crate) use sender::LastSender;
pub use template::template_variables;
