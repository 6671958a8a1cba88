//! A server of notes, on stdio (`notes stdio`) or HTTP (`notes http 127.0.0.1:8000`):
//!
//! ```sh
//! cargo build -p mcp-tokio --example notes
//! cargo run -p mcp-tokio --example notes_client -- target/debug/examples/notes
//! ```

mod server;

use std::error::Error;

use mcp_tokio::{HttpConfig, serve_http, serve_stdio};
use tokio::net::TcpListener;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments.as_slice() {
        ["stdio"] => Ok(serve_stdio(server::registry()?).await?),
        ["http", address] => {
            let listener = TcpListener::bind(address).await?;
            let config = HttpConfig::default();
            eprintln!("listening on http://{}{}", listener.local_addr()?, config.path);
            Ok(serve_http(listener, server::registry()?, config).await?)
        }
        _ => Err("usage: notes stdio | notes http ADDRESS".into()),
    }
}
