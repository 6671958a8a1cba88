//! A client of a server of an official SDK; `tests/interop/servers/run` runs it with each of them.

use mcp_tests::interop;
use mcp_tokio::run_command;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    interop::run(std::env::args().skip(1), async |client, command| {
        tokio::spawn(async move { run_command(&client, &command).await }).await?
    })
    .await
}
