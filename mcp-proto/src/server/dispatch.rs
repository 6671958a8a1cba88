//! From a message to what happens: the first rungs, which both eras share, and what is in flight.
//!
//! In: a message, maybe of a batch. Out: a refusal, or a request in the hands of its era
//! (`modern`, `legacy`), which come back here to put it in flight.

use super::call::ReplyPath;
use super::event::{CancelCause, ServerEvent, SessionRef, StreamId};
use super::{Opening, Server};
use crate::error::ProtocolError;
use crate::headers::Mirrored;
use crate::json::Raw;
use crate::message::{self, Incoming, Malformed, Member, Message, Method, Params, RequestId};
use crate::meta;
use crate::negotiate::{self, Claim, Kind, Opened, Refusal, Route};
use crate::time::Instant;
use crate::version::EraPolicy;

impl Server {
    pub(super) fn message(
        &mut self,
        now: Instant,
        message: Message,
        source: MessageSource<'_, '_>,
    ) {
        let route = source.route.unwrap_or_else(|| {
            let (kind, claim) = message_facts(&message);
            self.classify(kind, claim)
        });
        match message {
            Message::Request(request) => self.request(now, request, route, source),
            Message::Notification(notification) => match route {
                Route::Modern | Route::Legacy => self.notification(notification),
                Route::Drop | Route::Reject(_) => {}
            },
            Message::Response(response) => match route {
                Route::Legacy => self.response(now, response),
                Route::Modern | Route::Drop | Route::Reject(_) => {
                    self.fault(ProtocolError::UnexpectedResponse);
                }
            },
        }
    }

    fn request(
        &mut self,
        now: Instant,
        request: message::Request,
        route: Route,
        source: MessageSource<'_, '_>,
    ) {
        let path = source.path;
        if self.calls.find(&request.id).is_some() {
            let error = ProtocolError::DuplicateId { id: request.id.as_str().into() };
            // On a stream of messages an answer with this id would settle the first request.
            let id = path.stream.map(|_| request.id);
            return self.refuse(path, id, &error);
        }
        match route {
            Route::Modern => self.modern_request(now, request, source),
            Route::Legacy => self.legacy_request(now, request, path),
            Route::Reject(refusal) => {
                let error = refused(refusal, self.context.config().era_policy, &request.params);
                self.refuse(path, Some(request.id), &error);
            }
            Route::Drop => {}
        }
    }

    pub(super) fn classify(&self, kind: Kind, claim: Claim) -> Route {
        let opened = match &self.opening {
            Opening::Undecided => Opened::Undecided,
            Opening::Modern => Opened::Modern,
            Opening::Legacy(session) if session.version.has_batches() => Opened::LegacyWithBatches,
            Opening::Legacy(_) => Opened::Legacy,
        };
        negotiate::classify(opened, self.context.config().era_policy, kind, claim)
            .map_or(Route::Drop, |row| row.then)
    }

    pub(super) fn malformed(&mut self, malformed: Malformed, path: ReplyPath) {
        if !malformed.answerable {
            return self.fault(malformed.error);
        }
        // An answer that names a request in flight would settle it.
        let id = malformed.id.filter(|id| self.calls.find(id).is_none());
        self.refuse(path, id, &malformed.error);
    }

    fn notification(&mut self, notification: message::Notification) {
        if matches!(notification.method, Method::Cancelled) {
            return self.cancelled(&notification.params);
        }
        if matches!(notification.method, Method::Initialized) {
            self.initialized();
        }
        // The others are a handler's, or nobody's.
        let message::Notification { method, params, .. } = notification;
        if self.context.declaration().has_notifications()
            && let Some(handler) = self.context.declaration().notification(method.name())
        {
            let params = params.json().clone();
            let session = SessionRef(self.context.scope());
            self.context.event(ServerEvent::Notification { session, handler, method, params });
        }
    }

    fn cancelled(&mut self, params: &Params) {
        let id = params.raw(Member::RequestId);
        let Some(id) = id.and_then(RequestId::from_raw) else {
            return self.fault(ProtocolError::InvalidParam {
                member: Member::RequestId.name(),
                expected: "a string or an integer",
            });
        };
        let Some(serial) = self.calls.find(&id) else { return };
        if self.calls.get_mut(serial).is_some() {
            let reason = params.raw(Member::Reason);
            let reason = reason.and_then(Raw::string).map(Into::into);
            self.calls.cancel(&mut self.context, serial, CancelCause::Client(reason));
        } else {
            self.stop_waiting(serial);
            self.stop_listening(serial);
        }
    }
}

