//! What a server machine tells, and what it is told in return.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::registry::HandlerId;
use crate::error::ProtocolError;
use crate::json::Json;
use crate::json::write::List;
use crate::message::{ErrorData, Method, Outgoing, ProgressToken};
use crate::version::{Era, ProtocolVersion};

/// What a [`Server`](super::Server) wants done.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServerAction {
    /// Send this message.
    Send(Outgoing),
    /// Tell the application.
    Event(ServerEvent),
    /// Close the connection; nothing follows.
    Close,
}

/// What happened.
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
    /// The peer sent something that was dropped.
    PeerFault(ProtocolError),
    /// The connection has closed; every request is answered or cancelled.
    Closed,
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
}

/// A request for a handler.
#[derive(Debug)]
#[non_exhaustive]
pub struct Request {
    /// What to answer with. Linear: answering twice does not compile.
    pub reply: Reply,
    /// Whose request it is; [`Registry::handler`](super::Registry::handler) knows it.
    pub handler: HandlerId,
    /// The method.
    pub method: Method,
    /// Its parameters, as they came.
    pub params: Json,
    /// Of a tool call: `params.arguments`, `{}` if absent.
    pub arguments: Json,
    /// Who asks.
    pub peer: Peer,
    /// Whether the client asked to be told of progress.
    pub wants_progress: bool,
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
}

impl Peer {
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
}

/// The right to answer one request, once.
#[derive(PartialEq, Eq, Debug)]
#[must_use = "the client waits for an answer"]
pub struct Reply {
    pub(super) id: ReplyId,
}

impl Reply {
    /// What `notify` and [`ServerEvent::Cancelled`] call the request.
    pub fn id(&self) -> ReplyId {
        self.id
    }
}

/// Names a request that is, or was, in flight; never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplyId {
    pub(super) scope: usize,
    pub(super) serial: u64,
}

/// How many requests came before it; whose it is depends on what else the process does.
impl fmt::Debug for ReplyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReplyId({})", self.serial)
    }
}

/// What came of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// A result: a JSON object. The machine adds what the era asks for.
    Complete(Json),
    /// A JSON-RPC error. (A tool that failed is a result with `isError`, not this.) A code that
    /// the specification reserves and does not define for this era goes out as -32603.
    Error(ErrorData),
}

/// What a handler tells the client while it works.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Notification {
    /// How far it has come; goes out only if the client asked for it.
    Progress(Progress),
}

/// How far a request has come.
///
/// [Specification: Progress](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress)
#[derive(Clone, PartialEq, Debug)]
pub struct Progress {
    /// In units of the handler's choice; must increase with every notification of a request.
    pub progress: f64,
    /// The value that means done, if it is known.
    pub total: Option<f64>,
    /// One sentence for a human.
    pub message: Option<String>,
}

impl Progress {
    /// As far as `progress`, of nobody knows how much.
    pub fn new(progress: f64) -> Self {
        Self { progress, total: None, message: None }
    }

    /// Sets the value that means done.
    pub fn total(mut self, total: f64) -> Self {
        self.total = Some(total);
        self
    }

    /// Sets the sentence for a human.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// The `ProgressNotificationParams`.
    pub(super) fn params(&self, token: &ProgressToken) -> Json {
        let mut out = Vec::new();
        let mut object = List::object(&mut out);
        object.member("progressToken", token.as_str().as_bytes());
        object.member("progress", number(self.progress).as_bytes());
        if let Some(total) = self.total.filter(|total| total.is_finite()) {
            object.member("total", number(total).as_bytes());
        }
        if let Some(message) = &self.message {
            object.text("message", message);
        }
        object.end();
        Json::trusted(out)
    }
}

impl From<f64> for Progress {
    fn from(progress: f64) -> Self {
        Self::new(progress)
    }
}

/// A finite number as JSON; whole ones without a fraction, as clients with integers expect.
fn number(value: f64) -> String {
    alloc::format!("{value}")
}
