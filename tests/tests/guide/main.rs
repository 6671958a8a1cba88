//! The README and the guide, held to be true.
//!
//! Every block of Rust, JSON and conversation in them is a quote from a file here, or from an
//! example: from code that is compiled and run. `pages` compares them; the other files are what is
//! quoted.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that cannot go on ends")]
#![expect(
    clippy::unused_async,
    clippy::wildcard_enum_match_arm,
    reason = "what applications write: async handlers, and the cases that concern them"
)]

mod apps;
mod bridge;
mod cache;
mod client;
mod eras;
mod follow_tasks;
mod framing;
mod gateways;
mod machine;
#[cfg(all(feature = "http2", feature = "proxy"))]
mod network;
#[cfg(unix)]
mod own_streams;
mod pages;
mod protect;
mod rmcp;
mod scaling;
mod second_hour;
mod security;
mod server;
mod sign_in;
mod skills;
mod tasks;
mod testing;
#[cfg(feature = "validate")]
mod validation;
mod wire;
