//! A client of the server `notes`, for a program or a URL:
//!
//! ```sh
//! cargo build -p mcp-tokio --example notes
//! cargo run -p mcp-tokio --example notes_client -- target/debug/examples/notes
//! cargo run -p mcp-tokio --example notes_client -- http://127.0.0.1:8000/mcp
//! ```

#![expect(clippy::print_stdout, reason = "it shows what the server does")]

use std::error::Error;

use mcp_tokio::types::SubscriptionFilter;
use mcp_tokio::{
    CallToolResult, Client, Command, ContentBlock, ErrorData, HttpClientConfig, Implementation,
    connect_command, connect_http,
};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = std::env::args().nth(1).ok_or("usage: notes_client PROGRAM | URL")?;
    let client = Client::new(Implementation::new("notes_client", "1.0.0"));
    client.on_form(|form| async move {
        println!("asked: {}", form.message);
        form.accept(&json!({ "sure": true })).map_err(ErrorData::from)
    });
    if server.starts_with("http") {
        connect_http(&client, HttpClientConfig::parse(&server)?).await?;
    } else {
        connect_command(&client, Command::new(server).arg("stdio")).await?;
    }
    let mut changes = client.subscribe(SubscriptionFilter::new().resource("notes://all")).await?;

    for (title, text) in [("milk", "two litres"), ("bread", "of rye")] {
        client.call_tool("add", &json!({ "title": title, "text": text })).await?;
    }
    println!("changed: {:?}", changes.changed().await);
    let found = client.call_tool("find", &json!({ "text": "rye" })).await?;
    println!("found: {}", found.structured::<Value>()?);
    let export = client.call_tool("export", &json!({}));
    let export = export.on_progress(|progress| println!("exported: {:?}", progress.message));
    println!("{}", text(&export.await?));
    let deleted = client.call_tool("delete", &json!({ "title": "milk" })).await?;
    println!("{}", text(&deleted));
    client.close().await;
    Ok(())
}

fn text(result: &CallToolResult) -> &str {
    result.content.first().and_then(ContentBlock::as_text).unwrap_or_default()
}
