//! Servers: on any stream, on standard input and output, over HTTP.

use std::future::{Future, pending};
use std::io;
use std::net::TcpListener;

use mcp_proto::http;
use mcp_proto::server::Config;
use mcp_service::runtime::BridgeTarget;
use mcp_service::{Bridge, BridgeConfig, Catalog, Duplex, Spawned, runtime};
use smol::Async;
use smol::io::{AsyncRead, AsyncWrite};
use socket2::SockRef;

use crate::runtime::{AsyncIo, Stream};
use crate::signals::stop_signal;

/// The length of the queue of connections to accept; the standard library has 128.
const BACKLOG: i32 = 1024;

/// Serves the peer at the other end of a stream until it ends, on any executor. Handlers take turns
/// in the task that runs this future; calls that have become tasks run on smol's threads.
///
/// When `reader` ends, requests in flight get `Limits::drain` to be answered; then this returns.
/// A peer that stops reading ends the connection without an error.
///
/// Fails with the error of `reader` or `writer`.
pub async fn serve(
    catalog: impl Into<Catalog>,
    config: Config,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let stream = Duplex { reader: Stream(reader), writer: Stream(writer) };
    let runtime = AsyncIo::smol_with_handlers_in_turn();
    runtime::serve(&runtime, catalog, config, stream, pending()).await
}

/// Serves the client that started this process, over standard input and output. A handler that is
/// not done after its first poll is spawned on smol's threads.
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
/// # async fn example(registry: mcp_async_std::Registry<mcp_async_std::Handler>) -> std::io::Result<()> {
/// let mut config = mcp_async_std::Config::default();
/// config.era_policy = mcp_async_std::EraPolicy::ModernOnly;
/// config.limits.max_line_bytes = 1024 * 1024;
/// mcp_async_std::serve_stdio_with(registry, config).await
/// # }
/// ```
pub async fn serve_stdio_with(catalog: impl Into<Catalog>, config: Config) -> io::Result<()> {
    runtime::serve_stdio(&AsyncIo::smol(), catalog, config, stop_signal()?).await
}

/// Serves legacy and modern clients that connect to `listener`, on smol's threads, until
/// SIGINT or SIGTERM; see [`serve_http_on`].
///
/// Fails if the process cannot listen for the signals.
pub async fn serve_http(
    listener: TcpListener,
    catalog: impl Into<Catalog>,
    config: http::Config,
) -> io::Result<()> {
    let spawn = |future| smol::spawn(future).detach();
    serve_http_on(listener, catalog, config, spawn, stop_signal()?).await
}

/// Serves legacy and modern clients that connect to `listener`, on any executor, until `stop`
/// completes. `spawn` runs a future to its end in a task. The futures are those of connections, of
/// handlers of sessions that are not done after their first poll, and of calls that become tasks.
///
/// ```no_run
/// # use mcp_async_std::{HttpConfig, Implementation, Registry, serve_http_on, stop_signal};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let registry = Registry::new(Implementation::new("echo", "1.0.0"));
/// let listener = std::net::TcpListener::bind("127.0.0.1:8000")?;
/// let mut config = HttpConfig::default();
/// config.allowed_hosts.push("mcp.example.com".into());
/// let spawn = |future| drop(async_std::task::spawn(future));
/// let served = serve_http_on(listener, registry, config, spawn, stop_signal()?);
/// async_std::task::block_on(served)?;
/// # Ok(())
/// # }
/// ```
///
/// Fails if `listener` cannot be made non-blocking. [`runtime::serve_http`] describes how the
/// server stops, and how it refuses clients when it is full.
pub async fn serve_http_on(
    listener: TcpListener,
    catalog: impl Into<Catalog>,
    config: http::Config,
    spawn: impl Fn(Spawned) + Clone + Send + Sync + 'static,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    // A hint: a system that rejects it keeps the backlog of the listener.
    let _ = SockRef::from(&listener).listen(BACKLOG);
    let listener = Async::new(listener)?;
    runtime::serve_http(&AsyncIo::on(spawn), listener, catalog, config, stop).await;
    Ok(())
}

/// A bridge to a server, for clients of any era: serve its [`catalog`](crate::Bridge::catalog). Its
/// connections to the server are tasks on smol's threads. See [`runtime::bridge`].
pub fn bridge(target: BridgeTarget, config: BridgeConfig) -> Bridge {
    runtime::bridge(&AsyncIo::smol(), target, config)
}

/// The keys of an issuer, for `JwtVerifier`; see [`runtime::jwks`].
#[cfg(feature = "jwt")]
pub fn jwks(url: http::Url) -> impl mcp_service::KeySource {
    runtime::jwks(AsyncIo::smol, url)
}
