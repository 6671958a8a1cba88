//! `Pair` itself: time, the pipe, HTTP, what breaks them, and how a test fails.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod executions;
mod failing;
mod http;
mod pipe;
mod recorder;
mod sign_in;
mod time;
