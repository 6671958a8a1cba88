//! Clients over HTTP/2: many calls and streams share a connection to the server.
//!
//! In: the settings of a client. Out: the functions of the crate root with HTTP/2, for servers that
//! choose it.
//!
//! ```no_run
//! use mcp_tokio::{Client, HttpClientConfig, Implementation, http2};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new(Implementation::new("app", "1.0.0"));
//! http2::connect_http(&client, HttpClientConfig::parse("https://mcp.example.com/mcp")?).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Within TLS the client offers `h2` and `http/1.1`, and the server chooses. `http` URLs, servers
//! that choose `http/1.1`, and documents for a sign-in have HTTP/1.1. Proxies, certificates and
//! limits are those of [`crate::connect_http`].
//!
//! A request that is dropped resets its stream. While requests are in flight the client sends a
//! ping every 20 s, and the connection is broken after 20 s without an answer. Then the requests on
//! it fail, as if each had a connection of its own. The next request connects again, and so does
//! one after a `GOAWAY`, after 30 s without a request, or when all streams that the server allows
//! are in use. A request of up to 64 KiB that the server has not processed, because it refuses the
//! stream or sends a `GOAWAY`, is sent again, four times at most.

mod connector;
mod pipe;
mod request_body;
mod server;
mod shared;

use std::io;

use mcp_proto::client::ServerInfo;
use mcp_service::{Client, HttpClientConfig, runtime};

use crate::runtime::Tokio;
use connector::Http2Connector;

/// [`crate::run_http`] with HTTP/2.
pub async fn run_http(client: &Client, config: impl Into<HttpClientConfig>) -> io::Result<()> {
    let (tokio, config) = (Tokio::current(), config.into());
    let connector = Http2Connector::new(&tokio, &config)?;
    runtime::run_http_with(&tokio, client, config, connector).await
}

/// [`crate::connect_http`] with HTTP/2.
pub async fn connect_http(
    client: &Client,
    config: impl Into<HttpClientConfig>,
) -> io::Result<ServerInfo> {
    let (tokio, config) = (Tokio::current(), config.into());
    let connector = Http2Connector::new(&tokio, &config)?;
    runtime::connect_http_with(&tokio, client, config, connector).await
}
