//! A client of a server of an official SDK; `tests/interop/servers/run` runs it with each of them.

use async_std::task;
use mcp_async_std::run_command;
use mcp_tests::interop;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    task::block_on(interop::run(std::env::args().skip(1), async |client, command| {
        task::spawn(async move { run_command(&client, &command).await }).await
    }))
}
