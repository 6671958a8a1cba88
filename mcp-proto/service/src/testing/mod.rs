//! Client and server in one test, with virtual time: test a server in both eras, without ports,
//! processes and sleeps.
//!
//! ```
//! use mcp_proto::client::Negotiation;
//! use mcp_service::testing::Pair;
//! # use mcp_proto::types::Implementation;
//! # use mcp_service::Registry;
//! # #[derive(serde::Deserialize, schemars::JsonSchema)]
//! # struct Sum { a: i64, b: i64 }
//! # fn registry() -> Result<Registry, mcp_proto::UsageError> {
//! #     let mut registry = Registry::new(Implementation::new("sums", "1.0.0"));
//! #     registry.tool("add", "Adds", |Sum { a, b }: Sum, _| async move { format!("{}", a + b) })?;
//! #     Ok(registry)
//! # }
//!
//! for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
//!     let mut pair = Pair::new(registry()?).negotiation(negotiation);
//!     let sum = pair.client().call_tool("add", &serde_json::json!({ "a": 1, "b": 2 }));
//!     assert_eq!(pair.run(sum)?.content[0].as_text(), Some("3"));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With `Pair::over_http` in place of `Pair::new` they use Streamable HTTP, over simulated
//! connections:
//!
//! ```
//! use mcp_proto::client::CallError;
//! use mcp_service::testing::Pair;
//! # use mcp_proto::types::Implementation;
//! # use mcp_service::Registry;
//! # #[derive(serde::Deserialize, schemars::JsonSchema)]
//! # struct Sum { a: i64, b: i64 }
//! # let mut registry = Registry::new(Implementation::new("sums", "1.0.0"));
//! # registry.tool("add", "Adds", |Sum { a, b }: Sum, _| async move { format!("{}", a + b) })?;
//!
//! let mut pair = Pair::over_http(registry);
//! let client = pair.client();
//! pair.run(client.connected())?;
//! // The server has called the tool, but the response is lost.
//! pair.cut_response(0);
//! let lost = pair.run(client.call_tool("add", &serde_json::json!({ "a": 1, "b": 2 })));
//! assert!(matches!(lost, Err(CallError::Connection(_))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Tools for tests:
//!
//! | to | use |
//! |---|---|
//! | answer input, and receive logs and changes | [`Pair::client`]; set its handlers before the first run |
//! | run a future to its end, while time passes | [`Pair::run`] |
//! | begin a future, and do something else while it is pending | [`Pair::poll`], then [`Pair::pass`], [`Pair::cut`] and others |
//! | simulate a slow user or model | [`Pair::clock`] |
//! | delay bytes, and split them | [`Pair::network`] |
//! | use HTTP, with or without sessions or authorization | [`Pair::over_http`], [`Pair::http_config`], [`Pair::http_client_config`] |
//! | sign in, with an authorization server and a person | [`AuthServer`], [`Pair::auth_server`] |
//! | cut or refuse connections at random | [`Network::cuts`], [`Network::refusals`] |
//! | cut a connection in the middle of a message, lose a response | [`Pair::cut_request`], [`Pair::cut_response`] |
//! | make the server unreachable, restart or replace it | [`Pair::refuse`], [`Pair::restart`], [`Pair::restart_as`] |
//! | check that nothing is left open | [`Pair::connections`], [`Pair::sessions`] |
//! | use a server of another implementation | [`Pair::with_server`] |
//! | see the conversation | [`Pair::wire`], in the format of transcripts |
//!
//! Nothing takes real time or depends on it: an hour passes at once. Random choices follow from a
//! seed ([`Pair::seed`]), which is printed when a test panics. The same seed reproduces the run,
//! except for ids of tasks.
//!
//! Handlers of the server must sleep with [`Context::sleep`](crate::Context::sleep). Work on other
//! threads is not waited for: [`Pair::run`] panics if nothing else can make progress.
//!
//! To test a server that an adapter serves, use the same registry. The adapters export this module
//! with their feature `testing`, for dev-dependencies.

#[cfg(feature = "auth")]
mod auth_server;
mod clock;
#[cfg(feature = "auth")]
mod form;
mod hosted;
mod http;
mod lane;
mod pair;
mod pipe;
mod random;
mod wire;
mod woken;

#[cfg(feature = "auth")]
pub use auth_server::{AuthAnswer, AuthServer, Person};
pub use clock::{Clock, Sleep};
pub use lane::Network;
pub use pair::Pair;
