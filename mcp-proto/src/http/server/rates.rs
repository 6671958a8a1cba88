//! Rates of events per holder: token buckets in virtual time.
//!
//! In: an event of a holder. Out: false if the holder's bucket was empty. Each bucket is stored as
//! the time at which it is full again; a holder with a full bucket is dropped.

use alloc::collections::{BTreeMap, BTreeSet};

use super::shares::Holder;
use crate::time::{Duration, Instant};

/// The most buckets that are kept. If there are more, the bucket that is full soonest is dropped.
const MAX_BUCKETS: usize = 16 * 1024;

/// The longest time in which an empty bucket becomes full, 100 years. Without this limit the times
/// of long intervals saturate, and a bucket is never empty.
const MAX_REFILL: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// The buckets of all holders, without those that are full.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    /// Time at which each bucket is full again.
    full: BTreeMap<Holder, Instant>,
    order: BTreeSet<(Instant, Holder)>,
}

impl Rates {
    /// Takes a token from a holder's bucket, which has room for `burst` tokens and gets one per
    /// `interval`. Returns false if the bucket is empty.
    pub(crate) fn take(
        &mut self,
        now: Instant,
        holder: &Holder,
        burst: usize,
        interval: Duration,
    ) -> bool {
        while self.order.first().is_some_and(|(full, _)| *full <= now) {
            self.forget_first();
        }
        let burst = u32::try_from(burst.max(1)).unwrap_or(u32::MAX);
        let interval = interval.min(MAX_REFILL / burst);
        let before = self.full.get(holder).copied();
        let full = before.unwrap_or(now) + interval;
        if full > now + interval.saturating_mul(burst) {
            return false;
        }
        if let Some(before) = before {
            self.order.remove(&(before, holder.clone()));
        }
        self.full.insert(holder.clone(), full);
        self.order.insert((full, holder.clone()));
        if self.order.len() > MAX_BUCKETS {
            self.forget_first();
        }
        true
    }

    fn forget_first(&mut self) {
        if let Some((_, holder)) = self.order.pop_first() {
            self.full.remove(&holder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(1);

    #[test]
    fn second_hour_12_a_bucket_has_a_burst_and_then_a_rate() {
        let mut rates = Rates::default();
        let mut now = Instant::ZERO;
        for _ in 0..3 {
            assert!(rates.take(now, &Holder::Unknown, 3, INTERVAL));
        }
        assert!(!rates.take(now, &Holder::Unknown, 3, INTERVAL));
        for _ in 0..5 {
            now = now + INTERVAL;
            assert!(rates.take(now, &Holder::Unknown, 3, INTERVAL));
            assert!(!rates.take(now, &Holder::Unknown, 3, INTERVAL));
        }
        let other = Holder::Principal("other".into());
        assert!(rates.take(now, &other, 3, INTERVAL), "each has a bucket of its own");
    }

    #[test]
    fn bucket_with_the_longest_interval_is_empty_after_its_burst() {
        for interval in [Duration::MAX, Duration::from_secs(u64::MAX / 1_000_000)] {
            let mut rates = Rates::default();
            for _ in 0..3 {
                assert!(rates.take(Instant::ZERO, &Holder::Unknown, 3, interval));
            }
            let later = Instant::ZERO + Duration::from_secs(365 * 24 * 60 * 60);
            for now in [Instant::ZERO, later] {
                assert!(!rates.take(now, &Holder::Unknown, 3, interval), "{interval:?} {now}");
            }
        }
    }

    #[test]
    fn full_buckets_are_forgotten() {
        let mut rates = Rates::default();
        for second in 0..100 {
            let now = Instant::ZERO + second * INTERVAL;
            let holder = Holder::Principal(alloc::format!("{second}").into());
            assert!(rates.take(now, &holder, 3, INTERVAL));
        }
        assert_eq!((rates.full.len(), rates.order.len()), (1, 1));
    }
}
