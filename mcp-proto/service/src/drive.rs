//! The loop between a service and a stream, for every runtime.
//!
//! In: a [`Service`](super::Service) or a [`ClientService`](super::ClientService), and the [`Io`]
//! of a runtime. Out: a future that completes when the conversation has ended.

use core::future::poll_fn;
use core::task::{Context, Poll, Waker, ready};
use std::io;

use bytes::Bytes;

use crate::Io;
use crate::runtime::SUSPENSION;
use mcp_proto::Instant;

/// The most rounds of work in a turn, so that other tasks run.
pub(crate) const TURN_ROUNDS: usize = 16;

/// One side of a conversation, to be driven: [`Service`](super::Service) or
/// [`ClientService`](super::ClientService).
pub trait Drive {
    /// Handles bytes that the peer has sent.
    fn handle_bytes(&mut self, now: Instant, data: Bytes);

    /// Handles the end of input. A server waits at most `Limits::drain` for pending answers. A peer
    /// that then reads nothing for `Limits::drain` is disconnected. A client ends, or wants the
    /// stream to be reopened.
    fn handle_eof(&mut self, now: Instant);

    /// Stops the service. A server waits at most `Limits::drain` for pending answers, and as long
    /// again for its peer to read them. A client ends.
    fn handle_stop(&mut self, now: Instant);

    /// Processes all pending work: due deadlines, woken handlers, queued commands. `waker` is woken
    /// when there is more.
    fn turn(&mut self, now: Instant, waker: &Waker);

    /// Returns whether a turn may be due: the service was woken after the last turn, or that turn
    /// had another waker. The default is true.
    fn needs_turn(&self, _waker: &Waker) -> bool {
        true
    }

    /// The next bytes to write; empty if there are none.
    fn output(&self) -> &[u8];

    /// Removes the first `count` bytes of [`Drive::output`], which were written.
    fn handle_written(&mut self, count: usize);

    /// Handles a peer that has stopped reading. Returns whether to go on, as a client does that
    /// waits for responses.
    fn handle_write_closed(&mut self) -> bool;

    /// Time by which [`Drive::turn`] must be called.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Returns whether the adapter should read.
    fn wants_read(&self) -> bool;

    /// Returns whether actions are held back until output is written.
    fn is_write_blocked(&self) -> bool;

    /// Returns whether nothing more will be added to [`Drive::output`].
    fn is_closed(&self) -> bool;

    /// The deadline for flushing the final output, after the conversation has ended.
    fn flush_deadline(&self) -> Option<Instant>;

    /// Returns whether unwritten output can be dropped.
    fn is_aborted(&self) -> bool;
}

/// Runs one side of a conversation on `io` until it has ended.
///
/// Fails with the error of a read or a write. A peer that stops reading ends the conversation
/// without an error.
pub async fn drive(service: &mut impl Drive, io: &mut impl Io) -> io::Result<()> {
    let mut writing = Writing { flushed: true, delayed: false, closed: false };
    let mut polled = io.now();
    let ended = poll_fn(|context| poll_drive(service, io, &mut writing, &mut polled, context));
    let ended = ended.await;
    ended.or_else(|error| if is_gone(&error) { Ok(()) } else { Err(error) })
}

/// Returns whether an error means that the peer is gone.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

/// The most chunks that are read before other tasks run and a stop is checked.
const ROUNDS: usize = 16;

/// The most chunks that are read before deadlines that are due after a suspension: 16 MiB at most.
/// A peer that sends without end postpones no deadline any longer.
const MAX_LATE_READS: usize = 256;

/// The input of a poll.
struct PollInput {
    /// True if there is no more input.
    drained: bool,
    /// The number of chunks that may still be read before deadlines that are due.
    late_reads: usize,
}

/// The result of a read.
enum InputRead {
    /// None; if it has to wait, the reader wakes the task.
    Nothing,
    /// A chunk that the service has to handle in a turn.
    Chunk,
    /// A chunk, after which more is read before the turn.
    Late,
    End,
}

impl PollInput {
    fn read(
        &mut self,
        service: &mut impl Drive,
        io: &mut impl Io,
        now: Instant,
        context: &mut Context<'_>,
    ) -> io::Result<InputRead> {
        if self.drained || !service.wants_read() {
            return Ok(InputRead::Nothing);
        }
        Ok(match poll_read(service, io, now, context)? {
            Poll::Pending => {
                self.drained = true;
                InputRead::Nothing
            }
            Poll::Ready(0) => InputRead::End,
            Poll::Ready(_) => {
                let is_due = || service.poll_timeout().is_some_and(|at| at <= now);
                if self.late_reads > 0 && is_due() {
                    self.late_reads -= 1;
                    InputRead::Late
                } else {
                    InputRead::Chunk
                }
            }
        })
    }
}

