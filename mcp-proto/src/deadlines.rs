//! Every timer of a machine in one structure whose key is the reason.
//!
//! In: [`Deadlines::set`] and [`Deadlines::clear`]. Out: [`Deadlines::next`], which is what
//! `poll_timeout` reads, and [`Deadlines::expire`], which `handle_timeout` drains. Each costs
//! the logarithm of what is pending.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::time::Instant;

/// Deadlines by reason `K`; each reason has at most one.
#[derive(Debug)]
pub(crate) struct Deadlines<K> {
    due: BTreeSet<(Instant, K)>,
    at: BTreeMap<K, Instant>,
}

impl<K: Ord + Copy> Deadlines<K> {
    pub(crate) const fn new() -> Self {
        Self { due: BTreeSet::new(), at: BTreeMap::new() }
    }

    /// Sets the deadline of `reason`, in place of the one that it had. The end of time is none.
    pub(crate) fn set(&mut self, reason: K, at: Instant) {
        self.clear(reason);
        if at != Instant::NEVER {
            self.at.insert(reason, at);
            self.due.insert((at, reason));
        }
    }

    /// Forgets the deadline of `reason`.
    pub(crate) fn clear(&mut self, reason: K) {
        if let Some(at) = self.at.remove(&reason) {
            self.due.remove(&(at, reason));
        }
    }

    /// The earliest deadline.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Takes out the earliest reason that is due at `now`.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<K> {
        let (at, reason) = *self.due.first()?;
        if at > now {
            return None;
        }
        self.clear(reason);
        Some(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_expire_in_the_order_of_their_deadlines() {
        let at = Instant::from_micros;
        let mut deadlines = Deadlines::new();
        deadlines.set('b', at(20));
        deadlines.set('a', at(30));
        deadlines.set('c', at(5));
        deadlines.set('a', at(10));
        deadlines.clear('c');
        deadlines.set('d', Instant::NEVER);

        assert_eq!(deadlines.next(), Some(at(10)));
        assert_eq!(deadlines.expire(at(9)), None);
        assert_eq!(deadlines.expire(at(25)), Some('a'));
        assert_eq!(deadlines.expire(at(25)), Some('b'));
        assert_eq!(deadlines.expire(at(25)), None);
        assert_eq!(deadlines.next(), None);
    }
}
