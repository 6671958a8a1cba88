//! A server with one tool, on stdio or HTTP:
//!
//! ```sh
//! cargo run -p mcp-async-std --example async_std_echo -- stdio
//! cargo run -p mcp-async-std --example async_std_echo -- http --listen 127.0.0.1:8000
//! ```

use std::net::TcpListener;

use mcp_async_std::{HttpConfig, Implementation, Registry, serve_http, serve_stdio};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    /// The message to send back.
    message: String,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = Registry::new(Implementation::new("echo", env!("CARGO_PKG_VERSION")));
    registry.tool("echo", "Echoes its message", |echo: Echo, _| async { echo.message })?;

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stdio"] => smol::block_on(serve_stdio(registry))?,
        ["http", "--listen", address] => {
            let listener = TcpListener::bind(address)?;
            let config = HttpConfig::default();
            eprintln!("listening on http://{}{}", listener.local_addr()?, config.path);
            smol::block_on(serve_http(listener, registry, config))?;
        }
        _ => return Err("usage: async_std_echo stdio | http --listen ADDRESS".into()),
    }
    Ok(())
}
