//! All timers of a machine, by reason.
//!
//! In: [`Deadlines::set`] and [`Deadlines::clear`]. Out: [`Deadlines::next`] for `poll_timeout`,
//! and [`Deadlines::expire`] for `handle_timeout`. A machine usually has few reasons at a time, so
//! a sorted vector is enough.

use alloc::vec::Vec;

use crate::time::Instant;

/// Deadlines by reason `K`; each reason has at most one.
#[derive(Debug)]
pub struct Deadlines<K> {
    /// The deadlines, the latest first.
    entries: Vec<(Instant, K)>,
}

impl<K: Ord + Copy> Default for Deadlines<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Ord + Copy> Deadlines<K> {
    /// No deadlines.
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// Sets the deadline of `reason`, in place of an earlier one. [`Instant::NEVER`] removes it.
    pub fn set(&mut self, reason: K, at: Instant) {
        self.clear(reason);
        if at != Instant::NEVER {
            let place = self.entries.partition_point(|deadline| *deadline > (at, reason));
            self.entries.insert(place, (at, reason));
        }
    }

    /// Removes the deadline of `reason`.
    pub fn clear(&mut self, reason: K) {
        if let Some(place) = self.entries.iter().position(|(_, other)| *other == reason) {
            self.entries.remove(place);
        }
    }

    /// Frees unused memory.
    pub fn shrink(&mut self) {
        self.entries.shrink_to_fit();
    }

    /// The deadline of `reason`.
    pub fn due(&self, reason: K) -> Option<Instant> {
        self.entries.iter().find(|(_, other)| *other == reason).map(|(at, _)| *at)
    }

    /// Returns whether `reason` has a deadline.
    pub fn has(&self, reason: K) -> bool {
        self.entries.iter().any(|(_, other)| *other == reason)
    }

    /// The earliest deadline.
    pub fn next(&self) -> Option<Instant> {
        self.first().map(|(at, _)| at)
    }

    /// The earliest deadline, and its reason.
    pub fn first(&self) -> Option<(Instant, K)> {
        self.entries.last().copied()
    }

    /// Removes and returns the earliest reason that is due at `now`.
    pub fn expire(&mut self, now: Instant) -> Option<K> {
        self.entries.pop_if(|(at, _)| *at <= now).map(|(_, reason)| reason)
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
