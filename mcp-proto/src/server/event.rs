//! Events and actions of a server machine, and the handles to reply to them.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

use super::HandlerId;
use super::extensions::Extensions;
use super::outcome::Input;
use crate::budget::Charge;
use crate::error::{ProtocolError, ValidationStep};
use crate::ext::{self, ui::AppCapability};
use crate::frame::http1::Head;
use crate::json::Json;
use crate::message::{ErrorData, Method, Outgoing};
use crate::resource_server::{Claims, Scopes};
use crate::trace::TraceContext;
use crate::types::{ClientCapabilities, Implementation, LoggingLevel, read_capabilities};
use crate::version::ProtocolVersion;

/// An action of a [`Server`](super::Server).
#[derive(Debug)]
#[non_exhaustive]
pub enum ServerAction {
    /// Send this message.
    Send {
        /// The message.
        message: Outgoing,
        /// The destination, over HTTP: `None` is the stream that belongs to no request.
        stream: Option<StreamId>,
        /// The step at which the request failed, for an error of the machine itself.
        step: Option<ValidationStep>,
    },
    /// Over HTTP: the request that arrived on this stream has no answer.
    Unanswered(StreamId),
    /// Report an event to the application.
    Event(ServerEvent),
    /// Close the connection; nothing follows.
    Close,
}

/// An event for the application.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServerEvent {
    /// A request for a handler. Its [`Reply`] is the argument of `respond`.
    Request(Request),
    /// The client does not need the request any more: stop working on it. Its reply has no effect.
    Cancelled {
        /// The request.
        about: ReplyId,
        /// The cause.
        cause: CancelCause,
    },
    /// A notification for a handler.
    Notification {
        /// The session that the notification belongs to.
        session: SessionRef,
        /// The handler of the notification; [`Registry::handler`](super::Registry::handler) returns
        /// it.
        handler: HandlerId,
        /// The method.
        method: Method,
        /// The parameters, unchanged.
        params: Json,
    },
    /// A session has ended, or the byte stream of a client. Only a server that
    /// [forwards](super::Registry::forward) reports this. All requests of the session are answered
    /// or cancelled.
    SessionEnded {
        /// The session.
        session: SessionRef,
        /// The handler of the forwarder.
        handler: HandlerId,
    },
    /// The outcome of a [`Server::ping`](super::Server::ping).
    Pong {
        /// The ping.
        ping: PingId,
        /// True if the client answered in time.
        answered: bool,
    },
    /// The outcome of a [`Server::request_input`](super::Server::request_input).
    InputAnswered {
        /// The input.
        input: InputId,
        /// The result, a JSON object, unchanged.
        answer: Result<Json, InputFailure>,
    },
    /// Messages for a client were dropped. Over HTTP, a legacy client did not read them in time
    /// (see `Limits::max_replay_events`). On any transport, a handler sent more notifications than
    /// fit ([`Notification::Lost`](super::Notification::Lost)).
    MessagesLost {
        /// The number of lost messages.
        count: u64,
    },
    /// Over HTTP: a limit of the endpoint was reached, so that a request was refused, or a session
    /// or a stream ended. The event is reported the first time, and then at most once in 10 s.
    LimitReached {
        /// The field of `Limits`.
        limit: &'static str,
        /// The number of times that it was reached since the last report.
        count: u64,
    },
    /// Over HTTP: a connection could not be accepted, for example for lack of file descriptors. The
    /// event is reported the first time, and then at most once in 10 s.
    AcceptFailed {
        /// The error.
        error: String,
        /// The number of failures since the last report.
        count: u64,
    },
    /// The peer sent an invalid message, which was dropped.
    PeerFault(ProtocolError),
    /// The connection has closed; every request is answered or cancelled.
    Closed,
}

impl ServerEvent {
    /// A log line, if an operator should know of the event.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all others concern one client")]
    pub fn alarm(&self) -> Option<String> {
        match self {
            Self::LimitReached { limit, count } => {
                Some(alloc::format!("Limits::{limit} was reached ({count} since the last report)"))
            }
            Self::AcceptFailed { error, count } => Some(alloc::format!(
                "connections cannot be accepted ({count} since the last report): {error}"
            )),
            _ => None,
        }
    }
}

/// Cause of a cancellation.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CancelCause {
    /// The client cancelled the request, perhaps with a reason of at most 1,000 characters.
    Client(Option<String>),
    /// `Limits::handler_timeout` passed; the client got an error.
    TimedOut,
    /// The connection ended, and `Limits::drain` passed unless it is a forwarded subscription.
    Closed,
    /// The client disconnected; over HTTP that cancels a modern request.
    Disconnected,
}

