//! Streamable HTTP on tokio's sockets.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Poll, Waker};
use std::time::Duration;

use mcp_proto::http::Config;
use mcp_service::{Catalog, HttpLink, HttpServer, Service};
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet, unconstrained};
use tokio::time;

use crate::driver::{Clock, Timer, shows_wire, to_stderr};

/// Connections that the system accepts while the server does not; the standard library has 128.
const BACKLOG: i32 = 1024;

/// Serves legacy and modern clients that connect to `listener`, until SIGINT or SIGTERM; see
/// [`serve_http_until`].
///
/// ```no_run
/// # async fn example(registry: mcp_tokio::Registry<mcp_tokio::Handler>) -> std::io::Result<()> {
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
/// let mut config = mcp_tokio::HttpConfig::default();
/// config.allowed_hosts.push("mcp.example.com".into());
/// mcp_tokio::serve_http(listener, registry, config).await
/// # }
/// ```
///
/// Fails if the signals cannot be waited for.
pub async fn serve_http(
    listener: TcpListener,
    catalog: impl Into<Catalog>,
    config: Config,
) -> io::Result<()> {
    let stop = crate::stdio::stop()?;
    serve_http_until(listener, catalog, config, stop).await
}

/// Serves legacy and modern clients that connect to `listener`, until `stop` completes.
///
/// Then nobody is accepted any more, streams that belong to no request end, subscriptions end with
/// their result, and what is in flight gets `Limits::drain` (2 s) to be answered. With
/// `Limits::max_connections` open, or too many open files, a connection ends that is idle, of the
/// client that has most; if none is, the next one waits. Without the feature `tracing` a line on
/// stderr says so, at most once in 10 s.
///
/// The specification's page:
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>.
pub async fn serve_http_until(
    listener: TcpListener,
    catalog: impl Into<Catalog>,
    config: Config,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    // It is a hint: a system that refuses it keeps the backlog that the listener has.
    let _ = SockRef::from(&listener).listen(BACKLOG);
    let clock = Clock::start();
    let server = server(catalog, config);
    let (stopping, stopped) = watch::channel(false);
    let mut connections = JoinSet::new();
    let _tending = Tending::start(server.clone(), clock);
    let mut stop = pin!(stop);
    loop {
        let next = poll_fn(|context| {
            if stop.as_mut().poll(context).is_ready() {
                return Poll::Ready(Next::Stop);
            }
            while let Poll::Ready(Some(_)) = connections.poll_join_next(context) {}
            listener.poll_accept(context).map(Next::Accepted)
        });
        match next.await {
            Next::Stop => break,
            Next::Accepted(Ok((socket, peer))) => {
                let mut stops = false;
                while !stops && !server.has_room(clock.now(), peer.ip()) {
                    stops = !room(&mut connections, stop.as_mut(), PAUSE).await;
                }
                if stops {
                    break;
                }
                let service = server.connect_from(clock.now(), peer.ip());
                connections.spawn(connect(service, clock, socket, stopped.clone()));
            }
            Next::Accepted(Err(error)) => {
                if let Some(pause) = server.handle_accept_error(clock.now(), &error)
                    && !room(&mut connections, stop.as_mut(), pause).await
                {
                    break;
                }
            }
        }
    }
    drop(listener);
    server.shutdown(clock.now());
    let _ = stopping.send(true);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = time::timeout(server.patience(), all).await;
    connections.shutdown().await;
    server.finish(&mut Timer::new(clock)).await;
    Ok(())
}

/// How long to wait for room before it is made again.
const PAUSE: Duration = Duration::from_millis(50);

/// Waits until a connection has closed, for `pause` at most. False if the server is to stop.
async fn room(
    connections: &mut JoinSet<()>,
    mut stop: Pin<&mut impl Future<Output = ()>>,
    pause: Duration,
) -> bool {
    let mut pause = pin!(time::sleep(pause));
    poll_fn(|context| {
        if stop.as_mut().poll(context).is_ready() {
            return Poll::Ready(false);
        }
        let has_closed = matches!(connections.poll_join_next(context), Poll::Ready(Some(_)));
        if has_closed || pause.as_mut().poll(context).is_ready() {
            return Poll::Ready(true);
        }
        Poll::Pending
    })
    .await
}

/// What the loop of a listener waits for.
enum Next {
    Stop,
    Accepted(io::Result<(TcpStream, SocketAddr)>),
}

/// A server whose handlers are spawned on the runtime that this is called in.
pub(crate) fn server(catalog: impl Into<Catalog>, config: Config) -> HttpServer {
    let runtime = Handle::current();
    let spawn = move |handler| drop(runtime.spawn(handler));
    let server = HttpServer::new(catalog, config, random, spawn);
    // With it, the event goes where the application wants.
    #[cfg(not(feature = "tracing"))]
    server.on_event(|event| {
        if let Some(alarm) = event.alarm() {
            to_stderr(&format!("mcp: {alarm}"));
        }
    });
    server
}

/// A task that sees to what belongs to no connection, until this is dropped.
pub(crate) struct Tending(AbortHandle);

impl Tending {
    pub(crate) fn start(server: HttpServer, clock: Clock) -> Self {
        let mut timer = Timer::new(clock);
        let task = tokio::spawn(async move { server.tend(&mut timer).await });
        Self(task.abort_handle())
    }
}

impl Drop for Tending {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Serves one connection. What goes wrong with it concerns nobody else.
async fn connect(
    mut service: Service<HttpLink>,
    clock: Clock,
    mut socket: TcpStream,
    stopped: watch::Receiver<bool>,
) {
    // Without it the end of an answer might wait for the client's acknowledgement.
    let _ = socket.set_nodelay(true);
    if shows_wire() {
        service.show_wire(clock.now(), to_stderr);
    }
    let (reader, writer) = socket.split();
    let _ = clock.drive_until(&mut service, reader, writer, stop(stopped)).await;
}

/// Completes when there is to be an end. It is polled whenever a connection does anything, and
/// waits for nothing anew as long as nothing is sent and it knows whom to wake.
async fn stop(mut stopped: watch::Receiver<bool>) {
    let (sent, mut waker) = (stopped.clone(), None::<Waker>);
    // Woken for want of a budget it would not know whom to wake.
    let mut wait = pin!(unconstrained(stopped.wait_for(|stopped| *stopped)));
    poll_fn(|context| {
        let is_known = waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker()));
        if is_known && sent.has_changed().is_ok_and(|changed| !changed) {
            return Poll::Pending;
        }
        waker = Some(context.waker().clone());
        wait.as_mut().poll(context).map(drop)
    })
    .await;
}

/// 128 bits that nobody can guess.
pub(crate) fn random() -> [u8; 16] {
    let mut bytes = [0; 16];
    // Without them there are no sessions to give out, and no clients that spread their tries.
    #[expect(clippy::expect_used, reason = "nothing is safe on a system without randomness")]
    getrandom::fill(&mut bytes).expect("the system has random bytes");
    bytes
}
