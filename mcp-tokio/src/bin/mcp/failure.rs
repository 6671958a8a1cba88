//! Failures of commands, and their exit codes.
//!
//! In: the errors of a client. Out: a [`Failure`]: an [`Exit`], what happened, and what to do about it.

use std::fmt;

use mcp_tokio::mcp_proto::http::Unauthorized;
use mcp_tokio::{CallError, ConnectError, ProtocolVersion};

/// Exit code of the program; `args` has the words for each.
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
    /// As shells have it: 128, and the number of SIGINT.
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

/// Why there is no result.
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

    /// The words on the command line are wrong.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Returns whether the URL may be none of an MCP endpoint.
    pub(crate) fn is_of_endpoint(&self) -> bool {
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
        let scope = unauthorized.bearer().and_then(|challenge| challenge.scope());
        let scope = scope.map(|scope| format!(" with the scope {scope:?}")).unwrap_or_default();
        let failure = match &unauthorized.sign_in {
            Some(reason) => Self::new(Exit::Unauthorized, format!("the sign-in failed: {reason}")),
            None => Self::new(Exit::Unauthorized, unauthorized),
        };
        failure.advice(format!(
            "run `mcp login` with the URL; or put a token{scope} into the environment variable \
             MCP_TOKEN, or into another one that --bearer-env names; other credentials are for --header"
        ))
    }

    fn status(status: u16) -> Self {
        let message = format!("the server has answered with HTTP status {status}");
        match status {
            500.. => Self::new(Exit::Connection, message)
                .advice(format!("it may be able to later on; or {NO_ENDPOINT}")),
            300..400 => Self::new(Exit::Protocol, message)
                .advice("the server sends clients elsewhere: use the URL that it redirects to"),
            _ => Self::new(Exit::Protocol, message).advice(NO_ENDPOINT),
        }
    }
}

const NO_ENDPOINT: &str =
    "the URL may be that of a web page: an MCP endpoint often has a path such as /mcp";

impl From<ConnectError> for Failure {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "what else there is has to do with connections"
    )]
    fn from(error: ConnectError) -> Self {
        let as_told = |exit| Self::new(exit, &error);
        match &error {
            ConnectError::NoCommonVersion { .. } => {
                let known: Vec<_> = ProtocolVersion::ALL.iter().map(|it| it.as_str()).collect();
                as_told(Exit::Protocol).advice(format!(
                    "mcp knows {}; --era may have left some of them out",
                    known.join(", ")
                ))
            }
            ConnectError::Refused(_) => as_told(Exit::Protocol)
                .advice("--era has the client ask in another way: try legacy or modern"),
            ConnectError::Malformed => as_told(Exit::Protocol).advice(NO_ENDPOINT),
            ConnectError::TimedOut => as_told(Exit::Timeout)
                .advice("it may be no MCP server, or need longer: --timeout gives it more time"),
            ConnectError::Unauthorized(unauthorized) => Self::unauthorized(unauthorized),
            ConnectError::Http { status } => Self::status(*status),
            _ => as_told(Exit::Connection),
        }
    }
}

impl From<CallError> for Failure {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "what else there is has to do with connections"
    )]
    fn from(error: CallError) -> Self {
        let as_told = |exit| Self::new(exit, &error);
        match &error {
            CallError::Error { .. } | CallError::InputRefused(_) | CallError::TaskGone { .. } => {
                as_told(Exit::Rpc)
            }
            CallError::Protocol(_) => as_told(Exit::Protocol),
            CallError::TimedOut => Self::new(Exit::Timeout, "the server has not answered in time")
                .advice("--timeout gives it more time"),
            CallError::TaskLeft { task_id } => as_told(Exit::Connection)
                .advice(format!("`mcp task` follows it again, by its id: {task_id}")),
            CallError::Connect(error) => error.clone().into(),
            CallError::Unauthorized(unauthorized) => Self::unauthorized(unauthorized),
            CallError::Http { status } => Self::status(*status),
            CallError::Header(_) | CallError::Usage(_) => as_told(Exit::Usage),
            _ => as_told(Exit::Connection),
        }
    }
}
