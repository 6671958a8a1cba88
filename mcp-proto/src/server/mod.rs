//! The server: messages in, messages out, for both eras at once.
//!
//! A [`Server`] is the protocol state of one peer scope; on a byte stream that is the stream, and
//! [`stdio::Connection`](crate::stdio::Connection) is its binding. What it offers comes from a
//! [`Registry`], registered once; which era a client speaks decides [`negotiate`].
//!
//! | input | output |
//! |---|---|
//! | a message | a response, or a [`Request`] event for a handler, or nothing (`negotiate::TABLE`) |
//! | `respond` | the response, stamped for the era; nothing if the request was cancelled |
//! | `notify` | progress, if the client asked for it |
//! | `notifications/cancelled` | a `Cancelled` event, and never a response |
//! | end of input | requests in flight get `Limits::drain`, then `Cancelled`; then `Closed` |
//! | `Limits::handler_timeout` | `Cancelled`, and -32603 |
//!
//! What the machine answers by itself: `initialize`, `server/discover`, `ping`, `tools/list`.
//!
//! States: a connection is opened as undecided, modern or legacy (with its session); apart from
//! that it is open, draining (no more input, requests in flight) or closed.
//!
//! [Specification: Server Features](https://modelcontextprotocol.io/specification/2026-07-28/server)

mod calls;
mod declaration;
mod event;
mod legacy;
mod modern;
mod registry;
mod stamp;

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::deadlines::Deadlines;
use crate::error::{ErrorCode, ProtocolError, UsageError};
use crate::json::{Json, Raw};
use crate::json::write::List;
use crate::limits::Limits;
use crate::message::{
    self, ErrorData, Incoming, Malformed, Member, Message, Method, Outgoing, Params, RequestId,
};
use crate::meta;
use crate::negotiate::{self, Claim, Kind, Opened, Refusal, Route};
use crate::time::Instant;
use crate::version::{Era, EraPolicy};

use calls::{Call, Calls};
pub use declaration::Declaration;
pub use event::{
    CancelCause, Notification, Outcome, Peer, Progress, Reply, ReplyId, Request, ServerAction,
    ServerEvent,
};
pub use registry::{HandlerId, Registry};

/// How a server behaves.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Config {
    /// The eras that it serves; default both.
    pub era_policy: EraPolicy,
    /// Its bounds.
    pub limits: Limits,
    /// Tells the replies of this machine from those of others; default 0. Whoever drives several
    /// machines gives each another number, and a reply that strays is dropped.
    pub scope: u64,
}

/// The server's side of one peer scope.
#[derive(Debug)]
pub struct Server {
    declaration: Arc<Declaration>,
    config: Config,
    opening: Opening,
    life: Life,
    calls: Calls,
    deadlines: Deadlines<Reason>,
    queue: VecDeque<ServerAction>,
    dropped_replies: u64,
}

#[derive(Debug)]
enum Opening {
    Undecided,
    Modern,
    Legacy(legacy::Session),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    Open,
    Draining,
    Closed,
}

/// What a deadline is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Reason {
    Drain,
    /// The oldest request in flight: handlers all have the same time, so it is due first.
    Handler,
}

impl Server {
    /// A server for a peer that has not said anything yet.
    pub fn new(declaration: Arc<Declaration>, config: Config) -> Self {
        Self {
            declaration,
            config,
            opening: Opening::Undecided,
            life: Life::Open,
            calls: Calls::default(),
            deadlines: Deadlines::new(),
            queue: VecDeque::new(),
            dropped_replies: 0,
        }
    }

    /// The peer sent a message.
    pub fn handle_message(&mut self, now: Instant, incoming: Incoming) {
        if self.life != Life::Open {
            return;
        }
        match incoming {
            Incoming::Message(message) => self.message(now, message, None),
            Incoming::Batch(batch) => match self.classify(Kind::Batch, Claim::Absent) {
                Route::Legacy => self.batch(now, &batch),
                _ => self.refuse(None, None, &ProtocolError::UnexpectedBatch),
            },
        }
    }

    /// The peer sent something that is no message.
    pub fn handle_malformed(&mut self, _now: Instant, malformed: Malformed) {
        if self.life == Life::Open {
            self.malformed(malformed, None);
        }
    }

    /// The peer sends nothing more, or the server is to stop: requests in flight get
    /// `Limits::drain` to be answered.
    pub fn handle_eof(&mut self, now: Instant) {
        if self.life != Life::Open {
            return;
        }
        self.life = Life::Draining;
        self.deadlines.set(Reason::Drain, now + self.config.limits.drain);
        self.close_if_drained();
    }

