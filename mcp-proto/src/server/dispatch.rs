//! Sources of messages, and the facts by which the table of eras routes messages.
//!
//! In: a message, or one of a batch. Out: its kind and claim, or the answer if the table refuses
//! it.

use super::call::ReplyPath;
use super::event::StreamId;
use super::sender::LastSender;
use crate::error::ProtocolError;
use crate::headers::MirroredHeaders;
use crate::json::Raw;
use crate::message::{Incoming, Member, Message, Method, Params, RequestId};
use crate::meta;
use crate::negotiate::{self, Claim, Kind, Refusal, Route};
use crate::version::{EraPolicy, ProtocolVersion};

/// Source of a message.
#[derive(Default)]
pub(crate) struct MessageSource<'a, 'h> {
    pub(super) path: ReplyPath,
    /// Headers of its HTTP request that mirror members of the message.
    pub(super) head: Option<&'a MirroredHeaders<'h>>,
    /// The eras that its HTTP endpoint serves, which may be fewer than those of the machine.
    pub(super) policy: Option<EraPolicy>,
    /// The route that the HTTP exchange has found. The machine classifies all other messages, and
    /// batches, which only some sessions have.
    pub(super) route: Option<Route>,
    /// The sender of the last requests of its HTTP connection.
    pub(super) last_sender: Option<&'a mut LastSender>,
}

impl<'a, 'h> MessageSource<'a, 'h> {
    /// The HTTP request of a legacy client; its answers, if any, go out on `stream`.
    pub(crate) fn legacy(stream: Option<StreamId>) -> Self {
        let path = ReplyPath { stream, batch: None };
        Self { path, route: Some(Route::Legacy), ..Self::default() }
    }

    /// The HTTP request of a modern client, with its head, at an endpoint with this policy.
    /// `last_sender` is of the requests before it.
    pub(crate) fn modern(
        head: &'a MirroredHeaders<'h>,
        policy: EraPolicy,
        last_sender: Option<&'a mut LastSender>,
    ) -> Self {
        let (head, policy, route) = (Some(head), Some(policy), Some(Route::Modern));
        Self { path: ReplyPath::default(), head, policy, route, last_sender }
    }
}

/// Inputs of the table of eras for an incoming text.
pub(crate) fn facts(incoming: &Incoming) -> (Kind, Claim) {
    match incoming {
        Incoming::Message(message) => message_facts(message),
        Incoming::Batch(_) => (Kind::Batch, Claim::Absent),
    }
}

/// Returns whether a request claims this revision.
pub(crate) fn claims(incoming: &Incoming, version: ProtocolVersion) -> bool {
    let Incoming::Message(Message::Request(request)) = incoming else { return false };
    let claimed = request.params.raw(Member::MetaProtocolVersion).and_then(Raw::string);
    claimed.as_deref() == Some(version.as_str())
}

/// Returns whether this is the request `initialize`.
pub(crate) fn is_initialize(incoming: &Incoming) -> bool {
    let is_initialize = |method: &Method| matches!(method, Method::Initialize);
    matches!(incoming, Incoming::Message(Message::Request(it)) if is_initialize(&it.method))
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

/// The id of the request that a notification cancels.
pub(crate) fn cancelled_id(incoming: &Incoming) -> Option<RequestId> {
    match incoming {
        Incoming::Message(Message::Notification(it)) if matches!(it.method, Method::Cancelled) => {
            RequestId::from_raw(it.params.raw(Member::RequestId)?)
        }
        Incoming::Message(
            Message::Request(_) | Message::Notification(_) | Message::Response(_),
        )
        | Incoming::Batch(_) => None,
    }
}

pub(super) fn message_facts(message: &Message) -> (Kind, Claim) {
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

/// The answer to a message that the table of eras refuses.
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

pub(super) fn refused(refusal: Refusal, policy: EraPolicy, params: &Params) -> ProtocolError {
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
            // A server that refuses `initialize` serves no legacy revision on this connection.
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
