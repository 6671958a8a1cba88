//! Tokio as a [`Runtime`]: timers, tasks, sockets, child processes.

use std::any::Any;
use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::process::ExitStatus;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use mcp_proto::Instant;
use mcp_service::runtime::{self, ResumingTimer, Runtime};
use mcp_service::{BoxReader, BoxWriter, Clock, Command, Duplex, Reader, Socket, Writer};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::unconstrained;
use tokio::time::{self, Sleep};

/// A tokio runtime, for the functions of [`mcp_service::runtime`].
///
/// Use it for what this crate has no function for: a stop of [`runtime::serve`], streams of your
/// own for HTTP ([`runtime::serve_http_stream`], [`runtime::connect_http_with`]).
///
/// ```no_run
/// use mcp_tokio::mcp_service::{Duplex, runtime};
/// use mcp_tokio::{Config, Handler, Registry, Stream, Tokio, stop_signal};
///
/// # async fn example(registry: Registry<Handler>, socket: tokio::net::TcpStream) -> std::io::Result<()> {
/// let (reader, writer) = socket.into_split();
/// let stream = Duplex { reader: Stream(reader), writer: Stream(writer) };
/// runtime::serve(&Tokio::current(), registry, Config::default(), stream, stop_signal()?).await
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Tokio {
    handle: Handle,
    pub(crate) epoch: Epoch,
}

/// The tokio time at which the clocks of servers and clients start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epoch(time::Instant);

impl Epoch {
    pub(crate) fn now(self) -> Instant {
        Instant::ZERO + self.0.elapsed()
    }
}

impl Tokio {
    /// Returns the current runtime. A clock paused before the common epoch starts now.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn current() -> Self {
        let epoch = time::Instant::from(runtime::epoch()).min(time::Instant::now());
        Self { handle: Handle::current(), epoch: Epoch(epoch) }
    }
}

impl Runtime for Tokio {
    type Timer = ResumingTimer<Timer>;
    type Socket = Stream<TcpStream>;
    type Listener = TcpListener;
    type Child = Child;

    fn timer(&self) -> ResumingTimer<Timer> {
        let sleep = Box::pin(time::sleep_until(self.epoch.0));
        Timer { epoch: self.epoch, sleep, woken: None }.into()
    }

    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        drop(self.handle.spawn(future));
    }

    fn spawns_handlers(&self) -> bool {
        self.handle.runtime_flavor() != RuntimeFlavor::CurrentThread
    }

    fn park_count(&self) -> Option<u64> {
        (!self.spawns_handlers()).then(|| self.handle.metrics().worker_park_count(0))
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<Self::Socket> {
        Ok(Stream::of_socket(runtime::keep_alive(TcpStream::connect(address).await?)))
    }

    async fn accept(&self, listener: &TcpListener) -> io::Result<(Self::Socket, SocketAddr)> {
        let (socket, peer) = listener.accept().await?;
        Ok((Stream::of_socket(socket), peer))
    }

    fn start(&self, command: &Command) -> io::Result<Child> {
        tokio::process::Command::from(command.to_std()).kill_on_drop(true).spawn().map(Child)
    }

    #[cfg(unix)]
    fn pipe_reader(&self, pipe: std::fs::File) -> io::Result<BoxReader> {
        Ok(Box::new(Stream(tokio::net::unix::pipe::Receiver::from_file(pipe)?)))
    }

    #[cfg(unix)]
    fn pipe_writer(&self, pipe: std::fs::File) -> io::Result<BoxWriter> {
        Ok(Box::new(Stream(tokio::net::unix::pipe::Sender::from_file(pipe)?)))
    }

    #[cfg(unix)]
    fn unix_stream(&self, socket: std::os::unix::net::UnixStream) -> io::Result<Box<dyn Socket>> {
        socket.set_nonblocking(true)?;
        Ok(Box::new(Stream(tokio::net::UnixStream::from_std(socket)?)))
    }
}

/// A timer that is reused for the deadlines of one machine after the other.
#[expect(unnameable_types, reason = "it is a part of `Runtime::Timer`")]
pub struct Timer {
    epoch: Epoch,
    sleep: Pin<Box<Sleep>>,
    /// The task that `sleep` wakes, once it is polled.
    woken: Option<Waker>,
}

impl Clock for Timer {
    fn now(&self) -> Instant {
        self.epoch.now()
    }

    fn poll_timer(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        let deadline = self.epoch.0 + at.duration_since(Instant::ZERO);
        let is_woken = self.woken.as_ref().is_some_and(|it| it.will_wake(context.waker()));
        if self.sleep.deadline() > deadline {
            self.sleep.as_mut().reset(deadline);
        } else if is_woken && !self.sleep.is_elapsed() {
            // Without another poll, a call of a client takes 2 % fewer instructions.
            return Poll::Pending;
        }
        self.woken = Some(context.waker().clone());
        // Most deadlines are postponed before they are due: the timer is set again when it fires.
        loop {
            // A task without budget would not be remembered by `sleep`.
            ready!(pin!(unconstrained(self.sleep.as_mut())).poll(context));
            if self.sleep.deadline() >= deadline {
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(deadline);
        }
    }
}

/// A stream of tokio's traits as a stream of `mcp-service`, such as for `BridgeTarget::stream`.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "it is a wrapper")]
pub struct Stream<T>(pub T);

impl Stream<TcpStream> {
    fn of_socket(socket: TcpStream) -> Self {
        let _ = socket.set_nodelay(true);
        Self(socket)
    }
}

impl<T: AsyncRead + Unpin> Reader for Stream<T> {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        if runtime::expects_long_chunk() {
            return runtime::read_long_chunk(|input| pin!(self.0.read_buf(input)).poll(context));
        }
        // On the stack, so that an idle connection needs no buffer.
        let mut input = [const { MaybeUninit::uninit() }; runtime::SHORT_CHUNK];
        let mut buffer = ReadBuf::uninit(&mut input);
        ready!(Pin::new(&mut self.0).poll_read(context, &mut buffer))?;
        Poll::Ready(Ok(runtime::short_chunk(buffer.filled())))
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
        let socket = (&self.0 as &dyn Any).downcast_ref::<TcpStream>();
        socket.is_none_or(|socket| {
            SockRef::from(socket)
                .peek(&mut [MaybeUninit::uninit()])
                .is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        })
    }
}

/// A child process. After a drop it stays a zombie until a runtime with enabled drivers parks
/// again, or else until this process ends.
#[expect(unnameable_types, reason = "it is `Runtime::Child`")]
pub struct Child(tokio::process::Child);

impl runtime::Child for Child {
    fn id(&self) -> Option<u32> {
        self.0.id()
    }

    #[cfg(windows)]
    fn raw_handle(&self) -> Option<std::os::windows::io::RawHandle> {
        self.0.raw_handle()
    }

    fn take_stream(&mut self) -> Option<Duplex<BoxReader, BoxWriter>> {
        let reader = Box::new(Stream(self.0.stdout.take()?));
        Some(Duplex { reader, writer: Box::new(Stream(self.0.stdin.take()?)) })
    }

    fn take_stderr(&mut self) -> Option<BoxReader> {
        Some(Box::new(Stream(self.0.stderr.take()?)))
    }

    async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.0.wait().await
    }
}
