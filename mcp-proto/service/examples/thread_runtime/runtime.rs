//! A [`Runtime`] of plain threads: one for each task, which sleeps until its timer is due, one for
//! each direction of a stream, and one for each call that blocks.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io::{self, Read};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::pin::pin;
use std::process::{self, ExitStatus};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant as Time;

use mcp_proto::{Bytes, Duration, Instant};
use mcp_service::runtime::{self, BlockingReader, BlockingWriter, Runtime, keep_alive, unblock};
use mcp_service::{BoxReader, BoxWriter, Clock, Command, Duplex, Reader, Socket, Writer};

/// Interval at which a listener looks for a connection: a thread in `accept` could not be stopped.
const ACCEPT_INTERVAL: Duration = Duration::from_millis(2);

thread_local! {
    /// The time until the future of this thread is to be polled again at the latest.
    static PAUSE: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// Runs a future to its end on this thread.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        match PAUSE.take() {
            Some(pause) => thread::park_timeout(pause),
            None => thread::park(),
        }
    }
}

/// The time at which the time of servers and clients begins.
#[derive(Clone, Copy)]
pub(crate) struct Threads(pub(crate) Time);

impl Runtime for Threads {
    type Timer = Self;
    type Socket = Connection;
    type Listener = TcpListener;
    type Child = Child;

    fn timer(&self) -> Self {
        *self
    }

    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        thread::spawn(|| block_on(future));
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<Self::Socket> {
        Connection::new(keep_alive(unblock(move || TcpStream::connect(address)).await?))
    }

    async fn accept(&self, listener: &TcpListener) -> io::Result<(Self::Socket, SocketAddr)> {
        listener.set_nonblocking(true)?;
        let (mut timer, mut next) = (*self, self.now());
        let (socket, peer) = poll_fn(|context| {
            while timer.poll_timer(context, next).is_ready() {
                match listener.accept() {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        next = timer.now() + ACCEPT_INTERVAL;
                    }
                    accepted => return Poll::Ready(accepted),
                }
            }
            Poll::Pending
        })
        .await?;
        Ok((Connection::new(socket)?, peer))
    }

    fn start(&self, command: &Command) -> io::Result<Child> {
        command.to_std().spawn().map(|child| Child(Some(child)))
    }
}

impl Clock for Threads {
    fn now(&self) -> Instant {
        Instant::ZERO + self.0.elapsed()
    }

    fn poll_timer(&mut self, _: &mut Context<'_>, at: Instant) -> Poll<()> {
        let pause = at.duration_since(self.now());
        if pause.is_zero() {
            return Poll::Ready(());
        }
        PAUSE.set(PAUSE.get().into_iter().chain([pause]).min());
        Poll::Pending
    }
}

/// A connection with a thread for each direction. Dropping it ends both, and the connection.
pub(crate) struct Connection {
    halves: Duplex<BlockingReader, BlockingWriter>,
    socket: TcpStream,
}

impl Connection {
    fn new(socket: TcpStream) -> io::Result<Self> {
        socket.set_nonblocking(false)?;
        let _ = socket.set_nodelay(true);
        let reader = BlockingReader::new(PatientReader(socket.try_clone()?));
        let writer = BlockingWriter::new(socket.try_clone()?);
        Ok(Self { halves: Duplex { reader, writer }, socket })
    }
}

impl Reader for Connection {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        self.halves.poll_read(context)
    }
}

impl Writer for Connection {
    fn poll_write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.halves.poll_write(context, data)
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.halves.poll_flush(context)
    }
}

impl Socket for Connection {
    /// Asks the system too: the thread that reads may be late. The socket does not block meanwhile.
    fn is_quiet(&self) -> bool {
        let asks = self.socket.set_nonblocking(true);
        let found = self.socket.peek(&mut [0]);
        let _ = self.socket.set_nonblocking(false);
        let is_empty = found.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        asks.is_ok() && is_empty && self.halves.is_quiet()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// Reads from a socket that for a moment may not block.
struct PatientReader(TcpStream);

impl Read for PatientReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::yield_now(),
                read => return read,
            }
        }
    }
}

/// `None` once a thread waits for the process.
pub(crate) struct Child(Option<process::Child>);

impl runtime::Child for Child {
    fn id(&self) -> Option<u32> {
        self.0.as_ref().map(process::Child::id)
    }

    #[cfg(windows)]
    fn raw_handle(&self) -> Option<std::os::windows::io::RawHandle> {
        self.0.as_ref().map(std::os::windows::io::AsRawHandle::as_raw_handle)
    }

    fn take_stream(&mut self) -> Option<Duplex<BoxReader, BoxWriter>> {
        let child = self.0.as_mut()?;
        let reader = Box::new(BlockingReader::new(child.stdout.take()?));
        Some(Duplex { reader, writer: Box::new(BlockingWriter::new(child.stdin.take()?)) })
    }

    fn take_stderr(&mut self) -> Option<BoxReader> {
        Some(Box::new(BlockingReader::new(self.0.as_mut()?.stderr.take()?)))
    }

    async fn wait(&mut self) -> io::Result<ExitStatus> {
        let mut child = self.0.take().ok_or(io::ErrorKind::NotFound)?;
        unblock(move || child.wait()).await
    }
}

impl Drop for Child {
    /// Reaps the process, which was killed before.
    fn drop(&mut self) {
        drop(self.0.take().map(|mut child| child.wait()));
    }
}
