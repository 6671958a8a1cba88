//! Subscriptions across eras, and the levels of log messages.
//!
//! In: `subscriptions/listen` of modern clients, `resources/subscribe` and `logging/setLevel` of
//! legacy clients. Out: the corresponding requests to a server of the other era. If
//! several clients share a legacy server, it gets one request for all of them.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::action::ClientRequest;
use super::calls::{CallPurpose, ClientRef, UpstreamCall, no_timeout, uri_of};
use super::machine::Bridge;
use super::subscription_load::SubscriptionLoad;
use crate::client::{CallId, CallOptions, Client};
use crate::error::ErrorCode;
use crate::json::Json;
use crate::json::write;
use crate::message::{ErrorData, Method};
use crate::server::{Outcome, ReplyId, SessionRef};
use crate::types::{LoggingLevel, SubscriptionFilter};
use crate::version::Era;

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// The result of a subscription that has ended.
const ENDED: Json = Json::constant(r#"{"resultType":"complete"}"#);

impl Bridge {
    /// Subscribes a session to a resource, if the limits for all clients allow it.
    fn add_subscription(&mut self, session: SessionRef, uri: &str) -> Result<(), ErrorData> {
        if !self.sessions.has(session, uri) {
            let added = SubscriptionLoad { count: 1, bytes: uri.len() };
            let load = self.sessions.load().plus(self.listeners.load());
            load.plus(added).check(&self.config.limits)?;
            self.sessions.subscribe(session, uri);
        }
        Ok(())
    }

    /// Handles requests that affect all sessions of a legacy server. Returns the answer, if the
    /// request is not forwarded. Without a session a client cannot subscribe.
    pub(super) fn before_pass(
        &mut self,
        (caller, method, params): (&ClientRef, &Method, &Json),
        client: &mut Client,
    ) -> Option<Outcome> {
        #[expect(clippy::wildcard_enum_match_arm, reason = "all others concern one client")]
        match method {
            Method::SetLevel => {
                let level = params.raw().member("level");
                let level = level.and_then(|level| serde_json::from_slice(level.0).ok())?;
                if !caller.is_lone {
                    self.sessions.set_level(caller.session, level);
                }
                let least = self.sessions.level().map_or(level, |least| least.min(level));
                if least != level {
                    // Another session needs a more verbose level; the machine of this session
                    // filters the rest.
                    self.send_level(least, client);
                    return Some(Outcome::Complete(Json::EMPTY_OBJECT));
                }
                self.upstream.set_level(least);
                None
            }
            Method::Subscribe => {
                self.add_subscription(caller.session, &uri_of(params)?).err().map(Outcome::Error)
            }
            Method::Unsubscribe => {
                let uri = uri_of(params)?;
                self.sessions.unsubscribe(caller.session, &uri);
                self.keep_subscriptions(client);
                let awaits = |call: &UpstreamCall| call.awaits_resource(caller.session, &uri);
                // A lost connection has no subscription to end, except one that is not answered.
                let is_lost = client.era().is_none() && self.calls.find(awaits).is_empty();
                (is_lost || self.is_needed(&uri)).then_some(Outcome::Complete(Json::EMPTY_OBJECT))
            }
            _ => None,
        }
    }

    /// Handles the answer of a legacy server to `resources/subscribe` of a legacy client.
    pub(super) fn end_subscribe(&mut self, call: &UpstreamCall, is_honoured: bool) {
        let session = call.caller.session;
        let uri = uri_of(&call.params).unwrap_or_default();
        if is_honoured {
            self.sessions.confirm(session, &uri);
        } else {
            self.sessions.unsubscribe(session, &uri);
        }
    }

    /// Removes the subscription of a legacy client at a legacy server whose request is cancelled,
    /// or could not be sent. Returns its resource, unless the client has another subscription to
    /// it, or has requested another one.
    pub(super) fn leave_pending_resource(&mut self, call: &UpstreamCall) -> Option<String> {
        let (session, uri) = (call.caller.session, call.awaited_resource()?);
        let is_it = |other: &UpstreamCall| other.awaits_resource(session, &uri);
        if !self.sessions.has_unconfirmed(session, &uri) || !self.calls.find(is_it).is_empty() {
            return None;
        }
        self.sessions.unsubscribe(session, &uri);
        Some(uri)
    }

    /// Removes the subscription of a legacy client at a modern server whose request has failed or
    /// is cancelled, unless the client has requested it twice.
    pub(super) fn leave_listen(&mut self, session: SessionRef, uri: &str) {
        if self.calls.find(|call| call.subscribes(session, uri)).is_empty() {
            self.sessions.unsubscribe(session, uri);
        }
    }

    /// Removes the subscription that a failed or cancelled call should have begun.
    pub(super) fn forget(&mut self, caller: &ClientRef, purpose: &CallPurpose) {
        if let CallPurpose::Subscription { about: Some(_), uri } = purpose {
            self.leave_listen(caller.session, uri);
        } else if let CallPurpose::Listener { listener, uri } = purpose {
            self.listeners.handle_answer(*listener, uri, false);
        }
    }

    pub(super) fn send_level(&mut self, level: LoggingLevel, client: &mut Client) {
        // If the queue is full, the level stays; the next request of a client tries again.
        if self.upstream.needs_level(level)
            && client.set_log_level(self.now, level, CallOptions::default()).is_ok()
        {
            self.upstream.set_level(level);
        }
    }

    /// Handles a legacy server over HTTP without a stream for changes.
    pub(super) fn lose_stream(&mut self, client: &mut Client) {
        self.upstream.lose_stream();
        let uris = self.end_listeners();
        self.unsubscribe(&uris, client);
    }

    /// Lets the client connect to a legacy server again for the subscriptions alone: at such a
    /// server no call waits for them. A process is not started for legacy clients, whose next
    /// request starts it.
    pub(super) fn keep_subscriptions(&mut self, client: &mut Client) {
        let is_legacy = self.upstream.era(client) == Some(Era::Legacy);
        let has_legacy = client.is_over_http() && self.sessions.load().count > 0;
        client.connect_alone(self.now, is_legacy && (has_legacy || !self.listeners.is_empty()));
    }

    /// Handles `subscriptions/listen` of a modern client at a legacy server.
    pub(super) fn listen(
        &mut self,
        (about, params): (ReplyId, &Json),
        caller: &ClientRef,
        client: &mut Client,
    ) {
        let offered = self.upstream.offered();
        let others = self.sessions.load();
        match self.listeners.open(about, params, &offered, (others, &self.config.limits)) {
            Ok(uris) => {
                for uri in uris {
                    let purpose = CallPurpose::Listener { listener: about, uri: uri.clone() };
                    let ask = (Method::Subscribe, about_resource(&uri));
                    self.call(caller.clone(), ask, CallOptions::default(), purpose, client);
                }
                self.acknowledge(about);
                self.keep_subscriptions(client);
            }
            Err(error) => self.fail(about, error),
        }
    }

    pub(super) fn acknowledge(&mut self, about: ReplyId) {
        let Some((params, is_empty)) = self.listeners.acknowledgement(about) else { return };
        self.notify(about, ACKNOWLEDGED.into(), params);
        if is_empty {
            self.listeners.close(about);
            self.respond(about, Outcome::Complete(ENDED));
        }
    }

    /// Ends the subscriptions of modern clients at a legacy server; returns their resources. A
    /// subscription that was not acknowledged honours nothing.
    pub(super) fn end_listeners(&mut self) -> Vec<String> {
        let mut uris = BTreeSet::new();
        let listeners: Vec<ReplyId> = self.listeners.iter().map(|(about, _)| about).collect();
        for about in listeners {
            if self.listeners.acknowledgement(about).is_none() {
                let nothing = SubscriptionFilter::default().params();
                self.notify(about, ACKNOWLEDGED.into(), nothing);
            }
            uris.extend(self.listeners.close(about).unwrap_or_default());
            self.respond(about, Outcome::Complete(ENDED));
        }
        uris.into_iter().collect()
    }

    /// Handles `resources/subscribe` and `resources/unsubscribe` of a legacy client at a modern
    /// server.
    pub(super) fn subscribe(
        &mut self,
        request: ClientRequest,
        caller: ClientRef,
        client: &mut Client,
    ) {
        let ClientRequest { about, method, params, .. } = request;
        if caller.is_lone {
            let why = "a subscription needs a session";
            return self.fail(about, ErrorData::new(ErrorCode::INVALID_REQUEST, why));
        }
        let Some(uri) = uri_of(&params) else {
            return self.fail(about, ErrorData::invalid_params("`uri` is no string"));
        };
        let (uri, session) = (uri.into_owned(), caller.session);
        if method == Method::Unsubscribe {
            self.sessions.unsubscribe(session, &uri);
            for call in self.calls.find(|call| call.subscribes(session, &uri)) {
                // The server may not have acknowledged a `resources/subscribe` of the client yet.
                let pending = self.calls.get(call).and_then(|call| call.purpose.about());
                self.cancel(call, client);
                if let Some(about) = pending {
                    self.respond(about, Outcome::Complete(Json::EMPTY_OBJECT));
                }
            }
            return self.respond(about, Outcome::Complete(Json::EMPTY_OBJECT));
        }
        if let Err(error) = self.add_subscription(session, &uri) {
            return self.fail(about, error);
        }
        let listen = self.sessions.listen_state(session, Some(&uri));
        // The bridge may be about to request the subscription again.
        let has_begun = listen.is_some_and(|listen| listen.has_begun());
        if has_begun || self.is_subscribed(session, &uri) {
            return self.respond(about, Outcome::Complete(Json::EMPTY_OBJECT));
        }
        self.listen_to(caller, uri, Some(about), client);
    }

    /// Handles the acknowledgement of a legacy client's subscription to a resource: the beginning
    /// of the subscription, or its refusal. After an interval without a stream, the client is
    /// notified of a change.
    pub(super) fn handle_acknowledged(
        &mut self,
        call: CallId,
        (about, uri): (Option<ReplyId>, String),
        params: &Json,
        client: &mut Client,
    ) {
        let has_missed = self.has_missed_changes(call, client);
        let Some(session) = self.calls.get(call).map(|call| call.caller.session) else { return };
        let mut is_honoured = false;
        let honoured = params.raw().member("notifications");
        let honoured = honoured.and_then(|filter| filter.member("resourceSubscriptions"));
        if let Some(honoured) = honoured {
            honoured.elements(|it| is_honoured |= it.string().as_deref() == Some(&*uri));
        }
        if let Some(listen) = self.sessions.listen_state(session, Some(&uri)) {
            listen.acknowledge(self.now, is_honoured);
        }
        let Some(about) = about else {
            if has_missed && is_honoured {
                self.report_resource(session, &uri);
            }
            return;
        };
        if !is_honoured {
            self.fail(about, refused(&uri));
            return self.cancel(call, client);
        }
        self.respond(about, Outcome::Complete(Json::EMPTY_OBJECT));
        if self.is_subscribed(session, &uri) {
            // The client has subscribed twice, and must get each update only once.
            self.calls.set_purpose(call, CallPurpose::Nobody);
            self.cancel(call, client);
        } else {
            self.calls.set_purpose(call, CallPurpose::Subscription { about: None, uri });
        }
    }

    /// Handles the acknowledgement of a subscription to changes of lists.
    pub(super) fn handle_lists_acknowledged(
        &mut self,
        (call, session): (CallId, SessionRef),
        params: &Json,
        client: &Client,
    ) {
        let changes = self.honoured_changes(params);
        if let Some(listen) = self.sessions.listen_state(session, None) {
            listen.acknowledge(self.now, !changes.is_empty());
        }
        if self.has_missed_changes(call, client) {
            for (method, params) in changes {
                self.changed(&method, &params);
            }
        }
    }

    /// Subscribes at a modern server to a resource for a legacy client. `about` is the client's
    /// request, if it waits for the subscription.
    fn listen_to(
        &mut self,
        caller: ClientRef,
        uri: String,
        about: Option<ReplyId>,
        client: &mut Client,
    ) {
        if about.is_none()
            && let Some(listen) = self.sessions.listen_state(caller.session, Some(&uri))
        {
            listen.request();
        }
        let filter = SubscriptionFilter::new().resource(uri.clone());
        let purpose = CallPurpose::Subscription { about, uri };
        self.call(caller, (Method::Listen, filter.params()), no_timeout(), purpose, client);
    }

    /// Returns whether a call to a modern server has begun this subscription of a legacy client.
    fn is_subscribed(&self, session: SessionRef, uri: &str) -> bool {
        let has_begun = |call: &UpstreamCall| call.purpose.about().is_none();
        let is_it = |call: &UpstreamCall| call.subscribes(session, uri) && has_begun(call);
        !self.calls.find(is_it).is_empty()
    }

    /// Subscribes at a modern server to changes of lists, which legacy clients get without a
    /// request. One subscription is for all of them. `is_renewal` is true after an earlier request.
    pub(super) fn listen_to_lists(
        &mut self,
        session: SessionRef,
        is_renewal: bool,
        client: &mut Client,
    ) {
        let is_it = |call: &UpstreamCall| matches!(call.purpose, CallPurpose::Lists { .. });
        let filter = self.upstream.offered_lists();
        if filter == SubscriptionFilter::default() || !self.calls.find(is_it).is_empty() {
            return;
        }
        let Some(listen) = self.sessions.listen_state(session, None) else { return };
        // Another session may come while the subscription waits to be requested again.
        let is_renewal = is_renewal || listen.has_begun();
        if is_renewal {
            listen.request();
        }
        let caller = ClientRef::of_session(session);
        let call = (Method::Listen, filter.params());
        let purpose = CallPurpose::Lists { is_renewal };
        self.call(caller, call, no_timeout(), purpose, client);
    }

    /// Returns whether any client has subscribed to a resource.
    pub(super) fn is_needed(&self, uri: &str) -> bool {
        self.sessions.wants(uri) || self.listeners.wants(uri)
    }

    /// Renews the subscriptions on a connection, which has none, and notifies the clients of the
    /// changes that may have been missed. Before the first connection there are no subscriptions,
    /// except those of an earlier bridge.
    pub(super) fn subscribe_again(&mut self, era: Era, client: &mut Client) {
        if era == Era::Modern {
            self.own.plan_renewals(BTreeSet::new());
            // Modern clients subscribe again, if an earlier server was legacy.
            self.end_listeners();
            let subscriptions = self.sessions.subscriptions();
            return self.renew(subscriptions, client);
        }
        self.sessions.stop_retries();
        self.report_lists();
        self.own.plan_renewals(self.resources());
        self.send_own(client);
        if let Some(level) = self.sessions.level() {
            self.send_level(level, client);
        }
    }

    /// Handles the end of a call, which may be the subscription of a legacy client.
    pub(super) fn end_listen(&mut self, session: SessionRef, purpose: &CallPurpose) {
        if let CallPurpose::Subscription { about: None, uri } = purpose {
            self.sessions.end_listen(self.now, session, Some(uri));
        } else if let CallPurpose::Lists { .. } = purpose {
            self.sessions.end_listen(self.now, session, None);
        }
    }

    /// Requests the subscriptions of legacy clients again that a modern server has ended, and whose
    /// delay is over.
    pub(super) fn retry_listens(&mut self, client: &mut Client) {
        let due = self.sessions.due_retries(self.now);
        if due.is_empty() || self.upstream.era(client) != Some(Era::Modern) {
            return;
        }
        // The requests wait for another connection, which has no subscriptions.
        let is_connected = client.era().is_some();
        let due = if is_connected { due } else { self.sessions.subscriptions() };
        self.renew(due, client);
    }

    /// Requests subscriptions of legacy clients at a modern server, except those that are
    /// requested.
    fn renew(&mut self, subscriptions: Vec<(SessionRef, Option<String>)>, client: &mut Client) {
        for (session, uri) in subscriptions {
            match uri {
                None => self.listen_to_lists(session, true, client),
                Some(uri) if self.is_subscribed(session, &uri) => {}
                Some(uri) => {
                    self.listen_to(ClientRef::of_session(session), uri, None, client);
                }
            }
        }
    }
}

pub(super) fn refused(uri: &str) -> ErrorData {
    ErrorData::invalid_params(alloc::format!("the server reports no updates of {uri}"))
}

/// The parameters of a request about a resource.
pub(super) fn about_resource(uri: &str) -> Json {
    write::text_object("uri", uri)
}
