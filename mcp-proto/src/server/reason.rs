//! The reasons of a server's deadlines.

use super::{InputId, PingId};

/// What a deadline is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Reason {
    Drain,
    /// The oldest request in flight: handlers all have the same time, so it is due first.
    Handler,
    /// The input that a request waits for, by the serial number of the request.
    Input(u64),
    /// The answer to a ping.
    Ping(PingId),
    /// The answer to a request for input that belongs to no request.
    SessionInput(InputId),
}
