//! `CallError`: the reason why a call has no result.

use alloc::string::String;
use core::fmt;

use super::connect_error::ConnectError;
use crate::challenge::Unauthorized;
use crate::error::{EmitError, ErrorCode, ProtocolError, UsageError};
use crate::message::ErrorData;

/// The reason why a call has no result.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// The server has answered with an error.
    Error {
        /// The error.
        error: ErrorData,
        /// Over HTTP, the status of the response with the error.
        status: Option<u16>,
    },
    /// The server's answer cannot be used.
    Protocol(ProtocolError),
    /// There was no answer in time. If the request was sent, the server gets a cancellation.
    TimedOut,
    /// The application has cancelled the call, or the server has cancelled its task.
    Cancelled,
    /// The application has refused to give input.
    InputRefused(ErrorData),
    /// There was no connection. The call was not sent, or its method is idempotent.
    Connect(ConnectError),
    /// The connection has ended. The call was not sent, or its method is idempotent.
    Closed,
    /// The connection or the driver of the client ended after the call was sent and before the
    /// response. The server may have executed the call, so it is not sent again. A request for
    /// input is not the response: the handler that has asked may have done a part of its work. If
    /// the driver was dropped, calls that were not sent fail with this error too.
    Interrupted,
    /// The server does not know the task of the call: the task has expired, or never existed.
    TaskGone {
        /// The id of the task.
        task_id: String,
    },
    /// The call no longer follows its task: the connection has ended, the server has become legacy,
    /// the server has refused a poll unread, or the application has detached the task. The task
    /// continues at the server, unless the server has ended too; see [`Client::follow_task`].
    ///
    /// [`Client::follow_task`]: super::Client::follow_task
    TaskLeft {
        /// The id of the task.
        task_id: String,
    },
    /// Over HTTP: the server requires authentication. It has not executed the call, unless
    /// [`Unauthorized::has_task`] is true.
    Unauthorized(Unauthorized),
    /// Over HTTP: the server has answered with this status, without further details. By 413, 414,
    /// 415 and 431 it refuses the request before it reads the message.
    Http {
        /// The status.
        status: u16,
    },
    /// Over HTTP: the connection broke before the answer. Holds the reason.
    Connection(String),
    /// Over HTTP: a legacy server has lost the session in which the call was in flight. The server
    /// may have executed the call. The client opens another session.
    SessionExpired,
    /// Over HTTP: an argument cannot be mirrored in a header; nothing was sent.
    Header(EmitError),
    /// The request could not be made.
    Usage(UsageError),
}

impl CallError {
    /// Returns whether the server may have executed the call, as far as that matters. If not, the
    /// call can be made again: it was not executed, or its method is idempotent.
    pub fn may_have_been_executed(&self) -> bool {
        match self {
            Self::Error { status: Some(status), .. } | Self::Http { status } => !is_unread(*status),
            Self::Error { status: None, .. }
            | Self::Protocol(_)
            | Self::TimedOut
            | Self::Cancelled
            | Self::InputRefused(_)
            | Self::Connection(_)
            | Self::Interrupted
            | Self::TaskGone { .. }
            | Self::TaskLeft { .. }
            | Self::SessionExpired => true,
            Self::Unauthorized(unauthorized) => unauthorized.has_task,
            Self::Connect(_) | Self::Closed | Self::Header(_) | Self::Usage(_) => false,
        }
    }

    /// The error of a call whose task goes on at the server.
    pub(super) fn of_task(self, task_id: &str) -> Self {
        if let Self::Unauthorized(unauthorized) = self {
            return Self::Unauthorized(Unauthorized { has_task: true, ..unauthorized });
        }
        let is_true = self.may_have_been_executed();
        if is_true { self } else { Self::TaskLeft { task_id: task_id.into() } }
    }

    /// The error of a call that the server had accepted before it refused the rest of the answer,
    /// or the input that it had asked for.
    pub(crate) fn of_accepted_call(self) -> Self {
        if self.may_have_been_executed() { self } else { Self::Interrupted }
    }

