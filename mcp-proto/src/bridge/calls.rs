//! Unanswered calls of a bridge.
//!
//! In: a call, and the purpose of its response. Out: the call and the purpose, by the id of the
//! call or by the client's request.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::action::ClientRequest;
use crate::client::{CallId, CallOptions};
use crate::json::{Json, Raw};
use crate::message::{Method, MethodRow};
use crate::server::{ReplyId, SessionRef};
use crate::time::Duration;
use crate::version::Era;

/// The sender of a request.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ClientRef {
    pub(super) era: Era,
    /// True if the client can read messages for a model that have lists of content blocks.
    pub(super) has_block_lists: bool,
    /// The session. For a modern client, this is the session of the connection or of the request.
    pub(super) session: SessionRef,
    /// True if the request belongs to no session: nothing can be sent to its client later.
    pub(super) is_lone: bool,
    pub(super) principal: Option<Arc<str>>,
    /// The capabilities that the request of a modern client declares.
    pub(super) capabilities: Json,
}

/// An unanswered call.
#[derive(Debug)]
pub(super) struct UpstreamCall {
    pub(super) caller: ClientRef,
    pub(super) method: Method,
    /// The parameters, if the request may have to be sent again, or compared.
    pub(super) params: Json,
    /// The number of rounds of input that the call has had.
    pub(super) rounds: usize,
    /// The highest progress that was forwarded to the client, in all rounds.
    pub(super) progress: Option<f64>,
    pub(super) options: CallOptions,
    pub(super) purpose: CallPurpose,
    /// The number of the last acknowledged request, if the call subscribes. The client sends the
    /// call again under another number when its stream breaks.
    pub(super) acknowledged: Option<u64>,
}

/// Purpose of the response to a call.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum CallPurpose {
    /// The response answers the request of a client.
    Answer(ReplyId),
    /// The response answers `initialize` of a legacy client; the call is `server/discover`.
    Handshake(ReplyId),
    /// The response answers a later retry of a modern client, whose `requestState` names the call.
    Parked,
    /// The response answers `resources/subscribe` of a legacy client, once the subscription has
    /// begun; the call is `subscriptions/listen`.
    Subscription { about: Option<ReplyId>, uri: String },
    /// The changes of lists, for all legacy clients; the call is `subscriptions/listen`. The flag
    /// is true if the call replaces one that has ended.
    Lists { is_renewal: bool },
    /// A subscription of a modern client to one resource; the call is `resources/subscribe`.
    Listener { listener: ReplyId, uri: String },
    /// The response has no recipient.
    Nobody,
}

#[derive(Debug, Default)]
pub(super) struct UpstreamCalls {
    by_id: BTreeMap<CallId, UpstreamCall>,
    by_request: BTreeMap<ReplyId, CallId>,
    /// The number of subscriptions at a modern server.
    listens: usize,
    /// The session of the last call.
    last_session: Option<SessionRef>,
    /// True if calls of several sessions were made.
    has_several_sessions: bool,
}

impl ClientRef {
    /// The legacy client of a session, for a call of the bridge's own.
    pub(super) fn of_session(session: SessionRef) -> Self {
        Self {
            era: Era::Legacy,
            has_block_lists: false,
            session,
            is_lone: false,
            principal: None,
            capabilities: Json::EMPTY_OBJECT,
        }
    }

    pub(super) fn of(request: &ClientRequest) -> Self {
        Self {
            era: request.peer.version.era(),
            has_block_lists: request.peer.version.has_block_lists(),
            session: request.about.session(),
            is_lone: request.about.is_lone(),
            principal: request.peer.principal.clone(),
            capabilities: request.peer.capabilities.clone(),
        }
    }

    /// Returns whether both requests are of the same client: of the same byte stream or session.
    fn is_same_client(&self, other: &Self) -> bool {
        !self.is_lone && !other.is_lone && self.session == other.session
    }
}

impl CallPurpose {
    /// The request of a client that waits for the response.
    pub(super) fn about(&self) -> Option<ReplyId> {
        match self {
            Self::Answer(about) | Self::Handshake(about) => Some(*about),
            Self::Subscription { about, .. } => *about,
            Self::Parked | Self::Lists { .. } | Self::Listener { .. } | Self::Nobody => None,
        }
    }

