//! Functions behind the fuzz targets: any bytes in, a panic if a property is violated.
//!
//! `fuzz/fuzz_targets` wraps each of them for `cargo fuzz`; `tests/tests/corpus.rs` replays the
//! committed corpora through them, and `tests/tests/laws` feeds them from generators.

mod auth;
mod bridge;
mod client;
mod client_http;
mod cut;
mod headers;
mod http;
mod http1;
mod http1_client;
#[cfg(feature = "jwt")]
mod jwt;
mod line;
mod message;
mod oracle;
mod pair;
mod request_state;
mod script_bytes;
mod sse;
mod stdio;
mod tasks;
mod written;

pub use auth::{auth, auth_rows};
pub use bridge::bridge;
pub use client::{ClientOp, ClientScript, client_stdio, run_client};
pub use client_http::{HttpOp, HttpScript, client_http, run_client_http};
pub use headers::headers;
pub use http::server_http;
pub use http1::{http1, http1_pieces};
pub use http1_client::{http1_client, http1_client_pieces};
#[cfg(feature = "jwt")]
pub use jwt::{jwt, jwt_accepted};
pub use line::line;
pub use message::{message, read};
pub use pair::{pair, pair_http};
pub use request_state::request_state;
pub use sse::{sse, sse_pieces};
pub use stdio::{Answers, Op, Script, answer, registry, run, server_stdio};
pub use tasks::tasks;
