//! The client `async_std_interop` on smol, without any part of async-std.

use mcp_async_std::run_command;
use mcp_tests::interop;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    smol::block_on(interop::run(std::env::args().skip(1), async |client, command| {
        smol::spawn(async move { run_command(&client, &command).await }).await
    }))
}