    /// Returns whether the call replaces one whose subscription had begun.
    fn is_renewal(&self) -> bool {
        matches!(self, Self::Lists { is_renewal: true } | Self::Subscription { about: None, .. })
    }
}

impl UpstreamCall {
    /// Returns whether the server may ask for input on behalf of the call.
    pub(super) fn may_ask(&self) -> bool {
        let is_answered = matches!(self.purpose, CallPurpose::Answer(_) | CallPurpose::Parked);
        is_answered && self.method.row().is_some_and(MethodRow::may_require_input)
    }

    /// Returns whether the client waits for the response.
    pub(super) fn is_waited_for(&self) -> bool {
        matches!(self.purpose, CallPurpose::Answer(_))
    }

    /// Returns whether a log message of the server may be about the call. A subscription logs
    /// nothing.
    pub(super) fn may_log(&self) -> bool {
        self.is_waited_for() && self.method != Method::Listen
    }

    /// Returns whether the call subscribes to this resource for the legacy client of a session.
    pub(super) fn subscribes(&self, session: SessionRef, wanted: &str) -> bool {
        self.caller.session == session
            && matches!(&self.purpose, CallPurpose::Subscription { uri, .. } if uri == wanted)
    }

    /// Returns whether the call is a subscription of a legacy client whose session has ended, or
    /// one that all legacy clients share if the session `is_last`.
    pub(super) fn ends_with(&self, session: SessionRef, is_last: bool) -> bool {
        match self.purpose {
            CallPurpose::Lists { .. } => is_last,
            CallPurpose::Subscription { .. } => self.caller.session == session,
            CallPurpose::Answer(_)
            | CallPurpose::Handshake(_)
            | CallPurpose::Parked
            | CallPurpose::Listener { .. }
            | CallPurpose::Nobody => false,
        }
    }

    /// The resource of a `resources/subscribe` whose client waits for the response.
    pub(super) fn awaited_resource(&self) -> Option<String> {
        let is_awaited = self.method == Method::Subscribe && self.is_waited_for();
        uri_of(&self.params).filter(|_| is_awaited).map(Cow::into_owned)
    }

    /// Returns whether the legacy client of a session waits for its `resources/subscribe`.
    pub(super) fn awaits_resource(&self, session: SessionRef, uri: &str) -> bool {
        self.caller.session == session && self.awaited_resource().as_deref() == Some(uri)
    }

    /// The bytes of the request that are kept.
    pub(super) fn bytes(&self) -> usize {
        let capabilities = self.caller.capabilities.as_bytes().len();
        self.params.as_bytes().len().saturating_add(capabilities)
    }

    /// The tool that is called.
    pub(super) fn tool(&self) -> Option<String> {
        let name = self.params.raw().member("name").and_then(Raw::string);
        name.filter(|_| self.method == Method::CallTool).map(Cow::into_owned)
    }
}

impl UpstreamCalls {
    pub(super) fn insert(&mut self, id: CallId, call: UpstreamCall) {
        if let Some(about) = call.purpose.about() {
            self.by_request.insert(about, id);
        }
        self.listens += usize::from(call.method == Method::Listen);
        let session = call.caller.session;
        let before = self.last_session.replace(session);
        self.has_several_sessions |= before.is_some_and(|before| before != session);
        self.by_id.insert(id, call);
    }

    /// Returns whether all calls so far, also those that have ended, are of this session.
    pub(super) fn are_all_of(&self, session: SessionRef) -> bool {
        !self.has_several_sessions && self.last_session == Some(session)
    }

    pub(super) fn remove(&mut self, id: CallId) -> Option<UpstreamCall> {
        let call = self.by_id.remove(&id)?;
        self.listens = self.listens.saturating_sub(usize::from(call.method == Method::Listen));
        if let Some(about) = call.purpose.about() {
            self.by_request.remove(&about);
        }
        Some(call)
    }

    /// Returns whether a call may be made: subscriptions at a modern server leave a quarter of
    /// `Limits::max_in_flight` to other calls, except the one that all legacy clients share.
    pub(super) fn may_call(
        &self,
        method: &Method,
        purpose: &CallPurpose,
        max_in_flight: usize,
    ) -> bool {
        let is_limited = *method == Method::Listen && !matches!(purpose, CallPurpose::Lists { .. });
        !is_limited || self.listens < max_in_flight.saturating_sub(max_in_flight / 4)
    }