/// Where a message came from.
#[derive(Clone, Copy, Default)]
pub(crate) struct MessageSource<'a, 'h> {
    pub(super) path: ReplyPath,
    /// What the head of its HTTP request repeats of it.
    pub(super) head: Option<&'a Mirrored<'h>>,
    /// The eras that its HTTP endpoint serves, which may be fewer than those of the machine.
    pub(super) policy: Option<EraPolicy>,
    /// The route that its HTTP exchange found. The machine classifies all other messages, and
    /// batches, which only some sessions have.
    pub(super) route: Option<Route>,
}

impl<'a, 'h> MessageSource<'a, 'h> {
    /// The HTTP request of a legacy client; its answers go out on `stream`, if there are any.
    pub(crate) fn legacy(stream: Option<StreamId>) -> Self {
        let path = ReplyPath { stream, batch: None };
        Self { path, head: None, policy: None, route: Some(Route::Legacy) }
    }

    /// The HTTP request of a modern client, with its head, at an endpoint of this policy.
    pub(crate) fn modern(head: &'a Mirrored<'h>, policy: EraPolicy) -> Self {
        let route = Some(Route::Modern);
        Self { path: ReplyPath::default(), head: Some(head), policy: Some(policy), route }
    }
}

/// What the table of eras wants to know of what came in.
pub(crate) fn facts(incoming: &Incoming) -> (Kind, Claim) {
    match incoming {
        Incoming::Message(message) => message_facts(message),
        Incoming::Batch(_) => (Kind::Batch, Claim::Absent),
    }
}

/// The id of a request.
pub(crate) fn request_id(incoming: &Incoming) -> Option<RequestId> {
    match incoming {
        Incoming::Message(Message::Request(request)) => Some(request.id.clone()),
        Incoming::Message(Message::Notification(_) | Message::Response(_)) | Incoming::Batch(_) => {
            None
        }
    }
}

fn message_facts(message: &Message) -> (Kind, Claim) {
    let claim = |params: &Params| match params.raw(Member::MetaProtocolVersion) {
        Some(_) => Claim::Present,
        None if params.has_any(meta::PER_REQUEST) => Claim::Incomplete,
        None => Claim::Absent,
    };
    match message {
        Message::Request(request) => {
            let kind = if matches!(request.method, Method::Initialize) {
                Kind::Initialize
            } else if matches!(request.method, Method::Ping) {
                Kind::Ping
            } else {
                Kind::Request
            };
            (kind, claim(&request.params))
        }
        Message::Notification(notification) => (Kind::Notification, claim(&notification.params)),
        Message::Response(_) => (Kind::Response, Claim::Absent),
    }
}

/// The answer to what the table of eras refuses.
pub(crate) fn refusal(
    refusal: Refusal,
    policy: EraPolicy,
    incoming: Incoming,
) -> (Option<RequestId>, ProtocolError) {
    match incoming {
        Incoming::Message(Message::Request(request)) => {
            let error = refused(refusal, policy, &request.params);
            (Some(request.id), error)
        }
        Incoming::Message(Message::Notification(_) | Message::Response(_)) | Incoming::Batch(_) => {
            (None, refused(refusal, policy, &Params::empty()))
        }
    }
}

fn refused(refusal: Refusal, policy: EraPolicy, params: &Params) -> ProtocolError {
    match refusal {
        Refusal::UnexpectedBatch => ProtocolError::UnexpectedBatch,
        Refusal::UnexpectedInitialize => ProtocolError::UnexpectedInitialize,
        Refusal::BeforeInitialize => {
            ProtocolError::BeforeInitialize { serves_modern: policy != EraPolicy::LegacyOnly }
        }
        Refusal::ModernOnLegacy => ProtocolError::ModernOnLegacy,
        Refusal::ModernNotServed => ProtocolError::ModernNotServed,
        Refusal::LegacyNotServed => {
            let requested = params.raw(Member::ProtocolVersion);
            // What refuses `initialize` serves no legacy revision, here or any more.
            let policy = EraPolicy::ModernOnly;
            negotiate::unsupported(requested.and_then(Raw::string).as_deref(), policy)
        }
        Refusal::MissingMeta if meta::is_malformed(params) => {
            ProtocolError::InvalidMeta { key: Member::Meta.name(), expected: "an object" }
        }
        Refusal::MissingMeta => meta::missing(params),
        Refusal::UnexpectedResponse => ProtocolError::UnexpectedResponse,
    }
}
