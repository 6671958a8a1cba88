//! JSON-RPC messages.
//!
//! In: one JSON text, from a framer ([`parse`]). Out: a [`Message`] whose `params` and results are
//! still slices of that text, or a [`Malformed`] with the error to answer. In the other direction,
//! an [`Outgoing`] is written into the framer's buffer. Eras and sessions are handled elsewhere.
//!
//! [Specification: Messages](https://modelcontextprotocol.io/specification/2026-07-28/basic#messages)

pub(crate) mod batches;
mod id;
mod method;
mod outgoing;
mod params;
mod parse;
mod reader;
pub(crate) mod result_value;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;

use crate::error::{ErrorCode, InRevision, ProtocolError};
use crate::json::Json;
use crate::json::write::List;
use crate::version::{Era, ProtocolVersion};

pub use id::{ProgressToken, RequestId};
pub(crate) use method::Capability;
pub(crate) use method::is_idempotent;
pub use method::{Method, draw as draw_methods};
pub(crate) use method::{MethodRow, Subject};
pub use outgoing::Outgoing;
pub(crate) use outgoing::short_reason;
pub(crate) use params::Member;
pub use params::Params;
pub use parse::parse;
pub(crate) use parse::unreadable;
pub use reader::MessageReader;
pub use result_value::{PlainText, ResultValue};

/// Content of one JSON text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Incoming {
    /// One message.
    Message(Message),
    /// An array; legal only in revision 2025-03-26.
    Batch(Batch),
}

/// One JSON-RPC message.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Message {
    /// A message that requires a response.
    Request(Request),
    /// A message without a response.
    Notification(Notification),
    /// The answer to a request.
    Response(Response),
}

/// A request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// The id.
    pub id: RequestId,
    /// The method.
    pub method: Method,
    /// The parameters.
    pub params: Params,
    /// The bytes of the whole message.
    pub size: usize,
}

/// A notification.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Notification {
    /// The method.
    pub method: Method,
    /// The parameters.
    pub params: Params,
}

/// A response.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Response {
    /// The request that it answers; `None` for an error about a message whose id could not be
    /// read.
    pub id: Option<RequestId>,
    /// The result or the error.
    pub body: Result<Json, ErrorData>,
}

/// An array of messages, not parsed yet.
#[derive(Clone, Debug)]
pub struct Batch(pub(crate) Bytes);

/// A text that is not a valid message.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Malformed {
    /// Reason why the message is invalid.
    pub error: ProtocolError,
    /// The id of the invalid request, or of the request that an invalid response answers, if it
    /// could be read.
    pub id: Option<RequestId>,
    /// True if a server must answer it: false for notifications and responses.
    pub answerable: bool,
}

/// The error of a JSON-RPC response.
///
/// [Specification: Error Responses](https://modelcontextprotocol.io/specification/2026-07-28/basic#error-responses)
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorData {
    /// JSON-RPC error code.
    pub code: ErrorCode,
    /// One sentence for a human.
    pub message: Cow<'static, str>,
    /// Further data, for programs.
    pub data: Option<Json>,
}

impl ErrorData {
    /// An error without data.
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// A failure of the server itself, -32603.
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::INTERNAL_ERROR, message)
    }

    /// Invalid parameters of the method, -32602.
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::INVALID_PARAMS, message)
    }

    /// The error for an unknown resource. Modern clients get -32602, legacy ones -32002.
    pub fn resource_not_found(uri: &str) -> Self {
        Self::from(&ProtocolError::ResourceNotFound { uri: uri.into() })
    }
}

/// The bytes of an error above which it is long.
const LONG_ERROR: usize = 16 * 1024;

/// The most characters of the message of a shortened error.
const MAX_MESSAGE_CHARS: usize = 1000;

impl ErrorData {
    /// Returns whether the error is too long to be kept or copied for many calls.
    pub(crate) fn is_long(&self) -> bool {
        self.bytes() > LONG_ERROR
    }

    /// The bytes of the message and the data.
    pub(crate) fn bytes(&self) -> usize {
        let data = self.data.as_ref().map_or(0, |data| data.as_bytes().len());
        self.message.len().saturating_add(data)
    }

    /// The beginning of the message, without the data.
    pub(crate) fn shortened(&self) -> Self {
        Self::new(self.code, self.message.chars().take(MAX_MESSAGE_CHARS).collect::<String>())
    }

    /// The same error as it is kept or copied for many calls: a long one is shortened.
    pub(crate) fn limited(self) -> Self {
        if self.is_long() { self.shortened() } else { self.detach() }
    }

    /// The same error, apart from the bytes that it came in.
    pub(crate) fn detach(self) -> Self {
        Self { data: self.data.map(|data| data.detach()), ..self }
    }
}

impl From<&ProtocolError> for ErrorData {
    fn from(error: &ProtocolError) -> Self {
        Self::in_revision(error, ProtocolVersion::LATEST_MODERN)
    }
}

impl ErrorData {
    /// The error for a peer of this revision: its link leads to a page of that revision.
    pub(crate) fn in_revision(error: &ProtocolError, version: ProtocolVersion) -> Self {
        let mut data = Vec::new();
        let mut object = List::object(&mut data);
        if let ProtocolError::UnsupportedVersion { requested, supported, .. } = error {
            object.item().extend_from_slice(b"\"supported\":");
            let mut list = List::array(object.out());
            for version in *supported {
                crate::json::write::string(list.item(), version);
            }
            list.end();
            // The schema requires a string, even if nothing was requested.
            object.text("requested", requested.as_deref().unwrap_or_default());
        } else if let ProtocolError::ResourceNotFound { uri } = error {
            object.text("uri", uri);
        } else if let ProtocolError::ExtensionsRequired { identifiers } = error {
            write_required(&mut object, identifiers);
        }
        object.end();
        let data = Some(Json::trusted(data)).filter(|data| *data != Json::EMPTY_OBJECT);
        let required = matches!(error, ProtocolError::ExtensionsRequired { .. });
        let code = match version.era() {
            Era::Legacy if required => ErrorCode::INTERNAL_ERROR,
            Era::Legacy | Era::Modern => error.code(),
        };
        Self { data, ..Self::new(code, alloc::format!("{}", InRevision(error, version))) }
    }
}

/// The members of `MissingRequiredClientCapabilityErrorData` for these extensions.
fn write_required(object: &mut List<'_, Vec<u8>>, identifiers: &[String]) {
    object.key("requiredCapabilities");
    let mut capabilities = List::object(object.out());
    capabilities.key("extensions");
    let mut extensions = List::object(capabilities.out());
    for identifier in identifiers {
        extensions.member(identifier, b"{}");
    }
    extensions.end();
    capabilities.end();
}

impl fmt::Display for ErrorData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code.0)
    }
}

impl core::error::Error for ErrorData {}
