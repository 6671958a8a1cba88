//! A server with one tool, on stdio or HTTP:
//!
//! ```sh
//! cargo run -p mcp-tokio --example echo -- stdio
//! cargo run -p mcp-tokio --example echo -- http --listen 127.0.0.1:8000
//! ```

use mcp_tokio::{HttpConfig, Implementation, Registry, serve_http, serve_stdio};
use tokio::net::TcpListener;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    /// The message to send back.
    message: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = Registry::new(Implementation::new("echo", env!("CARGO_PKG_VERSION")));
    registry.tool("echo", "Echoes its message", |echo: Echo, _| async { echo.message })?;

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stdio"] => serve_stdio(registry).await?,
        ["http", "--listen", address] => {
            let listener = TcpListener::bind(address).await?;
            let config = HttpConfig::default();
            eprintln!("listening on http://{}{}", listener.local_addr()?, config.path);
            serve_http(listener, registry, config).await?;
        }
        _ => return Err("usage: echo stdio, or echo http --listen ADDRESS".into()),
    }
    Ok(())
}
