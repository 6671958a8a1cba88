//! What tokio supplies to [`mcp_service`]: read, write, sleep, spawn.

use std::future::Future;
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use mcp_proto::Instant;
use mcp_proto::server::Config;
use mcp_service::{Catalog, Driven, Io, Service, drive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::{self, Sleep};

/// How much is read at once, in bytes.
const CHUNK: usize = 16 * 1024;

/// Serves the peer at the other end of a stream until it ends.
///
/// When `reader` ends, requests in flight get `Limits::drain` to be answered; then this returns.
/// A peer that stops reading ends the connection without an error.
///
/// Fails with what `reader` or `writer` failed with.
pub async fn serve(
    catalog: impl Into<Catalog>,
    config: Config,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    serve_until(catalog.into(), config, reader, writer, std::future::pending()).await
}

/// [`serve`] until `stop` completes.
pub(crate) async fn serve_until(
    catalog: Catalog,
    config: Config,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let clock = Clock::start();
    let mut service = Service::new(catalog, config);
    if Handle::current().runtime_flavor() != RuntimeFlavor::CurrentThread {
        service.spawn_with(|handler| drop(tokio::spawn(handler)));
    }
    if shows_wire() {
        service.show_wire(clock.now(), to_stderr);
    }
    let served = clock.drive_until(&mut service, reader, writer, stop).await;
    service.finish(&mut Timer::new(clock)).await;
    served
}

/// Whether the environment asks for the conversation on standard error.
pub(crate) fn shows_wire() -> bool {
    std::env::var_os("MCP_WIRE").is_some_and(|value| value == "1")
}

/// Whether anybody reads it is of no interest to the conversation.
pub(crate) fn to_stderr(line: &str) {
    drop(writeln!(io::stderr(), "{line}"));
}

/// The time of a conversation, whose streams may come and go.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    start: time::Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { start: time::Instant::now() }
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::ZERO + self.start.elapsed()
    }

    /// Drives one side of a conversation over a stream.
    pub(crate) async fn drive(
        &self,
        service: &mut impl Driven,
        reader: impl AsyncRead + Unpin,
        writer: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        self.drive_until(service, reader, writer, std::future::pending()).await
    }

    pub(crate) async fn drive_until(
        &self,
        service: &mut impl Driven,
        reader: impl AsyncRead + Unpin,
        writer: impl AsyncWrite + Unpin,
        stop: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let mut stop = pin!(stop);
        let mut stream = Stream {
            clock: *self,
            reader,
            writer,
            timer: Timer::new(*self),
            stop: Some(stop.as_mut()),
        };
        drive(service, &mut stream).await
    }
}

/// A timer for the deadlines of one machine after the other.
pub(crate) struct Timer {
    clock: Clock,
    sleep: Pin<Box<Sleep>>,
}

impl Timer {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, sleep: Box::pin(time::sleep_until(clock.start)) }
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        let deadline = self.clock.start + at.duration_since(Instant::ZERO);
        if self.sleep.deadline() > deadline {
            self.sleep.as_mut().reset(deadline);
        }
        // Most deadlines are postponed before they are due: the timer is set anew when it fires.
        loop {
            ready!(self.sleep.as_mut().poll(context));
            if self.sleep.deadline() >= deadline {
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(deadline);
        }
    }
}

impl mcp_service::Clock for Timer {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn poll_timer(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        self.poll(context, at)
    }
}

/// Reads what there is.
pub(crate) fn poll_read(
    reader: &mut (impl AsyncRead + Unpin),
    context: &mut Context<'_>,
) -> Poll<io::Result<Bytes>> {
    // On the stack, so that a connection that waits needs no memory for it.
    let mut input = [const { MaybeUninit::uninit() }; CHUNK];
    let mut buffer = ReadBuf::uninit(&mut input);
    ready!(Pin::new(reader).poll_read(context, &mut buffer))?;
    // A copy, so that a short message in flight does not hold on to a long buffer.
    Poll::Ready(Ok(Bytes::copy_from_slice(buffer.filled())))
}

struct Stream<'a, R, W, S> {
    clock: Clock,
    reader: R,
    writer: W,
    timer: Timer,
    stop: Option<Pin<&'a mut S>>,
}

impl<R, W, S> Io for Stream<'_, R, W, S>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
    S: Future<Output = ()>,
{
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        poll_read(&mut self.reader, context)
    }

    fn poll_write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.writer).poll_write(context, data)
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(context)
    }

    fn poll_timer(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        self.timer.poll(context, at)
    }

    fn poll_stop(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(stop) = &mut self.stop else { return Poll::Pending };
        ready!(stop.as_mut().poll(context));
        self.stop = None;
        Poll::Ready(())
    }
}
