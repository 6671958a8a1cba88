//! Verbs of the client about subscriptions, in both eras.
//!
//! In: filters; the ends of the requests that subscriptions are. Out: `subscriptions/listen`, or
//! `resources/subscribe` for each URI that nobody has subscribed to. The subscriptions are those of
//! [`Subscriptions`](super::subscriptions::Subscriptions).
//!
//! [Specification: Subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)

use alloc::vec::Vec;

use super::calls::{self, Goal};
use super::event::SubscriptionId;
use super::{CallError, CallId, CallOptions, Client, ClientEvent, Life};
use crate::error::UsageError;
use crate::json::Json;
use crate::json::write::List;
use crate::message::RequestId;
use crate::time::{Duration, Instant};
use crate::types::SubscriptionFilter;
use crate::version::Era;

impl Client {
    /// Wants to be told when something changes. What the server honours of it is told by
    /// [`ClientEvent::Subscribed`], and each change by [`ClientEvent::Changed`], until
    /// [`ClientEvent::SubscriptionEnded`]. The server has as long to begin as to answer a call.
    /// Before the era is known it waits.
    ///
    /// Fails with [`UsageError::Closed`], and with [`UsageError::TooManyCalls`] at
    /// `Limits::max_in_flight`.
    pub fn subscribe(
        &mut self,
        now: Instant,
        filter: SubscriptionFilter,
    ) -> Result<SubscriptionId, UsageError> {
        let subscription = self.subscriptions.add(filter);
        match self.start_listening(now, subscription) {
            Ok(_) => Ok(subscription),
            Err(error) => {
                self.subscriptions.withdraw(subscription);
                Err(error)
            }
        }
    }

    /// Does not want to be told any more: [`ClientEvent::SubscriptionEnded`] comes at once, with
    /// [`CallError::Cancelled`].
    ///
    /// Fails with [`UsageError::NotInFlight`] if it has ended.
    pub fn unsubscribe(
        &mut self,
        now: Instant,
        subscription: SubscriptionId,
    ) -> Result<(), UsageError> {
        let told = self.subscriptions.remove(subscription).ok_or(UsageError::NotInFlight)?;
        if let Some(number) = self.calls.find_listen(subscription) {
            self.stop_call(now, number, CallError::Cancelled);
        }
        if self.era() == Some(Era::Legacy) {
            for uri in told {
                self.unsubscribe_legacy(now, &uri);
            }
        }
        let cause = Err(CallError::Cancelled);
        self.outbox.event(ClientEvent::SubscriptionEnded { subscription, cause });
        Ok(())
    }

    fn start_listening(
        &mut self,
        now: Instant,
        subscription: SubscriptionId,
    ) -> Result<CallId, UsageError> {
        let params = self.subscriptions.listen_params(subscription);
        let options = CallOptions::default().max_total(Duration::MAX);
        let goal = Goal::Listen { subscription };
        self.start(now, "subscriptions/listen".into(), params, options, goal)
    }

    /// Wants to be told as before.
    pub(super) fn listen(&mut self, now: Instant, subscription: SubscriptionId) {
        if let Err(error) = self.start_listening(now, subscription) {
            let cause = Err(CallError::Usage(error));
            self.subscriptions.end(subscription, cause, &mut self.outbox);
        }
    }

    /// The server has acknowledged the subscription that the request with this number is.
    pub(super) fn acknowledged(&mut self, number: u64, honoured: SubscriptionFilter) -> bool {
        let Some(call) = self.calls.get_mut(number) else { return false };
        let Goal::Listen { subscription } = call.goal else { return false };
        call.options.timeout = Duration::MAX;
        call.rest();
        self.subscriptions.honoured(subscription, honoured, &mut self.outbox);
        true
    }

    /// The stream of a legacy session has a gap: whatever is subscribed to may have changed.
    pub(crate) fn changes_missed(&mut self) {
        self.subscriptions.changes_missed(&mut self.outbox);
    }

