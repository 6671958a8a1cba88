//! Failures of commands, and their exit codes.
//!
//! In: the errors of a client. Out: a [`Failure`]: an [`Exit`], a message, and advice.

use std::fmt;

use mcp_service::runtime::{NOT_TLS, UNTRUSTED};
use mcp_tokio::mcp_proto::http::Unauthorized;
use mcp_tokio::{CallError, ConnectError, ProtocolVersion, UsageError};

use crate::refusals::{self, Refusal};

/// Exit code of the program; `args` describes each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Exit {
    Fine = 0,
    Tool = 1,
    Usage = 2,
    Connection = 3,
    Protocol = 4,
    Rpc = 5,
    Timeout = 6,
    Unauthorized = 7,
    Schema = 8,
    Differs = 9,
    /// As in shells: 128 plus the number of SIGINT.
    Interrupted = 130,
}

impl Exit {
    /// Its name for programs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Tool => "tool",
            Self::Usage => "usage",
            Self::Connection => "connection",
            Self::Protocol => "protocol",
            Self::Rpc => "json-rpc",
            Self::Timeout => "timeout",
            Self::Unauthorized => "unauthorized",
            Self::Schema => "schema",
            Self::Differs => "differs",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Reason why a command has no result.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// Error in one line.
    pub(crate) message: String,
    /// Advice on what to do about it.
    pub(crate) advice: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self { exit, message: message.to_string(), advice: None }
    }

    /// The command line is invalid.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Drops advice about a URL, for a server that was started by a command, or that has answered
    /// before.
    pub(crate) fn without_url(self) -> Self {
        let advice =
            self.advice.as_deref().and_then(|advice| match advice.strip_suffix(NO_ENDPOINT) {
                Some(rest) => rest.strip_suffix("; or "),
                None => Some(advice),
            });
        Self { advice: advice.map(str::to_owned), ..self }
    }

    /// Returns whether the URL may not be that of an MCP endpoint.
    pub(crate) fn suspects_url(&self) -> bool {
        if self.advice.as_deref().is_some_and(|advice| advice.starts_with(SAME_SERVER)) {
            return false;
        }
        match self.exit {
            Exit::Protocol | Exit::Connection | Exit::Timeout => true,
            Exit::Fine
            | Exit::Tool
            | Exit::Usage
            | Exit::Rpc
            | Exit::Unauthorized
            | Exit::Schema
            | Exit::Differs
            | Exit::Interrupted => false,
        }
    }

    fn unauthorized(unauthorized: &Unauthorized) -> Self {
        let scope = unauthorized.token_param("scope");
        let scope = scope.map(|scope| format!(" with the scope {scope:?}")).unwrap_or_default();
        let mut shown = unauthorized.clone();
        shown.message = shown.message.or_else(|| refusals::of(shown.status).reason);
        let message = match (&unauthorized.sign_in, &shown.message) {
            // The server may have refused the request for another reason than its credentials.
            (Some(reason), Some(said)) => {
                format!(
                    "the sign-in failed: {reason}; the server says: {}",
                    refusals::excerpt(said)
                )
            }
            (Some(reason), None) => format!("the sign-in failed: {reason}"),
            (None, _) => shown.to_string(),
        };
        Self::new(Exit::Unauthorized, message).advice(format!(
            "run `mcp login` with the URL; or put a token{scope} into the environment variable \
             MCP_TOKEN, or into another one that --bearer-env names; other credentials are for --header"
        ))
    }

    fn status(status: u16) -> Self {
        let Refusal { location, reason } = refusals::of(status);
        let has_reason = reason.is_some();
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let message = match status {
            200..300 => format!("the server's answer with HTTP status {status} has no response"),
            _ => format!("the server has answered with HTTP status {status}{reason}"),
        };
        match status {
            // A server of web pages may not know the path or POST, and may give a reason.
            404 | 405 | 410 | 501 => Self::new(Exit::Protocol, message).advice(NO_ENDPOINT),
            500.. if !has_reason => Self::new(Exit::Connection, message)
                .advice(format!("try again later; or {NO_ENDPOINT}")),
            408 | 425 | 429 | 500.. => {
                Self::new(Exit::Connection, message).advice("try again later")
            }
            413 => Self::new(Exit::Protocol, message)
                .advice("the request is too long for it: shorten its arguments, if it has any"),
            300..400 => Self::new(Exit::Protocol, message).advice(match location {
                Some(location) => format!("use the URL that the server redirects to: {location}"),
                None => "use the URL that the server redirects to".to_owned(),
            }),
            _ if has_reason => Self::new(Exit::Protocol, message),
            _ => Self::new(Exit::Protocol, message).advice(NO_ENDPOINT),
        }
    }
}

