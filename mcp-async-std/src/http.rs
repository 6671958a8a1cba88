//! Streamable HTTP on async-io's sockets.

use std::future::Future;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use event_listener::Event;
use mcp_proto::http::Config;
use mcp_service::{Catalog, HttpLink, HttpServer, Service, Spawned};
use smol::Async;
use smol::future::or;
use socket2::SockRef;

use crate::driver::{Clock, Timer, shows_wire, to_stderr};

/// Connections that the system accepts while the server does not; the standard library has 128.
const BACKLOG: i32 = 1024;

/// Serves legacy and modern clients that connect to `listener`, on smol's threads, until
/// SIGINT or SIGTERM; see [`serve_http_on`].
///
/// ```no_run
/// # async fn example(registry: mcp_async_std::Registry<mcp_async_std::Handler>) -> std::io::Result<()> {
/// let listener = std::net::TcpListener::bind("127.0.0.1:8000")?;
/// let mut config = mcp_async_std::HttpConfig::default();
/// config.allowed_hosts.push("mcp.example.com".into());
/// mcp_async_std::serve_http(listener, registry, config).await
/// # }
/// ```
///
/// Fails if the signals cannot be waited for.
pub async fn serve_http(
    listener: TcpListener,
    catalog: impl Into<Catalog>,
    config: Config,
) -> io::Result<()> {
    let spawn = |future| smol::spawn(future).detach();
    serve_http_on(listener, catalog, config, spawn, crate::stdio::stop()?).await
}

/// Serves legacy and modern clients that connect to `listener`, on any executor, until `stop`
/// completes. `spawn` drives a future to its end somewhere: one for each connection, and one for
/// each handler of a session that does not end at once.
///
/// ```no_run
/// # use mcp_async_std::{HttpConfig, Implementation, Registry, serve_http_on};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let registry = Registry::new(Implementation::new("echo", "1.0.0"));
/// let listener = std::net::TcpListener::bind("127.0.0.1:8000")?;
/// let spawn = |future| drop(async_std::task::spawn(future));
/// let stop = std::future::pending();
/// let served = serve_http_on(listener, registry, HttpConfig::default(), spawn, stop);
/// async_std::task::block_on(served)?;
/// # Ok(())
/// # }
/// ```
///
/// At the end nobody is accepted any more, streams that belong to no request end, subscriptions
/// end with their result, and what is in flight gets `Limits::drain` (2 s) to be answered. With
/// `Limits::max_connections` open, or too many open files, a connection ends that is idle, of the
/// client that has most; if none is, the next one waits. Without the feature `tracing` a line on
/// stderr says so, at most once in 10 s. Dropping this cuts all connections.
///
/// Fails if `listener` cannot be made non-blocking. The specification's page:
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>.
pub async fn serve_http_on(
    listener: TcpListener,
    catalog: impl Into<Catalog>,
    config: Config,
    spawn: impl Fn(Spawned) + Clone + Send + Sync + 'static,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    // It is a hint: a system that refuses it keeps the backlog that the listener has.
    let _ = SockRef::from(&listener).listen(BACKLOG);
    let listener = Async::new(listener)?;
    let clock = Clock::start();
    let server = HttpServer::new(catalog, config, random, spawn.clone());
    // With it, the event goes where the application wants.
    #[cfg(not(feature = "tracing"))]
    server.on_event(|event| {
        if let Some(alarm) = event.alarm() {
            to_stderr(&format!("mcp: {alarm}"));
        }
    });
    let connections = Connections(Arc::default());
    spawn(Box::pin(connections.0.clone().tend(server.clone(), clock)));

    let mut stop = pin!(stop);
    loop {
        let accepted = async {
            let accepted = listener.accept().await;
            if let Ok((_, peer)) = &accepted {
                while !server.has_room(clock.now(), peer.ip()) {
                    connections.0.room(PAUSE).await;
                }
            }
            Some(accepted)
        };
        let stopped = async {
            stop.as_mut().await;
            None
        };
        match or(stopped, accepted).await {
            None => break,
            Some(Ok((socket, peer))) => {
                let one = One::of(&connections.0);
                let service = server.connect_from(clock.now(), peer.ip());
                spawn(Box::pin(one.serve(service, clock, socket)));
            }
            Some(Err(error)) => {
                if let Some(pause) = server.handle_accept_error(clock.now(), &error) {
                    connections.0.room(pause).await;
                }
            }
        }
    }
    drop(listener);
    server.shutdown(clock.now());
    connections.0.reach(Phase::Stopping);
    let late = async { _ = smol::Timer::after(server.patience()).await };
    or(connections.0.fewer_than(1), late).await;
    drop(connections);
    server.finish(&mut Timer::new(clock)).await;
    Ok(())
}

