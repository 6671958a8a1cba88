//! A server with every feature, on stdio or HTTP:
//!
//! ```sh
//! cargo run -p mcp-tokio --example everything -- stdio
//! cargo run -p mcp-tokio --example everything -- http --listen 127.0.0.1:8000
//! ```

use mcp_tests::everything::{Transport, registry};
use mcp_tokio::{serve_http, serve_stdio_with};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Transport::parse(std::env::args().skip(1))? {
        Transport::Stdio(config) => serve_stdio_with(registry()?, *config).await?,
        Transport::Http(place) => {
            let listener = TcpListener::bind(place.listen).await?;
            eprintln!("listening on http://{}{}", listener.local_addr()?, place.config.path);
            serve_http(listener, registry()?, place.config).await?;
        }
    }
    Ok(())
}
