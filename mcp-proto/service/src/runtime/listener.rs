//! Servers over HTTP: a listener, its connections, and their end.
//!
//! In: connections of a [`Runtime`], and a future that completes to stop. Out: a task for each
//! connection, and one for the background work of the server. All go through the same phases:
//!
//! | phase | connections | ends with |
//! |---|---|---|
//! | open | are accepted and served | `stop` |
//! | [`STOPPING`] | answer requests in flight, and close | the last connection, or `HttpServer::shutdown_timeout` |
//! | [`CUT`] | are dropped | |
//!
//! Dropping a server drops its connections.

use alloc::sync::Arc;
use core::convert::Infallible;
use core::future::{Future, poll_fn};
use core::net::{IpAddr, SocketAddr};
use core::pin::pin;
use core::task::Poll;
use std::io;

use super::event_count::{AdvanceOnDrop, EventCount};
use super::grouped_writes::GroupedWrites;
use super::stream::{
    drive_until, host_tasks, report_alarm, shows_wire, sleep_until, to_stderr, unless, yield_now,
};
use super::{Runtime, random};
use crate::panics::catch_panic;
use crate::{Catalog, Clock, HttpLink, HttpServer, Reader, Service, Writer};
use mcp_proto::Duration;
use mcp_proto::http::Config;
use mcp_proto::internals::{unreachable_tools, useless_entries};

const STOPPING: usize = 1;
const CUT: usize = 2;

/// The interval of the checks for room while no connection closes.
const ROOM_PAUSE: Duration = Duration::from_millis(50);

/// The most connections that are accepted before other tasks run and `stop` is polled. Not every
/// runtime makes a future pend that would always be ready.
const ROUNDS: usize = 16;

/// The most connections that are accepted at the stop.
const MAX_WAITING: usize = 128;

/// The time after which the runtime has seen all events of sockets so far.
const TURN: Duration = Duration::from_millis(1);

/// The turns in which the requests of these connections are read. Turns and no time: the process
/// may be paused.
const READ_TURNS: usize = 20;

/// The time to wait until dropped connections are gone. A connection that a handler blocks takes
/// longer, and is not waited for.
const CUT_GRACE: Duration = Duration::from_millis(500);

/// Serves legacy and modern clients that connect to `listener`, until `stop` completes.
///
/// Then no further connection is accepted, streams that belong to no request end, subscriptions end
/// with their result, and requests in flight have `Limits::drain` (2 s) to be answered.
///
/// With `Limits::max_connections` open, or too many open files, a connection of the client with the
/// most connections is closed, as that limit describes. If none can be closed, the next connection
/// waits. Without the feature `tracing` this is reported on stderr, at most once in 10 s. Dropping
/// the future drops all connections. Tools that require scopes are reported too if the server is
/// not protected, because no client can call them.
///
/// The specification's page:
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>.
pub async fn serve_http<R: Runtime>(
    runtime: &R,
    listener: R::Listener,
    catalog: impl Into<Catalog>,
    config: Config,
    stop: impl Future<Output = ()>,
) {
    let mut clock = runtime.timer();
    let catalog = catalog.into();
    if let Some(advice) = unreachable_tools(&catalog.snapshot().declaration, &config) {
        report_alarm(&advice);
    }
    // Connections that outlive this future do not keep its host.
    let _hosting = host_tasks(runtime, &catalog);
    let server = server_without_host(runtime, catalog, config, ());
    let mut connections = ListenerConnections::new(runtime, &server);
    let accepting = async {
        loop {
            for _ in 0..ROUNDS {
                match runtime.accept(&listener).await {
                    Ok((socket, peer)) => {
                        connections.wait_for_room(peer, &mut clock).await;
                        connections.open(&clock, socket, peer);
                    }
                    Err(error) => {
                        if let Some(pause) = server.handle_accept_error(clock.now(), &error) {
                            let closed = connections.closed.count();
                            connections.wait_for_close(closed, pause, &mut clock).await;
                        }
                    }
                }
            }
            yield_now().await;
        }
    };
    let _: Option<Infallible> = unless(pin!(stop), accepting).await;
    let opened = connections.opened;
    turn(&mut clock).await;
    connections.open_waiting(&listener, &clock).await;
    drop(listener);
    if connections.opened > opened {
        for _ in 0..READ_TURNS {
            turn(&mut clock).await;
        }
    }
    server.shutdown(clock.now());
    connections.end(&mut clock).await;
    server.finish(&mut clock).await;
}