    /// A legacy server has no stream for what it sends outside of calls: subscriptions end, those
    /// that are yet to come as well, until the server is another one.
    pub(crate) fn handle_no_stream(&mut self, now: Instant, cause: CallError) {
        if self.era() != Some(Era::Legacy) {
            return;
        }
        for uri in self.subscriptions.end_without_stream(cause, &mut self.outbox) {
            self.unsubscribe_legacy(now, &uri);
        }
    }

    /// Asks a legacy server with `ping` whether it knows the session. The binding sees the answer.
    pub(crate) fn check_session(&mut self, now: Instant) {
        let params = Json::EMPTY_OBJECT;
        let options = CallOptions::default();
        // If there is no room for it, there are requests in flight that ask the same.
        let _ = self.start(now, "ping".into(), params, options, Goal::Nobody);
    }

    /// The subscription that the request with this id is.
    pub(crate) fn subscription_of(&self, id: &RequestId) -> Option<SubscriptionId> {
        self.subscription(calls::number(id)?)
    }

    /// Whether the request with this id subscribes to a resource of a legacy server, and a
    /// subscription of the application still wants that.
    pub(crate) fn subscribes(&self, id: &RequestId) -> bool {
        let call = calls::number(id).and_then(|number| self.calls.get(number));
        call.is_some_and(|call| match &call.goal {
            Goal::Subscribe { subscription, .. } => self.subscriptions.contains(*subscription),
            Goal::Answer
            | Goal::Pages(_)
            | Goal::Listen { .. }
            | Goal::Nobody
            | Goal::Notification => false,
        })
    }

    /// The subscription that the request with this number is.
    pub(super) fn subscription(&self, number: u64) -> Option<SubscriptionId> {
        match &self.calls.get(number)?.goal {
            Goal::Listen { subscription } => Some(*subscription),
            Goal::Answer
            | Goal::Pages(_)
            | Goal::Subscribe { .. }
            | Goal::Nobody
            | Goal::Notification => None,
        }
    }

    /// A subscription, where each resource is subscribed to by itself.
    pub(super) fn subscribe_legacy(&mut self, now: Instant, id: SubscriptionId) {
        let Life::Legacy(session) = &self.life else { return };
        let has = &session.server().capabilities;
        for uri in self.subscriptions.begin_legacy(id, has, &mut self.outbox) {
            let params = uri_params(&uri);
            let goal = Goal::Subscribe { subscription: id, uri: uri.clone() };
            let method = "resources/subscribe".into();
            let options = CallOptions::default().max_total(Duration::MAX);
            if self.start(now, method, params, options, goal).is_err() {
                self.subscriptions.answered(id, &uri, false);
            }
        }
        self.subscriptions.check_begun(id, &mut self.outbox);
    }

    /// A legacy server has answered whether it tells of updates of `uri`.
    pub(super) fn subscribed_legacy(
        &mut self,
        now: Instant,
        id: SubscriptionId,
        uri: &str,
        ok: bool,
    ) {
        if ok && !self.subscriptions.contains(id) {
            return self.unsubscribe_legacy(now, uri);
        }
        self.subscriptions.answered(id, uri, ok);
        self.subscriptions.check_begun(id, &mut self.outbox);
    }

    /// Ends what nobody else wants.
    fn unsubscribe_legacy(&mut self, now: Instant, uri: &str) {
        if !self.subscriptions.wants(uri) {
            let method = "resources/unsubscribe".into();
            let params = uri_params(uri);
            // If there is no room for it, its notifications go nowhere.
            let _ = self.start(now, method, params, CallOptions::default(), Goal::Nobody);
        }
    }
}

/// The parameters of `resources/subscribe` and `resources/unsubscribe`.
fn uri_params(uri: &str) -> Json {
    let mut params = Vec::new();
    let mut object = List::object(&mut params);
    object.text("uri", uri);
    object.end();
    Json::trusted(params)
}
