//! A client of a server of an official SDK over HTTP; `tests/interop/servers/run` runs it with each
//! of them.

use async_std::task;
use mcp_async_std::run_http;
use mcp_tests::interop;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    task::block_on(interop::run_http(std::env::args().skip(1), async |client, place| {
        task::spawn(async move { run_http(&client, place).await }).await
    }))
}
