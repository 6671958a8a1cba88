//! The sessions' share of the endpoint's budget, and the order in which their replay is dropped.
//!
//! In: sessions after each change. Out: the session whose kept events are the oldest. Events for a
//! connected reader, and the data about a client, count as work. All other events are replay, which
//! is dropped when work needs its room.

use alloc::collections::BTreeSet;

use super::session::Session;
use super::standing::BudgetShare;
use crate::budget::{Account, ChargeKind};
use crate::server;
use crate::time::Instant;

/// The bytes that sessions hold.
#[derive(Debug)]
pub(super) struct SessionBytes {
    /// The scopes of sessions with replay, by the time of their oldest replay.
    order: BTreeSet<(Instant, usize)>,
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
        Self {
            order: BTreeSet::new(),
            work: sum(ChargeKind::Work),
            replay: sum(ChargeKind::Replay),
        }
    }

    /// Updates the bytes of a session after a change.
    pub(super) fn note<W: Clone>(&mut self, session: &mut Session<W>) {
        let budget_share = session.budget_share();
        self.replace(
            session.server.scope(),
            core::mem::replace(&mut session.budget_share, budget_share),
            budget_share,
        );
    }

    /// Removes a session that has ended.
    pub(super) fn forget<W>(&mut self, session: &mut Session<W>) {
        self.replace(
            session.server.scope(),
            core::mem::replace(&mut session.budget_share, BudgetShare::NONE),
            BudgetShare::NONE,
        );
    }

    /// The scope of the session whose replay must be dropped, if there is one.
    pub(super) fn excess(&self) -> Option<usize> {
        if !self.replay.account.is_over() {
            return None;
        }
        self.order.first().map(|(_, scope)| *scope)
    }

    /// Does the same as [`Self::excess`] with a lower limit, so that not every new event drops
    /// another one.
    pub(super) fn excess_and_more(&self) -> Option<usize> {
        if !self.replay.account.is_near_limit() {
            return None;
        }
        self.order.first().map(|(_, scope)| *scope)
    }

    fn replace(&mut self, scope: usize, before: BudgetShare, after: BudgetShare) {
        if before == after {
            return;
        }
        if before.since != after.since {
            self.order.remove(&(before.since, scope));
            if after.since != Instant::NEVER {
                self.order.insert((after.since, scope));
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