/// A request for a handler.
#[derive(Debug)]
#[non_exhaustive]
pub struct Request {
    /// The handle to answer with. It can be used only once: answering twice does not compile.
    pub reply: Reply,
    /// The handler of the request; [`Registry::handler`](super::Registry::handler) returns it.
    pub handler: HandlerId,
    /// The method.
    pub method: Method,
    /// The parameters, unchanged.
    pub params: Json,
    /// The arguments for the handler. For `tools/call` and `prompts/get`: `params.arguments`, or
    /// `{}` if absent. For `resources/read`: the variables of the template, or `{}` without a
    /// template. For other methods: all parameters.
    pub arguments: Json,
    /// The input of the client after [`Outcome::InputRequired`](super::Outcome::InputRequired);
    /// `None` the first time.
    pub input: Option<Box<Input>>,
    /// The peer that has sent the request; requests of a session share it, mostly.
    pub peer: Arc<Peer>,
    /// True if the client asked for progress notifications.
    pub wants_progress: bool,
    /// True if [`Outcome::Task`](super::Outcome::Task) may answer the request.
    pub may_be_task: bool,
    /// The least severe log messages that the client wants about this request; `None` for no
    /// messages.
    pub log_level: Option<LoggingLevel>,
    /// The trace that the request names, if any.
    pub trace: Option<Arc<TraceContext>>,
}

/// Description of the client that sent a request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Peer {
    /// The revision that the request is served under.
    pub version: ProtocolVersion,
    /// The client's `Implementation`, see [`Peer::client`]; a modern client may leave it out.
    pub client_info: Option<Json>,
    /// The client's `ClientCapabilities`; see [`Peer::client_capabilities`].
    pub capabilities: Json,
    /// Over HTTP: the authenticated principal of the client, if the server has authenticated one.
    pub principal: Option<Arc<str>>,
    /// Over HTTP: the values that `Config::authorize`, or a layer in front of the server, has added
    /// to this request. Empty on a byte stream.
    pub extensions: Extensions,
    /// True over HTTP, false on a byte stream.
    pub is_http: bool,
}

impl Peer {
    /// The value of this type among the [extensions](Self::extensions), such as the claims of a
    /// token.
    pub fn get<T: core::any::Any>(&self) -> Option<&T> {
        self.extensions.get()
    }

    /// Decodes the client's name and version. `None` if the client does not send them, or if its
    /// `clientInfo` does not fit the type.
    pub fn client(&self) -> Option<Implementation> {
        self.client_info.as_ref()?.decode().ok()
    }

    /// Decodes the client's capabilities, without those that do not fit the type.
    pub fn client_capabilities(&self) -> ClientCapabilities {
        read_capabilities(&self.capabilities)
    }

    /// Over HTTP: the claims of the token, if the server is protected by a
    /// [`Verifier`](crate::resource_server::Verifier).
    pub fn claims(&self) -> Option<&Claims> {
        self.get()
    }

    /// Over HTTP: the scopes of the token; `None` without [claims](Self::claims).
    pub fn scopes(&self) -> Option<&Scopes> {
        self.claims().map(|claims| &claims.scopes)
    }

    /// Over HTTP, with `Config::keep_head`: the head of the request, without credentials.
    pub fn head(&self) -> Option<&Head> {
        self.get()
    }

    /// The settings of an extension, a JSON object; `None` unless the client declares the
    /// extension.
    /// [`ext`](crate::ext) has the identifiers.
    pub fn extension(&self, identifier: &str) -> Option<Json> {
        ext::settings(&self.capabilities, identifier)
    }

    /// Returns whether the client shows pages of MCP Apps. Other clients show the content of a
    /// tool's result instead, so a tool may return richer content for them.
    pub fn shows_apps(&self) -> bool {
        let settings = self.extension(ext::UI);
        let capability = settings.and_then(|settings| AppCapability::of(&settings));
        capability.is_some_and(|capability| capability.shows_html())
    }
}

/// The right to answer one request, once. The request counts against `Limits::max_endpoint_bytes`
/// until the reply is dropped, because its handler holds the arguments.
#[derive(Debug)]
#[must_use = "the client waits for an answer"]
pub struct Reply {
    pub(super) id: ReplyId,
    /// The charge; `None` for a small request of a modern client.
    pub(super) charge: Option<Charge>,
}

impl PartialEq for Reply {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Reply {}

impl Reply {
    /// The id of the request, for `notify` and [`ServerEvent::Cancelled`].
    pub fn id(&self) -> ReplyId {
        self.id
    }