    /// A copy to keep while the call waits, apart from the bytes that it came in. `None` if the
    /// error is too long to be kept for each call.
    pub(super) fn to_keep(&self) -> Option<Self> {
        let Self::Error { error, status } = self else { return Some(self.clone()) };
        let keep = || Self::Error { error: error.clone().detach(), status: *status };
        (!error.is_long()).then(keep)
    }

    /// Returns whether the server does not support the protocol version of the request.
    pub(super) fn is_of_version(&self) -> bool {
        matches!(self, Self::Error { error, .. } if error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION)
    }

    /// The same reason as a `ConnectError`.
    pub(super) fn into_connect_error(self) -> Option<ConnectError> {
        match self {
            Self::Unauthorized(unauthorized) => Some(ConnectError::Unauthorized(unauthorized)),
            Self::Http { status } => Some(ConnectError::Http { status }),
            Self::Connection(failure) => Some(ConnectError::Connection(failure)),
            Self::Error { error, .. } => Some(ConnectError::refused(error)),
            Self::Connect(error) => Some(error),
            Self::Protocol(_)
            | Self::TimedOut
            | Self::Cancelled
            | Self::InputRefused(_)
            | Self::Closed
            | Self::Interrupted
            | Self::TaskGone { .. }
            | Self::TaskLeft { .. }
            | Self::SessionExpired
            | Self::Header(_)
            | Self::Usage(_) => None,
        }
    }
}

/// Returns whether the server refuses requests by this status before it reads the message: 413, 414
/// and 431 are for their length, and 415 is for their `Content-Type`. Handlers answer with 2xx.
fn is_unread(status: u16) -> bool {
    matches!(status, 413 | 414 | 415 | 431)
}

/// Returns whether a later repetition may succeed after this HTTP status.
pub(super) fn is_temporary(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500..=599)
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error { error, .. } => fmt::Display::fmt(error, f),
            Self::Protocol(error) => fmt::Display::fmt(error, f),
            Self::TimedOut => f.write_str("no answer in time; see CallOptions::timeout"),
            Self::Cancelled => f.write_str("the call was cancelled"),
            Self::InputRefused(error) => write!(f, "input was refused: {error}"),
            Self::Connect(error) => fmt::Display::fmt(error, f),
            Self::Closed => f.write_str("the connection has closed"),
            Self::Interrupted => f.write_str(
                "the connection has ended before the response; the server may have executed the call",
            ),
            Self::TaskGone { task_id } => {
                write!(f, "the server has no task {}", Shortened(task_id))
            }
            Self::TaskLeft { task_id } => {
                write!(f, "task {} is not followed any more; it goes on", Shortened(task_id))
            }
            Self::Unauthorized(unauthorized) => fmt::Display::fmt(unauthorized, f),
            Self::Http { status } => write!(f, "the server has answered with HTTP status {status}"),
            Self::Connection(failure) => write!(f, "the connection has failed: {failure}"),
            Self::SessionExpired => f.write_str(
                "the session has expired before the response; the server may have executed the call",
            ),
            Self::Header(error) => fmt::Display::fmt(error, f),
            Self::Usage(error) => fmt::Display::fmt(error, f),
        }
    }
}

/// The shortened id of a task: without principals, anybody who knows the id can access the task.
struct Shortened<'a>(&'a str);

impl fmt::Display for Shortened<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(8).and_then(|(end, _)| self.0.get(..end)) {
            Some(start) => write!(f, "`{start}…`"),
            None => write!(f, "`{}`", self.0),
        }
    }
}

/// Shows the text of `Display`, because `main` prints a returned error with `Debug`.
impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for CallError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Error { error, .. } | Self::InputRefused(error) => Some(error),
            Self::Protocol(error) => Some(error),
            Self::Connect(error) => Some(error),
            Self::Usage(error) => Some(error),
            Self::Unauthorized(unauthorized) => Some(unauthorized),
            Self::Header(error) => Some(error),
            Self::TimedOut
            | Self::Cancelled
            | Self::Closed
            | Self::Interrupted
            | Self::TaskGone { .. }
            | Self::TaskLeft { .. }
            | Self::Http { .. }
            | Self::Connection(_)
            | Self::SessionExpired => None,
        }
    }
}
