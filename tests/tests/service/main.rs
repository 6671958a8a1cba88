//! Async handlers, driven by hand: virtual time, a waker that counts, no runtime, no thread.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod bench;
mod cancel;
mod catalog;
mod client;
mod drive;
mod handlers;
mod http;
mod http_client;
mod input;
mod notifications;
mod offers;
mod output;
mod outside;
mod panics;
mod progress;
mod results;
mod sign_in;
mod sleep;
mod spawn;
mod structured;
mod suspended;
mod threads;
mod trace;
mod wire;
