//! Traits of streams, sockets and clocks, which a runtime implements for drivers.
//!
//! Called by [`drive`](crate::drive) and by the functions of [`runtime`](crate::runtime). Each
//! `poll_*` arranges for the context's waker to be woken when it returns `Pending`.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;
use std::time::SystemTime;

use bytes::Bytes;

use crate::runtime::copy_input;
use mcp_proto::{Duration, Instant};

/// A boxed future, to be spawned.
pub type Spawned = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A clock and one timer.
///
/// Here, and in [`Reader`], [`Writer`] and [`Io`], a method that returns `Pending` must have the
/// waker of its context woken later. This applies even to a runtime that polls all tasks all the
/// time.
pub trait Clock {
    /// The monotonic time since an epoch of the adapter's choice, which all connections of a server
    /// share.
    fn now(&self) -> Instant;

    /// The time since the Unix epoch; default the system clock.
    fn unix_time(&self) -> Duration {
        unix_time()
    }

    /// Ready at `at`. A later call resets the timer.
    fn poll_timer(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()>;

    /// Ready, unless the process may have been suspended: then once the runtime has looked for the
    /// events of all streams. Drivers call this at the beginning of a poll, with its time. By
    /// default it is ready at once, for runtimes that see events of streams before timers.
    fn poll_resumed(&mut self, _context: &mut Context<'_>, _now: Instant) -> Poll<()> {
        Poll::Ready(())
    }
}

/// The time since the Unix epoch, by the system clock.
#[expect(clippy::disallowed_methods, reason = "a runtime is where time comes from")]
pub(crate) fn unix_time() -> Duration {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default()
}

/// The reading half of a stream.
pub trait Reader {
    /// Reads available bytes; empty bytes are the end of the stream.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>>;
}

/// The size of a read while messages are short, in bytes.
#[doc(hidden)]
pub const SHORT_CHUNK: usize = 16 * 1024;

/// The size of a read in a long message, in bytes: that of a pipe. Shorter reads wake the writer of
/// a full pipe more often, which costs a switch of tasks each time.
const LONG_CHUNK: usize = 64 * 1024;

std::thread_local! {
    /// True if the last read of this thread was in a long message, as far as can be told.
    static IS_LONG: Cell<bool> = const { Cell::new(false) };
    /// Memory for long reads of this thread, so that an idle stream needs none.
    static INPUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Returns whether the next read should be one of [`read_long_chunk`].
#[doc(hidden)]
#[inline]
pub fn expects_long_chunk() -> bool {
    IS_LONG.get()
}

/// A [copy](copy_input) of the bytes that were read into a buffer of [`SHORT_CHUNK`] bytes: a short
/// message in flight should not keep a long buffer alive.
#[doc(hidden)]
#[inline]
pub fn short_chunk(input: &[u8]) -> Bytes {
    IS_LONG.set(input.len() == SHORT_CHUNK);
    copy_input(input)
}

/// The result of [`Reader::poll_read`] for a `read` that appends to a buffer. A full buffer is not
/// copied.
#[doc(hidden)]
pub fn read_long_chunk(
    read: impl FnOnce(&mut Vec<u8>) -> Poll<io::Result<usize>>,
) -> Poll<io::Result<Bytes>> {
    let mut input = INPUT.try_with(Cell::take).unwrap_or_default();
    input.reserve(LONG_CHUNK);
    let chunk = read(&mut input).map_ok(|_| {
        IS_LONG.set(input.len() >= SHORT_CHUNK);
        if input.len() > LONG_CHUNK / 4 * 3 {
            return Bytes::from(core::mem::take(&mut input));
        }
        Bytes::copy_from_slice(&input)
    });
    input.clear();
    let _ = INPUT.try_with(|place| place.set(input));
    chunk
}

/// The writing half of a stream. Dropping it closes it.
pub trait Writer {
    /// Writes a part of `data`; returns the number of bytes.
    fn poll_write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>>;

    /// Flushes buffered bytes.
    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// A network connection, for concurrent reads and writes. Dropping it closes it.
pub trait Socket: Reader + Writer + Send {
    /// Returns whether the operating system has neither unread input nor the end of input for this
    /// socket. A busy reactor may not have polled the system, so query the system. The default is
    /// `true`, for streams without a system socket.
    fn is_quiet(&self) -> bool {
        true
    }
}

/// A stream with a clock and a stop signal.
pub trait Io: Reader + Writer + Clock {
    /// Ready, once, when the service is to stop.
    fn poll_stop(&mut self, context: &mut Context<'_>) -> Poll<()>;

    /// Ready if output is to be written at once, as by default. Otherwise it is written when the
    /// task is polled again. Called for the output after input.
    fn poll_delay(&mut self, _now: Instant, _context: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

/// A reading half, boxed.
pub type BoxReader = Box<dyn Reader + Send>;

/// A writing half, boxed.
pub type BoxWriter = Box<dyn Writer + Send>;

/// A stream made of two halves.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "it is a pair")]
pub struct Duplex<R, W> {
    /// The half that is read.
    pub reader: R,
    /// The half that is written.
    pub writer: W,
}

impl<R: Reader, W> Reader for Duplex<R, W> {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        self.reader.poll_read(context)
    }
}

impl<R, W: Writer> Writer for Duplex<R, W> {
    fn poll_write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.writer.poll_write(context, data)
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writer.poll_flush(context)
    }
}

impl<R: Reader + ?Sized> Reader for Box<R> {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        (**self).poll_read(context)
    }
}

impl<W: Writer + ?Sized> Writer for Box<W> {
    fn poll_write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        (**self).poll_write(context, data)
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        (**self).poll_flush(context)
    }
}

impl<S: Socket + ?Sized> Socket for Box<S> {
    fn is_quiet(&self) -> bool {
        (**self).is_quiet()
    }
}

impl<C: Clock + ?Sized> Clock for &mut C {
    fn now(&self) -> Instant {
        (**self).now()
    }

    fn unix_time(&self) -> Duration {
        (**self).unix_time()
    }

    fn poll_timer(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        (**self).poll_timer(context, at)
    }

    fn poll_resumed(&mut self, context: &mut Context<'_>, now: Instant) -> Poll<()> {
        (**self).poll_resumed(context, now)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A clock whose calendar is not that of the system.
    pub(crate) struct Calendar;

    impl Clock for Calendar {
        fn now(&self) -> Instant {
            Instant::ZERO
        }

        fn unix_time(&self) -> Duration {
            Duration::from_secs(7)
        }

        fn poll_timer(&mut self, _: &mut Context<'_>, _: Instant) -> Poll<()> {
            Poll::Pending
        }
    }

    #[test]
    fn a_borrowed_clock_has_the_time_of_its_owner() {
        assert_eq!(time(&&mut Calendar), Duration::from_secs(7));
    }

    /// Reads up to `count` bytes of a stream that has them ready.
    fn read(count: usize) -> Bytes {
        if !expects_long_chunk() {
            let input = [b'x'; SHORT_CHUNK];
            return short_chunk(&input[..count.min(SHORT_CHUNK)]);
        }
        let chunk = read_long_chunk(|input| {
            input.resize(count.min(LONG_CHUNK), b'x');
            Poll::Ready(Ok(count))
        });
        let Poll::Ready(Ok(chunk)) = chunk else { panic!("it is ready") };
        chunk
    }

    #[test]
    fn chunks_are_long_after_one_that_filled_its_buffer() {
        let all = usize::MAX;
        let most = LONG_CHUNK / 4 * 3;
        let sizes = [7, all, all, most, most + 1, SHORT_CHUNK, 7, all, 0, all, all];
        let (short, long) = (SHORT_CHUNK, LONG_CHUNK);
        let read_sizes = [7, short, long, most, most + 1, short, 7, short, 0, short, long];
        let chunks = sizes.map(read);
        assert_eq!(chunks.each_ref().map(Bytes::len), read_sizes);
        assert!(chunks.iter().flatten().all(|byte| *byte == b'x'));
    }

    #[test]
    fn chunk_has_nothing_of_a_read_that_failed() {
        read(SHORT_CHUNK);
        let failed = read_long_chunk(|input| {
            input.push(b'y');
            Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
        });
        assert!(matches!(failed, Poll::Ready(Err(_))));
        let pending = read_long_chunk(|input| {
            input.push(b'y');
            Poll::Pending
        });
        assert!(pending.is_pending());
        assert_eq!(read(7), "xxxxxxx");
    }

    fn time(clock: &impl Clock) -> Duration {
        clock.unix_time()
    }
}