    pub(super) fn get(&self, id: CallId) -> Option<&UpstreamCall> {
        self.by_id.get(&id)
    }

    /// Changes the purpose of the response.
    pub(super) fn set_purpose(&mut self, id: CallId, purpose: CallPurpose) {
        if let Some(mut call) = self.remove(id) {
            call.purpose = purpose;
            self.insert(id, call);
        }
    }

    /// Records that the server has acknowledged the request of a subscription with this number.
    /// Returns whether the request replaces an earlier one.
    pub(super) fn acknowledge(&mut self, id: CallId, number: u64) -> bool {
        let Some(call) = self.by_id.get_mut(&id) else { return false };
        let before = call.acknowledged.replace(number);
        before.map_or_else(|| call.purpose.is_renewal(), |before| before != number)
    }

    /// Records a report of progress. Returns false if the report must not be forwarded: with input
    /// the handler runs again from its beginning, but the client has a single request. "The
    /// progress value MUST increase with each notification".
    pub(super) fn advance(&mut self, id: CallId, params: &Json) -> bool {
        let Some(call) = self.by_id.get_mut(&id) else { return true };
        let progress = params.raw().member("progress");
        let progress = progress.and_then(|Raw(text)| core::str::from_utf8(text).ok()?.parse().ok());
        let Some(progress): Option<f64> = progress else { return true };
        let increases = call.progress.is_none_or(|before| progress > before);
        if increases {
            call.progress = Some(progress);
        }
        increases || call.rounds == 0
    }

    /// The call for the request of a client.
    pub(super) fn of_request(&self, about: ReplyId) -> Option<CallId> {
        self.by_request.get(&about).copied()
    }

    /// The matching call for a message that names none: the newest call whose client waits for the
    /// response, or else the newest. Also returns whether no other call matches. `None` if the
    /// matching calls are of several clients.
    pub(super) fn of_one_client(
        &self,
        wanted: impl Fn(&UpstreamCall) -> bool,
    ) -> Option<(CallId, bool)> {
        let mut found = self.by_id.iter().filter(|(_, call)| wanted(call)).rev();
        let (newest, first) = found.next()?;
        let mut is_only = true;
        let mut waiting = first.is_waited_for().then_some(*newest);
        for (id, call) in found {
            if !call.caller.is_same_client(&first.caller) {
                return None;
            }
            is_only = false;
            waiting = waiting.or_else(|| call.is_waited_for().then_some(*id));
        }
        Some((waiting.unwrap_or(*newest), is_only))
    }

    /// The matching calls, oldest first.
    pub(super) fn find(&self, wanted: impl Fn(&UpstreamCall) -> bool) -> Vec<CallId> {
        self.by_id.iter().filter(|(_, call)| wanted(call)).map(|(id, _)| *id).collect()
    }
}

/// Options of a call for a request of a client, without a timeout of its own: the downstream server
/// ends a request that takes too long. Calls of the bridge itself have the default timeout.
pub(super) fn no_timeout() -> CallOptions {
    CallOptions::default().timeout(Duration::MAX).max_total(Duration::MAX)
}

/// The resource that parameters name.
pub(super) fn uri_of(params: &Json) -> Option<Cow<'_, str>> {
    params.raw().member("uri").and_then(Raw::string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_have_ended_tell_whether_there_were_several_sessions() {
        let mut calls = UpstreamCalls::default();
        let insert = |calls: &mut UpstreamCalls, id, session| {
            let call = UpstreamCall {
                caller: ClientRef::of_session(session),
                method: Method::CallTool,
                params: Json::EMPTY_OBJECT,
                rounds: 0,
                progress: None,
                options: no_timeout(),
                purpose: CallPurpose::Nobody,
                acknowledged: None,
            };
            calls.insert(CallId(id), call);
            calls.remove(CallId(id)).unwrap();
        };
        let [own, other] = [SessionRef(1), SessionRef(2)];
        assert!(!calls.are_all_of(own));
        insert(&mut calls, 1, own);
        insert(&mut calls, 2, own);
        assert!(calls.are_all_of(own) && !calls.are_all_of(other));
        insert(&mut calls, 3, other);
        insert(&mut calls, 4, own);
        assert!(!calls.are_all_of(own) && !calls.are_all_of(other));
    }
}
