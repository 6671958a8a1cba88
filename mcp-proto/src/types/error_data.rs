//! The `data` of errors, where the schema defines it; `HeaderMismatchError` has none.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{ClientCapabilities, ElicitRequestURLParams};

/// The data of error -32022: the server does not support the revision of the request.
///
/// [Schema: `UnsupportedProtocolVersionError`](https://modelcontextprotocol.io/specification/2026-07-28/schema#unsupportedprotocolversionerror)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnsupportedProtocolVersionErrorData {
    /// The revisions that the server supports; the client retries with one of them.
    pub supported: Vec<String>,
    /// The revision that the client asked for.
    pub requested: String,
}

/// The data of error -32021: a required capability of the client is missing.
///
/// [Schema: `MissingRequiredClientCapabilityError`](https://modelcontextprotocol.io/specification/2026-07-28/schema#missingrequiredclientcapabilityerror)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MissingRequiredClientCapabilityErrorData {
    /// Capabilities that the client must support.
    pub required_capabilities: ClientCapabilities,
}

impl MissingRequiredClientCapabilityErrorData {
    /// The data for these missing capabilities.
    pub fn new(required_capabilities: ClientCapabilities) -> Self {
        Self { required_capabilities }
    }
}

/// The data of error -32042, only in 2025-11-25: the user must visit URLs before the request can be
/// served.
///
/// [Specification: URL Elicitation Required Error](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct URLElicitationRequiredErrorData {
    /// The URLs for the user.
    pub elicitations: Vec<ElicitRequestURLParams>,
}

impl URLElicitationRequiredErrorData {
    /// The data for these URLs.
    pub fn new(elicitations: Vec<ElicitRequestURLParams>) -> Self {
        Self { elicitations }
    }
}
