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
use crate::ext;
use crate::frame::http1::Head;
use crate::json::Json;
use crate::message::{ErrorData, Method, Outgoing};
use crate::resource_server::{Claims, Scopes};
use crate::trace::TraceContext;
use crate::types::LoggingLevel;
use crate::version::{Era, ProtocolVersion};

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
        /// Of an error with which the machine itself refuses a request: the step at which it
        /// failed.
        step: Option<ValidationStep>,
    },
    /// Over HTTP: nothing answers what came in with this stream.
    Unanswered(StreamId),
    /// Tell the application.
    Event(ServerEvent),
    /// Close the connection; nothing follows.
    Close,
}

/// The event.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServerEvent {
    /// A request for a handler; give its [`Reply`] back with `respond`.
    Request(Request),
    /// A request is no longer of interest: stop working on it. Its reply is void.
    Cancelled {
        /// The request.
        about: ReplyId,
        /// Why.
        cause: CancelCause,
    },
    /// A notification for a handler.
    Notification {
        /// Whose session it is of.
        session: SessionRef,
        /// Whose notification it is; [`Registry::handler`](super::Registry::handler) knows it.
        handler: HandlerId,
        /// The method.
        method: Method,
        /// Its parameters, as they came.
        params: Json,
    },
    /// A session has ended, or the byte stream of a client; only of a server that
    /// [forwards](super::Registry::forward). Its requests are answered or cancelled.
    SessionEnded {
        /// The session.
        session: SessionRef,
        /// The handler that forwards.
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
        /// The result, a JSON object, as it came.
        answer: Result<Json, InputFailure>,
    },
    /// So many messages for a client were dropped: over HTTP, before a legacy client came to take
    /// them (see `Limits::max_replay_events`); anywhere, because a handler sent more notifications
    /// than could be sent ([`Notification::Lost`](super::Notification::Lost)).
    MessagesLost {
        /// The number.
        count: u64,
    },
    /// Over HTTP: a limit of the endpoint was reached, so that something ended or was refused. It
    /// is reported the first time, and then at most once in 10 s.
    LimitReached {
        /// The field of `Limits`.
        limit: &'static str,
        /// The number of times that it was reached since the last report.
        count: u64,
    },
    /// Over HTTP: a connection could not be accepted, for want of file descriptors perhaps. It is
    /// reported the first time, and then at most once in 10 s.
    AcceptFailed {
        /// Why.
        error: String,
        /// The number since the last report.
        count: u64,
    },
    /// The peer sent something that was dropped.
    PeerFault(ProtocolError),
    /// The connection has closed; every request is answered or cancelled.
    Closed,
}

impl ServerEvent {
    /// A line for a log, if an operator is to know of the event.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all others concern one client")]
    pub fn alarm(&self) -> Option<String> {
        match self {
            Self::LimitReached { limit, count } => {
                Some(alloc::format!("Limits::{limit} is reached, {count} times since last told"))
            }
            Self::AcceptFailed { error, count } => Some(alloc::format!(
                "connections cannot be accepted, {count} times since last told: {error}"
            )),
            _ => None,
        }
    }
}

/// Why a request was cancelled.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CancelCause {
    /// The client said so, with a reason perhaps.
    Client(Option<String>),
    /// `Limits::handler_timeout` passed; the client got an error.
    TimedOut,
    /// The connection ended and `Limits::drain` passed.
    Closed,
    /// The client broke the connection off; over HTTP that cancels a modern request.
    Disconnected,
}

/// A request for a handler.
#[derive(Debug)]
#[non_exhaustive]
pub struct Request {
    /// The handle to answer with. Linear: answering twice does not compile.
    pub reply: Reply,
    /// Whose request it is; [`Registry::handler`](super::Registry::handler) knows it.
    pub handler: HandlerId,
    /// The method.
    pub method: Method,
    /// Its parameters, as they came.
    pub params: Json,
    /// The part for the handler: `params.arguments` of `tools/call` and `prompts/get`, `{}` if
    /// absent; of `resources/read` the variables of the template, `{}` without one; else all of
    /// them.
    pub arguments: Json,
    /// The input of the client after [`Outcome::InputRequired`](super::Outcome::InputRequired);
    /// `None` the first time.
    pub input: Option<Box<Input>>,
    /// The peer that asks.
    pub peer: Peer,
    /// True if the client asked to be told of progress.
    pub wants_progress: bool,
    /// The least severe log messages that the client wants about this request; `None` if none.
    pub log_level: Option<LoggingLevel>,
    /// The trace that the request belongs to, if it says so.
    pub trace: Option<Arc<TraceContext>>,
}