/// The state of the output between two polls.
struct Writing {
    /// False if written output is to be flushed.
    flushed: bool,
    /// True if output has waited for other tasks, by [`Io::poll_delay`].
    delayed: bool,
    /// True if the peer has stopped reading, and the service has not reacted yet.
    closed: bool,
}

fn poll_drive(
    service: &mut impl Drive,
    io: &mut impl Io,
    writing: &mut Writing,
    polled: &mut Instant,
    context: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    // The reason of the wake is unknown, so the service gets a turn.
    let mut turns = true;
    if std::mem::take(&mut writing.delayed) {
        match write_output(service, io, writing, context)? {
            AfterWrite::Ended => return Poll::Ready(Ok(())),
            AfterWrite::Turn => {}
            // The service had its turn before the delay. Another one is 2 % of a call over HTTP.
            AfterWrite::Wait => turns = service.needs_turn(context.waker()),
        }
    }
    let mut now = io.now();
    ready!(io.poll_resumed(context, now));
    // After `Pending`, the reader wakes the task when there is more input.
    let late_reads = if *polled + SUSPENSION <= now { MAX_LATE_READS } else { 0 };
    *polled = now;
    let mut input = PollInput { drained: false, late_reads };
    let mut rounds = 0;
    while rounds < ROUNDS {
        let read = input.read(service, io, now, context)?;
        turns |= matches!(read, InputRead::Late | InputRead::End);
        if let InputRead::Late = read {
            continue;
        }
        let has_input = matches!(read, InputRead::Chunk);
        rounds += 1;
        if !turns && !has_input {
            // A stream that accepts writes but never completes a flush has a deadline too.
            let until = service.flush_deadline().filter(|_| !writing.flushed);
            let due = service.poll_timeout().into_iter().chain(until).min();
            if due.is_some_and(|at| io.poll_timer(context, at).is_ready()) {
                now = io.now();
            } else if poll_stop(service, io, now, context).is_pending() {
                return Poll::Pending;
            }
        }
        service.turn(now, context.waker());
        // If actions wait for a write, their turn must follow it.
        let may_delay = has_input && !service.output().is_empty() && !service.is_write_blocked();
        if may_delay && io.poll_delay(now, context).is_pending() {
            writing.delayed = true;
            return Poll::Pending;
        }
        turns = match write_output(service, io, writing, context)? {
            AfterWrite::Ended => return Poll::Ready(Ok(())),
            AfterWrite::Turn => true,
            AfterWrite::Wait => false,
        };
    }
    // With continuous input the loop above never polls this.
    let _ = poll_stop(service, io, now, context);
    context.waker().wake_by_ref();
    Poll::Pending
}

/// The next step after a write.
enum AfterWrite {
    /// The end of the conversation.
    Ended,
    /// A turn of the service, which has waited for the write.
    Turn,
    /// More input, a wake or a deadline.
    Wait,
}

/// Writes the output of a turn.
fn write_output(
    service: &mut impl Drive,
    io: &mut impl Io,
    writing: &mut Writing,
    context: &mut Context<'_>,
) -> io::Result<AfterWrite> {
    let is_write_blocked = service.is_write_blocked();
    let is_written = poll_write(service, io, writing, context)?.is_ready();
    if service.is_aborted() || service.is_closed() && is_written {
        return Ok(AfterWrite::Ended);
    }
    let is_due = is_written && (std::mem::take(&mut writing.closed) || is_write_blocked);
    Ok(if is_due { AfterWrite::Turn } else { AfterWrite::Wait })
}

/// Ready when all output is written and flushed, or the peer has stopped reading.
fn poll_write(
    service: &mut impl Drive,
    io: &mut impl Io,
    writing: &mut Writing,
    context: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    match poll_write_all(service, io, &mut writing.flushed, context) {
        Poll::Ready(Err(error)) if is_gone(&error) && service.handle_write_closed() => {
            writing.flushed = true;
            writing.closed = true;
            Poll::Ready(Ok(()))
        }
        written => written,
    }
}

/// Ready when all output is written and flushed.
fn poll_write_all(
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

/// Ready with the number of bytes that were read; 0 is the end of input.
fn poll_read(
    service: &mut impl Drive,
    io: &mut impl Io,
    now: Instant,
    context: &mut Context<'_>,
) -> Poll<io::Result<usize>> {
    let data = match ready!(io.poll_read(context)) {
        // A reset is handled like an end of input.
        Err(error) if is_gone(&error) => Bytes::new(),
        read => read?,
    };
    let count = data.len();
    if count == 0 {
        service.handle_eof(now);
    } else {
        service.handle_bytes(now, data);
    }
    Poll::Ready(Ok(count))
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
