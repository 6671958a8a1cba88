//! Legacy clients of a bridge: their log levels, and their subscriptions.
//!
//! In: `initialize`, levels, subscriptions and their ends, changes. Out: the most verbose level,
//! the sessions that get a notification, and the subscriptions to request again.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::borrow::Borrow;

use super::listen_retry::ListenRetry;
use super::subscription_load::SubscriptionLoad;
use crate::change::is_part;
use crate::server::SessionRef;
use crate::time::Instant;
use crate::types::LoggingLevel;

/// The clients. What a request of one of them does costs the logarithm of their number.
#[derive(Debug, Default)]
pub(super) struct LegacyClients {
    open: BTreeMap<SessionRef, LegacyClient>,
    /// The levels that sessions have asked for.
    levels: Multiset<LoggingLevel>,
    /// The resources that sessions have subscribed to.
    wanted: Multiset<String>,
    load: SubscriptionLoad,
    /// The changes of lists at a modern server, for all clients.
    lists: ListenRetry,
    /// The time at which the next subscription may have to be requested again.
    next_retry: Option<Instant>,
}

/// Values, each with the number of its occurrences.
#[derive(Debug)]
struct Multiset<T>(BTreeMap<T, usize>);

#[derive(Debug, Default)]
struct LegacyClient {
    level: Option<LoggingLevel>,
    /// The resources that the client has subscribed to.
    resources: BTreeMap<String, ResourceSubscription>,
}

#[derive(Debug, Default)]
struct ResourceSubscription {
    /// Its state at a modern server.
    listen: ListenRetry,
    /// True once a legacy server has accepted it.
    is_confirmed: bool,
}

impl LegacyClients {
    pub(super) fn open(&mut self, session: SessionRef) {
        self.open.entry(session).or_default();
    }

    /// Takes over these sessions of an earlier bridge.
    pub(super) fn take_over(&mut self, earlier: &mut Self, sessions: &[SessionRef]) {
        for session in sessions {
            let Some(client) = earlier.remove(*session) else { continue };
            self.remove(*session);
            client.resources.keys().for_each(|uri| self.count(uri));
            if let Some(level) = client.level {
                self.levels.add(level);
            }
            self.open.insert(*session, client);
        }
    }

    pub(super) fn close(&mut self, session: SessionRef) -> impl Iterator<Item = String> {
        self.remove(session).unwrap_or_default().resources.into_keys()
    }

    fn remove(&mut self, session: SessionRef) -> Option<LegacyClient> {
        let client = self.open.remove(&session)?;
        client.resources.keys().for_each(|uri| self.uncount(uri));
        if let Some(level) = client.level {
            self.levels.remove(&level);
        }
        if self.open.is_empty() {
            self.lists = ListenRetry::default();
        }
        Some(client)
    }

    fn count(&mut self, uri: &str) {
        self.load = self.load.plus(SubscriptionLoad { count: 1, bytes: uri.len() });
        self.wanted.add(uri.into());
    }

    fn uncount(&mut self, uri: &str) {
        self.load = self.load.minus(SubscriptionLoad { count: 1, bytes: uri.len() });
        self.wanted.remove(uri);
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
        let before = self.open.entry(session).or_default().level.replace(level);
        if let Some(before) = before {
            self.levels.remove(&before);
        }
        self.levels.add(level);
    }

    /// The most verbose level that a session has asked for.
    pub(super) fn level(&self) -> Option<LoggingLevel> {
        self.levels.0.keys().next().copied()
    }

    /// Subscribes a session to a resource.
    pub(super) fn subscribe(&mut self, session: SessionRef, uri: &str) {
        if !self.has(session, uri) {
            let resources = &mut self.open.entry(session).or_default().resources;
            resources.insert(uri.into(), ResourceSubscription::default());
            self.count(uri);
        }
    }

    /// Returns whether a session has subscribed to a resource.
    pub(super) fn has(&self, session: SessionRef, uri: &str) -> bool {
        self.open.get(&session).is_some_and(|session| session.resources.contains_key(uri))
    }

    fn resource(&mut self, session: SessionRef, uri: &str) -> Option<&mut ResourceSubscription> {
        self.open.get_mut(&session)?.resources.get_mut(uri)
    }

    /// Records that a legacy server has accepted a subscription.
    pub(super) fn confirm(&mut self, session: SessionRef, uri: &str) {
        if let Some(subscription) = self.resource(session, uri) {
            subscription.is_confirmed = true;
        }
    }