/// The client as far as one request knows it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Peer {
    /// The revision that the request is served under.
    pub version: ProtocolVersion,
    /// The client's `Implementation`; a modern client may leave it out.
    pub client_info: Option<Json>,
    /// The client's `ClientCapabilities`.
    pub capabilities: Json,
    /// Over HTTP: on whose behalf the client acts, as far as the server has authenticated it.
    pub principal: Option<Arc<str>>,
    /// Over HTTP: the values that `Config::authorize`, or a layer in front of the server, has put
    /// there for this request. Empty on a byte stream.
    pub extensions: Extensions,
    /// True over HTTP, false on a byte stream.
    pub is_http: bool,
}

impl Peer {
    /// The value of a type among the [extensions](Self::extensions), such as the claims of a token.
    pub fn get<T: core::any::Any>(&self) -> Option<&T> {
        self.extensions.get()
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

    /// The same, sharing no memory with the message that it came in; for whoever keeps it.
    pub fn detach(self) -> Self {
        match self.version.era() {
            // A session keeps copies of its own.
            Era::Legacy => self,
            Era::Modern => Self {
                client_info: self.client_info.map(|info| info.detach()),
                capabilities: self.capabilities.detach(),
                ..self
            },
        }
    }

    /// The settings of an extension, an object, if the client declares it; [`ext`](crate::ext) has
    /// the identifiers.
    pub fn extension(&self, identifier: &str) -> Option<Json> {
        ext::settings(&self.capabilities, identifier)
    }
}

/// The right to answer one request, once. As long as it lives the request counts against
/// `Limits::max_endpoint_bytes`: whoever works on it holds its arguments.
#[derive(Debug)]
#[must_use = "the client waits for an answer"]
pub struct Reply {
    pub(super) id: ReplyId,
    /// None for a small request of a modern client.
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

/// Names a ping of the server's; never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PingId(pub(super) u64);

/// Names a request for input that belongs to no request; never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InputId {
    pub(super) scope: usize,
    pub(super) number: u64,
}

impl InputId {
    /// The session that is asked.
    pub fn session(self) -> SessionRef {
        SessionRef(self.scope)
    }
}

/// The number of requests that its client was sent before; whose it is depends on what else the
/// process does.
impl fmt::Debug for InputId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InputId({})", self.number)
    }
}

/// Why a request for input has no answer.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum InputFailure {
    /// The client answered with an error.
    Refused(ErrorData),
    /// The client's result is no JSON object.
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

impl core::error::Error for InputFailure {}

/// Names the session of a legacy client over HTTP, to send it something outside of its requests;
/// see [`ReplyId::session`]. On a byte stream there is one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionRef(pub(crate) usize);

impl SessionRef {
    /// A number of the session: the [`ReplyId::scope`] of its requests.
    #[inline]
    pub fn scope(self) -> usize {
        self.0
    }
}

/// The client depends on what else the process does.
impl fmt::Debug for SessionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionRef")
    }
}

/// Names a request that is, or was, in flight; never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplyId {
    pub(super) scope: usize,
    pub(super) serial: u64,
    pub(super) shared: bool,
}

impl ReplyId {
    /// A number of the machine whose request it is. Over HTTP each session has a machine, and so has
    /// each request that belongs to none.
    #[inline]
    pub fn scope(self) -> usize {
        self.scope
    }

    /// The session that the request belongs to, for
    /// [`Endpoint::notify_session`](crate::http::Endpoint::notify_session); it may be a modern
    /// request's own, which can be sent nothing.
    pub fn session(self) -> SessionRef {
        SessionRef(self.scope)
    }

    /// Over HTTP: whether the request belongs to a session, and so to the endpoint that all
    /// connections share.
    pub fn is_shared(self) -> bool {
        self.shared
    }
}

/// The number of requests that came before; whose it is depends on what else the process does.
impl fmt::Debug for ReplyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReplyId({})", self.serial)
    }
}

/// Names the stream of an HTTP request of a legacy client: what is about a request goes out on the
/// stream that it came in with. Never used twice in a session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StreamId(pub(crate) u64);