/// Serves one connection that the application has accepted, such as one within TLS or at a Unix
/// socket, until the client closes it or `stop` completes. Then requests in flight have
/// `Limits::drain` to be answered.
///
/// `server` is a server of [`http_server`]. One task runs its
/// [`run_background`](HttpServer::run_background). Before the connections stop, call
/// [`HttpServer::shutdown`]; after their end await [`HttpServer::finish`]. Limits per address apply
/// to connections with a `peer`.
///
/// Fails with the error of a read or a write.
pub async fn serve_http_stream<R: Runtime>(
    runtime: &R,
    server: &HttpServer,
    mut stream: impl Reader + Writer,
    peer: Option<IpAddr>,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let mut clock = runtime.timer();
    let now = clock.now();
    let service = match peer {
        Some(peer) => server.connect_from(now, peer),
        None => server.connect(now),
    };
    let mut service = Box::new(service);
    if shows_wire() {
        service.show_wire(now, to_stderr);
    }
    drive_until(&mut *service, &mut stream, &mut clock, stop, None).await
}

/// Lets the other tasks run.
async fn turn(clock: &mut impl Clock) {
    let until = clock.now() + TURN;
    sleep_until(clock, until).await;
}

/// Returns a server that spawns the handlers of sessions on `runtime`, and tasks as long as the
/// server exists. Without the feature `tracing` its alarms are written to standard error. Entries
/// of `allowed_hosts` and `allowed_origins` that allow nothing are alarms too.
pub fn http_server<R: Runtime>(
    runtime: &R,
    catalog: impl Into<Catalog>,
    config: Config,
) -> HttpServer {
    let catalog = catalog.into();
    let hosting = host_tasks(runtime, &catalog);
    server_without_host(runtime, catalog, config, hosting)
}

/// The same, without running tasks. The server owns `kept`.
fn server_without_host<R: Runtime>(
    runtime: &R,
    catalog: Catalog,
    config: Config,
    kept: impl Send + Sync + 'static,
) -> HttpServer {
    for advice in useless_entries(&config) {
        report_alarm(&advice);
    }
    let kept = (runtime.clone(), kept);
    let spawn = move |handler| {
        let (runtime, _) = &kept;
        runtime.spawn(handler);
    };
    let server = HttpServer::new(catalog, config, random, spawn);
    // With `tracing`, the application chooses where alarms go.
    #[cfg(not(feature = "tracing"))]
    server.on_event(|event| {
        if let Some(text) = event.alarm() {
            report_alarm(&text);
        }
    });
    server
}

/// The connections of a listener. Dropping this drops them.
struct ListenerConnections<R> {
    runtime: R,
    server: HttpServer,
    phase: EventCount,
    opened: usize,
    closed: EventCount,
    grouped_writes: Arc<GroupedWrites>,
}

impl<R: Runtime> ListenerConnections<R> {
    fn new(runtime: &R, server: &HttpServer) -> Self {
        let runtime = runtime.clone();
        let server = server.clone();
        let phase = EventCount::default();
        let background = server.clone();
        let mut clock = runtime.timer();
        let cut = phase.reached(CUT);
        runtime.spawn(async move {
            unless(pin!(cut), background.run_background(&mut clock)).await;
        });
        let grouped_writes = Arc::new(GroupedWrites::new(&runtime));
        Self { runtime, server, phase, opened: 0, closed: EventCount::default(), grouped_writes }
    }

    fn open(&mut self, clock: &R::Timer, socket: R::Socket, peer: SocketAddr) {
        self.opened += 1;
        let service = Box::new(self.server.connect_from(clock.now(), peer.ip()));
        let (clock, closes) = (self.runtime.timer(), AdvanceOnDrop(self.closed.clone()));
        let mut connection = ListenerConnection { service, socket, clock, closes };
        let (phase, grouped_writes) = (self.phase.clone(), self.grouped_writes.clone());
        let serving = async move { connection.serve(&phase, &grouped_writes).await };
        // A runtime without room for another task closes this connection only.
        catch_panic(|| self.runtime.spawn(serving));
    }

    /// Opens the connections that wait to be accepted. The system would reset them with the
    /// listener, although their requests may have arrived.
    async fn open_waiting(&mut self, listener: &R::Listener, clock: &R::Timer) {
        let runtime = self.runtime.clone();
        for _ in 0..MAX_WAITING {
            let mut accepting = pin!(runtime.accept(listener));
            let accepted = poll_fn(|context| match accepting.as_mut().poll(context) {
                Poll::Ready(accepted) => Poll::Ready(accepted.ok()),
                Poll::Pending => Poll::Ready(None),
            });
            let Some((socket, peer)) = accepted.await else { return };
            if !self.server.has_room(clock.now(), peer.ip()) {
                return;
            }
            self.open(clock, socket, peer);
        }
    }

