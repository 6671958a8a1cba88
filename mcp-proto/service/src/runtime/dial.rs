//! Clients over HTTP: connections by TCP, with the feature `tls` within TLS, and with the feature
//! `proxy` through proxies.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::future::{Future, ready};
use core::net::{IpAddr, SocketAddr};
use core::pin::Pin;
use std::io;

use super::client::Driver;
use super::dialed::Dialed;
use super::failure_kind::{FailureKind, NotingConnector};
use super::proxy::{Proxies, Proxy, proxies_of, tunnel};
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
use mcp_proto::client::{ConnectError, ServerInfo};
use mcp_proto::http::{Scheme, Url};

/// Drives `client` over HTTP until the client is closed: by [`Client::close`], or because there is
/// no connection. Requests of the client are queued until this function is called.
///
/// Each request in flight has its own connection; idle ones are kept for 4 s for later requests.
/// [`Client::close`] takes 2 s at most, and up to `Limits::drain` more while the `Vault` stores or
/// removes credentials. Dropping the future closes all connections.
///
/// Fails with a [`ConnectError`] inside of an error, whose kind is as [`connect_http`] describes.
/// Fails with
/// [`UsageError::AlreadyConnected`](mcp_proto::UsageError::AlreadyConnected) inside of one if the
/// client was driven before, and with
/// [`UsageError::InvalidField`](mcp_proto::UsageError::InvalidField) if both a sign-in and a field
/// `Authorization` or `DPoP` are set. Fails with [`Unsupported`](io::ErrorKind::Unsupported) for an
/// `https` URL without the feature `tls`, and if the certificates to trust cannot be read.
///
/// The specification's page:
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>.
pub async fn run_http<R: Runtime>(
    runtime: &R,
    client: &Client,
    config: impl Into<HttpClientConfig>,
) -> io::Result<()> {
    let config = config.into();
    let dialer = Dialer::new(runtime, &config)?;
    run_http_with(runtime, client, config, dialer).await
}

/// Like [`run_http`], with another connector.
pub async fn run_http_with<R: Runtime>(
    runtime: &R,
    client: &Client,
    config: impl Into<HttpClientConfig>,
    connector: impl Connector,
) -> io::Result<()> {
    let service = open(runtime, client, config.into())?;
    let kind = FailureKind::default();
    let connector = NotingConnector { connector, kind: kind.clone() };
    let driven = drive(runtime.timer(), service, connector).await;
    driven.map_err(|error| kind.error(&error, error.clone()))
}

/// Like [`run_http`], but returns once the server is known, and continues in its own task. Dropping
/// the future before it has returned closes all connections.
///
/// Later, dropping all handles of the client does not end it; [`Client::close`] does.
///
/// Fails with a [`ConnectFailure`] inside of an error, which has the URL and the reason why there
/// is no connection. Also fails as [`run_http`] does before the first connection. The kind of the
/// error tells failures to connect apart:
///
/// | kind | failure |
/// |---|---|
/// | [`NotFound`](io::ErrorKind::NotFound) | the name of the host has no address |
/// | [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) and others of sockets | the first address that failed |
/// | [`TimedOut`](io::ErrorKind::TimedOut) | `HttpClientConfig::connect_timeout`, or no answer in time |
/// | [`InvalidData`](io::ErrorKind::InvalidData) | TLS, such as a certificate that is not trusted |
/// | [`Other`](io::ErrorKind::Other) | all else, such as an answer that cannot be used |
pub async fn connect_http<R: Runtime>(
    runtime: &R,
    client: &Client,
    config: impl Into<HttpClientConfig>,
) -> io::Result<ServerInfo> {
    let config = config.into();
    let dialer = Dialer::new(runtime, &config)?;
    connect_http_with(runtime, client, config, dialer).await
}

/// Like [`connect_http`], with another connector.
pub async fn connect_http_with<R: Runtime>(
    runtime: &R,
    client: &Client,
    config: impl Into<HttpClientConfig>,
    connector: impl Connector + Send + 'static,
) -> io::Result<ServerInfo> {
    let config = config.into();
    let url = config.url.clone();
    let service = open(runtime, client, config)?;
    let kind = FailureKind::default();
    let connector = NotingConnector { connector, kind: kind.clone() };
    let mut driver = Driver::new(drive(runtime.timer(), service, connector));
    let connected = driver.connect(client).await;
    driver.detach(runtime);
    connected.map_err(|error| kind.error(&error, ConnectFailure::url(&url, error.clone())))
}

fn open<R: Runtime>(
    runtime: &R,
    client: &Client,
    config: HttpClientConfig,
) -> io::Result<HttpClientService> {
    let service = HttpClientService::new(client, config, random);
    let mut service = service.map_err(io::Error::other)?;
    if shows_wire() {
        service.show_wire(runtime.timer().now(), to_stderr);
    }
    Ok(service)
}

async fn drive(
    mut clock: impl Clock,
    mut service: HttpClientService,
    mut connector: impl Connector,
) -> Result<(), ConnectError> {
    service.drive(&mut clock, &mut connector).await
}

/// The connector of [`run_http`]: by TCP, through the proxies of the settings, within TLS.
pub struct Dialer<R> {
    runtime: R,
    proxies: Proxies,
    trusted: Option<Vec<u8>>,
    /// The settings of TLS, once an `https` URL was requested.
    tls: Option<Tls>,
}

/// A connection that is being made.
type Dialing = Pin<Box<dyn Future<Output = io::Result<Dialed>> + Send>>;

