//! One suite for what every adapter does with servers that are its children.
//!
//! The tests of an adapter are an implementation of [`Child`] and
//! [`child_tests!`](crate::child_tests). Servers are scripts for `/bin/sh`. Nothing here sleeps:
//! every wait is for something that a server does, or for the end of its time.

mod checks;

use std::error::Error;
use std::io;
use std::process::ExitStatus;

use mcp_service::Command;

pub use checks::*;

/// A server that was started by an adapter. Every call waits until it is done.
pub trait Child: Sized {
    /// Starts a server.
    fn start(command: &Command) -> io::Result<Self>;

    /// Writes all of it to standard input.
    fn write(&mut self, data: &[u8]) -> io::Result<()>;

    /// Reads some of standard output.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Ends the server.
    fn end(self) -> io::Result<ExitStatus>;

    /// Begins to end the server, and drops what would have ended it.
    fn begin_to_end(self);
}

/// The suite as test functions, for a type that is a [`Child`].
#[macro_export]
macro_rules! child_tests {
    ($child:ty) => {
        $crate::child_tests! { $child:
            arguments_and_folder_arrive
            second_hour_25_a_safe_part_of_the_environment_is_inherited
            second_hour_25_the_whole_environment_is_inherited_on_demand
            a_cleared_environment_has_what_was_set
            stderr_goes_where_it_is_sent
            lines_of_stderr_arrive_in_order
            much_on_stderr_holds_nothing_up
            a_server_exits_at_the_end_of_its_input
            a_server_that_has_exited_already
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
    ($child:ty: $($check:ident)*) => {
        $(
            #[test]
            fn $check() -> $crate::children::Check {
                $crate::children::$check::<$child>()
            }
        )*
    };
}

/// What a check returns.
pub type Check = Result<(), Box<dyn Error>>;
