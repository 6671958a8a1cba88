//! How a client finds a version, and what it has found.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use super::CallError;
use super::found::Found;
use super::probe::Failure;
use crate::challenge::Unauthorized;
use crate::json::Json;
use crate::message::ErrorData;
use crate::types::{DiscoverResult, Implementation, ServerCapabilities};
use crate::version::{Era, ProtocolVersion};

/// How a client finds a version that the server speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Negotiation {
    /// It asks with `server/discover`, and opens with `initialize` if the server does not know
    /// that.
    #[default]
    Auto,
    /// It opens with `initialize` and takes any legacy revision.
    Legacy,
    /// This revision and no other: a modern one is asked for with `server/discover`, a legacy one
    /// with `initialize`.
    Pinned(ProtocolVersion),
}

/// What a negotiation has found, to be stored and given to the next client of the same server,
/// which then need not probe: [`Config::verdict`](super::Config::verdict). One that is wrong by
/// then is found out, and the server is probed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The revision that was spoken; its era is the server's. A legacy server is asked for the
    /// newest revision all the same.
    pub version: ProtocolVersion,
    /// What a modern server says about itself, if it has said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discover: Option<DiscoverResult>,
}

impl Verdict {
    /// The server speaks this revision.
    pub fn new(version: ProtocolVersion) -> Self {
        Self { version, discover: None }
    }

    /// The era of the server.
    pub fn era(&self) -> Era {
        self.version.era()
    }
}

/// The server as far as the client knows it.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct ServerInfo {
    /// The revision that is spoken with it.
    pub version: ProtocolVersion,
    /// What it supports. A modern server that has not said so supports nothing that is known.
    pub capabilities: ServerCapabilities,
    /// Who it is; a modern server may leave it out.
    pub implementation: Option<Implementation>,
    /// How to use it, for the model.
    pub instructions: Option<String>,
}

impl ServerInfo {
    /// The era that it belongs to.
    pub fn era(&self) -> Era {
        self.version.era()
    }

    pub(super) fn discovered(version: ProtocolVersion, result: Option<&DiscoverResult>) -> Self {
        #[derive(Deserialize)]
        struct Meta {
            #[serde(rename = "io.modelcontextprotocol/serverInfo")]
            server_info: Option<Implementation>,
        }
        let Some(result) = result else {
            let capabilities = ServerCapabilities::default();
            return Self { version, capabilities, implementation: None, instructions: None };
        };
        let meta = result.meta.as_ref().and_then(|meta| meta.decode::<Meta>().ok());
        Self {
            version,
            capabilities: result.capabilities.clone(),
            implementation: meta.and_then(|meta| meta.server_info),
            instructions: result.instructions.clone(),
        }
    }

    /// The version that an `InitializeResult` names, and what else it says, as far as it can be
    /// read: servers have been seen that leave something out. The version is not looked at.
    pub(super) fn initialized(result: &Json) -> Option<(String, Self)> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Initialized {
            protocol_version: String,
            capabilities: Option<Json>,
            server_info: Option<Json>,
            instructions: Option<Json>,
        }
        // `serde` would take an array for a struct.
        let result: Initialized = result.raw().is_object().then(|| result.decode().ok())??;
        let Initialized { protocol_version, capabilities, server_info, instructions } = result;
        let server = Self {
            version: ProtocolVersion::LATEST_LEGACY,
            capabilities: capabilities.and_then(|json| json.decode().ok()).unwrap_or_default(),
            implementation: server_info.and_then(|json| json.decode().ok()),
            instructions: instructions.and_then(|json| json.decode().ok()),
        };
        Some((protocol_version, server))
    }
}

/// As many versions of a server are told, and characters of each.
const MAX_NAMES: usize = 16;
const MAX_NAME: usize = 64;

/// Why there is no connection.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum ConnectError {
    /// The server speaks these versions, and the client none of them.
    NoCommonVersion {
        /// As the server has named them, the first 16, and 64 characters of each; none if it has
        /// named none.
        supported: Vec<String>,
    },
    /// The server has answered with an error.
    Refused(ErrorData),
    /// The server's answer cannot be read.
    Malformed,
    /// The server has not answered in time.
    TimedOut,
    /// The stream has ended.
    Closed,
    /// Over HTTP: the server wants to know who asks.
    Unauthorized(Unauthorized),
    /// Over HTTP: the server has answered with this status, and with nothing that says more.
    Http {
        /// The status.
        status: u16,
    },
    /// Over HTTP: there is no connection to the server, for this reason.
    Connection(String),
}

impl ConnectError {
    pub(super) fn new(failure: Failure, found: Found) -> Self {
        let Found { supported, error, lost, .. } = found;
        let lost = lost.and_then(Self::of_loss);
        match (failure, error.map(Self::Refused).or(lost)) {
            (Failure::NoCommonVersion, _) => {
                let short = |name: String| name.chars().take(MAX_NAME).collect();
                let supported = supported.into_iter().take(MAX_NAMES).map(short).collect();
                Self::NoCommonVersion { supported }
            }
            (Failure::Refused | Failure::Unauthorized | Failure::Unavailable, Some(error)) => error,
            (Failure::Refused | Failure::Unauthorized | Failure::Unavailable, None)
            | (Failure::Malformed, _) => Self::Malformed,
            (Failure::TimedOut, _) => Self::TimedOut,
            (Failure::Closed, _) => Self::Closed,
        }
    }

    /// Why there is no answer, as the reason that there is no connection.
    pub(super) fn of_loss(loss: CallError) -> Option<Self> {
        match loss {
            CallError::Unauthorized(unauthorized) => Some(Self::Unauthorized(unauthorized)),
            CallError::Http { status } => Some(Self::Http { status }),
            CallError::Connection(failure) => Some(Self::Connection(failure)),
            CallError::Error { error, .. } => Some(Self::Refused(error)),
            CallError::Protocol(_)
            | CallError::TimedOut
            | CallError::Cancelled
            | CallError::InputRefused(_)
            | CallError::Connect(_)
            | CallError::Closed
            | CallError::Interrupted
            | CallError::SessionExpired
            | CallError::Header(_)
            | CallError::Usage(_) => None,
        }
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
            Self::Unauthorized(unauthorized) => fmt::Display::fmt(unauthorized, f),
            Self::Http { status } => write!(f, "the server has answered with HTTP status {status}"),
            Self::Connection(failure) => write!(f, "no connection to the server: {failure}"),
        }
    }
}

/// The same text: it is what `main` prints of an error that it returns.
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
            | Self::Http { .. }
            | Self::Connection(_) => None,
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