const NO_ENDPOINT: &str =
    "the URL may be that of a web page: an MCP endpoint often has a path such as /mcp";

const SAME_SERVER: &str = "if both are the same server, use its URL with ";

impl From<ConnectError> for Failure {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other errors concern connections")]
    fn from(error: ConnectError) -> Self {
        let with_text = |exit| Self::new(exit, &error);
        match &error {
            ConnectError::NoCommonVersion { .. } => {
                let known: Vec<_> = ProtocolVersion::ALL.iter().map(|it| it.as_str()).collect();
                with_text(Exit::Protocol).advice(format!(
                    "mcp knows {}; --era may have left some of them out",
                    known.join(", ")
                ))
            }
            ConnectError::Refused(_) => with_text(Exit::Protocol)
                .advice("--era has the client ask in another way: try legacy or modern"),
            ConnectError::Malformed => with_text(Exit::Protocol).advice(NO_ENDPOINT),
            ConnectError::ForeignEndpoint { endpoint, server } => Self::new(
                Exit::Connection,
                format!(
                    "the endpoint of the server is of the origin {endpoint}, and not of {server}"
                ),
            )
            .advice(format!("{SAME_SERVER}{endpoint}")),
            ConnectError::TimedOut => with_text(Exit::Timeout)
                .advice("it may be no MCP server, or need longer: --timeout gives it more time"),
            ConnectError::Unauthorized(unauthorized) => Self::unauthorized(unauthorized),
            ConnectError::Http { status } => Self::status(*status),
            ConnectError::Connection(reason) if reason.ends_with(NOT_TLS) => {
                with_text(Exit::Connection)
                    .advice("the server may not speak TLS there: try http:// in the URL")
            }
            ConnectError::Connection(reason) if reason.ends_with(UNTRUSTED) => {
                with_text(Exit::Connection).advice(
                    "if the authority is yours, name a file with its certificate (PEM) in the \
                     environment variable SSL_CERT_FILE",
                )
            }
            _ => with_text(Exit::Connection),
        }
    }
}

impl From<CallError> for Failure {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other errors concern connections")]
    fn from(error: CallError) -> Self {
        let with_text = |exit| Self::new(exit, &error);
        match &error {
            CallError::Error { .. } | CallError::InputRefused(_) | CallError::TaskGone { .. } => {
                with_text(Exit::Rpc)
            }
            // The command itself cancels no task that it waits for.
            CallError::Cancelled => Self::new(Exit::Tool, "the task was cancelled"),
            CallError::Protocol(_) => with_text(Exit::Protocol),
            CallError::TimedOut => Self::new(Exit::Timeout, "the server has not answered in time")
                .advice("--timeout gives it more time"),
            CallError::TaskLeft { task_id } => with_text(Exit::Connection)
                .advice(format!("`mcp task` follows it again, by its id: {task_id}")),
            // The server has answered other requests.
            CallError::Connect(error) => Self::from(error.clone()).without_url(),
            CallError::Unauthorized(unauthorized) => Self::unauthorized(unauthorized),
            CallError::Http { status: status @ 200..300 } => {
                Self { exit: Exit::Connection, ..Self::status(*status) }.advice(
                    "it may have ended in the middle of its work; a tool may have been executed",
                )
            }
            CallError::Http { status } => Self::status(*status).without_url(),
            CallError::Usage(UsageError::ReservedMethod { .. }) => with_text(Exit::Usage).advice(
                "requests with other methods can be sent; mcp sends this one by itself, if at all",
            ),
            CallError::Header(_) | CallError::Usage(_) => with_text(Exit::Usage),
            _ => with_text(Exit::Connection),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authority_that_is_not_trusted_can_be_named() {
        let failure = Failure::from(ConnectError::Connection(UNTRUSTED.into()));
        assert_eq!(failure.exit, Exit::Connection);
        let advice = failure.advice.unwrap_or_default();
        assert!(advice.contains("SSL_CERT_FILE"), "{advice}");
    }
}
