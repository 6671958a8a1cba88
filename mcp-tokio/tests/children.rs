//! The suite of servers in child processes.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::sync::LazyLock;

use mcp_tests::children::Host;
use mcp_tokio::Tokio;
use tokio::runtime::{Builder, Runtime};

/// Outlives the values that a test drops, as in a program.
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap());

struct OnTokio;

impl Host for OnTokio {
    type Runtime = Tokio;

    fn block_on<T>(f: impl AsyncFnOnce(Tokio) -> T) -> T {
        RUNTIME.block_on(async { f(Tokio::current()).await })
    }
}

mcp_tests::child_tests!(OnTokio);
