//! Time as an argument.
//!
//! The machines own no clock. The driver picks an epoch (usually its own start), and passes the
//! time since then to every `handle_*` and command.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::ops::Add;
pub use core::time::Duration;

/// A point in time: microseconds since an epoch that the driver chooses.
///
/// It prints as seconds, as in transcripts.
///
/// ```
/// use mcp_proto::{Duration, Instant};
///
/// let now = Instant::ZERO + Duration::from_millis(1_500);
/// assert_eq!(now.to_string(), "1.5s");
/// assert_eq!(now.duration_since(Instant::ZERO), Duration::from_millis(1_500));
/// assert_eq!(now + Duration::MAX, Instant::NEVER);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Instant(u64);

impl Instant {
    /// The epoch itself.
    pub const ZERO: Self = Self(0);

    /// The end of time: a deadline at this time is never due.
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

    /// Adds a duration; an overflow becomes [`Instant::NEVER`].
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

/// A time since the Unix epoch in ISO 8601, in UTC with milliseconds: `2026-07-28T09:30:00.000Z`.
///
/// ```
/// use mcp_proto::{Duration, iso8601};
///
/// assert_eq!(iso8601(Duration::from_millis(1_785_231_000_250)), "2026-07-28T09:30:00.250Z");
/// ```
pub fn iso8601(unix: Duration) -> String {
    const DAY: u64 = 24 * 60 * 60;
    let (days, seconds) = (unix.as_secs() / DAY, unix.as_secs() % DAY);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let millis = unix.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// The year, month and day of the Gregorian calendar, `days` days after 1970-01-01. Internally,
/// years begin in March, so that a leap day is the last day of its year. 400 years have 146,097
/// days.
fn civil(days: u64) -> (u64, u64, u64) {
    const CYCLE: u64 = 146_097;
    let days = days + 719_468;
    let (cycle, day) = (days / CYCLE, days % CYCLE);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (cycle * 400 + year + next, month, day)
}

/// The largest integer that all JSON parsers read exactly, for milliseconds on the wire.
///
/// [RFC 8259, section 6](https://www.rfc-editor.org/rfc/rfc8259#section-6)
pub(crate) const MAX_MILLIS: u64 = (1 << 53) - 1;

/// The milliseconds of a time, at most [`MAX_MILLIS`].
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).map_or(MAX_MILLIS, |millis| millis.min(MAX_MILLIS))
}

/// The delay, and up to a quarter of it, so that many clients do not come back at once.
pub(crate) fn spread(delay: Duration, random: u8) -> Duration {
    delay.saturating_add(delay / 4 * u32::from(random) / 255)
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
    fn unix_times_are_dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_704_067_199, "2023-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799, "9999-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(iso8601(Duration::from_secs(seconds)), text);
        }
        assert_eq!(iso8601(Duration::MAX).len(), "584554051223-11-09T07:00:15.999Z".len());
    }

    #[test]
    fn adding_saturates() {
        assert_eq!(Instant::from_micros(1) + Duration::MAX, Instant::NEVER);
    }
}