    /// See [`ReplyId::is_shared`].
    pub fn is_shared(&self) -> bool {
        self.id.shared
    }
}

/// Identifier of a ping by the server; never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PingId(pub(super) u64);

/// Identifier of a request for input that belongs to no request; never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InputId {
    pub(super) scope: usize,
    pub(super) number: u64,
}

impl InputId {
    /// The session whose client is asked.
    pub fn session(self) -> SessionRef {
        SessionRef(self.scope)
    }
}

/// Shows the number of earlier requests to this client. The machine's number is left out, because
/// it depends on the rest of the process.
impl fmt::Debug for InputId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InputId({})", self.number)
    }
}

/// Reason why a request for input has no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum InputFailure {
    /// The client answered with an error.
    Refused(ErrorData),
    /// The client's result is not a JSON object.
    NotAnObject,
    /// There was no answer in time.
    TimedOut,
    /// The connection or the session has ended.
    Closed,
}

impl fmt::Display for InputFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "the client refused: {error}"),
            Self::NotAnObject => f.write_str("the client's answer is no JSON object"),
            Self::TimedOut => f.write_str("the client did not answer in time"),
            Self::Closed => f.write_str("the session has ended"),
        }
    }
}

impl core::error::Error for InputFailure {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        if let Self::Refused(error) = self { Some(error) } else { None }
    }
}

/// Identifier of a legacy client's session over HTTP, for messages outside of its requests; see
/// [`ReplyId::session`]. A byte stream has one session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionRef(pub(crate) usize);

impl SessionRef {
    /// A number of the session: the [`ReplyId::scope`] of its requests.
    #[inline]
    pub fn scope(self) -> usize {
        self.0
    }
}

/// Hides the number, because it depends on the rest of the process.
impl fmt::Debug for SessionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionRef")
    }
}

/// Identifier of a request that is, or was, in flight; never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplyId {
    pub(super) scope: usize,
    pub(super) serial: u64,
    pub(super) shared: bool,
    pub(super) lone: bool,
}

impl ReplyId {
    /// The number of the machine that serves the request. Over HTTP each session has a machine, and
    /// so has each request without a session.
    #[inline]
    pub fn scope(self) -> usize {
        self.scope
    }

    /// The session that the request belongs to, for
    /// [`Endpoint::notify_session`](crate::http::Endpoint::notify_session). A modern request has a
    /// session of its own, to which nothing can be sent.
    pub fn session(self) -> SessionRef {
        SessionRef(self.scope)
    }

    /// Over HTTP: true if the request belongs to a session, and so to the endpoint that all
    /// connections share.
    pub fn is_shared(self) -> bool {
        self.shared
    }

    /// Over HTTP: true if the request belongs to no session. No later message of a client has the
    /// same [`ReplyId::session`].
    pub fn is_lone(self) -> bool {
        self.lone
    }
}

/// Shows the number of the request, from 1. The machine's number is left out, because it depends on
/// the rest of the process.
impl fmt::Debug for ReplyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReplyId({})", self.serial)
    }
}

/// Identifier of the stream of a legacy client's HTTP request. Messages about a request go out on
/// the stream on which it arrived. Never used twice in a session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StreamId(pub(crate) u64);

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(client_info: Option<&'static str>, capabilities: &'static str) -> Peer {
        let json = |text: &'static str| Json::parse(text).unwrap();
        Peer {
            version: ProtocolVersion::LATEST_MODERN,
            client_info: client_info.map(json),
            capabilities: json(capabilities),
            principal: None,
            extensions: Extensions::default(),
            is_http: false,
        }
    }

    #[test]
    fn client_and_capabilities_are_decoded_if_they_fit() {
        let known = peer(
            Some(r#"{"name":"host","version":"1.0","title":"Host"}"#),
            r#"{"sampling":{},"elicitation":{"url":{}}}"#,
        );
        let client = known.client().unwrap();
        assert_eq!((&*client.name, &*client.version), ("host", "1.0"));
        assert_eq!(client.title.as_deref(), Some("Host"));
        let capabilities = known.client_capabilities();
        assert!(capabilities.sampling.is_some() && capabilities.roots.is_none());
        assert!(capabilities.elicitation.unwrap().url.is_some());

        let unreadable =
            peer(Some(r#"{"name":"host","version":"1.0","title":5}"#), r#"{"roots":5}"#);
        assert_eq!(unreadable.client(), None);
        assert_eq!(unreadable.client_capabilities(), ClientCapabilities::default());
        assert_eq!(peer(None, "{}").client(), None);
    }

    #[test]
    fn refusal_of_input_is_the_source_of_its_failure() {
        use core::error::Error;
        let failure = InputFailure::Refused(ErrorData::internal("no"));
        assert!(failure.source().is_some_and(<dyn Error>::is::<ErrorData>));
    }
}
