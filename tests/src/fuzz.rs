//! Functions behind the fuzz targets: any bytes in, a panic if a property is violated.
//!
//! `fuzz/fuzz_targets` wraps each of them for `cargo fuzz`; `tests/corpus.rs` replays the
//! committed corpora through them, and `tests/laws` feeds them from generators.

mod client;
mod headers;
mod http;
mod http1;
mod http1_client;
mod line;
mod listeners;
mod message;
mod model;
mod oracle;
mod pair;
mod questions;
mod request_state;
mod script;
mod seen;
mod sse;
mod stdio;

pub use client::{ClientOp, ClientScript, client_stdio, run_client};
pub use headers::headers;
pub use http::server_http;
pub use http1::{http1, http1_pieces};
pub use http1_client::{http1_client, http1_client_pieces};
pub use line::line;
pub use message::message;
pub use pair::{pair, pair_http};
pub use request_state::request_state;
pub use script::{Op, Script, answer};
pub use sse::{sse, sse_pieces};
pub use stdio::{Answers, registry, run, server_stdio};
