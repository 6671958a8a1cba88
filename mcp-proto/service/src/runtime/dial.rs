//! Clients over HTTP: connections by TCP, and with the feature `tls` within TLS.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use std::io;

use super::client::Driver;
use super::stream::{shows_wire, to_stderr};
use super::tls::Tls;
use super::{Runtime, random};
use crate::{
    Client, Clock, Connecting, Connector, HttpClientConfig, HttpClientService, Socket, Unreached,
};
use mcp_proto::client::ServerInfo;
use mcp_proto::http::{Scheme, Url};

/// Drives `client` over HTTP until it is closed: by [`Client::close`], or because there is no
/// connection. Requests of the client before that wait for this.
///
/// Each request that is not answered has a connection of its own; one more is kept for the next
/// request. [`Client::close`] takes 2 s at most. Dropping this closes all connections.
///
/// Fails with a [`ConnectError`](mcp_proto::client::ConnectError) inside of an error; with
/// [`UsageError::AlreadyConnected`](mcp_proto::UsageError::AlreadyConnected) inside of one if the
/// client was driven before; for an `https` URL without the feature `tls`, with
/// [`Unsupported`](io::ErrorKind::Unsupported); and if the certificates to trust cannot be read.
///
/// The specification's page:
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>.
pub async fn run_http<R: Runtime>(
    runtime: &R,
    client: &Client,
    config: impl Into<HttpClientConfig>,
) -> io::Result<()> {
    let (service, dialer) = open(runtime, client, config.into())?;
    run_service(runtime.timer(), service, dialer).await
}

/// [`run_http`], which returns once the server is known, and goes on in a task of its own. Dropping
/// this before it has returned closes all connections.
///
/// Later, dropping all handles of the client does not end it; [`Client::close`] does.
///
/// Fails with an [`Unreached`] inside of an error, which says why there is no connection and to
/// which URL, and as [`run_http`] does before there is any.
pub async fn connect_http<R: Runtime>(
    runtime: &R,
    client: &Client,
    config: impl Into<HttpClientConfig>,
) -> io::Result<ServerInfo> {
    let config = config.into();
    let url = config.url.clone();
    let (service, dialer) = open(runtime, client, config)?;
    let mut driver = Driver::new(run_service(runtime.timer(), service, dialer));
    let connected = driver.connect(client).await;
    driver.detach(runtime);
    connected.map_err(|error| Unreached::url(&url, error).into())
}

fn open<R: Runtime>(
    runtime: &R,
    client: &Client,
    config: HttpClientConfig,
) -> io::Result<(HttpClientService, Dialer<R>)> {
    let tls = match config.url.scheme() {
        Scheme::Http => None,
        Scheme::Https => Some(Tls::new(config.trusted.as_deref())?),
    };
    let service = HttpClientService::new(client, config, random);
    let mut service = service.map_err(io::Error::other)?;
    if shows_wire() {
        service.show_wire(runtime.timer().now(), to_stderr);
    }
    Ok((service, Dialer { runtime: runtime.clone(), tls }))
}

async fn run_service(
    mut clock: impl Clock,
    mut service: HttpClientService,
    mut dialer: Dialer<impl Runtime>,
) -> io::Result<()> {
    service.drive(&mut clock, &mut dialer).await.map_err(io::Error::other)
}

/// Makes the connections of one client.
struct Dialer<R> {
    runtime: R,
    tls: Option<Tls>,
}

impl<R: Runtime> Connector for Dialer<R> {
    fn connect(&mut self, url: &Url) -> Connecting {
        let runtime = self.runtime.clone();
        let tls = self.tls.clone();
        let host = url.host().to_owned();
        let port = url.port();
        Box::pin(async move {
            let socket = runtime.connect(&host, port).await?;
            Ok(match tls {
                None => Box::new(socket) as Box<dyn Socket>,
                Some(tls) => Box::new(tls.handshake(&host, socket).await?),
            })
        })
    }
}