/// How long to wait for room before it is made again.
const PAUSE: Duration = Duration::from_millis(50);

/// All connections of a listener; they are cut when this is dropped.
struct Connections(Arc<Open>);

/// What connections and their listener share.
#[derive(Default)]
struct Open {
    count: AtomicUsize,
    /// A connection has ended.
    ended: Event,
    phase: AtomicUsize,
    /// The phase has changed.
    changed: Event,
}

/// What the listener wants of its connections.
#[derive(Clone, Copy)]
enum Phase {
    Stopping = 1,
    Cut = 2,
}

impl Drop for Connections {
    fn drop(&mut self) {
        self.0.reach(Phase::Cut);
    }
}

impl Open {
    fn reach(&self, phase: Phase) {
        self.phase.store(phase as usize, Ordering::SeqCst);
        self.changed.notify(usize::MAX);
    }

    async fn reached(&self, phase: Phase) {
        loop {
            let changed = self.changed.listen();
            if self.phase.load(Ordering::SeqCst) >= phase as usize {
                return;
            }
            changed.await;
        }
    }

    /// Waits until a connection has closed, for `pause` at most.
    async fn room(&self, pause: Duration) {
        let late = async { _ = smol::Timer::after(pause).await };
        or(self.ended.listen(), late).await;
    }

    async fn fewer_than(&self, count: usize) {
        loop {
            let ended = self.ended.listen();
            if self.count.load(Ordering::SeqCst) < count {
                return;
            }
            ended.await;
        }
    }

    /// Sees to what belongs to no connection.
    async fn tend(self: Arc<Self>, server: HttpServer, clock: Clock) {
        let mut timer = Timer::new(clock);
        or(server.tend(&mut timer), self.reached(Phase::Cut)).await;
    }
}

/// One of the connections that are counted.
struct One(Arc<Open>);

impl One {
    fn of(open: &Arc<Open>) -> Self {
        open.count.fetch_add(1, Ordering::SeqCst);
        Self(open.clone())
    }

    /// Serves a connection. What goes wrong with it concerns nobody else.
    async fn serve(self, mut service: Service<HttpLink>, clock: Clock, socket: Async<TcpStream>) {
        // Without it the end of an answer might wait for the client's acknowledgement.
        let _ = socket.get_ref().set_nodelay(true);
        if shows_wire() {
            service.show_wire(clock.now(), to_stderr);
        }
        let stop = self.0.reached(Phase::Stopping);
        let driven = async {
            let _ = clock.drive_until(&mut service, &socket, &socket, stop).await;
        };
        or(self.0.reached(Phase::Cut), driven).await;
    }
}

impl Drop for One {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::SeqCst);
        self.0.ended.notify(usize::MAX);
    }
}

/// 128 bits that nobody can guess.
pub(crate) fn random() -> [u8; 16] {
    let mut bytes = [0; 16];
    // Without them there are no sessions to give out, and no clients that spread their tries.
    #[expect(clippy::expect_used, reason = "nothing is safe on a system without randomness")]
    getrandom::fill(&mut bytes).expect("the system has random bytes");
    bytes
}
