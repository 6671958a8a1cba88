//! What tokio supplies to [`mcp_proto::service`]: read, write, sleep, spawn.

use std::future::Future;
use std::io::{self, Write};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use mcp_proto::Instant;
use mcp_proto::server::Config;
use mcp_proto::service::{Catalog, Driven, Io, Service, drive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::{self, Sleep};

/// How much is read at once, in bytes.
const CHUNK: usize = 64 * 1024;

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
    clock.drive_until(&mut service, reader, writer, stop).await
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

    async fn drive_until(
        &self,
        service: &mut impl Driven,
        reader: impl AsyncRead + Unpin,
        writer: impl AsyncWrite + Unpin,
        stop: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let mut stop = pin!(stop);
        let mut stream = Stream {
            start: self.start,
            reader,
            writer,
            input: vec![0; CHUNK],
            timer: Box::pin(time::sleep_until(self.start)),
            stop: Some(stop.as_mut()),
        };
        drive(service, &mut stream).await
    }
}

struct Stream<'a, R, W, S> {
    start: time::Instant,
    reader: R,
    writer: W,
    input: Vec<u8>,
    timer: Pin<Box<Sleep>>,
    stop: Option<Pin<&'a mut S>>,
}

impl<R, W, S> Io for Stream<'_, R, W, S>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
    S: Future<Output = ()>,
{
    fn now(&self) -> Instant {
        Instant::ZERO + self.start.elapsed()
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        let mut buffer = ReadBuf::new(&mut self.input);
        ready!(Pin::new(&mut self.reader).poll_read(context, &mut buffer))?;
        // A copy, so that a short message in flight does not hold on to a long buffer.
        Poll::Ready(Ok(Bytes::copy_from_slice(buffer.filled())))
    }

    fn poll_write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.writer).poll_write(context, data)
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(context)
    }

    fn poll_timer(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        let deadline = self.start + at.duration_since(Instant::ZERO);
        if self.timer.deadline() != deadline {
            self.timer.as_mut().reset(deadline);
        }
        self.timer.as_mut().poll(context)
    }

    fn poll_stop(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(stop) = &mut self.stop else { return Poll::Pending };
        ready!(stop.as_mut().poll(context));
        self.stop = None;
        Poll::Ready(())
    }
}
