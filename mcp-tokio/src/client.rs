//! Clients: over any stream, of a server in a child process, over HTTP.

use std::io;
use std::process::ExitStatus;

use mcp_proto::client::ServerInfo;
use mcp_service::{Client, Command, Duplex, HttpClientConfig, runtime};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::runtime::{Stream, Tokio};

/// Drives `client` over a stream until the conversation has ended; see [`runtime::run`].
pub async fn run(
    client: &Client,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let stream = Duplex { reader: Stream(reader), writer: Stream(writer) };
    runtime::run(&Tokio::current(), client, stream).await
}

/// Starts a server and drives `client` over its standard input and output until the conversation
/// has ended; then ends the server. Dropping this kills it. See [`runtime::run_command`].
pub async fn run_command(client: &Client, command: &Command) -> io::Result<ExitStatus> {
    runtime::run_command(&Tokio::current(), client, command).await
}

/// Like [`run`], but returns once the server is known, and continues in its own task. Dropping this
/// before it has returned ends the conversation. See [`runtime::connect`].
pub async fn connect(
    client: &Client,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) -> io::Result<ServerInfo> {
    let stream = Duplex { reader: Stream(reader), writer: Stream(writer) };
    runtime::connect(&Tokio::current(), client, stream).await
}

/// Like [`run_command`], but returns once the server is known, and continues in its own task.
///
/// ```no_run
/// use mcp_tokio::{Client, Command, Implementation, connect_command};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new(Implementation::new("app", "1.0.0"));
/// connect_command(&client, Command::new("weather-server").arg("stdio")).await?;
/// for tool in client.list_tools().await?.tools {
///     println!("{}", tool.name);
/// }
/// client.close().await;
/// # Ok(())
/// # }
/// ```
///
/// Dropping this before it has returned kills the server. Later only [`Client::close`] ends it.
/// The error has a [`ConnectFailure`](crate::ConnectFailure). See [`runtime::connect_command`].
pub async fn connect_command(client: &Client, command: Command) -> io::Result<ServerInfo> {
    runtime::connect_command(&Tokio::current(), client, command).await
}

/// Drives `client` over HTTP until it is closed; `https` URLs need the feature `tls`. Dropping this
/// closes all connections. See [`runtime::run_http`].
pub async fn run_http(client: &Client, config: impl Into<HttpClientConfig>) -> io::Result<()> {
    runtime::run_http(&Tokio::current(), client, config).await
}

/// Like [`run_http`], but returns once the server is known, and continues in its own task.
///
/// ```no_run
/// use mcp_tokio::{Client, HttpClientConfig, Implementation, connect_http};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new(Implementation::new("app", "1.0.0"));
/// let config = HttpClientConfig::parse("https://mcp.example.com/mcp")?;
/// connect_http(&client, config.field("Authorization", "Bearer 0123")?).await?;
/// // When the token is exchanged:
/// client.set_field("Authorization", "Bearer 4567")?;
/// client.close().await;
/// # Ok(())
/// # }
/// ```
///
/// Dropping this before it has returned ends the conversation. Later only [`Client::close`] does.
/// The error has a [`ConnectFailure`](crate::ConnectFailure). See [`runtime::connect_http`].
pub async fn connect_http(
    client: &Client,
    config: impl Into<HttpClientConfig>,
) -> io::Result<ServerInfo> {
    runtime::connect_http(&Tokio::current(), client, config).await
}
