//! Clients over HTTP: connections by TCP, and with the feature `tls` within TLS.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::future::ready;
use core::net::{IpAddr, SocketAddr};
use std::io;

use super::client::Driver;
use super::race::race;
use super::stream::{shows_wire, to_stderr};
use super::tls::Tls;
use super::{Runtime, random};
use crate::{
    Client, Clock, ConnectFailure, Connecting, Connector, HttpClientConfig, HttpClientService,
    Socket,
};
#[cfg(feature = "auth")]
use mcp_proto::auth::{FetchReach, HostKind};
use mcp_proto::client::ServerInfo;
use mcp_proto::http::{Scheme, Url};

/// Drives `client` over HTTP until it is closed: by [`Client::close`], or because there is no
/// connection. Requests of the client before that wait for this.
///
/// Each request that is not answered has a connection of its own; one more is kept for the next
/// request. [`Client::close`] takes 2 s at most. Dropping this closes all connections.
///
/// Fails with a [`ConnectError`](mcp_proto::client::ConnectError) inside of an error. Fails with
/// [`UsageError::AlreadyConnected`](mcp_proto::UsageError::AlreadyConnected) inside of one if the
/// client was driven before. Fails with [`Unsupported`](io::ErrorKind::Unsupported) for an `https`
/// URL without the feature `tls`, and if the certificates to trust cannot be read.
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
/// Fails with an [`ConnectFailure`] inside of an error, which says why there is no connection and to
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
    connected.map_err(|error| ConnectFailure::url(&url, error).into())
}

fn open<R: Runtime>(
    runtime: &R,
    client: &Client,
    config: HttpClientConfig,
) -> io::Result<(HttpClientService, Dialer<R>)> {
    let trusted = config.trusted.clone();
    let mut dialer = Dialer { runtime: runtime.clone(), trusted, tls: None };
    if config.url.scheme() == Scheme::Https {
        // What is wrong with the authorities is told at once.
        dialer.tls()?;
    }
    let service = HttpClientService::new(client, config, random);
    let mut service = service.map_err(io::Error::other)?;
    if shows_wire() {
        service.show_wire(runtime.timer().now(), to_stderr);
    }
    Ok((service, dialer))
}

/// A dialer that trusts what the platform trusts.
#[cfg(feature = "jwt")]
pub(super) fn dialer<R: Runtime>(runtime: &R) -> impl Connector {
    Dialer { runtime: runtime.clone(), trusted: None, tls: None }
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
    trusted: Option<Vec<u8>>,
    /// The settings of TLS, once a URL of `https` was asked for.
    tls: Option<Tls>,
}

impl<R: Runtime> Dialer<R> {
    fn tls(&mut self) -> io::Result<Tls> {
        if let Some(tls) = &self.tls {
            return Ok(tls.clone());
        }
        Ok(self.tls.insert(Tls::new(self.trusted.as_deref())?).clone())
    }

    /// Makes a connection to an address of the host that is admitted, and within TLS if the URL says
    /// so.
    fn dial(&mut self, url: &Url, admits: Admits) -> Connecting {
        let tls = match url.scheme() {
            Scheme::Http => None,
            Scheme::Https => match self.tls() {
                Ok(tls) => Some(tls),
                Err(error) => return Box::pin(ready(Err(error))),
            },
        };
        let runtime = self.runtime.clone();
        let (host, port) = (url.host().to_owned(), url.port());
        Box::pin(async move {
            let socket = connect_host(&runtime, &host, port, admits).await?;
            Ok(match tls {
                None => Box::new(socket) as Box<dyn Socket>,
                Some(tls) => Box::new(tls.handshake(&host, socket).await?),
            })
        })
    }
}

impl<R: Runtime> Connector for Dialer<R> {
    fn connect(&mut self, url: &Url) -> Connecting {
        self.dial(url, |_| true)
    }

    #[cfg(feature = "auth")]
    fn connect_within(&mut self, url: &Url, reach: FetchReach) -> Connecting {
        self.dial(
            url,
            match reach {
                FetchReach::Any => |_| true,
                FetchReach::Public => |address| HostKind::of_address(address) == HostKind::Public,
            },
        )
    }
}

/// Says which addresses of a host may be connected to.
type Admits = fn(IpAddr) -> bool;

/// Connects to the first admitted address of a host, a name or an IP address, that answers. A name is
/// resolved once, so that it cannot lead elsewhere after the check.
async fn connect_host<R: Runtime>(
    runtime: &R,
    host: &str,
    port: u16,
    admits: Admits,
) -> io::Result<R::Socket> {
    let mut addresses = match host.parse() {
        Ok(address) => Vec::from([SocketAddr::new(address, port)]),
        Err(_) => runtime.resolve(host, port).await?,
    };
    addresses.retain(|address| admits(address.ip()));
    if addresses.is_empty() {
        let reason = format!("{host} has no address that may be connected to");
        return Err(io::Error::new(io::ErrorKind::NotFound, reason));
    }
    race(runtime.timer(), addresses, |address| {
        let runtime = runtime.clone();
        async move { runtime.connect(address).await }
    })
    .await
}
