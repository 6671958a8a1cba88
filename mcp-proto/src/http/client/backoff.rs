//! Delay between two attempts of one exchange.
//!
//! In: attempts that succeed and fail, with their times, and the server's `retry`. Out: how long to
//! wait. The rules are those of [`resume`].

use super::resume;
use crate::time::{Duration, Instant};

/// Attempts of one exchange, as far as they decide when the next one follows.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    /// Attempts that have failed since the last success.
    tries: u32,
    /// What the server has said.
    retry: Option<Duration>,
    /// Delay before the present attempt.
    waited: Duration,
    /// When the present stream began.
    open_since: Option<Instant>,
}

impl Backoff {
    /// The server says how long to wait.
    pub(super) fn set_retry(&mut self, retry: Duration) {
        self.retry = Some(retry);
    }

    /// The attempt has brought something.
    pub(super) fn succeed(&mut self) {
        self.tries = 0;
    }

    /// The attempt has opened a stream.
    pub(super) fn open(&mut self, now: Instant) {
        self.open_since = Some(now);
    }

    /// The attempt is over; returns the delay until the next one. A quiet stream that a proxy cuts
    /// after a while has succeeded.
    pub(super) fn fail(&mut self, now: Instant, random: u8) -> Duration {
        let proof = self.waited.min(resume::STABLE);
        if self.open_since.take().is_some_and(|since| now >= since + proof && now > since) {
            self.tries = 0;
        }
        self.waited = resume::delay(self.tries, self.retry, random);
        self.tries = self.tries.saturating_add(1);
        self.waited
    }

    /// The attempt is over, and the next one will fail as long as nothing changes.
    pub(super) fn fail_for_long(&mut self, random: u8) -> Duration {
        self.open_since = None;
        self.tries = self.tries.saturating_add(1);
        self.waited = resume::delay(u32::MAX, None, random);
        self.waited
    }

    /// Returns whether fewer attempts have failed than may.
    pub(super) fn may_try(&self) -> bool {
        self.tries < resume::MAX_TRIES
    }
}
