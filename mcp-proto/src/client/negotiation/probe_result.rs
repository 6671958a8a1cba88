//! Meaning of the answers to `server/discover` and `initialize`.

use alloc::string::String;
use alloc::vec::Vec;

use super::super::call_error::{CallError, is_temporary};
use super::super::connect_error::ConnectError;
use super::super::result::ResultType;
use super::probe::{Failure, ProbeOutcome};
use super::verdict::{Negotiation, ServerInfo, discover_result};
use crate::error::ErrorCode;
use crate::json::Json;
use crate::message::ErrorData;
use crate::types::DiscoverResult;
use crate::version::{Era, ProtocolVersion};

/// The most versions of a server that an error names; the rest are ignored.
const MAX_VERSIONS: usize = 16;

/// The most characters of each version in an error.
const MAX_VERSION_CHARS: usize = 64;

/// The content of an answer.
#[derive(Debug, Default)]
pub(in crate::client) struct ProbeResult {
    /// The version to use, if there is one.
    pub(in crate::client) version: Option<ProtocolVersion>,
    pub(in crate::client) discover: Option<DiscoverResult>,
    pub(in crate::client) server: Option<ServerInfo>,
    /// The versions that the server names.
    pub(in crate::client) supported: Vec<String>,
    pub(in crate::client) error: Option<ErrorData>,
    /// The reason why there is no answer.
    pub(in crate::client) lost: Option<CallError>,
}

impl ProbeResult {
    /// The error of the server, shortened and without its data; or the reason why there is no
    /// answer.
    pub(in crate::client) fn error_to_show(&self) -> Option<CallError> {
        match &self.error {
            Some(error) => Some(CallError::Error { error: error.shortened(), status: None }),
            None => self.lost.clone(),
        }
    }

    /// The error of the connection after this failure.
    pub(in crate::client) fn into_error(self, failure: Failure) -> ConnectError {
        let Self { supported, error, lost, .. } = self;
        let lost = lost.and_then(CallError::into_connect_error);
        match (failure, error.map(ConnectError::refused).or(lost)) {
            (Failure::NoCommonVersion, _) => {
                let short = |name: String| name.chars().take(MAX_VERSION_CHARS).collect();
                let supported = supported.into_iter().take(MAX_VERSIONS).map(short).collect();
                ConnectError::NoCommonVersion { supported }
            }
            (Failure::Refused | Failure::Unauthorized | Failure::Unavailable, Some(error)) => error,
            (Failure::Refused | Failure::Unauthorized | Failure::Unavailable, None)
            | (Failure::Malformed, _) => ConnectError::Malformed,
            (Failure::TimedOut, _) => ConnectError::TimedOut,
            (Failure::Closed, _) => ConnectError::Closed,
        }
    }

    /// The meaning of a request without a response; `discovers` is true for `server/discover`.
    pub(in crate::client) fn lost(error: CallError, discovers: bool) -> (ProbeOutcome, Self) {
        let outcome = match &error {
            CallError::Unauthorized(_) => ProbeOutcome::Unauthorized,
            CallError::Protocol(_) if discovers => ProbeOutcome::Malformed,
            CallError::Protocol(_) => ProbeOutcome::InitializeMalformed,
            CallError::Http { status } if shows_era(*status) && discovers => ProbeOutcome::Error,
            CallError::Http { status } if shows_era(*status) => ProbeOutcome::Refused,
            CallError::Http { .. }
            | CallError::Connection(_)
            | CallError::Error { .. }
            | CallError::TimedOut
            | CallError::Cancelled
            | CallError::InputRefused(_)
            | CallError::Connect(_)
            | CallError::Closed
            | CallError::Interrupted
            | CallError::SessionExpired
            | CallError::Header(_)
            | CallError::TaskGone { .. }
            | CallError::TaskLeft { .. }
            | CallError::Usage(_) => ProbeOutcome::Unavailable,
        };
        (outcome, Self { lost: Some(error), ..Self::default() })
    }
}

/// Returns whether a server of one era gives this status to a request of the other. By 408, 425 and
/// 429 a server of either era asks to come again later.
fn shows_era(status: u16) -> bool {
    matches!(status, 200..=299 | 400..=499) && !is_temporary(status)
}

