//! Model Context Protocol servers and clients on tokio.
//!
//! [`mcp_proto`] is the protocol; this crate moves bytes between it and tokio's pipes and streams.
//! One registry serves legacy clients (2024-11-05 to 2025-11-25) and modern ones (2026-07-28), and
//! one client talks to servers of both kinds. This page is a tour; the guide, `docs/guide` in the
//! repository, says more.
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
//! # Handlers
//!
//! ```
//! # use mcp_tokio::{Context, Implementation, Progress, Registry};
//! # use std::time::Duration;
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct Brew {
//!     /// How many cups.
//!     cups: u32,
//! }
//!
//! async fn brew(brew: Brew, context: Context) -> Result<String, String> {
//!     if brew.cups == 0 {
//!         return Err("How many cups?".into());
//!     }
//!     for cup in 1..=brew.cups {
//!         context.sleep(Duration::from_secs(30)).await;
//!         context.progress(Progress::new(cup).total(brew.cups));
//!     }
//!     Ok(format!("{} cups of coffee", brew.cups))
//! }
//!
//! # let mut registry = Registry::new(Implementation::new("kitchen", "1.0.0"));
//! registry.tool("brew", "Makes coffee", brew)?;
//! # Ok::<(), mcp_tokio::UsageError>(())
//! ```
//!
//! - Arguments are a struct with named fields (`struct Nothing {}` for none) and follow serde.
//!   Those that do not fit are told to the model, as a result with `isError`. What the schema says
//!   and serde does not check, such as ranges, lengths and patterns, is the handler's to check.
//! - An `Err` of text, of a boxed error or of a [`CallToolResult`] is told to the model likewise;
//!   an [`ErrorData`] is a JSON-RPC error, which the model does not see; a panic is one with the
//!   code -32603.
//! - A cancelled handler is polled once more, so that [`Context::cancelled`] returns, and dropped
//!   if it is still pending then.
//! - Standard output belongs to the protocol: print to stderr.
//!
//! # More than tools
//!
//! ```
//! use mcp_tokio::types::{
//!     BooleanSchema, CompletionReference, ContentBlock, ElicitRequestFormParams, LoggingLevel, Prompt,
//!     PromptMessage, RequestedSchema, Resource, ResourceContents, ResourceTemplate, Role,
//!     StringSchema, UntitledSingleSelectEnumSchema,
//! };
//! use mcp_tokio::{Context, ErrorData, List, Structured};
//! use std::error::Error;
//! # use mcp_tokio::{Implementation, Registry};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Recipe {
//!     /// Of what.
//!     dish: String,
//! }
//!
//! # let mut registry = Registry::new(Implementation::new("kitchen", "1.0.0"));
//! // Clients may cache the lists and hear of changes: `Catalog::update`, `Context::publish`.
//! registry.list_changed(List::Resources).subscribe();
//! registry.resource(Resource::new("kitchen://stock", "stock"), |uri, _| async {
//!     ResourceContents::text(uri, "3 eggs")
//! })?;
//! // The variables of a template are strings; a number is parsed by the handler.
//! registry.resource_template(
//!     ResourceTemplate::new("kitchen://recipes/{dish}", "recipes"),
//!     |uri, recipe: Recipe, _| async move {
//!         match &*recipe.dish {
//!             "omelette" => Ok(ResourceContents::text(uri, "Break the eggs.")),
//!             _ => Err(ErrorData::resource_not_found(&uri)),
//!         }
//!     },
//! )?;
//! registry.prompt(Prompt::of::<Recipe>("cook")?, |recipe: Recipe, _| async move {
//!     PromptMessage::new(Role::User, ContentBlock::text(format!("Cook {}.", recipe.dish)))
//! })?;
//! registry.completion(CompletionReference::prompt("cook"), |_, _| async {
//!     vec!["omelette".to_owned()]
//! })?;
//!
//! // A handler that needs something of the client asks with `?`, and runs again from its beginning
//! // with the answer: so ask first, and act after. Such a handler returns a boxed error or an
//! // `Interrupt`.
//! #[derive(serde::Deserialize)]
//! struct Sure {
//!     sure: bool,
//!     why: Option<String>,
//! }
//! async fn throw_away(recipe: Recipe, context: Context) -> Result<String, Box<dyn Error + Send + Sync>> {
//!     if recipe.dish.is_empty() {
//!         return Err("Which dish?".into());
//!     }
//!     let fields = RequestedSchema::new()
//!         .required("sure", BooleanSchema::new())
//!         .optional("into", UntitledSingleSelectEnumSchema::new(["bin", "compost"]))
//!         .optional("why", StringSchema::new().description("For the records"));
//!     let form = ElicitRequestFormParams::new(format!("Throw {} away?", recipe.dish), fields);
//!     // The key tells this question from others of the handler. Nothing if the user declined, and an
//!     // error if the answer does not fit.
//!     let answer = context.elicit("throw-away", form)?.accepted::<Sure>();
//!     let Some(Ok(Sure { sure: true, why })) = answer else { return Ok("kept".into()) };
//!     context.log(LoggingLevel::Notice, format!("{} is gone: {why:?}", recipe.dish));
//!     Ok("gone".into())
//! }
//! registry.logging().tool("throw_away", "Throws a dish away", throw_away)?;
//!
//! // A tool with an output schema, and one that changes what there is: clients are told of it if
//! // the list is declared to change.
//! #[derive(serde::Serialize, schemars::JsonSchema)]
//! struct Calories {
//!     kcal: u32,
//! }
//! registry.tool("calories", "Counts", |_: Recipe, _| async { Structured(Calories { kcal: 200 }) })?;
//! registry.list_changed(List::Tools);
//! registry.tool("unpack", "Unpacks the oven", |_: Recipe, context: Context| async move {
//!     context.catalog().update(|registry| {
//!         registry.tool("bake", "Bakes", |_: Recipe, _| async { "baked" })?;
//!         Ok("There is an oven.")
//!     })
//! })?;
//! # Ok::<(), mcp_tokio::UsageError>(())
//! ```
//!
//! # Over HTTP
//!
//! ```no_run
//! use mcp_tokio::{HttpConfig, serve_http};
//! use tokio::net::TcpListener;
//!
//! # async fn example(registry: mcp_tokio::Registry<mcp_tokio::Handler>) -> std::io::Result<()> {
//! let mut config = HttpConfig::default();
//! // Only these hosts, beside those of loopback, and no web pages: see `HttpConfig`.
//! config.allowed_hosts.push("mcp.example.com".into());
//! let listener = TcpListener::bind("127.0.0.1:8000").await?;
//! // At http://127.0.0.1:8000/mcp, until SIGINT or SIGTERM.
//! serve_http(listener, registry, config).await
//! # }
//! ```
//!
//! The registry is the same; legacy clients get sessions. A modern request ends with its connection,
//! and its handler is cancelled then; one of a session goes on, and the client may come back for the
//! answer.
//!
//! With the feature `tower`, `HttpService` is the same server behind axum, hyper or whatever else runs
//! tower services, over HTTP/2 too:
//!
#![cfg_attr(feature = "tower", doc = "```no_run")]
#![cfg_attr(not(feature = "tower"), doc = "```ignore")]
//! use axum::Router;
//! use mcp_tokio::{HttpConfig, HttpService};
//!
//! # async fn example(registry: mcp_tokio::Registry<mcp_tokio::Handler>) -> std::io::Result<()> {
//! let mcp = HttpService::new(registry, HttpConfig::default());
//! let app = Router::new().route_service("/mcp", mcp.clone());
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
//! // Streams end when the service is told to, and axum waits for them.
//! let stop = async move {
//!     if tokio::signal::ctrl_c().await.is_ok() {
//!         mcp.shutdown();
//!     }
//! };
//! axum::serve(listener, app).with_graceful_shutdown(stop).await
//! # }
//! ```
//!
//! # Clients
//!
//! ```no_run
//! use mcp_tokio::types::{LoggingLevel, SubscriptionFilter};
//! use mcp_tokio::{Client, Command, Implementation, Stderr, connect_command};
//! use serde_json::json;
//! use std::time::Duration;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new(Implementation::new("app", "1.0.0"));
//! // What servers may ask for, and what is of interest, is said before it is connected.
//! client.on_form(|form| async move { form.accept_defaults().map_err(mcp_tokio::ErrorData::from) });
//! client.on_log(|message| eprintln!("{:?}: {}", message.level, message.data));
//!
//! let command = Command::new("kitchen").arg("stdio").stderr(Stderr::lines(|line| eprintln!("{line}")));
//! let server = connect_command(&client, command).await?;
//! eprintln!("it speaks {}", server.version);
//! // Without it a modern server sends no log messages.
//! client.set_log_level(LoggingLevel::Info).await?;
//!
//! let brew = client.call_tool("brew", &json!({ "cups": 3 }));
//! // Dropping a call cancels it; progress gives it more time.
//! let coffee = brew.timeout(Duration::from_secs(60)).on_progress(|at| eprintln!("{at:?}")).await?;
//! eprintln!("{:?}", coffee.content);
//! // What a `Structured` tool returns is read by `coffee.structured::<T>()`.
//!
//! let filter = SubscriptionFilter::new().tools_list_changed();
//! let mut changes = client.subscribe(filter).await?;
//! // What the server does not honour of it never comes: see `Subscription::honoured`.
//! while let Some(change) = changes.changed().await {
//!     eprintln!("{change:?}: {:?}", client.list_tools().await?.tools);
//! }
//! // With this the next client of the server need not ask what it speaks.
//! let verdict = client.verdict();
//! client.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! Over HTTP the same client is connected to a URL; `https` needs the feature `tls`:
//!
//! ```no_run
//! use mcp_tokio::{Client, HttpClientConfig, Implementation, connect_http};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new(Implementation::new("app", "1.0.0"));
//! let config = HttpClientConfig::parse("https://mcp.example.com/mcp")?;
//! connect_http(&client, config.field("Authorization", "Bearer 0123")?).await?;
//! // When the token is exchanged:
//! client.set_field("Authorization", "Bearer 4567")?;
//! # Ok(())
//! # }
//! ```
//!
//! # Seeing the conversation
//!
//! With the environment variable `MCP_WIRE=1` it is printed on stderr in the transcript format.
//! A server that a client starts does not see the variable, unless `Command::env("MCP_WIRE", "1")`
//! or `Command::inherit_env` hands it on: both sides then print to the same stderr, and
//! `Stderr::lines` tells the lines of the server apart.
//! Strings under keys such as `password` and `token` are masked; free text and numbers are not. Over
//! HTTP `1>` and `1<` are the two directions of the first connection, and fields that hold secrets are
//! masked; what another HTTP stack reads is not shown. [`Client::on_wire`] shows a client's to the
//! application.
//!
//! # From a terminal
//!
//! With the feature `cli` there is the program `mcp`, which tries servers; `mcp --help` tells all of it:
//!
//! ```text
//! cargo install mcp-tokio --features cli
//! mcp probe -- my-server stdio
//! mcp call http://127.0.0.1:8000/mcp brew cups=3
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod blocking;
mod client;
mod connector;
mod driver;
mod http;
mod http_client;
mod process;
mod stdio;
#[cfg(feature = "tls")]
mod tls;
#[cfg(feature = "tower")]
mod tower;

pub use mcp_proto;
pub use mcp_proto::client::{
    CallError, CallOptions, Config as ClientConfig, ConnectError, Negotiation, Restart, ServerInfo,
    Verdict,
};
pub use mcp_proto::headers::PlanError;
pub use mcp_proto::http::{Authorization, Config as HttpConfig, Sessions, Url, UrlError};
pub use mcp_proto::server::{Cacheable, Change, Config, InputRequired, List, Peer, Progress};
pub use mcp_proto::types;
pub use mcp_proto::types::{CallToolResult, ContentBlock, Implementation, Tool, ToolAnnotations};
pub use mcp_proto::{
    Era, EraPolicy, ErrorCode, ErrorData, Json, Limits, ProtocolError, ProtocolVersion,
    TraceContext, UsageError,
};
pub use mcp_service;
pub use mcp_service::schema;
#[cfg(feature = "testing")]
pub use mcp_service::testing;
pub use mcp_service::{
    Call, Catalog, Client, CloseCause, Closed, Command, Context, Handler, HttpClientConfig,
    InheritedEnv, Interrupt, IntoAnswer, IntoInterrupt, IntoResult, IntoToolError, IntoToolResult,
    Registry, Session, SessionError, Stderr, Structured, Subscription, Unreached,
};

pub use client::{connect, connect_command, run, run_command};
pub use driver::serve;
pub use http::{serve_http, serve_http_until};
pub use http_client::{connect_http, run_http};
pub use stdio::{serve_stdio, serve_stdio_with};
#[cfg(feature = "tower")]
pub use tower::{HttpBody, HttpFuture, HttpService};
