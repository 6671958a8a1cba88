//! The loop between a service and a stream, for every runtime.
//!
//! In: a [`Service`](super::Service) or a [`ClientService`](super::ClientService), and an [`Io`],
//! which is all that a runtime has to supply. Out: a future that ends when the conversation has.

use core::future::poll_fn;
use core::task::{Context, Poll, Waker, ready};
use std::io;

use bytes::Bytes;

use crate::Io;
use mcp_proto::Instant;

/// Rounds of work in a turn before other tasks get theirs.
pub(crate) const TURN_ROUNDS: usize = 16;

/// One side of a conversation, to be driven; the two are [`Service`](super::Service) and
/// [`ClientService`](super::ClientService).
pub trait Drive {
    /// The peer sent `data`.
    fn handle_bytes(&mut self, now: Instant, data: Bytes);

    /// The peer sends nothing more. A server gives requests in flight `Limits::drain` to be
    /// answered, and its peer as long again after each read. A peer that reads nothing in that time
    /// is gone. A client ends, or wants the stream to be opened again.
    fn handle_eof(&mut self, now: Instant);

    /// The service is to stop. A server gives requests in flight `Limits::drain` to be answered,
    /// and its peer as long again to read the answers; a client ends.
    fn handle_stop(&mut self, now: Instant);

    /// Runs everything that can run: due deadlines, woken handlers, what was asked for. `waker` is
    /// woken when there is more to do.
    fn turn(&mut self, now: Instant, waker: &Waker);

    /// The next bytes to write; empty if there are none.
    fn output(&self) -> &[u8];

    /// The first `count` bytes of [`Drive::output`] are written.
    fn handle_written(&mut self, count: usize);

    /// The peer does not read any more. Returns whether what it still says is of interest all the
    /// same, as to a client that waits for answers.
    fn handle_write_closed(&mut self) -> bool;

    /// Time by which [`Drive::turn`] must be called.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Returns whether the adapter should read.
    fn wants_read(&self) -> bool;

    /// Returns whether actions wait until some output is written.
    fn is_write_blocked(&self) -> bool;

    /// Returns whether nothing more will be transmitted than what [`Drive::output`] has.
    fn is_closed(&self) -> bool;

    /// The deadline for a flush of the last output, once all is said.
    fn flush_deadline(&self) -> Option<Instant>;

    /// Returns whether the peer's receipt of the output no longer matters.
    fn is_aborted(&self) -> bool;
}

/// Runs one side of a conversation on `io` until it has ended.
///
/// Fails with what reading or writing failed with. A peer that stops reading ends the
/// conversation without an error.
pub async fn drive(service: &mut impl Drive, io: &mut impl Io) -> io::Result<()> {
    let mut flushed = true;
    let ended = poll_fn(|context| poll_drive(service, io, &mut flushed, context)).await;
    ended.or_else(|error| if is_gone(&error) { Ok(()) } else { Err(error) })
}

/// Returns whether an error says that the peer is gone.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

/// Chunks that are read before other tasks, and a request to stop, get their turn.
const ROUNDS: usize = 16;

fn poll_drive(
    service: &mut impl Drive,
    io: &mut impl Io,
    flushed: &mut bool,
    context: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    let mut now = io.now();
    // Whatever it was woken for, the service gets a turn.
    let mut turns = true;
    // It is woken when there is more to read than there was.
    let mut drained = false;
    for _ in 0..ROUNDS {
        if !drained && service.wants_read() {
            match poll_read(service, io, now, context)? {
                Poll::Ready(()) => turns = true,
                Poll::Pending => drained = true,
            }
        }
        if !turns {
            // A stream that takes everything and hands nothing on has its time too.
            let until = service.flush_deadline().filter(|_| !*flushed);
            let due = service.poll_timeout().into_iter().chain(until).min();
            if due.is_some_and(|at| io.poll_timer(context, at).is_ready()) {
                now = io.now();
            } else if poll_stop(service, io, now, context).is_pending() {
                return Poll::Pending;
            }
        }
        service.turn(now, context.waker());
        let mut again = service.is_write_blocked();
        let written = match poll_write(service, io, flushed, context) {
            Poll::Ready(Err(error)) if is_gone(&error) && service.handle_write_closed() => {
                *flushed = true;
                // What it makes of that comes in its next turn.
                again = true;
                Poll::Ready(())
            }
            Poll::Ready(written) => Poll::Ready(written?),
            Poll::Pending => Poll::Pending,
        };
        if service.is_aborted() || service.is_closed() && written.is_ready() {
            return Poll::Ready(Ok(()));
        }
        turns = again && written.is_ready();
    }
    // Under a flood of input the loop above never comes to this.
    let _ = poll_stop(service, io, now, context);
    context.waker().wake_by_ref();
    Poll::Pending
}

/// Ready when there is nothing left to write, nor to hand on.
fn poll_write(
    service: &mut impl Drive,
    io: &mut impl Io,
    flushed: &mut bool,
    context: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    while !service.output().is_empty() {
        match ready!(io.poll_write(context, service.output()))? {
            0 => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            count => service.handle_written(count),
        }
        *flushed = false;
    }
    if !*flushed {
        ready!(io.poll_flush(context))?;
        *flushed = true;
    }
    Poll::Ready(Ok(()))
}

/// Ready when something was read.
fn poll_read(
    service: &mut impl Drive,
    io: &mut impl Io,
    now: Instant,
    context: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    let data = match ready!(io.poll_read(context)) {
        // What was read before it counts.
        Err(error) if is_gone(&error) => Bytes::new(),
        read => read?,
    };
    if data.is_empty() {
        service.handle_eof(now);
    } else {
        service.handle_bytes(now, data);
    }
    Poll::Ready(Ok(()))
}

fn poll_stop(
    service: &mut impl Drive,
    io: &mut impl Io,
    now: Instant,
    context: &mut Context<'_>,
) -> Poll<()> {
    ready!(io.poll_stop(context));
    service.handle_stop(now);
    Poll::Ready(())
}
