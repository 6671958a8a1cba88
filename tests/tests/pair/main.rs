//! `Pair` itself: time, the pipe, what breaks it, and how a test fails.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod failing;
mod pipe;
mod recorder;
mod time;
