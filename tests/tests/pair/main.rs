//! `Pair` itself: time, the pipe, HTTP, sign-in, what breaks them, and how a test fails.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod cache;
mod dropped_sign_in;
mod executions;
mod failing;
mod follow_tasks;
mod grants;
mod http;
mod panics;
mod pipe;
mod recorder;
mod sign_in;
mod slow_sign_in;
mod time;
mod vault;
