//! One server, clients of both eras, in front of your eyes: `cargo run -p mcp-tokio --example tour`.
//!
//! `C>` is what a client sends, `S>` what the server answers.

#![expect(clippy::print_stdout, reason = "showing is what it is for")]

use mcp_tokio::{Catalog, Config, Implementation, Registry, serve};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Greet {
    /// Whom to greet.
    name: String,
}

const LEGACY: [&str; 4] = [
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"old client","version":"1.0"}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}}"#,
];

const MODERN: [&str; 3] = [
    r#"{"jsonrpc":"2.0","id":"a","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"greet","_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = Registry::new(Implementation::new("tour", env!("CARGO_PKG_VERSION")));
    registry.tool("greet", "Greets somebody", |greet: Greet, _| async move {
        format!("Hello, {}!", greet.name)
    })?;
    let catalog = Catalog::from(registry);

    println!("A legacy client opens with a handshake:\n");
    converse(&catalog, &LEGACY).await?;
    println!("A modern client says in every request what it speaks;");
    println!("the last request claims a version that nobody serves:\n");
    converse(&catalog, &MODERN).await?;
    Ok(())
}

/// Sends each line to a server of its own and prints what comes back.
async fn converse(catalog: &Catalog, lines: &[&str]) -> std::io::Result<()> {
    let (client, server) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(server);
    let server = tokio::spawn(serve(catalog.clone(), Config::default(), reader, writer));

    let (reader, mut writer) = tokio::io::split(client);
    let mut answers = BufReader::new(reader).lines();
    for line in lines {
        println!("C> {line}");
        writer.write_all(format!("{line}\n").as_bytes()).await?;
        if line.contains("\"id\"")
            && let Some(answer) = answers.next_line().await?
        {
            println!("S> {answer}\n");
        }
    }
    writer.shutdown().await?;
    server.await?
}
