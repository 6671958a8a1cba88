//! `ConnectError`: the reason why a client has no connection.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::challenge::Unauthorized;
use crate::message::ErrorData;

/// The reason why there is no connection.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectError {
    /// The server supports these versions, and the client supports none of them.
    NoCommonVersion {
        /// The versions that the server has named: the first 16, and 64 characters of each. Empty
        /// if the server has named none.
        supported: Vec<String>,
    },
    /// The server has answered with an error. An error of more than 16 KiB has no data and the
    /// first 1,000 characters of its message.
    Refused(ErrorData),
    /// The server's answer cannot be read.
    Malformed,
    /// The server has not answered in time.
    TimedOut,
    /// The stream has ended before the server was known.
    Closed,
    /// The stream of a known server has ended. [`Config::restart`](super::Config::restart) lets the
    /// client connect again.
    Lost,
    /// Over HTTP: the server requires authentication.
    Unauthorized(Unauthorized),
    /// Over HTTP: the server has answered with this status, without further details.
    Http {
        /// The status.
        status: u16,
    },
    /// Over HTTP: there is no connection to the server. Holds the reason.
    Connection(String),
    /// Over HTTP+SSE: the server names an endpoint of another origin, which must not get
    /// credentials; see [`http::client::Config::trusts_endpoint_origin`].
    ///
    /// [`http::client::Config::trusts_endpoint_origin`]: crate::http::client::Config::trusts_endpoint_origin
    ForeignEndpoint {
        /// The origin of the endpoint.
        endpoint: String,
        /// The origin of the server.
        server: String,
    },
}

impl ConnectError {
    /// The error of a server; every call that waits gets a copy.
    pub(super) fn refused(error: ErrorData) -> Self {
        Self::Refused(error.limited())
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCommonVersion { supported } if supported.is_empty() => {
                f.write_str("the server speaks no version that the client may speak")
            }
            Self::NoCommonVersion { supported } => {
                write!(f, "the server speaks no version that the client may speak, but ")?;
                f.write_str(&supported.join(", "))
            }
            Self::Refused(error) => write!(f, "the server has refused: {error}"),
            Self::Malformed => f.write_str("the server's answer cannot be read"),
            Self::TimedOut => f.write_str("the server has not answered in time"),
            Self::Closed => f.write_str("the connection has ended before the server was known"),
            Self::Lost => f.write_str("the connection to the server has ended"),
            Self::Unauthorized(unauthorized) => fmt::Display::fmt(unauthorized, f),
            Self::Http { status } => write!(f, "the server has answered with HTTP status {status}"),
            Self::Connection(failure) => write!(f, "no connection to the server: {failure}"),
            Self::ForeignEndpoint { endpoint, server } => {
                write!(
                    f,
                    "the endpoint of the server is of the origin {endpoint}, and not of {server}; "
                )?;
                f.write_str("if both are the same server, set `trusts_endpoint_origin`")
            }
        }
    }
}

/// Shows the text of `Display`, because `main` prints a returned error with `Debug`.
impl fmt::Debug for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for ConnectError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Refused(error) => Some(error),
            Self::Unauthorized(unauthorized) => Some(unauthorized),
            Self::NoCommonVersion { .. }
            | Self::Malformed
            | Self::TimedOut
            | Self::Closed
            | Self::Lost
            | Self::Http { .. }
            | Self::Connection(_)
            | Self::ForeignEndpoint { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use core::error::Error;

    use alloc::string::ToString;

    use super::*;
    use crate::error::ErrorCode;
    use crate::message::ErrorData;

    #[test]
    fn error_shows_its_text_and_its_source() {
        let refused = ConnectError::Refused(ErrorData::new(ErrorCode(-32000), "no"));
        assert_eq!(refused.to_string(), "the server has refused: no (-32000)");
        assert_eq!(alloc::format!("{refused:?}"), refused.to_string());
        assert_eq!(refused.source().unwrap().to_string(), "no (-32000)");
        assert!(ConnectError::TimedOut.source().is_none());
    }
}
