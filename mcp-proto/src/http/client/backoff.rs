//! Delay between two attempts of one exchange.
//!
//! In: attempts that succeed and fail, with their times, and the server's `retry` and
//! `Retry-After`. Out: the delay. [`resume`] has the rules.

use super::resume;
use crate::time::{Duration, Instant};

/// Attempts of one exchange, and the delay before the next one.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    /// Attempts that have failed since the last success.
    tries: u32,
    /// Delay that the server has requested (`retry`).
    retry: Option<Duration>,
    /// Least delay before the next attempt (`Retry-After` of the current one).
    retry_after: Duration,
    /// Delay before the current attempt.
    waited: Duration,
    /// Time at which the current stream began.
    open_since: Option<Instant>,
}

impl Backoff {
    pub(super) fn set_retry(&mut self, retry: Duration) {
        self.retry = Some(retry);
    }

    /// Records that the server has refused the attempt, and requests this delay before the next
    /// one.
    pub(super) fn refuse(&mut self, retry_after: Duration) {
        self.retry_after = retry_after;
    }

    /// Records that the attempt has received an event.
    pub(super) fn succeed(&mut self) {
        self.tries = 0;
    }

    /// Records that the attempt has opened a stream.
    pub(super) fn open(&mut self, now: Instant) {
        self.open_since = Some(now);
    }

    /// Ends the attempt; returns the delay until the next one. A quiet stream that a proxy closes
    /// after a while counts as a success.
    pub(super) fn fail(&mut self, now: Instant, random: u8) -> Duration {
        let proof = self.waited.min(resume::STABLE);
        if self.open_since.take().is_some_and(|since| now >= since + proof && now > since) {
            self.tries = 0;
        }
        let retry_after = core::mem::take(&mut self.retry_after);
        let least = resume::delay_after(retry_after, random);
        self.waited = resume::delay(self.tries, self.retry, random).max(least);
        self.tries = self.tries.saturating_add(1);
        self.waited
    }

    /// Ends an attempt that would fail again unless something changes; returns the longest delay.
    pub(super) fn fail_with_longest_delay(&mut self, random: u8) -> Duration {
        self.open_since = None;
        self.tries = self.tries.saturating_add(1);
        self.waited = resume::delay(u32::MAX, None, random);
        self.waited
    }

    /// Returns whether another attempt is allowed after the failed ones.
    pub(super) fn may_try(&self) -> bool {
        self.tries < resume::MAX_TRIES
    }
}