    /// It is `now`; due deadlines take effect.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(reason) = self.deadlines.expire(now) {
            match reason {
                Reason::Drain => {
                    while let Some(serial) = self.calls.oldest() {
                        self.cancel(serial, CancelCause::Closed);
                    }
                }
                Reason::Handler => {
                    while let Some(serial) = self.calls.due(now) {
                        self.time_out(serial);
                    }
                    self.watch_oldest();
                }
            }
            self.close_if_drained();
        }
    }

    /// Answers a request. An answer to what is cancelled, closed or another machine's is dropped
    /// and counted.
    pub fn respond(&mut self, _now: Instant, reply: Reply, outcome: Outcome) {
        let Some(call) = self.take(reply.id) else {
            self.dropped_replies = self.dropped_replies.saturating_add(1);
            return;
        };
        let answer = match outcome {
            Outcome::Complete(result) if result.raw().is_object() => {
                let (stamp, result) = stamp::complete(call.era, &self.declaration, result);
                Outgoing::Result { id: call.id, stamp, result }
            }
            Outcome::Complete(_) => Outgoing::Error {
                id: Some(call.id),
                error: ErrorData::internal("the handler's result is no JSON object"),
            },
            Outcome::Error(error) => {
                Outgoing::Error { id: Some(call.id), error: permitted(call.era, error) }
            }
        };
        self.answer(call.batch, answer);
        self.leave(call.batch);
        self.close_if_drained();
    }

    /// Tells the client about a request in flight. Progress that the client did not ask for goes
    /// nowhere, and that is no error.
    ///
    /// Fails with [`UsageError::NotInFlight`] after the answer, a cancellation or the end, and
    /// with [`UsageError::ProgressNotIncreasing`].
    pub fn notify(
        &mut self,
        _now: Instant,
        about: ReplyId,
        notification: Notification,
    ) -> Result<(), UsageError> {
        if self.life == Life::Closed {
            return Err(UsageError::Closed);
        }
        let Notification::Progress(progress) = notification;
        let scope = self.config.scope;
        let call = self.calls.get_mut(about.serial).filter(|_| about.scope == scope);
        let call = call.ok_or(UsageError::NotInFlight)?;
        let increases = call.progress.is_none_or(|before| progress.progress > before);
        if !progress.progress.is_finite() || !increases {
            return Err(UsageError::ProgressNotIncreasing);
        }
        call.progress = Some(progress.progress);
        if let Some(token) = &call.token {
            let params = progress_params(token, &progress);
            let message = Outgoing::Notification { method: "notifications/progress", params };
            self.queue.push_back(ServerAction::Send(message));
        }
        Ok(())
    }

    /// The requests that a handler has not answered yet, oldest first.
    pub fn owed(&self) -> impl Iterator<Item = ReplyId> + '_ {
        let scope = self.config.scope;
        self.calls.serials().map(move |serial| ReplyId { scope, serial })
    }

    /// How many answers were dropped because nobody waited for them.
    pub fn dropped_replies(&self) -> u64 {
        self.dropped_replies
    }

    /// The era that the connection was opened in, `None` before that.
    pub fn era(&self) -> Option<Era> {
        match self.opening {
            Opening::Undecided => None,
            Opening::Modern => Some(Era::Modern),
            Opening::Legacy(_) => Some(Era::Legacy),
        }
    }

    /// The next action.
    pub fn poll_action(&mut self) -> Option<ServerAction> {
        self.queue.pop_front()
    }

    /// The next action if it is to send a message.
    pub(crate) fn poll_send(&mut self) -> Option<Outgoing> {
        match self.queue.pop_front_if(|action| matches!(action, ServerAction::Send(_))) {
            Some(ServerAction::Send(message)) => Some(message),
            _ => None,
        }
    }

    /// When [`Server::handle_timeout`] is to be called at the latest.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.next()
    }

    /// Whether more messages are wanted: not before all actions are taken, nor after the end.
    pub fn wants_read(&self) -> bool {
        self.life == Life::Open && self.queue.is_empty()
    }

    fn message(&mut self, now: Instant, message: Message, batch: Option<u64>) {
        if let Message::Request(request) = &message
            && self.calls.find(&request.id).is_some()
        {
            let id = request.id.as_str().into();
            return self.refuse(batch, None, &ProtocolError::DuplicateId { id });
        }
        let (kind, claim) = facts(&message);
        match (self.classify(kind, claim), message) {
            (Route::Reject(refusal), Message::Request(request)) => {
                let error = refused(refusal, &request);
                self.refuse(batch, Some(request.id), &error);
            }
            (Route::Modern, Message::Request(request)) => self.modern_request(now, request),
            (Route::Legacy, Message::Request(request)) => self.legacy_request(now, request, batch),
            (Route::Modern | Route::Legacy, Message::Notification(notification)) => {
                self.notification(&notification);
            }
            (_, Message::Response(_)) => self.fault(ProtocolError::UnexpectedResponse),
            (Route::Drop | Route::Reject(_), _) => {}
        }
    }

    fn classify(&self, kind: Kind, claim: Claim) -> Route {
        let opened = match &self.opening {
            Opening::Undecided => Opened::Undecided,
            Opening::Modern => Opened::Modern,
            Opening::Legacy(session) if session.version.has_batches() => Opened::LegacyWithBatches,
            Opening::Legacy(_) => Opened::Legacy,
        };
        negotiate::classify(opened, self.config.era_policy, kind, claim)
            .map_or(Route::Drop, |row| row.route)
    }

    fn malformed(&mut self, malformed: Malformed, batch: Option<u64>) {
        if !malformed.answerable {
            return self.fault(malformed.error);
        }
        // An answer that names a request in flight would settle it.
        let id = malformed.id.filter(|id| self.calls.find(id).is_none());
        self.refuse(batch, id, &malformed.error);
    }

    fn notification(&mut self, notification: &message::Notification) {
        match notification.method {
            Method::Cancelled => {
                let id = notification.params.raw(Member::RequestId);
                let Some(id) = id.and_then(RequestId::from_raw) else {
                    return self.fault(ProtocolError::InvalidParam {
                        member: "requestId",
                        expected: "a string or an integer",
                    });
                };
                if let Some(serial) = self.calls.find(&id) {
                    let reason = notification.params.raw(Member::Reason);
                    let reason = reason.and_then(Raw::string).map(Into::into);
                    self.cancel(serial, CancelCause::Client(reason));
                }
            }
            // The rest asks for nothing that this machine does.
            _ => {}
        }
    }

    /// Passes a tool call on to its handler.
    fn call_tool(
        &mut self,
        now: Instant,
        request: message::Request,
        peer: Peer,
        batch: Option<u64>,
    ) -> Result<(), ProtocolError> {
        let message::Request { id, method, params, size } = request;
        let (handler, arguments) = tool_params(&params, &self.declaration)?;
        let token = meta::progress_token(&params, &self.config.limits)?;
        self.admit(size)?;
        let wants_progress = token.is_some();
        let era = peer.version.era();
        let deadline = now + self.config.limits.handler_timeout;
        let first = self.calls.is_empty();
        let serial =
            self.calls.insert(Call { id, era, token, progress: None, deadline, size, batch });
        self.enter(batch);
        if first {
            self.watch_oldest();
        }
        self.event(ServerEvent::Request(Request {
            reply: Reply { id: ReplyId { scope: self.config.scope, serial } },
            handler,
            method,
            params: params.json().clone(),
            arguments,
            peer,
            wants_progress,
        }));
        Ok(())
    }

    /// Whether another request of `size` bytes may be in flight.
    fn admit(&self, size: usize) -> Result<(), ProtocolError> {
        let Limits { max_in_flight, max_in_flight_bytes, .. } = self.config.limits;
        if self.calls.len() >= max_in_flight {
            return Err(ProtocolError::TooManyInFlight { max_in_flight });
        }
        if !self.calls.is_empty() && self.calls.bytes().saturating_add(size) > max_in_flight_bytes {
            return Err(ProtocolError::TooManyBytesInFlight { max_in_flight_bytes });
        }
        Ok(())
    }

    fn take(&mut self, id: ReplyId) -> Option<Call> {
        if id.scope != self.config.scope {
            return None;
        }
        let call = self.calls.take(id.serial);
        // While others are in flight the deadline may come early; it is set anew then.
        if self.calls.is_empty() {
            self.deadlines.clear(Reason::Handler);
        }
        call
    }

    fn watch_oldest(&mut self) {
        match self.calls.next_deadline() {
            Some(at) => self.deadlines.set(Reason::Handler, at),
            None => self.deadlines.clear(Reason::Handler),
        }
    }

    fn cancel(&mut self, serial: u64, cause: CancelCause) {
        let about = ReplyId { scope: self.config.scope, serial };
        if let Some(call) = self.take(about) {
            self.event(ServerEvent::Cancelled { about, cause });
            self.leave(call.batch);
        }
    }

    fn time_out(&mut self, serial: u64) {
        let about = ReplyId { scope: self.config.scope, serial };
        if let Some(call) = self.take(about) {
            self.event(ServerEvent::Cancelled { about, cause: CancelCause::TimedOut });
            let error = ErrorData::internal("the handler took longer than Limits::handler_timeout");
            self.answer(call.batch, Outgoing::Error { id: Some(call.id), error });
            self.leave(call.batch);
        }
    }

    fn refuse(&mut self, batch: Option<u64>, id: Option<RequestId>, error: &ProtocolError) {
        self.answer(batch, Outgoing::Error { id, error: error.into() });
    }

    fn fault(&mut self, error: ProtocolError) {
        self.event(ServerEvent::PeerFault(error));
    }

    fn event(&mut self, event: ServerEvent) {
        self.queue.push_back(ServerAction::Event(event));
    }

    fn close_if_drained(&mut self) {
        if self.life == Life::Draining && self.calls.is_empty() {
            self.life = Life::Closed;
            self.deadlines.clear(Reason::Drain);
            self.event(ServerEvent::Closed);
            self.queue.push_back(ServerAction::Close);
        }
    }
}

