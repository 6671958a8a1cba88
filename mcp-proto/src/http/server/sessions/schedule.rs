//! Two orders of sessions: by the time of their next check, and by the order in which they end to
//! make room for others ([`SessionHolders`]).
//!
//! Almost every request postpones the deadlines of its session. A session is therefore checked at
//! the deadline that was the earliest when the check was planned, and its next check is planned
//! then. A request that postpones a deadline changes nothing in this order.

use alloc::collections::BTreeSet;

use super::session::Session;
use super::session_bytes::SessionBytes;
use super::subscribers::Subscribers;
use super::tenants::SessionHolders;
use crate::server;
use crate::time::Instant;

#[derive(Debug)]
pub(super) struct Schedule {
    /// The scopes of the sessions by the time of their next check.
    entries: BTreeSet<(Instant, usize)>,
    /// The memory of sessions. The schedule owns it because a change of memory may move deadlines.
    pub(super) kept: SessionBytes,
    pub(super) holders: SessionHolders,
    pub(super) subscribers: Subscribers,
}

impl Schedule {
    pub(super) fn new(config: &server::Config) -> Self {
        let kept = SessionBytes::new(config);
        let holders = SessionHolders::default();
        Self { entries: BTreeSet::new(), kept, holders, subscribers: Subscribers::default() }
    }

    /// Plans the next check of a session. Call this after every change of the session.
    pub(super) fn plan<W: Clone>(&mut self, session: &mut Session<W>) {
        self.kept.note(session);
        self.holders.list(session);
        self.subscribers.note(session);
        let due = session.due();
        if due >= session.scheduled {
            return;
        }
        self.forget(session);
        session.scheduled = due;
        self.entries.insert((due, session.server.scope()));
    }

    /// Removes a session that has ended.
    pub(super) fn leave<W>(&mut self, session: &mut Session<W>) {
        self.forget(session);
        self.kept.forget(session);
        self.holders.leave(session);
        self.subscribers.forget(session);
    }

    fn forget<W>(&mut self, session: &mut Session<W>) {
        if session.scheduled != Instant::NEVER {
            self.entries.remove(&(session.scheduled, session.server.scope()));
            session.scheduled = Instant::NEVER;
        }
    }

    /// Takes a session whose check is due, by its scope.
    pub(super) fn expire(&mut self, now: Instant) -> Option<usize> {
        let (at, scope) = *self.entries.first()?;
        if at > now {
            return None;
        }
        self.entries.pop_first();
        Some(scope)
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.entries.first().map(|(at, _)| *at)
    }
}