impl Negotiation {
    /// The meaning of an answer to `server/discover`.
    pub(in crate::client) fn discovered(
        self,
        answer: Result<Json, ErrorData>,
    ) -> (ProbeOutcome, ProbeResult) {
        let (supported, discover, error) = match answer {
            Ok(result) => match versions(&result) {
                Some(supported) => (supported, discover_result(&result), None),
                None => return (ProbeOutcome::Malformed, ProbeResult::default()),
            },
            Err(error) => (listed(&error), None, Some(error)),
        };
        let version = self.common(&supported, Era::Modern);
        let has_legacy = self.common(&supported, Era::Legacy).is_some();
        let code = error.as_ref().map(|error| error.code);
        let outcome = match (code, version) {
            (None, Some(_)) => ProbeOutcome::Modern,
            (None, None) if has_legacy => ProbeOutcome::ListsLegacy,
            (None, None) => ProbeOutcome::Disjoint,
            (Some(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION), Some(_)) => ProbeOutcome::Unsupported,
            (Some(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION), None) => {
                let is_legacy = has_legacy || supported.is_empty();
                if is_legacy { ProbeOutcome::UnsupportedLegacy } else { ProbeOutcome::Disjoint }
            }
            (Some(code), _) if is_modern(code) => ProbeOutcome::Modern,
            (Some(_), _) => ProbeOutcome::Error,
        };
        (outcome, ProbeResult { version, discover, supported, error, ..ProbeResult::default() })
    }

    /// The meaning of an answer to `initialize`.
    pub(in crate::client) fn initialized(
        self,
        answer: Result<Json, ErrorData>,
    ) -> (ProbeOutcome, ProbeResult) {
        let result = match answer {
            Ok(result) => result,
            Err(error) => {
                let found = ProbeResult { error: Some(error), ..ProbeResult::default() };
                return (ProbeOutcome::Refused, found);
            }
        };
        let Some((name, server)) = ServerInfo::initialized(&result) else {
            return (ProbeOutcome::InitializeMalformed, ProbeResult::default());
        };
        let supported = alloc::vec![name];
        let version = self.common(&supported, Era::Legacy);
        let modern = self.common(&supported, Era::Modern);
        let outcome = match (version, modern) {
            (Some(_), _) => ProbeOutcome::Initialized,
            (None, Some(_)) => ProbeOutcome::InitializedModern,
            (None, None) => ProbeOutcome::InitializedUnknown,
        };
        let version = version.or(modern);
        let server = version.map(|version| ServerInfo { version, ..server });
        (outcome, ProbeResult { version, server, supported, ..ProbeResult::default() })
    }

    /// The newest listed version of an era that the client may use.
    fn common(self, listed: &[String], era: Era) -> Option<ProtocolVersion> {
        let may = |version: &ProtocolVersion| match self {
            Self::Auto | Self::Legacy => true,
            Self::Pinned(pinned) => *version == pinned,
        };
        let known =
            ProtocolVersion::ALL.iter().rev().copied().filter(|version| version.era() == era);
        known.filter(may).find(|version| listed.iter().any(|name| name == version.as_str()))
    }

    /// The modern version that the client requests.
    pub(in crate::client) fn modern_version(self) -> ProtocolVersion {
        match self {
            Self::Pinned(version) if version.era() == Era::Modern => version,
            Self::Auto | Self::Legacy | Self::Pinned(_) => ProtocolVersion::LATEST_MODERN,
        }
    }

    /// The legacy version that the client requests.
    pub(in crate::client) fn legacy_version(self) -> ProtocolVersion {
        match self {
            Self::Pinned(version) if version.era() == Era::Legacy => version,
            Self::Auto | Self::Legacy | Self::Pinned(_) => ProtocolVersion::LATEST_LEGACY,
        }
    }
}

/// Returns whether this code alone proves a modern, usable server. The code for an unsupported
/// version is no proof: the list of versions decides.
pub(in crate::client) fn is_modern(code: ErrorCode) -> bool {
    [ErrorCode::HEADER_MISMATCH, ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY].contains(&code)
}

/// The versions of a `DiscoverResult`; `None` if the result is invalid, which a result of an
/// unknown type is.
fn versions(result: &Json) -> Option<Vec<String>> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Versions {
        supported_versions: Vec<String>,
    }
    // `serde` would also read a struct from an array.
    let versions: Versions = result.raw().is_object().then(|| result.decode().ok())??;
    if !matches!(ResultType::of(result), ResultType::Complete | ResultType::Untyped) {
        return None;
    }
    Some(versions.supported_versions).filter(|versions| !versions.is_empty())
}

/// The versions that an error lists; empty without a readable list.
pub(in crate::client) fn listed(error: &ErrorData) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Data {
        supported: Vec<String>,
    }
    let data = error.data.as_ref().filter(|data| data.raw().is_object());
    let data: Option<Data> = data.and_then(|data| data.decode().ok());
    data.map(|data| data.supported).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_to_show_has_the_beginning_of_its_message_and_no_data() {
        let mut error = ErrorData::new(ErrorCode::INVALID_REQUEST, "é".repeat(1001));
        error.data = Some(Json::EMPTY_OBJECT);
        let shown = error.shortened();
        assert_eq!(shown.message, "é".repeat(1000));
        assert!(shown.data.is_none());
    }
}