fn facts(message: &Message) -> (Kind, Claim) {
    let claim = |params: &Params| match params.raw(Member::MetaProtocolVersion) {
        Some(_) => Claim::Present,
        None => Claim::Absent,
    };
    match message {
        Message::Request(request) => {
            let kind = match request.method {
                Method::Initialize => Kind::Initialize,
                Method::Ping => Kind::Ping,
                _ => Kind::Request,
            };
            (kind, claim(&request.params))
        }
        Message::Notification(notification) => (Kind::Notification, claim(&notification.params)),
        Message::Response(_) => (Kind::Response, Claim::Absent),
    }
}

fn refused(refusal: Refusal, request: &message::Request) -> ProtocolError {
    match refusal {
        Refusal::UnexpectedBatch => ProtocolError::UnexpectedBatch,
        Refusal::UnexpectedInitialize => ProtocolError::UnexpectedInitialize,
        Refusal::BeforeInitialize => ProtocolError::BeforeInitialize,
        Refusal::ModernOnLegacy => ProtocolError::ModernOnLegacy,
        Refusal::ModernNotServed => ProtocolError::ModernNotServed,
        Refusal::LegacyNotServed => {
            let requested = request.params.raw(Member::ProtocolVersion);
            let requested = requested.and_then(Raw::string).unwrap_or_default();
            negotiate::unsupported(&requested)
        }
        Refusal::MissingMeta if meta::is_malformed(&request.params) => {
            ProtocolError::InvalidMeta { key: Member::Meta.name(), expected: "an object" }
        }
        Refusal::MissingMeta => meta::missing(&request.params),
    }
}

