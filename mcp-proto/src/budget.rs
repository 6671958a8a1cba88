//! Accounting of the bytes of an endpoint against `Limits::max_endpoint_bytes`.
//!
//! In: the bytes of each owner. Out: whether new work is accepted, and whether events kept for
//! resumption must be dropped. An owner has an [`Account`] or a [`Charge`]. Dropping the account or
//! charge credits all its bytes, so nothing is charged for longer than its owner lives.
//!
//! | kind | what is charged | where the account is | refused |
//! |---|---|---|---|
//! | work | a body being read, a head over 4 KiB before it, and bytes read ahead | `http::Connection`, `http::Admission` | above three quarters |
//! | work | a request in flight, a head that it keeps, and input received for it | `server::Reply`, or its call while it waits for input | above three quarters |
//! | work | a batch | the batch | above three quarters |
//! | work | an answer that waits for the others of its batch | the batch | above the limit |
//! | work | an answer that is not yet polled | the queue of `server::Server` | above the limit |
//! | work | unwritten output | `Account` of a driver | never: the driver stops reading |
//! | work | subscriptions of sessions | `http` (sessions) | above half |
//! | work | notifications for a connected reader that leaves events unread | `http` (sessions) | dropped above three quarters |
//! | work | clients of sessions over 4 KiB | `http` (sessions) | above half |
//! | work | other clients of sessions; other events for a connected reader | `http` (sessions) | never |
//! | replay | events kept for a client that reconnects | `http` (sessions) | dropped, oldest first, when work needs the room |
//!
//! The last quarter is reserved for the answers to accepted work. Small requests and answers of
//! modern clients are not charged, and so cost no time: each connection has one at a time.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Smaller items are not charged, if there is at most one of their kind per connection.
pub(crate) const SMALL: usize = 4 * 1024;

/// Charges are rounded up to multiples of this, so that small growth rarely changes them.
const STEP: usize = 4 * 1024;

/// Shared counters. Clones share one count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budget(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    work: AtomicUsize,
    replay: AtomicUsize,
    /// Refusals that are not reported yet.
    refusals: AtomicUsize,
}

/// Treatment of bytes that exceed the budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChargeKind {
    /// Work: more of it is refused.
    Work,
    /// Events kept for resumption: the oldest are dropped.
    Replay,
}

/// Error: there is no room for more work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BudgetExceeded;

/// The bytes that one owner has charged against `Limits::max_endpoint_bytes`.
///
/// Dropping the account credits all of them.
#[derive(Debug)]
pub struct Account {
    counters: Arc<Counters>,
    kind: ChargeKind,
    max: usize,
    charged: usize,
}

/// The charged bytes of one piece of work.
#[derive(Debug)]
pub(crate) struct Charge {
    counters: Arc<Counters>,
    charged: usize,
}

impl Budget {
    /// An account without charges; `max` is the limit of all accounts together.
    pub(crate) fn account(&self, kind: ChargeKind, max: usize) -> Account {
        Account { counters: self.0.clone(), kind, max, charged: 0 }
    }

    /// Charges new work.
    pub(crate) fn admit(&self, max: usize, bytes: usize) -> Result<Charge, BudgetExceeded> {
        let charged = rounded(bytes);
        self.0.admit(charged, max)?;
        Ok(Charge { counters: self.0.clone(), charged })
    }

    /// A charge of no bytes.
    pub(crate) fn uncharged(&self) -> Charge {
        Charge { counters: self.0.clone(), charged: 0 }
    }

    /// Returns whether `bytes` bytes of new work would be accepted.
    pub(crate) fn has_room(&self, max: usize, bytes: usize) -> bool {
        self.0.work().saturating_add(bytes) <= for_new_work(max)
    }

    /// Returns whether `bytes` bytes that may stay for long would be accepted. They get half of the
    /// limit, so that they cannot take the room of all new work.
    pub(crate) fn has_lasting_room(&self, max: usize, bytes: usize) -> bool {
        self.0.work().saturating_add(bytes) <= max / 2
    }

