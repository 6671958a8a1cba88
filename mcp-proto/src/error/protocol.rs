//! Errors of a peer, with their step and code.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::{ErrorCode, HeaderError, ValidationStep};

/// The peer's fault.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A message is not UTF-8.
    InvalidUtf8,
    /// A message is not JSON, from this byte on.
    Syntax {
        /// Bytes before the fault.
        at: usize,
    },
    /// A server has sent a text that is not JSON, such as a line of its log, on a byte stream.
    ForeignOutput {
        /// The first 80 characters of the text.
        text: String,
    },
    /// A message is nested deeper than `Limits::max_depth`.
    TooDeep {
        /// The limit.
        max_depth: usize,
    },
    /// A line is longer than `Limits::max_line_bytes`.
    LineTooLong {
        /// The limit.
        max_line_bytes: usize,
    },
    /// A byte stream whose framing is not lines received input that does not fit the framing.
    InvalidFrame {
        /// The reason from the framing.
        reason: Cow<'static, str>,
    },
    /// A message is neither an object nor an array.
    NotAMessage,
    /// `jsonrpc` is not `"2.0"`.
    NotJsonRpc2,
    /// A member that may occur only once occurs twice.
    DuplicateMember {
        /// The member.
        member: &'static str,
    },
    /// A message has members of several kinds of messages, or of none.
    AmbiguousKind,
    /// An id is neither a string nor an integer.
    InvalidId,
    /// An id or progress token is longer than `Limits::max_id_bytes`.
    TokenTooLong {
        /// The limit.
        max_id_bytes: usize,
    },
    /// `method` is not a string, or empty.
    InvalidMethod,
    /// `params` is not an object.
    ParamsNotObject,
    /// `error` is not an object with an integer `code` and a string `message`.
    InvalidError,
    /// An array where batches do not exist: outside of 2025-03-26.
    UnexpectedBatch,
    /// A batch without messages.
    EmptyBatch,
    /// A batch of more messages than `Limits::max_in_flight`.
    BatchTooLong {
        /// The limit.
        max_in_flight: usize,
    },
    /// A request with the id of a request in flight.
    DuplicateId {
        /// The id, as JSON. The answer has no id, so that it cannot settle the first request.
        id: String,
    },
    /// A response without a request.
    UnexpectedResponse,
    /// A legacy request before `initialize`.
    BeforeInitialize {
        /// True if the server would accept the request as a modern one.
        serves_modern: bool,
    },
    /// A second `initialize`, or one inside a batch.
    UnexpectedInitialize,
    /// A modern request on a connection that was opened with `initialize`.
    ModernOnLegacy,
    /// A modern request to a server that only serves legacy clients.
    ModernNotServed,
    /// `_meta` lacks keys that every modern request must have.
    MissingMeta {
        /// True if `io.modelcontextprotocol/protocolVersion` is missing.
        protocol_version: bool,
        /// True if `io.modelcontextprotocol/clientCapabilities` is missing.
        client_capabilities: bool,
    },
    /// A key of `_meta`, or `_meta` itself, has a value of the wrong shape.
    InvalidMeta {
        /// The key.
        key: &'static str,
        /// The form of its value.
        expected: &'static str,
    },
    /// A protocol version that the server does not support.
    UnsupportedVersion {
        /// The requested version, `None` if there was none.
        requested: Option<String>,
        /// The versions that the client can choose from.
        supported: &'static [&'static str],
        /// True if the requested version is supported, but needs an `initialize` first, not
        /// `_meta`.
        needs_initialize: bool,
    },
    /// A method that does not exist in this era, or whose capability is not declared.
    MethodNotFound {
        /// The method.
        method: String,
    },
    /// A parameter that is missing or has the wrong shape.
    InvalidParam {
        /// The member of `params`.
        member: &'static str,
        /// The form of its value.
        expected: &'static str,
    },
    /// A tool that does not exist.
    UnknownTool {
        /// The name.
        name: String,
    },
    /// A resource that does not exist.
    ResourceNotFound {
        /// The URI.
        uri: String,
    },
    /// A prompt that does not exist.
    UnknownPrompt {
        /// The name.
        name: String,
    },
    /// A prompt's argument that is missing, or not a string.
    InvalidArgument {
        /// The name.
        name: String,
    },
    /// The reference is neither a prompt nor a resource template of the server.
    UnknownReference {
        /// The name or the URI template.
        reference: String,
    },
    /// A cursor that no list has returned.
    InvalidCursor,
    /// The requests in flight have reached `Limits::max_in_flight`.
    TooManyInFlight {
        /// The limit.
        max_in_flight: usize,
    },
    /// The server's memory has no room for new work.
    EndpointFull {
        /// `Limits::max_endpoint_bytes`.
        max_endpoint_bytes: usize,
    },
    /// The subscriptions have reached `Limits::max_subscriptions`.
    TooManySubscriptions {
        /// The limit.
        max_subscriptions: usize,
    },
    /// The bytes of the subscriptions' URIs have reached `Limits::max_subscription_bytes`.
    TooManySubscriptionBytes {
        /// The limit.
        max_subscription_bytes: usize,
    },
    /// The bytes in flight have reached `Limits::max_in_flight_bytes`.
    TooManyBytesInFlight {
        /// The limit.
        max_in_flight_bytes: usize,
    },
    /// A modern server sent a request, which is not allowed.
    UnexpectedRequest {
        /// The method.
        method: String,
    },
    /// Over HTTP: the answer has a `Content-Encoding` that the client did not accept.
    ContentEncoding {
        /// The content coding.
        encoding: String,
    },
    /// The server sent more messages than the client keeps before the era is known.
    TooMuchBeforeConnected,
    /// A notification violates its schema, or refers to something that does not exist.
    InvalidNotification {
        /// The notification.
        method: String,
    },
    /// The result of a request is invalid.
    InvalidResult {
        /// The expected form.
        expected: &'static str,
    },
    /// The result of a request does not fit its schema.
    MalformedResult {
        /// The members that do not fit, each with the reason, such as `/content: is required`.
        places: String,
    },
    /// The result of a request has a type that the specification does not define.
    UnknownResultType {
        /// The name of the type; at most 100 characters.
        name: String,
    },
    /// A list is longer than `Limits::max_pages` or `Limits::max_list_bytes`.
    ListTooLong {
        /// The limit of pages.
        max_pages: usize,
        /// The limit of bytes.
        max_list_bytes: usize,
    },
    /// The server asked for input in more than `Limits::max_input_rounds` rounds.
    TooManyInputRounds {
        /// The limit.
        max_input_rounds: usize,
    },
    /// Over HTTP: a header differs from the body.
    HeaderMismatch {
        /// The step of the validation.
        step: ValidationStep,
        /// The reason.
        error: Box<HeaderError>,
    },
    /// Over HTTP: a request for a host that is not this server's.
    HostNotAllowed {
        /// The value of `Host`.
        host: String,
    },
    /// Over HTTP: a request from a web page whose origin is not allowed.
    OriginNotAllowed {
        /// The value of `Origin`.
        origin: String,
    },
    /// Over HTTP: the token of a request lacks scopes that its tool requires.
    InsufficientScope {
        /// The scopes that the request needs, separated by spaces.
        scopes: String,
    },
    /// Over HTTP: the body of a POST is not `application/json`.
    UnsupportedMediaType,
    /// Over HTTP: the body of a POST has a content coding, such as `gzip`.
    UnsupportedContentEncoding {
        /// The content coding.
        encoding: String,
    },
    /// Over HTTP: `Accept` lacks a type that the answer may have.
    NotAcceptable {
        /// The media types that the client must accept.
        expected: &'static str,
    },
    /// Over HTTP: a legacy client's `MCP-Protocol-Version` names a revision that is not supported.
    VersionNotServed {
        /// The value of the header.
        version: String,
    },
    /// Over HTTP: a legacy client's `MCP-Protocol-Version` differs from its session's revision, or
    /// from the one in its `initialize`.
    VersionDiffers {
        /// The value of the header.
        header: String,
        /// The expected revision.
        expected: String,
    },
    /// Over HTTP: a field of a legacy client's head occurs several times, but may occur only once.
    RepeatedHeader {
        /// The field.
        name: &'static str,
    },
    /// Over HTTP: the session is unknown, has ended, or belongs to another principal.
    SessionNotFound,
    /// Over HTTP: `Last-Event-ID` names no event of the session.
    UnknownEvent,
    /// Over HTTP: a principal or an address has used up its share of a limit, or the limit is
    /// reached.
    ShareExceeded {
        /// The field of `Limits`.
        limit: &'static str,
        /// The value of the limit.
        max: usize,
    },
    /// Over HTTP: the server is about to stop; the request was not executed.
    ShuttingDown,
    /// Over HTTP: the server or the session has ended while a handler had the request.
    CutOff,
    /// Over HTTP: the body of an answer, such as a result as JSON, is longer than
    /// `Limits::max_line_bytes`.
    BodyTooLong {
        /// The limit.
        max_line_bytes: usize,
    },
    /// Over HTTP: an event is longer than `Limits::max_sse_event_bytes`.
    EventTooLong {
        /// The limit.
        max_sse_event_bytes: usize,
    },
    /// A legacy server does not declare `logging`, but the application wants log messages.
    LoggingNotDeclared,
    /// The server asked for input that the client has not declared.
    UndeclaredInput {
        /// The capability that is not declared.
        capability: &'static str,
    },
    /// The client does not declare extensions that a tool or a method requires. The code is -32021
    /// in the modern era, and -32603 in the legacy era, which has no code for this error.
    ExtensionsRequired {
        /// The identifiers of the missing extensions.
        identifiers: Vec<String>,
    },
}

