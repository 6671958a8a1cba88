//! Orders of sessions: by the time at which one is looked at, and by the time at which it ends to
//! make room for others ([`Tenants`]).
//!
//! Most of what a session waits for is postponed with every request. So a session is looked at
//! when its earliest deadline was due as of when it was planned, and planned anew then: a request
//! that postpones a deadline changes nothing here.

use alloc::collections::BTreeSet;

use super::session::Session;
use super::session_bytes::SessionBytes;
use super::tenants::Tenants;
use crate::server;
use crate::time::Instant;

#[derive(Debug)]
pub(super) struct Schedule {
    entries: BTreeSet<(Instant, u128)>,
    /// What sessions hold: it changes when their deadlines may.
    pub(super) kept: SessionBytes,
    pub(super) tenants: Tenants,
}

impl Schedule {
    pub(super) fn new(config: &server::Config) -> Self {
        let kept = SessionBytes::new(config);
        let tenants = Tenants::default();
        Self { entries: BTreeSet::new(), kept, tenants }
    }

    /// Has a session looked at in time. To be called after whatever changes the session.
    pub(super) fn plan<W: Clone>(&mut self, key: u128, session: &mut Session<W>) {
        self.kept.note(key, session);
        self.tenants.list(key, session);
        let due = session.due();
        if due >= session.scheduled {
            return;
        }
        self.forget(key, session);
        session.scheduled = due;
        self.entries.insert((due, key));
    }

    /// A session has ended.
    pub(super) fn leave<W>(&mut self, key: u128, session: &mut Session<W>) {
        self.forget(key, session);
        self.kept.forget(key, session);
        self.tenants.leave(key, session);
    }

    fn forget<W>(&mut self, key: u128, session: &mut Session<W>) {
        if session.scheduled != Instant::NEVER {
            self.entries.remove(&(session.scheduled, key));
            session.scheduled = Instant::NEVER;
        }
    }

    /// Takes out a session that is to be looked at.
    pub(super) fn expire(&mut self, now: Instant) -> Option<u128> {
        let (at, key) = *self.entries.first()?;
        if at > now {
            return None;
        }
        self.entries.pop_first();
        Some(key)
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.entries.first().map(|(at, _)| *at)
    }
}
