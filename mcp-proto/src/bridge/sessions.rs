//! Legacy clients of a bridge: their log levels, and their subscriptions.
//!
//! In: `initialize`, levels, subscriptions and their ends, changes. Out: the most verbose level,
//! the sessions that get a notification, and the subscriptions to request again.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::listen_retry::ListenRetry;
use super::subscription_load::SubscriptionLoad;
use crate::change::is_part;
use crate::server::SessionRef;
use crate::time::Instant;
use crate::types::LoggingLevel;

#[derive(Debug, Default)]
pub(super) struct LegacyClients {
    open: BTreeMap<SessionRef, LegacyClient>,
    /// The changes of lists at a modern server, for all clients.
    lists: ListenRetry,
    /// The time at which the next subscription may have to be requested again.
    next_retry: Option<Instant>,
}

#[derive(Debug, Default)]
struct LegacyClient {
    level: Option<LoggingLevel>,
    /// The resources that the client has subscribed to.
    resources: BTreeMap<String, ListenRetry>,
}

impl LegacyClients {
    pub(super) fn open(&mut self, session: SessionRef) {
        self.open.entry(session).or_default();
    }

    /// Takes over these sessions of an earlier bridge.
    pub(super) fn take_over(&mut self, earlier: &mut Self, sessions: &[SessionRef]) {
        for session in sessions {
            self.open.extend(earlier.open.remove_entry(session));
        }
    }

    pub(super) fn close(&mut self, session: SessionRef) -> impl Iterator<Item = String> {
        self.open.remove(&session).unwrap_or_default().resources.into_keys()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The session, if it is the only one.
    pub(super) fn only(&self) -> Option<SessionRef> {
        let mut open = self.open.keys();
        open.next().copied().filter(|_| open.next().is_none())
    }

    pub(super) fn set_level(&mut self, session: SessionRef, level: LoggingLevel) {
        self.open.entry(session).or_default().level = Some(level);
    }

    /// The most verbose level that a session has asked for.
    pub(super) fn level(&self) -> Option<LoggingLevel> {
        self.open.values().filter_map(|session| session.level).min()
    }

    /// Subscribes a session to a resource.
    pub(super) fn subscribe(&mut self, session: SessionRef, uri: &str) {
        let resources = &mut self.open.entry(session).or_default().resources;
        resources.entry(uri.into()).or_default();
    }

    /// Returns whether a session has subscribed to a resource.
    pub(super) fn has(&self, session: SessionRef, uri: &str) -> bool {
        self.open.get(&session).is_some_and(|session| session.resources.contains_key(uri))
    }

    pub(super) fn load(&self) -> SubscriptionLoad {
        let uris = self.open.values().flat_map(|session| session.resources.keys());
        uris.fold(SubscriptionLoad::default(), |load, uri| {
            load.plus(SubscriptionLoad { count: 1, bytes: uri.len() })
        })
    }

    /// Ends a subscription of a session. Returns whether it existed.
    pub(super) fn unsubscribe(&mut self, session: SessionRef, uri: &str) -> bool {
        self.open.get_mut(&session).is_some_and(|session| session.resources.remove(uri).is_some())
    }

    /// Returns whether any session needs a resource.
    pub(super) fn wants(&self, uri: &str) -> bool {
        self.open.values().any(|session| session.resources.contains_key(uri))
    }

    /// The resources that sessions have subscribed to.
    pub(super) fn uris(&self) -> BTreeSet<String> {
        self.open.values().flat_map(|session| session.resources.keys().cloned()).collect()
    }

    /// The subscriptions of all sessions at a modern server: the URI of a resource, or `None` for
    /// the changes of lists, which all sessions share.
    pub(super) fn subscriptions(&self) -> Vec<(SessionRef, Option<String>)> {
        let lists = self.open.keys().next().map(|id| (*id, None));
        let resources = self
            .open
            .iter()
            .flat_map(|(id, session)| session.resources.keys().map(|uri| (*id, Some(uri.clone()))));
        lists.into_iter().chain(resources).collect()
    }

    /// The state of a subscription at a modern server.
    pub(super) fn listen_state(
        &mut self,
        session: SessionRef,
        uri: Option<&str>,
    ) -> Option<&mut ListenRetry> {
        match uri {
            Some(uri) => self.open.get_mut(&session)?.resources.get_mut(uri),
            None => Some(&mut self.lists),
        }
    }

    /// Records that the request of a subscription has ended at a modern server.
    pub(super) fn end_listen(&mut self, now: Instant, session: SessionRef, uri: Option<&str>) {
        if let Some(at) = self.listen_state(session, uri).and_then(|listen| listen.end(now)) {
            self.plan_retry(at);
        }
    }

    /// The time at which [`LegacyClients::due_retries`] must be called.
    pub(super) fn next_retry(&self) -> Option<Instant> {
        self.next_retry
    }

    /// The subscriptions to request again at `now`.
    pub(super) fn due_retries(&mut self, now: Instant) -> Vec<(SessionRef, Option<String>)> {
        let mut due = Vec::new();
        if self.next_retry.is_none_or(|at| at > now) {
            return due;
        }
        self.next_retry = None;
        for (session, uri) in self.subscriptions() {
            let listen = self.listen_state(session, uri.as_deref());
            match listen.and_then(|listen| listen.until()) {
                Some(until) if until <= now => due.push((session, uri)),
                Some(until) => self.plan_retry(until),
                None => {}
            }
        }
        due
    }

    /// Requests no subscription again until it is acknowledged again.
    pub(super) fn stop_retries(&mut self) {
        self.next_retry = None;
        let resources = self.open.values_mut().flat_map(|client| client.resources.values_mut());
        let listens = core::iter::once(&mut self.lists).chain(resources);
        listens.for_each(|listen| *listen = ListenRetry::default());
    }

    fn plan_retry(&mut self, at: Instant) {
        self.next_retry = Some(self.next_retry.map_or(at, |next| next.min(at)));
    }

    /// The sessions that get a notification. If there are several sessions, only subscribers get a
    /// notification about a resource.
    pub(super) fn of(&self, uri: Option<&str>) -> Vec<SessionRef> {
        let is_shared = self.open.len() > 1;
        let wants = |session: &LegacyClient| match uri {
            Some(uri) if is_shared => session.resources.keys().any(|whole| is_part(uri, whole)),
            Some(_) | None => true,
        };
        self.open.iter().filter(|(_, session)| wants(session)).map(|(id, _)| *id).collect()
    }
}
