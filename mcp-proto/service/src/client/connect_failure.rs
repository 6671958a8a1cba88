//! Error of a client that could not be connected: the reason and the target.
//!
//! In: the machine's error, and the program or the URL from the adapter. Out: the error that an
//! application prints.

use alloc::string::{String, ToString};
use core::error::Error;
use core::fmt;
use std::io;
use std::process::ExitStatus;

use crate::Command;
use mcp_proto::client::ConnectError;
use mcp_proto::http::Url;

/// Error of the adapters' `connect_command` and `connect_http`, inside of an [`io::Error`]: the
/// target, and the reason why there is no connection to it. The text has both.
///
/// ```
/// use mcp_proto::client::ConnectError;
/// use mcp_proto::http::Url;
/// use mcp_service::ConnectFailure;
/// use std::error::Error;
///
/// let url = Url::parse("http://127.0.0.1:8000/mpc?key=0123")?;
/// let error = std::io::Error::from(ConnectFailure::url(&url, ConnectError::Http { status: 404 }));
/// let text = "http://127.0.0.1:8000/mpc: the server has answered with HTTP status 404";
/// assert_eq!(error.to_string(), text);
///
/// let unreached = error.get_ref().and_then(|inner| inner.downcast_ref::<ConnectFailure>());
/// assert_eq!(unreached.ok_or("another error")?.error, ConnectError::Http { status: 404 });
/// // Or straight away:
/// assert!(error.source().is_some_and(|error| error.is::<ConnectError>()));
/// # Ok::<(), Box<dyn Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectFailure {
    /// The program without its arguments, or the URL without its query, which may be secret.
    pub target: String,
    /// The reason why there is no connection.
    pub error: ConnectError,
    /// Exit status of the program; `None` unless its exit is the reason.
    pub exit: Option<ExitStatus>,
}

impl ConnectFailure {
    /// For adapters: the failure of a server that was started as a child process.
    pub fn command(command: &Command, error: ConnectError, exit: Option<ExitStatus>) -> Self {
        Self { target: command.program.display().to_string(), error, exit }
    }

    /// For adapters: the failure of a server over HTTP.
    pub fn url(url: &Url, error: ConnectError) -> Self {
        let target = url.as_str().split('?').next().unwrap_or_default();
        Self { target: target.into(), error, exit: None }
    }
}

impl fmt::Display for ConnectFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, error, exit } = self;
        write!(f, "{target}: {error}")?;
        f.write_str(advice(target, error))?;
        match exit {
            Some(exit) => write!(f, " ({exit})"),
            None => Ok(()),
        }
    }
}

/// The end of the text, for answers of what is no MCP server, such as a web page.
fn advice(target: &str, error: &ConnectError) -> &'static str {
    if *error == ConnectError::Malformed && target.contains("://") {
        return "; an MCP endpoint often has a path such as /mcp";
    }
    let ConnectError::Http { status } = error else { return "" };
    match status {
        200..=299 => ", but without a response to the request",
        300..=399 => ", a redirection that the client does not follow",
        _ => "",
    }
}

/// The same text as `Display`, since `main` prints the error that it returns with `Debug`.
impl fmt::Debug for ConnectFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for ConnectFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.error)
    }
}

impl From<ConnectFailure> for io::Error {
    fn from(error: ConnectFailure) -> Self {
        Self::other(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_mcp_server_gets_advice() {
        let url = Url::parse("http://127.0.0.1:8000/").unwrap();
        for (error, end) in [
            (ConnectError::Malformed, "; an MCP endpoint often has a path such as /mcp"),
            (ConnectError::Http { status: 204 }, ", but without a response to the request"),
            (ConnectError::Http { status: 302 }, ", a redirection that the client does not follow"),
            (ConnectError::Http { status: 404 }, ""),
            (ConnectError::TimedOut, ""),
        ] {
            let text = alloc::format!("{url}: {error}{end}");
            assert_eq!(ConnectFailure::url(&url, error).to_string(), text);
        }
        let program = Command::new("server");
        let failure = ConnectFailure::command(&program, ConnectError::Malformed, None);
        assert_eq!(failure.to_string(), "server: the server's answer cannot be read");
    }
}
