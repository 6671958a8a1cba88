//! The suite of servers in child processes.

#![cfg(unix)]

use mcp_async_std::AsyncIo;
use mcp_tests::children::Host;

struct OnSmol;

impl Host for OnSmol {
    type Runtime = AsyncIo;

    fn block_on<T>(f: impl AsyncFnOnce(AsyncIo) -> T) -> T {
        smol::block_on(f(AsyncIo::smol()))
    }
}

mcp_tests::child_tests!(OnSmol);
