//! Table of the errors that peers cause, each with the step that detects it and its text.

use alloc::format;
use alloc::string::String;
use core::fmt;

use super::quote::{Excerpt, Quoted};
use super::{ProtocolError, ValidationStep};
use crate::version::ProtocolVersion;

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&InRevision(self, ProtocolVersion::LATEST_MODERN), f)
    }
}

/// An error with a link to the page of this revision.
pub(crate) struct InRevision<'a>(pub(crate) &'a ProtocolError, pub(crate) ProtocolVersion);

impl fmt::Display for InRevision<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(error, version) = *self;
        write!(f, "{}: ", error.step())?;
        error.write(f)?;
        // The text of a `HeaderError` has its own link.
        if matches!(error, ProtocolError::HeaderMismatch { .. }) {
            return Ok(());
        }
        write!(f, "; see https://modelcontextprotocol.io/specification/{}", error.page_in(version))
    }
}

/// Implements steps and texts from rows: a step, an error with the fields in its text, and the
/// text.
macro_rules! errors {
    ($($step:ident $name:ident $({ $($field:ident),* })? => $text:literal $(, $value:expr)*;)*) => {
        texts! { ProtocolError: $($name $({ $($field),* })? => $text $(, $value)*;)* }

        impl ProtocolError {
            /// The step of the error's row.
            pub(super) fn row_step(&self) -> ValidationStep {
                match self {
                    $(Self::$name { .. } => ValidationStep::$step,)*
                }
            }
        }
    };
}

