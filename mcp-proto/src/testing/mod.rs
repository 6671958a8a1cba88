//! Both sides of a conversation in one place, with virtual time: test a server in both eras, with
//! no ports, no processes and no sleeps.
//!
//! ```
//! use mcp_proto::client::Negotiation;
//! use mcp_proto::testing::Pair;
//! # use mcp_proto::{server::Registry, types::Implementation};
//! # #[derive(serde::Deserialize, schemars::JsonSchema)]
//! # struct Sum { a: i64, b: i64 }
//! # fn registry() -> Result<Registry<mcp_proto::service::Handler>, mcp_proto::UsageError> {
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
//! A [`Pair`] has a pipe between its sides that can be made as bad as one likes ([`Network`]), and
//! broken ([`Pair::cut`]). Whatever is random in it follows from a seed, which is printed when a
//! test panics: with the same seed all happens again as it did.

mod clock;
mod lane;
mod pair;
mod random;

pub use clock::{Clock, Sleep};
pub use lane::Network;
pub use pair::Pair;
