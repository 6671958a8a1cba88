//! `CallError`: the reason that a call has no result.

use alloc::string::String;
use core::fmt;

use super::connect_error::ConnectError;
use crate::challenge::Unauthorized;
use crate::error::{EmitError, ProtocolError, UsageError};
use crate::message::ErrorData;

/// The reason that a call has no result.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum CallError {
    /// The server has answered with an error.
    Error {
        /// The error.
        error: ErrorData,
        /// Over HTTP, the status that it came with.
        status: Option<u16>,
    },
    /// The server's answer cannot be used.
    Protocol(ProtocolError),
    /// There was no answer in time; a server that was asked is told that none is wanted.
    TimedOut,
    /// The application has cancelled it.
    Cancelled,
    /// The application has refused to give input.
    InputRefused(ErrorData),
    /// There was no connection; the server has not executed the call.
    Connect(ConnectError),
    /// The connection has ended. The call was not sent, or its method is idempotent.
    Closed,
    /// The connection ended, or whoever drove the client stopped, after the call was sent and before
    /// the response. The server may have executed the call, so it is not sent again.
    Interrupted,
    /// Over HTTP: the server wants to know who asks.
    Unauthorized(Unauthorized),
    /// Over HTTP: the server has answered with this status, and with nothing that says more.
    Http {
        /// The status.
        status: u16,
    },
    /// Over HTTP: there was no connection, or it broke before the answer, for this reason.
    Connection(String),
    /// Over HTTP: a legacy server has forgotten the session in which the call was in flight. It may
    /// have executed the call. Another session is opened.
    SessionExpired,
    /// Over HTTP: an argument cannot be repeated in a header; nothing was sent.
    Header(EmitError),
    /// It could not be made.
    Usage(UsageError),
}

impl CallError {
    /// Returns whether the server may have executed the call. If not, the call can be made again
    /// without the risk of a second execution.
    pub fn may_have_been_executed(&self) -> bool {
        match self {
            Self::Error { .. }
            | Self::Protocol(_)
            | Self::TimedOut
            | Self::Cancelled
            | Self::InputRefused(_)
            | Self::Http { .. }
            | Self::Connection(_)
            | Self::Interrupted
            | Self::SessionExpired => true,
            Self::Connect(_)
            | Self::Closed
            | Self::Unauthorized(_)
            | Self::Header(_)
            | Self::Usage(_) => false,
        }
    }

    /// The same as the reason that there is no connection.
    pub(super) fn into_connect_error(self) -> Option<ConnectError> {
        match self {
            Self::Unauthorized(unauthorized) => Some(ConnectError::Unauthorized(unauthorized)),
            Self::Http { status } => Some(ConnectError::Http { status }),
            Self::Connection(failure) => Some(ConnectError::Connection(failure)),
            Self::Error { error, .. } => Some(ConnectError::Refused(error)),
            Self::Protocol(_)
            | Self::TimedOut
            | Self::Cancelled
            | Self::InputRefused(_)
            | Self::Connect(_)
            | Self::Closed
            | Self::Interrupted
            | Self::SessionExpired
            | Self::Header(_)
            | Self::Usage(_) => None,
        }
    }
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

/// The same text: it is what `main` prints of an error that it returns.
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
            | Self::Http { .. }
            | Self::Connection(_)
            | Self::SessionExpired => None,
        }
    }
}
