//! A client of a server of an official SDK over HTTP; `tests/interop/servers/run` runs it with each
//! of them.

use mcp_tests::interop;
use mcp_tokio::run_http;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    interop::run_http(std::env::args().skip(1), async |client, place| {
        tokio::spawn(async move { run_http(&client, place).await }).await?
    })
    .await
}
