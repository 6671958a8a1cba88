//! async-io and any executor as a [`Runtime`]: timers, tasks, sockets, child processes.

use std::any::Any;
#[cfg(unix)]
use std::fs::File;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::{thread, time};

use bytes::Bytes;
use mcp_proto::Instant;
use mcp_service::runtime::{self, ResumingTimer, Runtime, copy_input};
use mcp_service::{BoxReader, BoxWriter, Clock, Command, Duplex, Reader, Socket, Spawned, Writer};
use smol::Async;
use smol::io::{AsyncRead, AsyncWrite};

/// The size of a read, in bytes. The buffer is zeroed for each read.
const CHUNK: usize = 16 * 1024;

/// The reactor of async-io with an executor, for the functions of [`mcp_service::runtime`].
///
/// Use it for what this crate has no function for: a stop of [`runtime::serve`], streams of your
/// own for HTTP ([`runtime::serve_http_stream`], [`runtime::connect_http_with`]).
///
/// ```no_run
/// use mcp_async_std::mcp_service::{Duplex, runtime};
/// use mcp_async_std::{AsyncIo, Config, Handler, Registry, Stream, stop_signal};
///
/// # async fn example(registry: Registry<Handler>, socket: smol::net::TcpStream) -> std::io::Result<()> {
/// let stream = Duplex { reader: Stream(socket.clone()), writer: Stream(socket) };
/// runtime::serve(&AsyncIo::smol(), registry, Config::default(), stream, stop_signal()?).await
/// # }
/// ```
#[derive(Clone)]
pub struct AsyncIo {
    spawn: Arc<dyn Fn(Spawned) + Send + Sync>,
    spawns_handlers: bool,
    epoch: time::Instant,
}

impl AsyncIo {
    /// A runtime that spawns tasks with `spawn`, which runs a future to its end.
    pub fn on(spawn: impl Fn(Spawned) + Send + Sync + 'static) -> Self {
        Self { spawn: Arc::new(spawn), spawns_handlers: true, epoch: runtime::epoch() }
    }

    /// A runtime that spawns tasks on smol's threads.
    #[must_use]
    pub fn smol() -> Self {
        Self::on(|future| smol::spawn(future).detach())
    }

    /// Like [`AsyncIo::smol`], but handlers take turns in the task that serves.
    pub(crate) fn smol_with_handlers_in_turn() -> Self {
        Self { spawns_handlers: false, ..Self::smol() }
    }
}

impl Runtime for AsyncIo {
    type Timer = ResumingTimer<Timer>;
    type Socket = Stream<Async<TcpStream>>;
    type Listener = Async<TcpListener>;
    type Child = Child;

    fn timer(&self) -> ResumingTimer<Timer> {
        Timer { epoch: self.epoch, sleep: smol::Timer::never(), due: Instant::NEVER }.into()
    }

    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        (self.spawn)(Box::pin(future));
    }

    fn spawns_handlers(&self) -> bool {
        self.spawns_handlers
    }

    /// Reads on a thread: there may be no executor, or it may be blocked.
    fn spawn_reader(&self, future: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let thread = thread::Builder::new().name("mcp-stderr".to_owned());
        thread.spawn(|| smol::block_on(future)).map(drop)
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<Self::Socket> {
        let socket = Async::<TcpStream>::connect(address).await?;
        Ok(Stream::of_socket(runtime::keep_alive(socket)))
    }

    async fn accept(&self, listener: &Self::Listener) -> io::Result<(Self::Socket, SocketAddr)> {
        let (socket, peer) = listener.accept().await?;
        Ok((Stream::of_socket(socket), peer))
    }

    fn start(&self, command: &Command) -> io::Result<Child> {
        // The conversion loses the settings of the standard streams.
        let mut started = smol::process::Command::from(command.to_std());
        started.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(command.stderr.stdio());
        started.kill_on_drop(true).spawn().map(Child)
    }

    #[cfg(unix)]
    fn pipe_reader(&self, pipe: File) -> io::Result<BoxReader> {
        Ok(Box::new(Stream(Async::new(pipe)?)))
    }

    #[cfg(unix)]
    fn pipe_writer(&self, pipe: File) -> io::Result<BoxWriter> {
        Ok(Box::new(Stream(Async::new(pipe)?)))
    }

    #[cfg(unix)]
    fn unix_stream(&self, socket: UnixStream) -> io::Result<Box<dyn Socket>> {
        Ok(Box::new(Stream(Async::new(socket)?)))
    }
}

/// A timer that is reused for the deadlines of one machine after the other.
#[expect(unnameable_types, reason = "it is a part of `Runtime::Timer`")]
pub struct Timer {
    epoch: time::Instant,
    sleep: smol::Timer,
    /// Time at which `sleep` ends.
    due: Instant,
}

impl Clock for Timer {
    fn now(&self) -> Instant {
        Instant::ZERO + self.epoch.elapsed()
    }

    fn poll_timer(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        if self.due != at {
            self.due = at;
            self.sleep.set_at(self.epoch + at.duration_since(Instant::ZERO));
        }
        ready!(Pin::new(&mut self.sleep).poll(context));
        self.due = Instant::NEVER;
        Poll::Ready(())
    }
}

/// A stream of the `futures-io` traits as a stream of `mcp-service`, such as for
/// `BridgeTarget::stream`.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "it is a wrapper")]
pub struct Stream<T>(pub T);

impl Stream<Async<TcpStream>> {
    fn of_socket(socket: Async<TcpStream>) -> Self {
        let _ = socket.get_ref().set_nodelay(true);
        Self(socket)
    }
}

impl<T: AsyncRead + Unpin> Reader for Stream<T> {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        // On the stack, so that an idle connection needs no buffer.
        let mut input = [0; CHUNK];
        let count = ready!(Pin::new(&mut self.0).poll_read(context, &mut input))?;
        Poll::Ready(Ok(copy_input(input.get(..count).unwrap_or_default())))
    }
}

impl<T: AsyncWrite + Unpin> Writer for Stream<T> {
    fn poll_write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, data)
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }
}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Socket for Stream<T> {
    fn is_quiet(&self) -> bool {
        // The socket is non-blocking.
        let socket = (&self.0 as &dyn Any).downcast_ref::<Async<TcpStream>>();
        let peeked = socket.map(|socket| socket.get_ref().peek(&mut [0]));
        peeked.is_none_or(|it| it.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock))
    }
}

/// A child process. After a drop, a thread of async-process reaps it.
#[expect(unnameable_types, reason = "it is `Runtime::Child`")]
pub struct Child(smol::process::Child);

impl runtime::Child for Child {
    fn id(&self) -> Option<u32> {
        Some(self.0.id())
    }

    #[cfg(windows)]
    fn raw_handle(&self) -> Option<std::os::windows::io::RawHandle> {
        Some(std::os::windows::io::AsRawHandle::as_raw_handle(&self.0))
    }

    fn take_stream(&mut self) -> Option<Duplex<BoxReader, BoxWriter>> {
        let reader = Box::new(Stream(self.0.stdout.take()?));
        Some(Duplex { reader, writer: Box::new(Stream(self.0.stdin.take()?)) })
    }

    fn take_stderr(&mut self) -> Option<BoxReader> {
        Some(Box::new(Stream(self.0.stderr.take()?)))
    }

    async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.0.status().await
    }
}
