//! Services on byte streams.
//!
//! In: a service, a stream, a clock, and a future that completes to stop. Out: the end of the
//! conversation. [`Stoppable`] is the [`Io`] of [`drive`] for all runtimes.

use core::future::{Future, poll_fn};
use core::mem;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, ready};
use std::io::{self, Write};

use bytes::Bytes;

use super::grouped_writes::GroupedWrites;
use super::{Runtime, random};
use crate::task::HostGuard;
use crate::{Catalog, Clock, Drive, Io, Reader, Service, TaskHost, Writer, drive};
use mcp_proto::server::Config;
use mcp_proto::{Duration, Instant};

/// Serves a peer on a byte stream until the stream ends or `stop` completes.
///
/// Then requests in flight have `Limits::drain` to be answered, and cancelled handlers 500 ms to
/// end. A peer that stops reading ends the connection without an error.
///
/// Fails with the error of a read or a write.
pub async fn serve<R: Runtime>(
    runtime: &R,
    catalog: impl Into<Catalog>,
    config: Config,
    mut stream: impl Reader + Writer,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let mut clock = runtime.timer();
    let catalog = catalog.into();
    let _hosting = host_tasks(runtime, &catalog);
    let mut service = Service::new(catalog, config);
    if runtime.spawns_handlers() {
        let runtime = runtime.clone();
        service.spawn_with(move |handler| runtime.spawn(handler));
    }
    if shows_wire() {
        service.show_wire(clock.now(), to_stderr);
    }
    let served = drive_until(&mut service, &mut stream, &mut clock, stop, None).await;
    service.finish(&mut clock).await;
    served
}

/// Runs the tasks of a server on a runtime, until the guard is dropped.
pub(super) fn host_tasks<R: Runtime>(runtime: &R, catalog: &Catalog) -> HostGuard {
    let (timers, tasks) = (runtime.clone(), runtime.clone());
    let host = TaskHost::new(move || timers.timer(), move |task| tasks.spawn(task), random);
    catalog.tasks().host_while(host)
}

/// Writes all of `data`, and passes it on.
#[cfg(any(feature = "jwt", feature = "proxy"))]
pub(super) async fn write_all(writer: &mut impl Writer, mut data: &[u8]) -> io::Result<()> {
    poll_fn(|context| {
        while !data.is_empty() {
            match ready!(writer.poll_write(context, data))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => data = data.get(count..).unwrap_or_default(),
            }
        }
        writer.poll_flush(context)
    })
    .await
}

/// Drives a service on a stream until the conversation has ended; stops the service when `stop`
/// completes.
pub(super) async fn drive_until(
    service: &mut impl Drive,
    stream: &mut (impl Reader + Writer),
    clock: &mut impl Clock,
    stop: impl Future<Output = ()>,
    grouped_writes: Option<&GroupedWrites>,
) -> io::Result<()> {
    let mut stop = pin!(stop);
    drive(service, &mut Stoppable { stream, clock, stop: Some(stop.as_mut()), grouped_writes })
        .await
}

/// Runs `future` to its end, unless `stop` completes before: then returns `None`.
pub(super) async fn unless<T>(
    mut stop: Pin<&mut impl Future<Output = ()>>,
    future: impl Future<Output = T>,
) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| {
        if stop.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        future.as_mut().poll(context).map(Some)
    })
    .await
}

/// Lets the other tasks of the executor run.
pub(super) async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Waits until the time `at`.
pub(super) async fn sleep_until(clock: &mut impl Clock, at: Instant) {
    poll_fn(|context| clock.poll_timer(context, at)).await;
}

/// Returns whether `MCP_WIRE=1` is set, to show the conversation on standard error.
#[expect(clippy::disallowed_methods, reason = "it is a switch for debugging")]
pub(super) fn shows_wire() -> bool {
    std::env::var_os("MCP_WIRE").is_some_and(|value| value == "1")
}

/// Writes a line to standard error, and ignores errors.
pub(super) fn to_stderr(line: &str) {
    drop(writeln!(io::stderr(), "{line}"));
}

/// Reports an alarm to the operator of a server: an event of `tracing`, where the application
/// chooses what becomes of it, or without that feature a line on standard error.
pub(crate) fn report_alarm(text: &str) {
    #[cfg(feature = "tracing")]
    crate::trace::alarmed(text);
    #[cfg(not(feature = "tracing"))]
    to_stderr(&alloc::format!("mcp: {text}"));
}

/// A stream with a clock and a future that completes to stop.
struct Stoppable<'a, S, C, F> {
    stream: &'a mut S,
    clock: &'a mut C,
    /// `None` once it has completed.
    stop: Option<Pin<&'a mut F>>,
    grouped_writes: Option<&'a GroupedWrites>,
}

impl<S: Reader, C, F> Reader for Stoppable<'_, S, C, F> {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        self.stream.poll_read(context)
    }
}

impl<S: Writer, C, F> Writer for Stoppable<'_, S, C, F> {
    fn poll_write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.stream.poll_write(context, data)
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_flush(context)
    }
}

impl<S, C: Clock, F> Clock for Stoppable<'_, S, C, F> {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn unix_time(&self) -> Duration {
        self.clock.unix_time()
    }

    fn poll_timer(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        self.clock.poll_timer(context, at)
    }

    fn poll_resumed(&mut self, context: &mut Context<'_>, now: Instant) -> Poll<()> {
        self.clock.poll_resumed(context, now)
    }
}

impl<S: Reader + Writer, C: Clock, F: Future<Output = ()>> Io for Stoppable<'_, S, C, F> {
    fn poll_stop(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(stop) = &mut self.stop else { return Poll::Pending };
        ready!(stop.as_mut().poll(context));
        self.stop = None;
        Poll::Ready(())
    }

    fn poll_delay(&mut self, now: Instant, context: &mut Context<'_>) -> Poll<()> {
        self.grouped_writes
            .map_or(Poll::Ready(()), |grouped_writes| grouped_writes.poll_delay(now, context))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::tests::Calendar;

    #[test]
    fn a_stream_has_the_time_of_its_clock() {
        let stoppable = Stoppable {
            stream: &mut (),
            clock: &mut Calendar,
            stop: None::<Pin<&mut core::future::Pending<()>>>,
            grouped_writes: None,
        };
        assert_eq!(stoppable.unix_time(), Duration::from_secs(7));
    }
}
