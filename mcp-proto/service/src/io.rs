//! Traits of streams, sockets and clocks, which a runtime implements for drivers.
//!
//! Called by [`drive`](crate::drive) and by the functions of [`runtime`](crate::runtime). Each
//! `poll_*` arranges for the context's waker to be woken when it returns `Pending`.

use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;
use std::time::SystemTime;

use bytes::Bytes;

use mcp_proto::{Duration, Instant};

/// A boxed future, to be spawned.
pub type Spawned = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A clock and one timer.
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

    fn time(clock: &impl Clock) -> Duration {
        clock.unix_time()
    }
}
