//! What a peer can do wrong, in words.

use core::fmt;

use super::ProtocolError;
use super::quote::{Excerpt, Quoted};
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
        error.write(f)?;
        // It names its page by itself.
        if matches!(error, ProtocolError::HeaderMismatch { .. }) {
            return Ok(());
        }
        write!(f, "; see https://modelcontextprotocol.io/specification/{}", error.page_in(version))
    }
}

impl ProtocolError {
    #[expect(clippy::too_many_lines, reason = "each error has its own words")]
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.rung())?;
        match self {
            Self::InvalidUtf8 => f.write_str("the message is not UTF-8"),
            Self::Syntax { at } => write!(f, "the message is not JSON from byte {at} on"),
            Self::TooDeep { max_depth } => {
                write!(f, "the message is nested deeper than Limits::max_depth = {max_depth}")
            }
            Self::LineTooLong { max_line_bytes } => {
                write!(f, "the line is longer than Limits::max_line_bytes = {max_line_bytes}")
            }
            Self::InvalidFrame { reason } => f.write_str(reason),
            Self::NotAMessage => f.write_str("a message is a JSON object"),
            Self::NotJsonRpc2 => f.write_str("`jsonrpc` must be \"2.0\""),
            Self::DuplicateMember { member } => write!(f, "`{member}` stands twice"),
            Self::AmbiguousKind => f.write_str(
                "a message has either `method`, or an `id` and one of `result` and `error`",
            ),
            Self::InvalidId => f.write_str("`id` must be a string or an integer"),
            Self::TokenTooLong { max_token_bytes } => write!(
                f,
                "an id or token is longer than Limits::max_token_bytes = {max_token_bytes}"
            ),
            Self::InvalidMethod => f.write_str("`method` must be a string that is not empty"),
            Self::ParamsNotObject => f.write_str("`params` must be an object"),
            Self::InvalidError => {
                f.write_str("`error` must be an object with an integer `code` and a `message`")
            }
            Self::UnexpectedBatch => f.write_str("batches exist in revision 2025-03-26 alone"),
            Self::EmptyBatch => f.write_str("a batch must not be empty"),
            Self::BatchTooLong { max_in_flight } => {
                write!(f, "a batch is longer than Limits::max_in_flight = {max_in_flight}")
            }
            Self::DuplicateId { id } => {
                write!(f, "a request with the id {} is in flight", Excerpt(id))
            }
            Self::UnexpectedResponse => f.write_str("a response to nothing that was asked"),
            Self::BeforeInitialize { serves_modern: true } => f.write_str(
                "open with `initialize`, or put \
                 `io.modelcontextprotocol/protocolVersion` into `params._meta`",
            ),
            Self::BeforeInitialize { serves_modern: false } => {
                f.write_str("open with `initialize`")
            }
            Self::UnexpectedInitialize => {
                f.write_str("`initialize` opens a connection, once and by itself")
            }
            Self::ModernOnLegacy => f.write_str(
                "this connection was opened with `initialize`; \
                 open another one for requests of 2026-07-28",
            ),
            Self::ModernNotServed => f.write_str(
                "EraPolicy::LegacyOnly serves revisions up to 2025-11-25; open with `initialize`",
            ),
            Self::MissingMeta { protocol_version, client_capabilities } => {
                f.write_str("`params._meta` must have")?;
                let and = if *protocol_version {
                    f.write_str(" `io.modelcontextprotocol/protocolVersion`")?;
                    " and"
                } else {
                    ""
                };
                if *client_capabilities {
                    write!(f, "{and} `io.modelcontextprotocol/clientCapabilities`")?;
                }
                Ok(())
            }
            Self::InvalidMeta { key, expected } => write!(f, "`{key}` must be {expected}"),
            Self::UnsupportedVersion { requested, supported, needs_initialize } => {
                match requested {
                    None => f.write_str("a request without a protocol version is not served here"),
                    Some(version) if *needs_initialize => write!(
                        f,
                        "protocol version {} opens with `initialize`, and not with `_meta`",
                        Quoted(version)
                    ),
                    Some(version) => {
                        write!(f, "protocol version {} is not served here", Quoted(version))
                    }
                }?;
                write!(f, "; served: {}", supported.join(", "))
            }
            Self::MethodNotFound { method } => write!(f, "no method {} here", Quoted(method)),
            Self::HeaderMismatch { error, .. } => write!(f, "{error}"),
            Self::HostNotAllowed { host } => {
                write!(f, "the host {} is not allowed; add it to allowed_hosts", Quoted(host))
            }
            Self::OriginNotAllowed { origin } => {
                write!(f, "the origin {} is not allowed; add it to allowed_origins", Quoted(origin))
            }
            Self::UnsupportedMediaType => f.write_str("`Content-Type` must be `application/json`"),
            Self::NotAcceptable { expected } => write!(f, "`Accept` must allow {expected}"),
            Self::VersionNotServed { version } => write!(
                f,
                "`MCP-Protocol-Version` says {}, which is no revision with sessions",
                Quoted(version)
            ),
            Self::VersionDiffers { header, expected } => write!(
                f,
                "`MCP-Protocol-Version` says {}, and it should be {}",
                Quoted(header),
                Quoted(expected)
            ),
            Self::RepeatedHeader { name } => {
                write!(f, "`{name}` must be sent once, and there are several")
            }
            Self::SessionNotFound => {
                f.write_str("no session with this `Mcp-Session-Id`; open one with `initialize`")
            }
            Self::UnknownEvent => {
                f.write_str("`Last-Event-ID` names no event that this session has sent")
            }
            Self::ShareExceeded { limit, max } => {
                write!(f, "no room within Limits::{limit} = {max}; try again later")
            }
            Self::EndpointFull { max_endpoint_bytes } => write!(
                f,
                "the server holds three quarters of Limits::max_endpoint_bytes = \
                 {max_endpoint_bytes}, and the rest is for answers; try again later"
            ),
            Self::ShuttingDown => f.write_str("the server is about to stop"),
            Self::InvalidParam { member, expected } => {
                write!(f, "`params.{member}` must be {expected}")
            }
            Self::UnknownTool { name } => write!(f, "no tool {} here", Quoted(name)),
            Self::ResourceNotFound { uri } => write!(f, "no resource {} here", Quoted(uri)),
            Self::UnknownPrompt { name } => write!(f, "no prompt {} here", Quoted(name)),
            Self::InvalidArgument { name } => {
                write!(f, "the argument {} must be there, and a string", Quoted(name))
            }
            Self::UnknownReference { reference } => {
                write!(f, "no prompt or resource template {} here", Quoted(reference))
            }
            Self::InvalidCursor => {
                f.write_str("`params.cursor` is not one that this list gave out")
            }
            Self::TooManyInFlight { max_in_flight } => {
                write!(f, "Limits::max_in_flight = {max_in_flight} requests are in flight")
            }
            Self::UnexpectedRequest { method } => write!(
                f,
                "{} is a request of a server's, which modern ones do not send",
                Quoted(method)
            ),
            Self::EventTooLong { max_sse_event_bytes } => {
                write!(
                    f,
                    "an event is longer than Limits::max_sse_event_bytes = {max_sse_event_bytes}"
                )
            }
            Self::TooMuchBeforeConnected => {
                f.write_str("too much before it is known which era the server belongs to")
            }
            Self::InvalidNotification { method } => {
                write!(f, "{} is not as the schema says, or belongs to nothing", Quoted(method))
            }
            Self::InvalidResult { expected } => write!(f, "the result must be {expected}"),
            Self::MalformedResult { places } => {
                write!(f, "the result does not fit the schema: {places}")
            }
            Self::ContentEncoding { encoding } => write!(
                f,
                "the answer has `Content-Encoding: {encoding}`; clients ask for identity alone"
            ),
            Self::UnknownResultType { name } => {
                write!(f, "the `resultType` {} is not known", Quoted(name))
            }
            Self::ListTooLong { max_pages, max_list_bytes } => write!(
                f,
                "the list is longer than Limits::max_pages = {max_pages} or \
                 Limits::max_list_bytes = {max_list_bytes}"
            ),
            Self::TooManyInputRounds { max_input_rounds } => write!(
                f,
                "the server asked for input more than Limits::max_input_rounds = \
                 {max_input_rounds} times"
            ),
            Self::UndeclaredInput { capability } => {
                write!(f, "the client does not declare `{capability}`")
            }
            Self::TooManySubscriptions { max_subscriptions } => {
                write!(f, "Limits::max_subscriptions = {max_subscriptions} are open")
            }
            Self::TooManySubscriptionBytes { max_subscription_bytes } => write!(
                f,
                "Limits::max_subscription_bytes = {max_subscription_bytes} would be exceeded"
            ),
            Self::TooManyBytesInFlight { max_in_flight_bytes } => {
                write!(f, "Limits::max_in_flight_bytes = {max_in_flight_bytes} would be exceeded")
            }
        }
    }
}

impl core::error::Error for ProtocolError {}
