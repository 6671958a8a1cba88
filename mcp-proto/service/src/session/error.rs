//! Errors of sessions.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use core::fmt;

use mcp_proto::server::InputFailure;
use mcp_proto::{ErrorCode, ErrorData, UsageError};

/// The reason why a message to a [`Session`](super::Session) was not sent, or got no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SessionError {
    /// The session has ended, or its connection, or the server.
    Closed,
    /// The client leaves too much output unread, as for
    /// [`Context::progress`](crate::Context::progress), or 1,024 messages wait for the service.
    Full,
    /// The message cannot be sent to this client: because of its era, revision or capabilities, of
    /// `Limits::max_in_flight` unanswered requests, or because the message is invalid.
    NotSent(UsageError),
    /// The client answered with an error.
    Refused(ErrorData),
    /// The client did not answer in time.
    TimedOut,
    /// The client's answer does not fit the request.
    InvalidAnswer {
        /// The method of the request.
        method: Cow<'static, str>,
        /// Fault in the answer.
        reason: String,
    },
}

impl SessionError {
    /// The error for a request to the client that has no answer.
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

    /// The reason for the server of a bridge, whose request to the client has no answer.
    pub(crate) fn into_failure(self) -> InputFailure {
        match self {
            Self::Refused(error) => InputFailure::Refused(error),
            Self::TimedOut => InputFailure::TimedOut,
            Self::InvalidAnswer { .. } => InputFailure::NotAnObject,
            Self::Closed => InputFailure::Closed,
            Self::NotSent(error @ UsageError::UndeclaredByClient { .. }) => {
                InputFailure::Refused(ErrorData::new(ErrorCode::INVALID_PARAMS, error.to_string()))
            }
            Self::Full | Self::NotSent(_) => {
                InputFailure::Refused(ErrorData::internal(self.to_string()))
            }
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
                "the queue of the client is full: too much unread output, or 1,024 messages",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_queue_is_not_reported_as_the_end_of_the_session() {
        let failure = SessionError::Full.into_failure();
        assert!(failure.to_string().contains("the queue of the client is full"), "{failure}");
        let failure = SessionError::from(UsageError::NotInFlight).into_failure();
        assert!(failure.to_string().contains("nothing is sent to the client"), "{failure}");
        let undeclared = UsageError::UndeclaredByClient { capability: "roots" };
        let failure = SessionError::from(undeclared).into_failure();
        let InputFailure::Refused(error) = failure else { panic!("{failure}") };
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
        assert_eq!(SessionError::Closed.into_failure(), InputFailure::Closed);
    }
}
