//! The bytes that sessions hold of the endpoint's budget, and whose replay goes first.
//!
//! In: sessions that something has happened to. Out: the session whose events have been kept for
//! longest. The events for a reader that is there, and what a session knows of its client, count
//! as work; all other events are replay, which goes when work needs its room.

use alloc::collections::BTreeSet;

use super::session::Session;
use super::standing::Holdings;
use crate::budget::{Account, Kind};
use crate::server;
use crate::time::Instant;

/// The bytes that sessions hold.
#[derive(Debug)]
pub(super) struct SessionBytes {
    /// Sessions with replay, by when the oldest of it was said.
    order: BTreeSet<(Instant, u128)>,
    work: Sum,
    replay: Sum,
}

#[derive(Debug)]
struct Sum {
    bytes: usize,
    account: Account,
}

impl SessionBytes {
    pub(super) fn new(config: &server::Config) -> Self {
        let sum = |kind| Sum { bytes: 0, account: config.account_of(kind) };
        Self { order: BTreeSet::new(), work: sum(Kind::Work), replay: sum(Kind::Replay) }
    }

    /// Something has happened to a session.
    pub(super) fn note<W: Clone>(&mut self, key: u128, session: &mut Session<W>) {
        let holdings = session.holdings();
        self.replace(key, core::mem::replace(&mut session.holdings, holdings), holdings);
    }

    /// A session has ended.
    pub(super) fn forget<W>(&mut self, key: u128, session: &mut Session<W>) {
        self.replace(
            key,
            core::mem::replace(&mut session.holdings, Holdings::NONE),
            Holdings::NONE,
        );
    }

    /// The session whose replay is to go, if any is.
    pub(super) fn excess(&self) -> Option<u128> {
        if !self.replay.account.is_over() {
            return None;
        }
        self.order.first().map(|(_, key)| *key)
    }

    /// The same, until so much is gone that not every event makes another one go.
    pub(super) fn excess_and_more(&self) -> Option<u128> {
        if !self.replay.account.is_nearly_over() {
            return None;
        }
        self.order.first().map(|(_, key)| *key)
    }

    fn replace(&mut self, key: u128, before: Holdings, after: Holdings) {
        if before == after {
            return;
        }
        if before.since != after.since {
            self.order.remove(&(before.since, key));
            if after.since != Instant::NEVER {
                self.order.insert((after.since, key));
            }
        }
        self.work.replace(before.work, after.work);
        self.replay.replace(before.replay, after.replay);
    }
}

impl Sum {
    fn replace(&mut self, before: usize, after: usize) {
        if before != after {
            self.bytes = self.bytes.saturating_sub(before).saturating_add(after);
            self.account.set(self.bytes);
        }
    }
}
