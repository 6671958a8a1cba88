//! Clients over Streamable HTTP.

use std::io;

use mcp_proto::client::ServerInfo;
use mcp_service::{Client, HttpClientConfig, HttpClientService, Unreached};

use crate::connector::Connections;
use crate::driver::{Clock, Timer, shows_wire, to_stderr};
use crate::http::random;

/// Drives `client` over HTTP, on any executor, until it is closed: by [`Client::close`], or because
/// there is no connection. What is asked of the client before waits for this.
///
/// Each request that is not answered has a connection of its own; one more is kept for the next
/// request. [`Client::close`] takes 2 s at most. Dropping this closes all connections.
///
/// Fails with a [`ConnectError`](mcp_proto::client::ConnectError) inside of an error; with
/// [`UsageError::AlreadyConnected`](mcp_proto::UsageError::AlreadyConnected) inside of one if the client
/// was driven before; for an `https` URL without the feature `tls`, with
/// [`Unsupported`](io::ErrorKind::Unsupported); and if the certificates to trust cannot be read.
///
/// The specification's page:
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>.
pub async fn run_http(client: &Client, config: impl Into<HttpClientConfig>) -> io::Result<()> {
    Driver::new(client, config.into())?.run().await
}

/// [`run_http`] in a task of its own, on smol's threads; returns once the server is known.
///
/// ```no_run
/// use mcp_async_std::{Client, HttpClientConfig, Implementation, connect_http};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new(Implementation::new("app", "1.0.0"));
/// connect_http(&client, HttpClientConfig::parse("http://127.0.0.1:8000/mcp")?).await?;
/// for tool in client.list_tools().await?.tools {
///     println!("{}", tool.name);
/// }
/// client.close().await;
/// # Ok(())
/// # }
/// ```
///
/// Dropping this before it has returned ends the task. Later, dropping all handles of the client
/// does not end it; [`Client::close`] does.
///
/// Fails with an [`Unreached`] inside of an error, which says why there is no connection and to
/// which URL, and as [`run_http`] does before there is any.
pub async fn connect_http(
    client: &Client,
    config: impl Into<HttpClientConfig>,
) -> io::Result<ServerInfo> {
    let config = config.into();
    let url = config.url.clone();
    let driver = Driver::new(client, config)?;
    // Cancelled when this future is dropped.
    let driver = smol::spawn(async move { drop(driver.run().await) });
    let connected = client.connected().await;
    driver.detach();
    connected.map_err(|error| Unreached::url(&url, error).into())
}

/// A client with all that drives it.
struct Driver {
    service: HttpClientService,
    connections: Connections,
    timer: Timer,
}

impl Driver {
    fn new(client: &Client, config: HttpClientConfig) -> io::Result<Self> {
        let clock = Clock::start();
        let connections = Connections::new(&config)?;
        let service = HttpClientService::new(client, config, random);
        let mut service = service.map_err(io::Error::other)?;
        if shows_wire() {
            service.show_wire(clock.now(), to_stderr);
        }
        Ok(Self { service, connections, timer: Timer::new(clock) })
    }

    async fn run(mut self) -> io::Result<()> {
        let Self { service, connections, timer } = &mut self;
        service.drive(timer, connections).await.map_err(io::Error::other)
    }
}
