//! Servers: on any stream, on standard input and output, over HTTP.

use std::future::{Future, pending};
use std::io;

use mcp_proto::http;
use mcp_proto::server::Config;
use mcp_service::runtime::BridgeTarget;
use mcp_service::{Bridge, BridgeConfig, Catalog, Duplex, runtime};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;

use crate::runtime::{Stream, Tokio};
use crate::signals::stop_signal;

/// Serves the peer at the other end of a stream until it ends.
///
/// When `reader` ends, requests in flight get `Limits::drain` to be answered; then this returns.
/// A peer that stops reading ends the connection without an error. Fails with the error of `reader`
/// or `writer`.
pub async fn serve(
    catalog: impl Into<Catalog>,
    config: Config,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let stream = Duplex { reader: Stream(reader), writer: Stream(writer) };
    runtime::serve(&Tokio::current(), catalog, config, stream, pending()).await
}

/// Serves the client that started this process, over standard input and output.
///
/// Returns when the input ends, or on SIGINT or SIGTERM, once requests in flight are answered or
/// `Limits::drain` (2 s) has passed. Requests without an answer by then get none. The first call
/// takes over the two signals for the rest of the process. The specification's page:
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio>.
///
/// On Unix, programs that handlers start inherit neither stream ([`runtime::serve_stdio`]).
///
/// Fails with the error of reading or writing; a client that is gone is no failure.
pub async fn serve_stdio(catalog: impl Into<Catalog>) -> io::Result<()> {
    serve_stdio_with(catalog, Config::default()).await
}

/// [`serve_stdio`] with settings of your choice.
///
/// ```no_run
/// # async fn example(registry: mcp_tokio::Registry<mcp_tokio::Handler>) -> std::io::Result<()> {
/// let mut config = mcp_tokio::Config::default();
/// config.era_policy = mcp_tokio::EraPolicy::ModernOnly;
/// config.limits.max_line_bytes = 1024 * 1024;
/// mcp_tokio::serve_stdio_with(registry, config).await
/// # }
/// ```
pub async fn serve_stdio_with(catalog: impl Into<Catalog>, config: Config) -> io::Result<()> {
    runtime::serve_stdio(&Tokio::current(), catalog, config, stop_signal()?).await
}

/// Serves legacy and modern clients that connect to `listener`, until SIGINT or SIGTERM; see
/// [`serve_http_until`]. Fails if the process cannot listen for the signals.
pub async fn serve_http(
    listener: TcpListener,
    catalog: impl Into<Catalog>,
    config: http::Config,
) -> io::Result<()> {
    serve_http_until(listener, catalog, config, stop_signal()?).await
}

/// Serves legacy and modern clients that connect to `listener`, until `stop` completes.
/// [`runtime::serve_http`] describes how the server stops, and how it refuses clients when it is
/// full. Never fails.
///
/// ```no_run
/// # async fn example(registry: mcp_tokio::Registry<mcp_tokio::Handler>) -> std::io::Result<()> {
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
/// let mut config = mcp_tokio::HttpConfig::default();
/// config.allowed_hosts.push("mcp.example.com".into());
/// mcp_tokio::serve_http_until(listener, registry, config, mcp_tokio::stop_signal()?).await
/// # }
/// ```
pub async fn serve_http_until(
    listener: TcpListener,
    catalog: impl Into<Catalog>,
    config: http::Config,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    // A hint: a system that rejects it keeps the listener's queue, usually for 128 connections.
    let _ = SockRef::from(&listener).listen(1024);
    runtime::serve_http(&Tokio::current(), listener, catalog, config, stop).await;
    Ok(())
}

/// A bridge to a server, for clients of any era: serve its [`catalog`](crate::Bridge::catalog). Its
/// connections are tasks of the current runtime; panics without one. See [`runtime::bridge`].
pub fn bridge(target: BridgeTarget, config: BridgeConfig) -> Bridge {
    runtime::bridge(&Tokio::current(), target, config)
}

/// The keys of an issuer, for `JwtVerifier`; see [`runtime::jwks`].
#[cfg(feature = "jwt")]
pub fn jwks(url: http::Url) -> impl mcp_service::KeySource {
    runtime::jwks(Tokio::current, url)
}
