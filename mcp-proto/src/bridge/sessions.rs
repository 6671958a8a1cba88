//! Legacy clients of a bridge: their log levels, and their subscriptions.
//!
//! In: `initialize`, levels, subscriptions, changes. Out: the most verbose level, and the sessions
//! that get a notification.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::subscription_load::SubscriptionLoad;
use crate::change::is_part;
use crate::server::SessionRef;
use crate::types::LoggingLevel;

#[derive(Debug, Default)]
pub(super) struct LegacyClients {
    open: BTreeMap<SessionRef, LegacyClient>,
}

#[derive(Debug, Default)]
struct LegacyClient {
    level: Option<LoggingLevel>,
    uris: BTreeSet<String>,
}

impl LegacyClients {
    pub(super) fn open(&mut self, session: SessionRef) {
        self.open.entry(session).or_default();
    }

    pub(super) fn close(&mut self, session: SessionRef) -> impl Iterator<Item = String> {
        self.open.remove(&session).unwrap_or_default().uris.into_iter()
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
        self.open.entry(session).or_default().uris.insert(uri.into());
    }

    /// Returns whether a session has subscribed to a resource.
    pub(super) fn has(&self, session: SessionRef, uri: &str) -> bool {
        self.open.get(&session).is_some_and(|session| session.uris.contains(uri))
    }

    pub(super) fn load(&self) -> SubscriptionLoad {
        let uris = self.open.values().flat_map(|session| &session.uris);
        uris.fold(SubscriptionLoad::default(), |load, uri| {
            load.plus(SubscriptionLoad { count: 1, bytes: uri.len() })
        })
    }

    /// Ends a subscription of a session. Returns whether it existed.
    pub(super) fn unsubscribe(&mut self, session: SessionRef, uri: &str) -> bool {
        self.open.get_mut(&session).is_some_and(|session| session.uris.remove(uri))
    }

    /// Returns whether any session needs a resource.
    pub(super) fn wants(&self, uri: &str) -> bool {
        self.open.values().any(|session| session.uris.contains(uri))
    }

    /// The resources that sessions have subscribed to.
    pub(super) fn uris(&self) -> BTreeSet<String> {
        self.open.values().flat_map(|session| session.uris.iter().cloned()).collect()
    }

    /// The sessions, each with the resources that it has subscribed to.
    pub(super) fn iter(&self) -> impl Iterator<Item = (SessionRef, &BTreeSet<String>)> {
        self.open.iter().map(|(id, session)| (*id, &session.uris))
    }

    /// The sessions that get a notification. If there are several sessions, only subscribers get a
    /// notification about a resource.
    pub(super) fn of(&self, uri: Option<&str>) -> Vec<SessionRef> {
        let is_shared = self.open.len() > 1;
        let wants = |session: &LegacyClient| match uri {
            Some(uri) if is_shared => session.uris.iter().any(|whole| is_part(uri, whole)),
            Some(_) | None => true,
        };
        self.open.iter().filter(|(_, session)| wants(session)).map(|(id, _)| *id).collect()
    }
}