    /// Records that a legacy server has accepted the subscription of all sessions that are
    /// `settled`.
    pub(super) fn confirm_all(&mut self, uri: &str, settled: impl Fn(SessionRef) -> bool) {
        for (session, client) in &mut self.open {
            if let Some(subscription) = client.resources.get_mut(uri)
                && settled(*session)
            {
                subscription.is_confirmed = true;
            }
        }
    }

    /// Returns whether a session has a subscription that no legacy server has accepted yet.
    pub(super) fn has_unconfirmed(&mut self, session: SessionRef, uri: &str) -> bool {
        self.resource(session, uri).is_some_and(|subscription| !subscription.is_confirmed)
    }

    pub(super) fn load(&self) -> SubscriptionLoad {
        self.load
    }

    /// Ends a subscription of a session. Returns whether it existed.
    pub(super) fn unsubscribe(&mut self, session: SessionRef, uri: &str) -> bool {
        let client = self.open.get_mut(&session);
        let existed = client.is_some_and(|client| client.resources.remove(uri).is_some());
        if existed {
            self.uncount(uri);
        }
        existed
    }

    /// Returns whether any session needs a resource.
    pub(super) fn wants(&self, uri: &str) -> bool {
        self.wanted.0.contains_key(uri)
    }

    /// The resources that sessions have subscribed to.
    pub(super) fn uris(&self) -> BTreeSet<String> {
        self.wanted.0.keys().cloned().collect()
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
            Some(uri) => Some(&mut self.resource(session, uri)?.listen),
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
        let resources = resources.map(|subscription| &mut subscription.listen);
        let listens = core::iter::once(&mut self.lists).chain(resources);
        listens.for_each(|listen| *listen = ListenRetry::default());
    }

    fn plan_retry(&mut self, at: Instant) {
        self.next_retry = Some(self.next_retry.map_or(at, |next| next.min(at)));
    }

    /// The sessions that get a notification. If there are several clients, only subscribers get a
    /// notification about a resource. `has_others` is true if there are clients without a session.
    pub(super) fn of(&self, uri: Option<&str>, has_others: bool) -> Vec<SessionRef> {
        let is_shared = has_others || self.open.len() > 1;
        let wants = |session: &LegacyClient| match uri {
            Some(uri) if is_shared => session.resources.keys().any(|whole| is_part(uri, whole)),
            Some(_) | None => true,
        };
        self.open.iter().filter(|(_, session)| wants(session)).map(|(id, _)| *id).collect()
    }
}

impl<T: Ord> Multiset<T> {
    fn add(&mut self, value: T) {
        *self.0.entry(value).or_default() += 1;
    }

    fn remove<Q: Ord + ?Sized>(&mut self, value: &Q)
    where
        T: Borrow<Q>,
    {
        if let Some(count) = self.0.get_mut(value) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.0.remove(value);
            }
        }
    }
}

impl<T> Default for Multiset<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_sessions() {
        let levels = [LoggingLevel::Debug, LoggingLevel::Error, LoggingLevel::Info];
        let (mut clients, mut next) = (LegacyClients::default(), LegacyClients::default());
        let mut random = 7_usize;
        let mut below = |bound: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % bound
        };
        for _ in 0..4_000 {
            let session = SessionRef(below(6));
            let uri = alloc::format!("t:{}", "x".repeat(below(5)));
            match below(8) {
                0 => clients.set_level(session, levels[below(3)]),
                1..4 => clients.subscribe(session, &uri),
                4 => drop(clients.unsubscribe(session, &uri)),
                5 => clients.open(session),
                6 => drop(clients.close(session)),
                _ => {
                    next.take_over(&mut clients, &[session]);
                    core::mem::swap(&mut clients, &mut next);
                }
            }
            for clients in [&clients, &next] {
                let open = || clients.open.values();
                let uris: Vec<&String> = open().flat_map(|it| it.resources.keys()).collect();
                let bytes: usize = uris.iter().map(|uri| uri.len()).sum();
                assert_eq!((clients.load().count, clients.load().bytes), (uris.len(), bytes));
                let wanted: BTreeSet<String> = uris.into_iter().cloned().collect();
                assert_eq!(clients.uris(), wanted);
                assert_eq!(clients.level(), open().filter_map(|it| it.level).min());
            }
        }
    }
}
