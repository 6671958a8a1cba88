//! Time as an argument.
//!
//! The machines own no clock. Whoever drives them picks an epoch (usually the moment at which the
//! driver started) and passes the time since then to every `handle_*` and command.

use core::fmt;
use core::ops::Add;
pub use core::time::Duration;

/// A point in time: microseconds since an epoch that the driver chooses.
///
/// It prints as seconds, as in transcripts: `Instant::from_micros(1_500_000)` is `1.5s`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Instant(u64);

impl Instant {
    /// The epoch itself.
    pub const ZERO: Self = Self(0);

    /// The end of time: no deadline is ever due then.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `micros` microseconds after the epoch.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// The time that has passed since `earlier`; zero if `earlier` is later.
    pub const fn duration_since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Adds a duration; what does not fit becomes [`Instant::NEVER`].
    fn add(self, duration: Duration) -> Self {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(micros))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1_000_000;
        let micros = self.0 % 1_000_000;
        if micros == 0 {
            return write!(f, "{seconds}s");
        }
        let mut digits = micros;
        let mut width = 6;
        while digits.is_multiple_of(10) {
            digits /= 10;
            width -= 1;
        }
        write!(f, "{seconds}.{digits:0width$}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn prints_as_in_transcripts() {
        for (micros, text) in
            [(0, "0s"), (1_500_000, "1.5s"), (30_000_000, "30s"), (1_000_020, "1.00002s")]
        {
            assert_eq!(Instant::from_micros(micros).to_string(), text);
        }
    }

    #[test]
    fn adding_saturates() {
        assert_eq!(Instant::from_micros(1) + Duration::MAX, Instant::NEVER);
    }
}
