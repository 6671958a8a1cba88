//! Both sides of a conversation in one place, with virtual time: test a server in both eras, with
//! no ports, no processes and no sleeps.
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
//! With `Pair::over_http` in place of `Pair::new` they talk Streamable HTTP, over connections that
//! are as virtual as time:
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
//! // The server adds, and the client cannot know.
//! pair.cut_response(0);
//! let lost = pair.run(client.call_tool("add", &serde_json::json!({ "a": 1, "b": 2 })));
//! assert!(matches!(lost, Err(CallError::Connection(_))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Tools for tests:
//!
//! | to have | there is |
//! |---|---|
//! | an application that answers, and hears logs and changes | [`Pair::client`]; it is told so before it is first run |
//! | something done at once, and time pass until it is | [`Pair::run`] |
//! | something under way while something else happens | [`Pair::poll`], and then [`Pair::pass`], [`Pair::cut`] and the others |
//! | a user, or a model, who takes his time | [`Pair::clock`] |
//! | a bad pipe: late, in pieces | [`Pair::network`] |
//! | HTTP, with sessions or without, authorization | [`Pair::over_http`], [`Pair::http_config`], [`Pair::http_client_config`] |
//! | a sign-in, with an authorization server and a person | [`AuthServer`], [`Pair::auth_server`] |
//! | a bad network: connections that are cut or refused at random | [`Network::cuts`], [`Network::refusals`] |
//! | a connection cut in the middle of a head or a body, a response lost | [`Pair::cut_request`], [`Pair::cut_response`] |
//! | a server that is out of reach, that has forgotten its sessions, or that is another one | [`Pair::refuse`], [`Pair::restart`], [`Pair::restart_as`] |
//! | that nothing is left open | [`Pair::connections`], [`Pair::sessions`] |
//! | a server of another kind, such as one that ends at what it does not know | [`Pair::with_server`] |
//! | what was said | [`Pair::wire`], which pastes into a transcript |
//!
//! Nothing here takes real time or depends on it: an hour passes at once. Whatever is random
//! follows from a seed ([`Pair::seed`]), which is printed when a test panics: with the same seed
//! all happens again as it did.
//!
//! A handler of the server sleeps by [`Context::sleep`](crate::Context::sleep). Work on
//! other threads is not waited for: nothing happens here while they work, and [`Pair::run`] panics.
//!
//! A server that is served by an adapter is tested with the same registry: the adapters export this
//! module with their feature `testing`, which belongs among the dev-dependencies.

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
