//! The loop between a [`Service`] and a stream: read, write, sleep, stop.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use mcp_proto::Instant;
use mcp_proto::server::{Config, Registry};
use mcp_proto::service::{Handler, Service};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
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
    registry: impl Into<Arc<Registry<Handler>>>,
    config: Config,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    drive(registry.into(), config, reader, writer, std::future::pending()).await
}

/// The same until `stop` completes.
pub(crate) async fn drive(
    registry: Arc<Registry<Handler>>,
    config: Config,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let clock = Clock(time::Instant::now());
    let mut service = Service::new(registry, config);
    if Handle::current().runtime_flavor() != RuntimeFlavor::CurrentThread {
        service.spawn_with(|handler| drop(tokio::spawn(handler)));
    }
    if std::env::var_os("MCP_WIRE").is_some_and(|value| value == "1") {
        service.show_wire(clock.now(), |line| eprintln!("{line}"));
    }
    let timer = time::sleep_until(clock.0);
    let input = BytesMut::new();
    let mut driver = Driver { service, clock, reader, writer, input, timer: Box::pin(timer) };
    let mut stop = pin!(stop);
    let mut stopped = false;
    poll_fn(|context| {
        if !stopped && stop.as_mut().poll(context).is_ready() {
            stopped = true;
            driver.service.handle_eof(driver.clock.now());
        }
        driver.poll(context)
    })
    .await
    .or_else(|error| match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Ok(()),
        _ => Err(error),
    })
}

/// The machine's clock: it starts when the connection does.
#[derive(Clone, Copy)]
struct Clock(time::Instant);

impl Clock {
    fn now(self) -> Instant {
        Instant::ZERO + self.0.elapsed()
    }

    fn at(self, instant: Instant) -> time::Instant {
        self.0 + instant.duration_since(Instant::ZERO)
    }
}

struct Driver<R, W> {
    service: Service,
    clock: Clock,
    reader: R,
    writer: W,
    input: BytesMut,
    timer: Pin<Box<Sleep>>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Driver<R, W> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            self.service.turn(self.clock.now(), context.waker());
            let written = self.poll_write(context)?;
            if self.service.is_closed() && written.is_ready() {
                ready!(Pin::new(&mut self.writer).poll_flush(context))?;
                return Poll::Ready(Ok(()));
            }
            if self.poll_read(context)?.is_pending() && self.poll_timer(context).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// Ready when there is nothing left to write.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.service.output().is_empty() {
            let writer = Pin::new(&mut self.writer);
            match ready!(writer.poll_write(context, self.service.output()))? {
                0 => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
                count => self.service.handle_written(count),
            }
        }
        Pin::new(&mut self.writer).poll_flush(context)
    }

    /// Ready when something was read.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.service.wants_read() {
            return Poll::Pending;
        }
        self.input.reserve(CHUNK);
        let count = ready!(pin!(self.reader.read_buf(&mut self.input)).poll(context))?;
        let now = self.clock.now();
        match count {
            0 => self.service.handle_eof(now),
            _ => self.service.handle_bytes(now, self.input.split().freeze()),
        }
        Poll::Ready(Ok(()))
    }

    /// Ready when a deadline is due.
    fn poll_timer(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(at) = self.service.poll_timeout() else { return Poll::Pending };
        let deadline = self.clock.at(at);
        if self.timer.deadline() != deadline {
            self.timer.as_mut().reset(deadline);
        }
        self.timer.as_mut().poll(context)
    }
}