    /// Waits until another connection may be served.
    async fn wait_for_room(&self, peer: SocketAddr, clock: &mut R::Timer) {
        loop {
            let closed = self.closed.count();
            if self.server.has_room(clock.now(), peer.ip()) {
                return;
            }
            self.wait_for_close(closed, ROOM_PAUSE, clock).await;
        }
    }

    /// Waits until more than `closed` connections have closed, for `pause` at most.
    async fn wait_for_close(&self, closed: usize, pause: Duration, clock: &mut R::Timer) {
        let until = clock.now() + pause;
        unless(pin!(self.closed.reached(closed + 1)), sleep_until(clock, until)).await;
    }

    /// Closes all connections, and drops those that take too long.
    async fn end(self, clock: &mut R::Timer) {
        for (phase, timeout) in [(STOPPING, self.server.shutdown_timeout()), (CUT, CUT_GRACE)] {
            self.phase.advance_to(phase);
            let until = clock.now() + timeout;
            unless(pin!(self.closed.reached(self.opened)), sleep_until(clock, until)).await;
        }
    }
}

impl<R> Drop for ListenerConnections<R> {
    fn drop(&mut self) {
        self.phase.advance_to(CUT);
    }
}

/// One connection, in memory of its own: a future holds its arguments twice.
struct ListenerConnection<S, C> {
    service: Box<Service<HttpLink>>,
    socket: S,
    clock: C,
    #[expect(dead_code, reason = "it counts when it is dropped, after the other fields")]
    closes: AdvanceOnDrop,
}

impl<S: crate::Socket, C: Clock> ListenerConnection<S, C> {
    /// Serves the connection, and ignores its errors.
    async fn serve(&mut self, phase: &EventCount, grouped_writes: &GroupedWrites) {
        let Self { service, socket, clock, .. } = self;
        if shows_wire() {
            service.show_wire(clock.now(), to_stderr);
        }
        let stop = pin!(phase.reached(STOPPING));
        let driven = drive_until(&mut **service, socket, clock, stop, Some(grouped_writes));
        let _ = unless(pin!(phase.reached(CUT)), driven).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::tests::Calendar;
    use crate::lock::Lock;
    use crate::runtime::Child;
    use crate::{BoxReader, BoxWriter, Command, Duplex, Handler, Registry, Socket, Spawned};
    use core::future::pending;
    use core::sync::atomic::{AtomicUsize, Ordering};
    use core::task::{Context, Waker};
    use mcp_proto::Bytes;
    use mcp_proto::types::Implementation;
    use std::process::ExitStatus;

    /// A runtime whose listener always has another connection, and which runs no task.
    #[derive(Clone, Default)]
    struct Flood {
        accepted: Arc<AtomicUsize>,
        tasks: Arc<Lock<Vec<Spawned>>>,
    }

    impl Runtime for Flood {
        type Timer = Calendar;
        type Socket = Quiet;
        type Listener = ();
        type Child = Infallible;

        fn timer(&self) -> Calendar {
            Calendar
        }

        fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
            self.tasks.lock().push(Box::pin(future));
        }

        async fn connect(&self, _: SocketAddr) -> io::Result<Quiet> {
            Ok(Quiet)
        }

        async fn accept(&self, (): &()) -> io::Result<(Quiet, SocketAddr)> {
            self.accepted.fetch_add(1, Ordering::Relaxed);
            Ok((Quiet, SocketAddr::from(([127, 0, 0, 1], 80))))
        }

        fn start(&self, _: &Command) -> io::Result<Infallible> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    /// A connection of a client that sends nothing.
    struct Quiet;

    impl Reader for Quiet {
        fn poll_read(&mut self, _: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
            Poll::Pending
        }
    }

    impl Writer for Quiet {
        fn poll_write(&mut self, _: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(data.len()))
        }

        fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    impl Socket for Quiet {}

    impl Child for Infallible {
        fn id(&self) -> Option<u32> {
            match *self {}
        }

        fn take_stream(&mut self) -> Option<Duplex<BoxReader, BoxWriter>> {
            match *self {}
        }

        fn take_stderr(&mut self) -> Option<BoxReader> {
            match *self {}
        }

        async fn wait(&mut self) -> io::Result<ExitStatus> {
            match *self {}
        }
    }

    #[test]
    fn connections_without_a_pause_leave_time_for_others() {
        let flood = Flood::default();
        let mut config = Config::default();
        config.server.limits.max_connections = 1000;
        let registry = Registry::<Handler>::new(Implementation::new("flooded", "1"));
        let mut served = pin!(serve_http(&flood, (), registry, config, pending()));
        for poll in 1..=3 {
            assert!(served.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            assert_eq!(flood.accepted.load(Ordering::Relaxed), poll * ROUNDS);
        }
    }
}
