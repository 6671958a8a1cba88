//! The reasons for which nothing is sent to a session, or no answer comes.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

use mcp_proto::ErrorData;
use mcp_proto::UsageError;
use mcp_proto::server::InputFailure;

/// The reason for which a [`Session`](super::Session) was not sent something, or has not answered.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum SessionError {
    /// The session has ended, or its connection, or the server.
    Closed,
    /// Too much waits for the client: more than 1 MiB that it has not read, or 1,024 messages that
    /// the service has not taken.
    Full,
    /// It cannot be sent to this client: its era, its revision, its capabilities, the bound of
    /// requests that it has not answered (`Limits::max_in_flight`), or what is to be sent.
    NotSent(UsageError),
    /// The client answered with an error.
    Refused(ErrorData),
    /// The client did not answer in time.
    TimedOut,
    /// The client's answer is not what was asked for.
    InvalidAnswer {
        /// The method of the request.
        method: Cow<'static, str>,
        /// Fault in the answer.
        reason: String,
    },
}

impl SessionError {
    /// The reason for which a request to the client has no answer.
    pub(super) fn unanswered(failure: InputFailure, method: Cow<'static, str>) -> Self {
        match failure {
            InputFailure::Refused(error) => Self::Refused(error),
            InputFailure::NotAnObject => {
                Self::InvalidAnswer { method, reason: "it is no JSON object".into() }
            }
            InputFailure::TimedOut => Self::TimedOut,
            _ => Self::Closed,
        }
    }
}

impl From<UsageError> for SessionError {
    fn from(error: UsageError) -> Self {
        if error == UsageError::Closed { Self::Closed } else { Self::NotSent(error) }
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the session has ended"),
            Self::Full => f.write_str(
                "the client is sent nothing more: more than 1 MiB is unread, or 1,024 messages wait",
            ),
            Self::NotSent(error) => write!(f, "nothing is sent to the client: {error}"),
            Self::Refused(error) => write!(f, "the client refused: {error}"),
            Self::TimedOut => f.write_str("the client did not answer in time"),
            Self::InvalidAnswer { method, reason } => {
                write!(f, "the client's answer to `{method}` is invalid: {reason}")
            }
        }
    }
}

impl core::error::Error for SessionError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::NotSent(error) => Some(error),
            Self::Refused(error) => Some(error),
            Self::Closed | Self::Full | Self::TimedOut | Self::InvalidAnswer { .. } => None,
        }
    }
}
