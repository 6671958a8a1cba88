//! The end of a client's connection.
//!
//! In: causes, reported by the machine, the application and the adapter; the first one counts, but
//! the failure to start the server again replaces the end of the server before. Out: [`Closed`],
//! for all tasks that wait for it.

use alloc::string::{String, ToString};
use core::error::Error;
use core::fmt;
use std::io;
use std::process::ExitStatus;

use mcp_proto::client::ConnectError;

/// The end of a client's connection: its cause, and the exit status of a server that is a child
/// process. See [`Client::closed`](super::Client::closed).
///
/// ```
/// use mcp_proto::client::ConnectError;
/// use mcp_service::{CloseCause, Closed};
///
/// let closed = Closed::new(CloseCause::Connect(ConnectError::Http { status: 404 }));
/// assert_eq!(closed.to_string(), "the server has answered with HTTP status 404");
/// assert_eq!(Closed::new(CloseCause::Ended).to_string(), "the server has ended the connection");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Closed {
    /// Cause of the end.
    pub cause: CloseCause,
    /// Exit status of the server; `None` if the server is no child process, or if its status is
    /// unknown.
    pub exit: Option<ExitStatus>,
}

/// Cause of the end of a client's connection.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CloseCause {
    /// [`Client::close`](super::Client::close) was called.
    Requested,
    /// The server has closed its output. A server that is a child process has exited, or was killed
    /// after that.
    Ended,
    /// No connection was made, or a later negotiation on the stream failed, for this reason.
    Connect(ConnectError),
    /// Reading, writing, or starting the server again has failed.
    Io {
        /// The kind of the error.
        kind: io::ErrorKind,
        /// Its text.
        message: String,
    },
    /// The future that drove the client was dropped.
    Dropped,
}

impl Closed {
    /// The end of a connection, without an exit status.
    pub fn new(cause: CloseCause) -> Self {
        Self { cause, exit: None }
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            CloseCause::Requested => f.write_str("the client was closed")?,
            CloseCause::Ended => f.write_str("the server has ended the connection")?,
            CloseCause::Connect(error) => error.fmt(f)?,
            CloseCause::Io { message, .. } => f.write_str(message)?,
            CloseCause::Dropped => f.write_str("the driver of the client was dropped")?,
        }
        match self.exit {
            Some(exit) => write!(f, " ({exit})"),
            None => Ok(()),
        }
    }
}

impl Error for Closed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.cause {
            CloseCause::Connect(error) => Some(error),
            CloseCause::Requested
            | CloseCause::Ended
            | CloseCause::Io { .. }
            | CloseCause::Dropped => None,
        }
    }
}

/// The known facts about the end of a connection.
#[derive(Debug, Default)]
pub(super) struct Ending {
    cause: Option<CloseCause>,
    exit: Option<ExitStatus>,
}

impl Ending {
    /// The end by an error of a stream or a process.
    pub(super) fn of(error: &io::Error) -> Self {
        let mut ending = Self::default();
        ending.fail(error);
        ending
    }

    /// Records the cause of the end, unless there is one already.
    pub(super) fn begin(&mut self, cause: CloseCause) {
        self.cause.get_or_insert(cause);
    }

    /// Records an error of a stream or a process as the cause, unless there is one already.
    pub(super) fn fail(&mut self, error: &io::Error) {
        self.begin(CloseCause::Io { kind: error.kind(), message: error.to_string() });
    }

    /// Records the exit status of the server's process.
    pub(super) fn exited(&mut self, status: ExitStatus) {
        self.exit = Some(status);
    }

    /// Returns the end; no more facts follow.
    pub(super) fn finish(&mut self) -> Closed {
        Closed { cause: self.cause.take().unwrap_or(CloseCause::Dropped), exit: self.exit }
    }
}
