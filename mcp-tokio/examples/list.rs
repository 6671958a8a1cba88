//! Lists the tools of a server: `list COMMAND ARGUMENTS`, or `list http://127.0.0.1:8000/mcp`.
//!
//! With `MCP_TOKEN` in the environment it is sent to a server over HTTP. `https` needs the feature
//! `tls`.

#![expect(clippy::print_stdout, reason = "showing is what it is for")]

use mcp_tokio::{Client, Command, HttpClientConfig, Implementation, connect_command, connect_http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::new(Implementation::new("list", env!("CARGO_PKG_VERSION")));
    let mut arguments = std::env::args().skip(1);
    let server = arguments.next().ok_or("usage: list COMMAND ARGUMENTS, or list URL")?;
    let server = if server.contains("://") {
        let mut config = HttpClientConfig::parse(&server)?;
        if let Ok(token) = std::env::var("MCP_TOKEN") {
            config = config.field("Authorization", &format!("Bearer {token}"))?;
        }
        connect_http(&client, config).await?
    } else {
        connect_command(&client, Command::new(server).args(arguments)).await?
    };
    let name = server.implementation.map_or("a server without a name".into(), |it| it.name);
    println!("{name} speaks {}.", server.version);
    for tool in client.list_tools().await?.tools {
        println!("- {}: {}", tool.name, tool.description.unwrap_or_default());
    }
    client.close().await;
    Ok(())
}
