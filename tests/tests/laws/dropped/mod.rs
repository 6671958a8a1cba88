//! Law 4 for futures that are dropped: a future of the client may be dropped after any number of
//! polls. The client works on, the server is told, and nothing is left or executed twice.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod beside;
mod drivers;
mod in_handlers;
mod operations;
mod remote_tools;
mod tasks;