    /// Returns whether an answer of `bytes` bytes to accepted work may be kept.
    pub(crate) fn fits(&self, max: usize, bytes: usize) -> bool {
        self.0.work().saturating_add(bytes) <= max
    }

    /// Records that work or an answer was refused.
    pub(crate) fn record_refusal(&self) {
        self.0.refusals.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of refusals since the last call.
    pub(crate) fn take_refusals(&self) -> usize {
        if self.0.has_refusals() { self.0.refusals.swap(0, Ordering::Relaxed) } else { 0 }
    }

    /// Returns whether events kept for resumption must be dropped.
    #[cfg(test)]
    fn is_over(&self, max: usize) -> bool {
        self.0.is_over(max)
    }

    /// The bytes of both kinds that are charged.
    #[cfg(test)]
    fn charged(&self) -> (usize, usize) {
        (self.0.work(), self.0.replay.load(Ordering::Relaxed))
    }
}

impl Counters {
    fn of(&self, kind: ChargeKind) -> &AtomicUsize {
        match kind {
            ChargeKind::Work => &self.work,
            ChargeKind::Replay => &self.replay,
        }
    }

    /// Charges for new work, if it fits.
    fn admit(&self, bytes: usize, max: usize) -> Result<(), BudgetExceeded> {
        let before = self.work.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > for_new_work(max) {
            self.work.fetch_sub(bytes, Ordering::Relaxed);
            return Err(BudgetExceeded);
        }
        Ok(())
    }

    /// Changes the charge of one owner.
    fn change(&self, kind: ChargeKind, before: usize, after: usize) {
        if after > before {
            self.of(kind).fetch_add(after - before, Ordering::Relaxed);
        } else if after < before {
            self.of(kind).fetch_sub(before - after, Ordering::Relaxed);
        }
    }

    fn needs_endpoint(&self, max: usize) -> bool {
        self.is_over(max) || self.has_refusals()
    }

    /// Returns whether there are refusals that are not reported yet.
    fn has_refusals(&self) -> bool {
        self.refusals.load(Ordering::Relaxed) > 0
    }

    fn work(&self) -> usize {
        self.work.load(Ordering::Relaxed)
    }

    fn is_over(&self, max: usize) -> bool {
        let replay = self.replay.load(Ordering::Relaxed);
        replay > 0 && replay.saturating_add(self.work()) > max
    }
}

impl Account {
    /// The maximum bytes that need not be charged, if there is one account per connection.
    pub const UNCOUNTED: usize = SMALL;

    /// Changes the charge of the account to `bytes` bytes of work. On failure nothing changes.
    pub(crate) fn admit(&mut self, bytes: usize) -> Result<(), BudgetExceeded> {
        if let Some(more) = rounded(bytes).checked_sub(self.charged).filter(|more| *more > 0) {
            self.counters.admit(more, self.max)?;
            self.charged += more;
        }
        self.set(bytes);
        Ok(())
    }

    /// Changes the charge of the account to `bytes` bytes, even above the limit.
    pub fn set(&mut self, bytes: usize) {
        let before = core::mem::replace(&mut self.charged, rounded(bytes));
        self.counters.change(self.kind, before, self.charged);
    }

    /// Returns whether three quarters of the limit are charged, so that new work is refused.
    pub fn is_tight(&self) -> bool {
        self.counters.work() >= for_new_work(self.max)
    }

    /// Returns whether a visit to the [`Endpoint`](crate::http::Endpoint) of the server is due, to
    /// drop events kept for resumption or to report refusals. Do not repeat the visit at once: the
    /// events may be those of another server with the same budget.
    pub fn needs_endpoint(&self) -> bool {
        self.counters.needs_endpoint(self.max)
    }

    /// Returns whether events kept for resumption must be dropped.
    pub(crate) fn is_over(&self) -> bool {
        self.counters.is_over(self.max)
    }