impl ProtocolError {
    /// A header that differs from the body, at this step.
    pub(crate) fn header(step: ValidationStep) -> impl FnOnce(HeaderError) -> Self {
        move |error| Self::HeaderMismatch { step, error: Box::new(error) }
    }

    /// The step at which the message failed.
    pub fn step(&self) -> ValidationStep {
        if let Self::HeaderMismatch { step, .. } = self { *step } else { self.row_step() }
    }

    /// The code of the JSON-RPC error. For an unknown resource this is the legacy code; modern
    /// clients get -32602.
    pub fn code(&self) -> ErrorCode {
        if let Self::ResourceNotFound { .. } = self {
            return ErrorCode::RESOURCE_NOT_FOUND;
        }
        if let Self::HeaderMismatch { .. } = self {
            return ErrorCode::HEADER_MISMATCH;
        }
        match self.step() {
            ValidationStep::Json => ErrorCode::PARSE_ERROR,
            ValidationStep::Host
            | ValidationStep::Origin
            | ValidationStep::Scope
            | ValidationStep::Media
            | ValidationStep::Accept
            | ValidationStep::Shape
            | ValidationStep::Era
            | ValidationStep::Session
            | ValidationStep::Resumption => ErrorCode::INVALID_REQUEST,
            ValidationStep::Headers | ValidationStep::ParamHeaders => ErrorCode::HEADER_MISMATCH,
            ValidationStep::Capability => ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
            ValidationStep::Envelope | ValidationStep::Params => ErrorCode::INVALID_PARAMS,
            ValidationStep::Version => ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
            ValidationStep::Method => ErrorCode::METHOD_NOT_FOUND,
            ValidationStep::Result | ValidationStep::Capacity => ErrorCode::INTERNAL_ERROR,
        }
    }
}
