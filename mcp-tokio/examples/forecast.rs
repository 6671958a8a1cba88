//! The smallest client, which the README shows:
//!
//! ```sh
//! cargo build -p mcp-tokio --example weather
//! cargo run -p mcp-tokio --example forecast -- target/debug/examples/weather
//! ```
//!
//! The client starts that server, and prints `2026-07-28` and `Rain in Oslo.`

#![expect(clippy::print_stdout, reason = "showing is what it is for")]

use mcp_tokio::{Client, Command, Implementation, connect_command};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = std::env::args().nth(1).ok_or("usage: forecast PROGRAM")?;
    let client = Client::new(Implementation::new("app", "1.0.0"));
    let server = connect_command(&client, Command::new(program)).await?;
    println!("{}", server.version);
    let answer = client.call_tool("forecast", &json!({ "city": "Oslo" })).await?;
    for block in &answer.content {
        println!("{}", block.as_text().unwrap_or("(no text)"));
    }
    client.close().await;
    Ok(())
}
