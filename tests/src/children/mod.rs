//! One suite for what every adapter does with servers that are its children.
//!
//! The tests of an adapter are an implementation of [`Host`] with its runtime, and
//! [`child_tests!`](crate::child_tests). Servers are scripts for `/bin/sh`. Nothing here sleeps:
//! every wait is for something that a server does, or for the end of its time.

mod checks;

use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::process::ExitStatus;
use std::task::Poll;

use bytes::Bytes;
use mcp_service::runtime::{Process, Runtime};
use mcp_service::{Command, Reader, Writer};

pub use checks::*;

/// Something that drives a runtime.
pub trait Host {
    /// The runtime.
    type Runtime: Runtime;

    /// Runs a function with the runtime to its end.
    fn block_on<T>(f: impl AsyncFnOnce(Self::Runtime) -> T) -> T;
}

/// A server that was started on a runtime. Every method blocks until it is done.
#[derive(Debug)]
pub struct Server<H: Host> {
    process: Process<H::Runtime>,
    /// The rest of what was read from standard output.
    unread: Bytes,
}

impl<H: Host> Server<H> {
    /// Starts a server.
    pub fn start(command: &Command) -> io::Result<Self> {
        H::block_on(async |runtime| Process::start(&runtime, command).map(Self::of))
    }

    fn of(process: Process<H::Runtime>) -> Self {
        Self { process, unread: Bytes::new() }
    }

    /// Writes all of it to standard input.
    pub fn write(&mut self, mut data: &[u8]) -> io::Result<()> {
        let stdin = &mut self.process.stream.writer;
        H::block_on(async |_| {
            while !data.is_empty() {
                let count = poll_fn(|context| stdin.poll_write(context, data)).await?;
                data = data.get(count..).unwrap_or_default();
            }
            poll_fn(|context| stdin.poll_flush(context)).await
        })
    }

    /// Reads some of standard output; nothing is its end.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stdout = &mut self.process.stream.reader;
        if self.unread.is_empty() {
            self.unread =
                H::block_on(async |_| poll_fn(|context| stdout.poll_read(context)).await)?;
        }
        let count = self.unread.len().min(buffer.len());
        let read = self.unread.split_to(count);
        io::Read::read(&mut read.as_ref(), buffer)
    }

    /// Ends the server.
    pub fn end(self) -> io::Result<ExitStatus> {
        H::block_on(async |runtime| self.process.end(&mut runtime.timer()).await)
    }

    /// Begins to end the server, and drops what would have ended it.
    ///
    /// # Panics
    ///
    /// If the server has ended at once.
    pub fn begin_to_end(self) {
        H::block_on(async |runtime| {
            let mut timer = runtime.timer();
            let mut ending = pin!(self.process.end(&mut timer));
            let polled = poll_fn(|context| Poll::Ready(ending.as_mut().poll(context))).await;
            assert!(polled.is_pending(), "it has ended");
        });
    }
}

/// The suite as test functions, for a [`Host`].
#[macro_export]
macro_rules! child_tests {
    ($host:ty) => {
        $crate::child_tests! { $host:
            arguments_and_folder_arrive
            second_hour_25_a_safe_part_of_the_environment_is_inherited
            second_hour_25_the_whole_environment_is_inherited_on_demand
            a_cleared_environment_has_what_was_set
            stderr_goes_where_it_is_sent
            lines_of_stderr_arrive_in_order
            much_on_stderr_holds_nothing_up
            a_server_exits_at_the_end_of_its_input
            a_server_that_has_exited_already
            output_of_a_failed_server_ends_although_a_grandchild_keeps_the_pipe
            output_of_a_grandchild_is_read_after_its_launcher_has_exited
            a_grandchild_that_outlives_its_launcher_can_flush_its_output
            sigterm_ends_a_server_that_ignores_the_end
            a_server_has_its_time_after_sigterm
            a_server_that_ignores_everything_is_killed
            a_server_that_never_stops_writing_is_killed
            what_is_flushed_at_the_end_is_read
            what_does_not_start_is_named
            a_server_that_is_dropped_is_killed
            a_server_whose_end_is_dropped_is_killed
            what_is_still_on_its_way_is_told
            who_else_keeps_stderr_is_not_waited_for
            second_hour_24_grandchildren_end_after_their_parent
            second_hour_24_grandchildren_are_killed_with_their_parent
            second_hour_24_grandchildren_of_a_dropped_server_are_killed
            second_hour_24_a_stopped_server_ends_by_sigterm
        }
    };
    ($host:ty: $($check:ident)*) => {
        $(
            #[test]
            fn $check() -> $crate::children::Check {
                $crate::children::$check::<$host>()
            }
        )*
    };
}

/// Result of a check.
pub type Check = Result<(), Box<dyn Error>>;