/// The handler and the arguments of a tool call.
fn tool_params(
    params: &Params,
    declaration: &Declaration,
) -> Result<(HandlerId, Json), ProtocolError> {
    let name = params.raw(Member::Name).and_then(Raw::string);
    let name = name.ok_or(ProtocolError::InvalidParam { member: "name", expected: "a string" })?;
    let handler = declaration
        .tool(&name)
        .ok_or_else(|| ProtocolError::UnknownTool { name: name.clone().into_owned() })?;
    match params.get(Member::Arguments) {
        None => Ok((handler, Json::EMPTY_OBJECT)),
        Some(arguments) if arguments.raw().is_object() => Ok((handler, arguments)),
        Some(_) => {
            Err(ProtocolError::InvalidParam { member: "arguments", expected: "an object" })
        }
    }
}

/// The page that a `tools/list` asks for.
fn tool_page(params: &Params, declaration: &Declaration) -> Result<Json, ProtocolError> {
    let cursor = match params.raw(Member::Cursor) {
        None => None,
        Some(raw) => Some(raw.string().ok_or(ProtocolError::InvalidCursor)?),
    };
    declaration.tool_page(cursor.as_deref()).cloned().ok_or(ProtocolError::InvalidCursor)
}

/// A handler's error with a code that may be sent in this era.
fn permitted(era: Era, mut error: ErrorData) -> ErrorData {
    const RESOURCE_NOT_FOUND: i64 = -32002;
    const URL_ELICITATION_REQUIRED: i64 = -32042;
    let allowed = match (error.code.0, era) {
        (RESOURCE_NOT_FOUND | URL_ELICITATION_REQUIRED, Era::Legacy) => true,
        (-32022..=-32020, Era::Modern) => true,
        (-32099..=-32000, _) => false,
        _ => true,
    };
    if !allowed {
        error.code = ErrorCode::INTERNAL_ERROR;
    }
    error
}

fn progress_params(token: &RequestId, progress: &Progress) -> Json {
    let mut out = Vec::new();
    let mut object = List::object(&mut out);
    object.member("progressToken", token.as_str().as_bytes());
    object.member("progress", number(progress.progress).as_bytes());
    if let Some(total) = progress.total.filter(|total| total.is_finite()) {
        object.member("total", number(total).as_bytes());
    }
    if let Some(message) = &progress.message {
        object.text("message", message);
    }
    object.end();
    Json::trusted(out)
}

/// A finite number as JSON; whole ones without a fraction, as clients with integers expect.
fn number(value: f64) -> alloc::string::String {
    alloc::format!("{value}")
}