impl<R: Runtime> Dialer<R> {
    /// A connector with the authorities and the proxies of these settings.
    ///
    /// Fails for an `https` URL without the feature `tls`, and if the certificates to trust cannot
    /// be read.
    pub fn new(runtime: &R, config: &HttpClientConfig) -> io::Result<Self> {
        let (runtime, trusted) = (runtime.clone(), config.trusted.clone());
        let mut dialer = Self { runtime, proxies: proxies_of(config), trusted, tls: None };
        dialer.tls_if(config.url.scheme() == Scheme::Https)?;
        Ok(dialer)
    }

    /// Like [`Connector::connect`], but within TLS offers these protocols in place of `http/1.1`.
    ///
    /// [RFC 7301, section 3.1](https://www.rfc-editor.org/rfc/rfc7301#section-3.1)
    pub fn connect_offering(
        &mut self,
        url: &Url,
        protocols: &[&[u8]],
    ) -> impl Future<Output = io::Result<Dialed>> + Send + use<R> {
        self.dial(url, |_| true, Some(protocols))
            .unwrap_or_else(|error| Box::pin(ready(Err(error))))
    }

    fn tls_if(&mut self, is_secure: bool) -> io::Result<Option<Tls>> {
        if is_secure && self.tls.is_none() {
            self.tls = Some(Tls::new(self.trusted.as_deref())?);
        }
        Ok(self.tls.clone().filter(|_| is_secure))
    }

    /// Makes a connection to an address of the host that is admitted, and within TLS if the URL
    /// says so. A proxy resolves the name of the host itself.
    fn dial(
        &mut self,
        url: &Url,
        admits: Admits,
        protocols: Option<&[&[u8]]>,
    ) -> io::Result<Dialing> {
        let proxy = self.proxies.find(url)?;
        let mut tls = self.tls_if(url.scheme() == Scheme::Https)?;
        if let Some(protocols) = protocols {
            tls = tls.map(|tls| tls.offering(protocols));
        }
        let proxy_tls = self.tls_if(proxy.as_ref().is_some_and(Proxy::is_secure))?;
        let (runtime, url) = (self.runtime.clone(), url.clone());
        Ok(Box::pin(async move {
            let Some(proxy) = proxy else {
                let socket = connect_host(&runtime, url.host(), url.port(), admits).await?;
                return within(tls, url.host(), socket).await;
            };
            let mut socket = reach(&runtime, &proxy, proxy_tls).await?;
            tunnel(&proxy, &url, &mut socket).await?;
            within(tls, url.host(), socket).await
        }))
    }
}

impl<R: Runtime> Connector for Dialer<R> {
    fn connect(&mut self, url: &Url) -> Connecting {
        self.dial(url, |_| true, None).map_or_else(fails, socket_of)
    }

    #[cfg(feature = "auth")]
    fn connect_within(&mut self, url: &Url, reach: FetchReach) -> Connecting {
        match reach {
            FetchReach::Any => self.connect(url),
            // A proxy that resolves the name is asked for no other host either.
            FetchReach::Public if HostKind::of(url.host()) != HostKind::Public => {
                fails(unreachable(url.host()))
            }
            FetchReach::Public => {
                let admits = |address| HostKind::of_address(address) == HostKind::Public;
                self.dial(url, admits, None).map_or_else(fails, socket_of)
            }
        }
    }
}

/// A connection to a proxy, at any address.
async fn reach<R: Runtime>(
    runtime: &R,
    proxy: &Proxy,
    tls: Option<Tls>,
) -> io::Result<Box<dyn Socket>> {
    let reached = async {
        let socket = connect_host(runtime, proxy.host(), proxy.port(), |_| true).await?;
        Ok(within(tls, proxy.host(), socket).await?.socket)
    };
    reached.await.map_err(|error: io::Error| {
        let text = format!("the proxy {} cannot be reached: {error}", proxy.name());
        io::Error::new(error.kind(), text)
    })
}

fn socket_of(dialing: Dialing) -> Connecting {
    Box::pin(async { Ok(dialing.await?.socket) })
}

fn fails(error: io::Error) -> Connecting {
    Box::pin(ready(Err(error)))
}

/// A socket within TLS, if there are settings of it.
async fn within<S: Socket + Unpin + 'static>(
    tls: Option<Tls>,
    host: &str,
    socket: S,
) -> io::Result<Dialed> {
    match tls {
        None => Ok(Dialed { socket: Box::new(socket), protocol: None }),
        Some(tls) => tls.handshake(host, socket).await,
    }
}

/// Says which addresses of a host may be connected to.
type Admits = fn(IpAddr) -> bool;

/// Connects to the first admitted address of a host, a name or an IP address, that answers. A name
/// is resolved once, so that its address cannot change after the check.
async fn connect_host<R: Runtime>(
    runtime: &R,
    host: &str,
    port: u16,
    admits: Admits,
) -> io::Result<R::Socket> {
    let mut addresses = if let Ok(address) = host.parse() {
        Vec::from([SocketAddr::new(address, port)])
    } else {
        let resolved = runtime.resolve(host, port).await;
        // The system's error does not name the host.
        resolved.map_err(|error| unresolved(host, &error))?
    };
    addresses.retain(|address| admits(address.ip()));
    if addresses.is_empty() {
        return Err(unreachable(host));
    }
    race(runtime.timer(), addresses, |address| {
        let runtime = runtime.clone();
        async move { runtime.connect(address).await }
    })
    .await
}

/// The error of a name. Most errors of the system's resolver have a kind without a name.
fn unresolved(host: &str, error: &io::Error) -> io::Error {
    let kind = match error.kind() {
        io::ErrorKind::TimedOut => io::ErrorKind::TimedOut,
        _ => io::ErrorKind::NotFound,
    };
    io::Error::new(kind, format!("{host}: {error}"))
}

fn unreachable(host: &str) -> io::Error {
    let reason = format!("{host} has no address that may be connected to");
    io::Error::new(io::ErrorKind::NotFound, reason)
}