errors! {
    Json InvalidUtf8 => "the message is not UTF-8";
    Json Syntax { at } => "the message is not JSON from byte {at} on";
    Json ForeignOutput { text } =>
        "{text:?} is not a message; a server must print only messages to standard output, and its \
         logs to standard error";
    Shape TooDeep { max_depth } =>
        "the message is nested deeper than Limits::max_depth = {max_depth}";
    Shape LineTooLong { max_line_bytes } =>
        "the line is longer than Limits::max_line_bytes = {max_line_bytes}";
    Shape InvalidFrame { reason } => "{reason}";
    Shape NotAMessage => "a message is a JSON object";
    Shape NotJsonRpc2 => "`jsonrpc` must be \"2.0\"";
    Shape DuplicateMember { member } => "`{member}` stands twice";
    Shape AmbiguousKind =>
        "a message has either `method`, or an `id` and one of `result` and `error`";
    Shape InvalidId => "`id` must be a string or an integer";
    Shape TokenTooLong { max_id_bytes } =>
        "an id or token is longer than Limits::max_id_bytes = {max_id_bytes}";
    Shape InvalidMethod => "`method` must be a string that is not empty";
    Shape ParamsNotObject => "`params` must be an object";
    Shape InvalidError => "`error` must be an object with an integer `code` and a `message`";
    Shape UnexpectedBatch => "batches exist in revision 2025-03-26 alone";
    Shape EmptyBatch => "a batch must not be empty";
    Shape BatchTooLong { max_in_flight } =>
        "a batch is longer than Limits::max_in_flight = {max_in_flight}";
    Shape DuplicateId { id } => "a request with the id {} is in flight", Excerpt(id);
    Shape UnexpectedResponse => "a response to nothing that was asked";
    Shape BodyTooLong { max_line_bytes } =>
        "the body of the answer is longer than Limits::max_line_bytes = {max_line_bytes}";
    Shape EventTooLong { max_sse_event_bytes } =>
        "an event is longer than Limits::max_sse_event_bytes = {max_sse_event_bytes}";
    Era BeforeInitialize { serves_modern } => "open with `initialize`{}", or_meta(*serves_modern);
    Era UnexpectedInitialize => "`initialize` opens a connection, once and by itself";
    Era ModernOnLegacy =>
        "this connection was opened with `initialize`; open another one for requests of 2026-07-28";
    Era ModernNotServed =>
        "EraPolicy::LegacyOnly serves revisions up to 2025-11-25; open with `initialize`";
    Era UnexpectedRequest { method } =>
        "{} is a request of a server's, which modern ones do not send", Quoted(method);
    Era VersionNotServed { version } =>
        "`MCP-Protocol-Version` says {}, which is no revision with sessions", Quoted(version);
    Era VersionDiffers { header, expected } =>
        "`MCP-Protocol-Version` says {}, and it should be {}", Quoted(header), Quoted(expected);
    Era RepeatedHeader { name } => "`{name}` must be sent once, and there are several";
    Envelope MissingMeta { protocol_version, client_capabilities } =>
        "`params._meta` must have{}", missing_keys(*protocol_version, *client_capabilities);
    Envelope InvalidMeta { key, expected } => "`{key}` must be {expected}";
    Version UnsupportedVersion { requested, supported, needs_initialize } =>
        "{}; served: {}", not_served(requested.as_deref(), *needs_initialize), supported.join(", ");
    Headers HeaderMismatch { error } => "{error}";
    Host HostNotAllowed { host } =>
        "the host {} is not allowed; add it to allowed_hosts", Quoted(host);
    Origin OriginNotAllowed { origin } =>
        "the origin {} is not allowed; add it to allowed_origins", Quoted(origin);
    Scope InsufficientScope { scopes } =>
        "the token lacks scopes; the request needs {}", Quoted(scopes);
    Media UnsupportedMediaType => "`Content-Type` must be `application/json`";
    Media UnsupportedContentEncoding { encoding } =>
        "the body has the content coding {}; send it without `Content-Encoding`", Quoted(encoding);
    Accept NotAcceptable { expected } => "`Accept` must allow {expected}";
    Session SessionNotFound =>
        "no session with this `Mcp-Session-Id`; open one with `initialize`";
    Resumption UnknownEvent => "`Last-Event-ID` names no event that this session has sent";
    Method MethodNotFound { method } => "no method {} here", Quoted(method);
    Params InvalidParam { member, expected } => "`params.{member}` must be {expected}";
    Params UnknownTool { name } => "no tool {} here", Quoted(name);
    Params ResourceNotFound { uri } => "no resource {} here", Quoted(uri);
    Params UnknownPrompt { name } => "no prompt {} here", Quoted(name);
    Params InvalidArgument { name } =>
        "the argument {} must be there, and a string", Quoted(name);
    Params UnknownReference { reference } =>
        "no prompt or resource template {} here", Quoted(reference);
    Params InvalidCursor => "`params.cursor` is not one that this list gave out";
    Params InvalidNotification { method } =>
        "{} is not as the schema says, or belongs to nothing", Quoted(method);
    Params UndeclaredInput { capability } => "the client does not declare `{capability}`";
    Capability ExtensionsRequired { identifiers } =>
        "the client must declare in `capabilities.extensions`: {}", identifiers.join(", ");
    Method LoggingNotDeclared =>
        "the server does not declare `logging`, so `logging/setLevel` was not sent";
    Result InvalidResult { expected } => "the result must be {expected}";
    Result MalformedResult { places } => "the result does not fit the schema: {places}";
    Result UnknownResultType { name } => "the `resultType` {} is not known", Quoted(name);
    Result CutOff => "the server or the session ended before the answer; the request may have been executed";
    Result ContentEncoding { encoding } =>
        "the answer has `Content-Encoding: {encoding}`; clients ask for identity alone";
    Capacity ShareExceeded { limit, max } =>
        "no room within Limits::{limit} = {max}; try again later";
    Capacity ShuttingDown => "the server is about to stop";
    Capacity EndpointFull { max_endpoint_bytes } =>
        "the server holds three quarters of Limits::max_endpoint_bytes = {max_endpoint_bytes}, \
         and the rest is for answers; try again later";
    Capacity TooManyInFlight { max_in_flight } =>
        "Limits::max_in_flight = {max_in_flight} requests are in flight";
    Capacity TooManyBytesInFlight { max_in_flight_bytes } =>
        "Limits::max_in_flight_bytes = {max_in_flight_bytes} would be exceeded";
    Capacity TooManySubscriptions { max_subscriptions } =>
        "Limits::max_subscriptions = {max_subscriptions} are open";
    Capacity TooManySubscriptionBytes { max_subscription_bytes } =>
        "Limits::max_subscription_bytes = {max_subscription_bytes} would be exceeded";
    Capacity TooMuchBeforeConnected =>
        "too much before it is known which era the server belongs to";
    Capacity ListTooLong { max_pages, max_list_bytes } =>
        "the list is longer than Limits::max_pages = {max_pages} or Limits::max_list_bytes = \
         {max_list_bytes}";
    Capacity TooManyInputRounds { max_input_rounds } =>
        "the server asked for input more than Limits::max_input_rounds = {max_input_rounds} times";
}

impl core::error::Error for ProtocolError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        if let Self::HeaderMismatch { error, .. } = self { Some(&**error) } else { None }
    }
}

/// A hint at the modern opening, if the server serves modern clients.
fn or_meta(serves_modern: bool) -> &'static str {
    if serves_modern {
        ", or put `io.modelcontextprotocol/protocolVersion` into `params._meta`"
    } else {
        ""
    }
}

fn missing_keys(protocol_version: bool, client_capabilities: bool) -> &'static str {
    match (protocol_version, client_capabilities) {
        (true, true) => {
            " `io.modelcontextprotocol/protocolVersion` and \
             `io.modelcontextprotocol/clientCapabilities`"
        }
        (true, false) => " `io.modelcontextprotocol/protocolVersion`",
        (false, true) => " `io.modelcontextprotocol/clientCapabilities`",
        (false, false) => "",
    }
}

fn not_served(requested: Option<&str>, needs_initialize: bool) -> String {
    match requested.map(Quoted) {
        None => "a request without a protocol version is not served here".into(),
        Some(version) if needs_initialize => {
            format!("protocol version {version} opens with `initialize`, and not with `_meta`")
        }
        Some(version) => format!("protocol version {version} is not served here"),
    }
}
