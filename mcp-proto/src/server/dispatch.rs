//! From a message to what happens: the first rungs, which both eras share, and tool calls.
//!
//! In: a message, maybe of a batch. Out: a refusal, or a request in the hands of its era
//! (`modern`, `legacy`), which come back here to put a tool call in flight.

use super::calls::Call;
use super::event::{CancelCause, Peer, Reply, ReplyId, Request, ServerEvent};
use super::{Declaration, HandlerId, Opening, Server};
use crate::error::ProtocolError;
use crate::json::{Json, Raw};
use crate::limits::Limits;
use crate::message::{self, Malformed, Member, Message, Method, Params, RequestId};
use crate::meta;
use crate::negotiate::{self, Claim, Kind, Opened, Refusal, Route};
use crate::time::Instant;
use crate::version::EraPolicy;

impl Server {
    pub(super) fn message(&mut self, now: Instant, message: Message, batch: Option<u64>) {
        if let Message::Request(request) = &message
            && self.calls.find(&request.id).is_some()
        {
            let id = request.id.as_str().into();
            return self.refuse(batch, None, &ProtocolError::DuplicateId { id });
        }
        let (kind, claim) = facts(&message);
        match (self.classify(kind, claim), message) {
            (Route::Reject(refusal), Message::Request(request)) => {
                let error = refused(refusal, self.config.era_policy, &request);
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

    pub(super) fn classify(&self, kind: Kind, claim: Claim) -> Route {
        let opened = match &self.opening {
            Opening::Undecided => Opened::Undecided,
            Opening::Modern => Opened::Modern,
            Opening::Legacy(session) if session.version.has_batches() => Opened::LegacyWithBatches,
            Opening::Legacy(_) => Opened::Legacy,
        };
        negotiate::classify(opened, self.config.era_policy, kind, claim)
            .map_or(Route::Drop, |row| row.route)
    }

    pub(super) fn malformed(&mut self, malformed: Malformed, batch: Option<u64>) {
        if !malformed.answerable {
            return self.fault(malformed.error);
        }
        // An answer that names a request in flight would settle it.
        let id = malformed.id.filter(|id| self.calls.find(id).is_none());
        self.refuse(batch, id, &malformed.error);
    }

    fn notification(&mut self, notification: &message::Notification) {
        // The others ask for nothing that this machine does.
        if notification.method != Method::Cancelled {
            return;
        }
        let id = notification.params.raw(Member::RequestId);
        let Some(id) = id.and_then(RequestId::from_raw) else {
            return self.fault(ProtocolError::InvalidParam {
                member: Member::RequestId.name(),
                expected: "a string or an integer",
            });
        };
        if let Some(serial) = self.calls.find(&id) {
            let reason = notification.params.raw(Member::Reason);
            let reason = reason.and_then(Raw::string).map(Into::into);
            self.cancel(serial, CancelCause::Client(reason));
        }
    }

    /// Passes a tool call on to its handler.
    pub(super) fn call_tool(
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
        // Not before that of an older call, even if the clock went back.
        let deadline = (now + self.config.limits.handler_timeout).max(self.calls.last_deadline());
        let first = self.calls.is_empty();
        let serial =
            self.calls.insert(Call { id, era, token, progress: None, deadline, size, batch });
        self.enter(batch);
        if first {
            self.watch_oldest();
        }
        self.event(ServerEvent::Request(Request {
            reply: Reply { id: ReplyId { scope: self.scope, serial } },
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
        let bytes = self.calls.bytes().saturating_add(self.batch_bytes()).saturating_add(size);
        if !self.calls.is_empty() && bytes > max_in_flight_bytes {
            return Err(ProtocolError::TooManyBytesInFlight { max_in_flight_bytes });
        }
        Ok(())
    }
}

fn facts(message: &Message) -> (Kind, Claim) {
    let claim = |params: &Params| match params.raw(Member::MetaProtocolVersion) {
        Some(_) => Claim::Present,
        None => Claim::Absent,
    };
    match message {
        Message::Request(request) => {
            let kind = match &request.method {
                Method::Initialize => Kind::Initialize,
                Method::Ping => Kind::Ping,
                Method::Discover
                | Method::ListTools
                | Method::CallTool
                | Method::Initialized
                | Method::Cancelled
                | Method::Progress
                | Method::Other(_) => Kind::Request,
            };
            (kind, claim(&request.params))
        }
        Message::Notification(notification) => (Kind::Notification, claim(&notification.params)),
        Message::Response(_) => (Kind::Response, Claim::Absent),
    }
}

fn refused(refusal: Refusal, policy: EraPolicy, request: &message::Request) -> ProtocolError {
    match refusal {
        Refusal::UnexpectedBatch => ProtocolError::UnexpectedBatch,
        Refusal::UnexpectedInitialize => ProtocolError::UnexpectedInitialize,
        Refusal::BeforeInitialize => {
            ProtocolError::BeforeInitialize { serves_modern: policy != EraPolicy::LegacyOnly }
        }
        Refusal::ModernOnLegacy => ProtocolError::ModernOnLegacy,
        Refusal::ModernNotServed => ProtocolError::ModernNotServed,
        Refusal::LegacyNotServed => {
            let requested = request.params.raw(Member::ProtocolVersion);
            negotiate::unsupported(requested.and_then(Raw::string).as_deref())
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
        Some(_) => Err(ProtocolError::InvalidParam { member: "arguments", expected: "an object" }),
    }
}

/// The page that a `tools/list` asks for.
pub(super) fn tool_page(params: &Params, declaration: &Declaration) -> Result<Json, ProtocolError> {
    let cursor = match params.raw(Member::Cursor) {
        None => None,
        Some(raw) => Some(raw.string().ok_or(ProtocolError::InvalidCursor)?),
    };
    declaration.tool_page(cursor.as_deref()).cloned().ok_or(ProtocolError::InvalidCursor)
}
