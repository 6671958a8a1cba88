//! Errors by fault: [`ProtocolError`] is the peer's fault, [`UsageError`] the caller's.
//!
//! The text of a `ProtocolError` names the step at which a message failed and the fault. The text
//! also links the page of the specification in the negotiated revision, and names the setting to
//! change if there is one. The text is sent as the `message` of the JSON-RPC error, and reported to
//! the application in a `PeerFault`.

/// Implements the text of an error. A row has a variant, the fields that its text shows, and the
/// text.
macro_rules! texts {
    ($error:ident: $($name:ident $({ $($field:ident),* })? => $text:literal $(, $value:expr)*;)*) => {
        impl $error {
            fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name { $($($field,)*)? .. } => write!(f, $text $(, $value)*),)*
                }
            }
        }
    };
}

mod display;
mod header;
mod pages;
mod plan;
mod protocol;
mod quote;
mod schema;
mod url;
mod usage;

use core::fmt;

pub(crate) use display::InRevision;
pub use header::{EmitError, HeaderError, Place, ValueError};
pub use plan::PlanError;
pub use protocol::ProtocolError;
pub(crate) use quote::excerpt;
pub use schema::SchemaError;
pub use url::UrlError;
pub use usage::UsageError;

/// A JSON-RPC error code.
///
/// [Specification: Error Codes](https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ErrorCode(pub i64);

impl ErrorCode {
    /// The message is not JSON.
    pub const PARSE_ERROR: Self = Self(-32700);
    /// The JSON is not a message, or the message is not allowed at this point.
    pub const INVALID_REQUEST: Self = Self(-32600);
    /// The method does not exist, or its capability is not declared.
    pub const METHOD_NOT_FOUND: Self = Self(-32601);
    /// The method exists and does not accept these parameters.
    pub const INVALID_PARAMS: Self = Self(-32602);
    /// The handler failed, or a limit is reached.
    pub const INTERNAL_ERROR: Self = Self(-32603);
    /// There is no resource with this URI; modern servers use
    /// [`INVALID_PARAMS`](Self::INVALID_PARAMS).
    pub const RESOURCE_NOT_FOUND: Self = Self(-32002);
    /// The user must visit a URL before the request can be served (2025-11-25).
    pub const URL_ELICITATION_REQUIRED: Self = Self(-32042);
    /// HTTP headers do not agree with the body (2026-07-28).
    pub const HEADER_MISMATCH: Self = Self(-32020);
    /// The request needs a capability that the client did not declare (2026-07-28).
    pub const MISSING_REQUIRED_CLIENT_CAPABILITY: Self = Self(-32021);
    /// The claimed protocol version is not served (2026-07-28).
    pub const UNSUPPORTED_PROTOCOL_VERSION: Self = Self(-32022);
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The step at which the validation of a message failed. The first failing step decides the answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum ValidationStep {
    /// Over HTTP: the `Host` is not one of this server's.
    Host,
    /// Over HTTP: the `Origin` of the requesting page is not allowed.
    Origin,
    /// Over HTTP: the token lacks scopes that a tool requires.
    Scope,
    /// Over HTTP: the body is not `application/json`, or has a content coding.
    Media,
    /// Over HTTP: `Accept` lacks a type that the answer may have.
    Accept,
    /// The text is not UTF-8 or not JSON.
    Json,
    /// The JSON is not a message.
    Shape,
    /// The message does not belong to the era of the connection.
    Era,
    /// Over HTTP: a legacy client's session is unknown or has ended.
    Session,
    /// Over HTTP: a legacy client's `Last-Event-ID` belongs to another session.
    Resumption,
    /// A modern request lacks a required key of `_meta`, or has a malformed one.
    Envelope,
    /// The claimed protocol version is not supported or, over HTTP, differs from its header.
    Version,
    /// Over HTTP: the header `Mcp-Method` or `Mcp-Name` differs from the body.
    Headers,
    /// The method does not exist in this era, or its capability is not declared.
    Method,
    /// Over HTTP: a header `Mcp-Param-…` differs from the arguments.
    ParamHeaders,
    /// The handler needs input, or an extension, that the client does not declare.
    Capability,
    /// The parameters do not match the method.
    Params,
    /// The result of a request is invalid; a client's step.
    Result,
    /// A limit is reached.
    Capacity,
}

impl fmt::Display for ValidationStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host => "host",
            Self::Origin => "origin",
            Self::Scope => "scope",
            Self::Media => "media",
            Self::Accept => "accept",
            Self::Json => "json",
            Self::Shape => "shape",
            Self::Era => "era",
            Self::Session => "session",
            Self::Resumption => "resumption",
            Self::Envelope => "envelope",
            Self::Version => "version",
            Self::Headers => "headers",
            Self::Method => "method",
            Self::ParamHeaders => "param-headers",
            Self::Capability => "capability",
            Self::Params => "params",
            Self::Result => "result",
            Self::Capacity => "capacity",
        })
    }
}

#[cfg(test)]
mod tests {
    use core::error::Error;

    use super::*;

    #[test]
    fn errors_around_another_one_have_it_as_their_source() {
        let error = HeaderError::Repeated { header: "Mcp-Name".into() }.into();
        let step = ValidationStep::Headers;
        assert!(has_source::<HeaderError>(&ProtocolError::HeaderMismatch { step, error }));
        let (name, reason) = ("tool".into(), PlanError::TooDeep);
        assert!(has_source::<PlanError>(&UsageError::InvalidHeader { name, reason }));
        let (name, reason) = ("tool".into(), SchemaError::TooComplex { reason: "size" });
        assert!(has_source::<SchemaError>(&UsageError::UnusableSchema { name, reason }));

        assert!(ProtocolError::CutOff.source().is_none());
        assert!(UsageError::Closed.source().is_none());
    }

    fn has_source<T: Error + 'static>(error: &dyn Error) -> bool {
        error.source().is_some_and(<dyn Error>::is::<T>)
    }
}
