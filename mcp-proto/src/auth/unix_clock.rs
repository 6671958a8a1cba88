//! The time since the Unix epoch, which the driver reports with each record.

use crate::time::{Duration, Instant};

/// A time since the Unix epoch, and the instant at which it was set.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UnixClock {
    unix: Duration,
    at: Instant,
}

impl UnixClock {
    /// A clock that is set at `now`.
    pub(super) fn new(now: Instant, unix: Duration) -> Self {
        Self { unix, at: now }
    }

    /// The time at `now`, extrapolated from the setting.
    pub(super) fn at(&self, now: Instant) -> Duration {
        self.unix.saturating_add(now.duration_since(self.at))
    }
}