    /// Returns whether there are refusals that are not reported yet.
    pub(crate) fn has_refusals(&self) -> bool {
        self.counters.has_refusals()
    }

    /// Returns whether new events for resumption would be dropped at once, because so many are
    /// kept.
    pub(crate) fn is_near_limit(&self) -> bool {
        self.counters.is_over(self.max - self.max / 8)
    }
}

impl Charge {
    /// Changes the charge to `bytes` bytes, even above the limit.
    pub(crate) fn set(&mut self, bytes: usize) {
        let before = core::mem::replace(&mut self.charged, rounded(bytes));
        self.counters.change(ChargeKind::Work, before, self.charged);
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.set(0);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// The limit for new work: the last quarter is reserved for answers to accepted work.
fn for_new_work(max: usize) -> usize {
    max - max / 4
}

fn rounded(bytes: usize) -> usize {
    bytes.checked_next_multiple_of(STEP).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const MAX: usize = 400 * STEP;

    #[test]
    fn second_hour_19_new_work_leaves_a_quarter_to_answers() {
        let budget = Budget::default();
        let first = budget.admit(MAX, 250 * STEP);
        let mut second = budget.account(ChargeKind::Work, MAX);
        assert_eq!(second.admit(50 * STEP), Ok(()), "300 steps are for new work");
        assert_eq!(budget.admit(MAX, 1).err(), Some(BudgetExceeded));
        assert!(second.is_tight() && budget.fits(MAX, 100 * STEP));
        assert!(!budget.fits(MAX, 100 * STEP + 1));
        assert_eq!(second.admit(51 * STEP), Err(BudgetExceeded));
        assert_eq!(budget.charged(), (300 * STEP, 0), "a refusal changes nothing");
        second.set(90 * STEP);
        assert_eq!(second.admit(STEP), Ok(()), "less always fits");
        assert!(budget.has_room(MAX, STEP));
        drop(first);
        assert_eq!(budget.charged(), (STEP, 0));
    }

    #[test]
    fn second_hour_19_replay_gives_way_to_work() {
        let budget = Budget::default();
        let mut replay = budget.account(ChargeKind::Replay, MAX);
        replay.set(390 * STEP);
        assert!(replay.is_near_limit() && !budget.is_over(MAX));
        let work = budget.admit(MAX, 20 * STEP).expect("what is kept for resumption goes first");
        assert!(budget.is_over(MAX));
        replay.set(0);
        assert!(!budget.is_over(MAX));
        drop((replay, work));
        assert_eq!(budget.charged(), (0, 0));
    }

    #[test]
    fn second_hour_19_nothing_outlives_its_owner() {
        let budget = Budget::default();
        // A linear congruential generator: any order will do.
        let mut seed = 42_usize;
        let mut next = move |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            (seed >> 33) % below
        };
        let mut accounts: Vec<Account> = Vec::new();
        for _ in 0..20_000 {
            match next(5) {
                0 => accounts.push(budget.account(ChargeKind::Work, MAX)),
                1 => accounts.push(budget.account(ChargeKind::Replay, MAX)),
                2 if !accounts.is_empty() => drop(accounts.swap_remove(next(accounts.len()))),
                at => {
                    let bytes = next(MAX / 4);
                    let len = accounts.len().max(1);
                    let Some(account) = accounts.get_mut(next(len)) else { continue };
                    if at == 3 || account.kind == ChargeKind::Replay {
                        account.set(bytes);
                    } else {
                        let _ = account.admit(bytes);
                    }
                }
            }
            let sum = |kind| -> usize {
                let of_kind = accounts.iter().filter(|account| account.kind == kind);
                of_kind.map(|account| account.charged).sum()
            };
            assert_eq!(budget.charged(), (sum(ChargeKind::Work), sum(ChargeKind::Replay)));
        }
        accounts.clear();
        assert_eq!(budget.charged(), (0, 0));
    }
}
