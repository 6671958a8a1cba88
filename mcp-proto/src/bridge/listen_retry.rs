//! Delay before a legacy client's subscription is requested again, after a modern server ended it.
//!
//! In: the requests, acknowledgements and ends of a `subscriptions/listen`, with their times. Out:
//! the time of the next request.
//!
//! | state | holds | leaves by |
//! |---|---|---|
//! | idle: not acknowledged, or nothing is honoured | | an acknowledgement; a request on another connection |
//! | requested again | the last delay | an acknowledgement; the end, after which it waits |
//! | open | the time of the acknowledgement, the last delay | the end, after which it waits |
//! | waiting | the time of the next request, the delay | this time; another connection |
//!
//! In each state an acknowledgement opens the subscription, or makes it idle if nothing is
//! honoured. The first delay is 1 s. Each delay is twice the last one, at most 30 s. After a
//! subscription that was open for longer than the last delay, the next delay is 1 s.
//!
//! A server may end a subscription at any time, for example when it shuts down. The result "is
//! sent only when the server tears the subscription down".
//!
//! [Specification: Subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)

use crate::time::{Duration, Instant};

const FIRST: Duration = Duration::from_secs(1);

const LONGEST: Duration = Duration::from_secs(30);

/// A subscription of a legacy client at a modern server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ListenRetry {
    /// The last delay.
    delay: Duration,
    stage: ListenStage,
}

#[derive(Clone, Copy, Debug, Default)]
enum ListenStage {
    #[default]
    Idle,
    Requested,
    Open {
        since: Instant,
    },
    Waiting {
        until: Instant,
    },
}

impl ListenRetry {
    /// Records that the subscription is requested again.
    pub(super) fn request(&mut self) {
        self.stage = ListenStage::Requested;
    }

    /// Records an acknowledgement.
    pub(super) fn acknowledge(&mut self, now: Instant, is_honoured: bool) {
        self.stage = if is_honoured { ListenStage::Open { since: now } } else { ListenStage::Idle };
    }

    /// Records the end of the request; returns the time of the next one, if there is a next one.
    pub(super) fn end(&mut self, now: Instant) -> Option<Instant> {
        match self.stage {
            ListenStage::Idle | ListenStage::Waiting { .. } => return None,
            ListenStage::Open { since } if now > since + self.delay.max(FIRST) => {
                self.delay = FIRST;
            }
            ListenStage::Open { .. } | ListenStage::Requested => {
                self.delay = self.delay.saturating_mul(2).clamp(FIRST, LONGEST);
            }
        }
        let until = now + self.delay;
        self.stage = ListenStage::Waiting { until };
        Some(until)
    }

    /// The time of the next request.
    pub(super) fn until(&self) -> Option<Instant> {
        match self.stage {
            ListenStage::Waiting { until } => Some(until),
            ListenStage::Idle | ListenStage::Requested | ListenStage::Open { .. } => None,
        }
    }

    /// Returns whether the subscription has begun, or begins again.
    pub(super) fn has_begun(&self) -> bool {
        !matches!(self.stage, ListenStage::Idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn subscription_that_was_not_acknowledged_is_not_requested_again() {
        let mut retry = ListenRetry::default();
        assert_eq!(retry.end(at(1)), None);
        retry.acknowledge(at(1), false);
        assert_eq!(retry.end(at(2)), None);
        retry.acknowledge(at(2), true);
        assert!(retry.end(at(3)).is_some());
        retry.acknowledge(at(4), false);
        assert_eq!((retry.end(at(5)), retry.until()), (None, None));
    }

    #[test]
    fn delays_grow_up_to_a_limit_and_start_over_after_a_subscription_that_lasts() {
        let mut retry = ListenRetry::default();
        let mut now = at(0);
        for delay in [1, 2, 4, 8, 16, 30, 30] {
            retry.acknowledge(now, true);
            assert_eq!(retry.end(now), Some(now + Duration::from_secs(delay)));
            now = retry.until().unwrap();
            retry.request();
        }
        assert_eq!(retry.end(now), Some(now + LONGEST));
        retry.acknowledge(now, true);
        let later = now + Duration::from_secs(31);
        assert_eq!(retry.end(later), Some(later + FIRST));
    }
}
