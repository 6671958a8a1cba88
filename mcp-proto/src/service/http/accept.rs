//! What the loops of all adapters that accept connections know of it. Their sockets, timers and
//! tasks are their own.
//!
//! In: a failure to accept. Out: how long to wait. Called by adapters.

use std::io;

use super::HttpServer;
use crate::time::Duration;

/// How long to wait when the system has no room for another connection.
const NO_ROOM: Duration = Duration::from_millis(50);

/// How long connections may take to close beyond `Limits::drain`.
const GRACE: Duration = Duration::from_millis(500);

impl HttpServer {
    /// How long to wait before the next connection is accepted, after one could not be: 50 ms if
    /// the system has no room, as with too many open files; `None` if that one alone is gone.
    pub fn pause_after(error: &io::Error) -> Option<Duration> {
        let is_of_one = matches!(
            error.kind(),
            io::ErrorKind::ConnectionAborted
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionRefused
                | io::ErrorKind::Interrupted
        );
        (!is_of_one).then_some(NO_ROOM)
    }

    /// How long connections may take to close once the server is to stop: `Limits::drain`, and
    /// 500 ms to write the last answers. What is left is to be cut off.
    pub fn patience(&self) -> Duration {
        self.config().server.limits.drain + GRACE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_is_gone_keeps_nobody_waiting() {
        for (kind, pause) in [
            (io::ErrorKind::ConnectionAborted, None),
            (io::ErrorKind::ConnectionReset, None),
            (io::ErrorKind::Interrupted, None),
            (io::ErrorKind::PermissionDenied, Some(NO_ROOM)),
            (io::ErrorKind::OutOfMemory, Some(NO_ROOM)),
            (io::ErrorKind::Other, Some(NO_ROOM)),
        ] {
            assert_eq!(HttpServer::pause_after(&kind.into()), pause, "{kind}");
        }
        // EMFILE, of which Rust knows no kind.
        assert_eq!(HttpServer::pause_after(&io::Error::from_raw_os_error(24)), Some(NO_ROOM));
    }
}
