//! A server with every feature, on stdio or HTTP:
//!
//! ```sh
//! cargo run -p mcp-async-std --example async_std_everything -- stdio
//! cargo run -p mcp-async-std --example async_std_everything -- http --listen 127.0.0.1:8000
//! ```

use std::net::TcpListener;

use async_std::task;
use mcp_async_std::{serve_http, serve_stdio_with};
use mcp_tests::everything::{Transport, registry};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Transport::parse(std::env::args().skip(1))? {
        Transport::Stdio(config) => task::block_on(serve_stdio_with(registry()?, *config))?,
        Transport::Http(place) => {
            let listener = TcpListener::bind(place.listen)?;
            eprintln!("listening on http://{}{}", listener.local_addr()?, place.config.path);
            task::block_on(serve_http(listener, registry()?, place.config))?;
        }
    }
    Ok(())
}
