//! Alarms: reports of limits that an endpoint reaches, at a bounded rate.
//!
//! In: a limit that is reached. Out: [`ServerEvent::LimitReached`], at once the first time, and
//! then at most once in 10 s for each limit. Each report has the count since the last one.

use alloc::collections::BTreeMap;

use crate::server::ServerEvent;
use crate::time::{Duration, Instant};

/// The time between two reports of a limit.
const PERIOD: Duration = Duration::from_secs(10);

/// The limits that were reached, by name.
#[derive(Debug, Default)]
pub struct Alarms(BTreeMap<&'static str, Alarm>);

#[derive(Debug)]
struct Alarm {
    /// Earliest time of the next report.
    again: Instant,
    /// Number of times that the limit was reached since the last report.
    count: u64,
}

impl Alarms {
    /// Records that a limit was reached `times` times. If a report is due, returns the count since
    /// the last report.
    pub fn count(&mut self, now: Instant, name: &'static str, times: usize) -> Option<u64> {
        let alarm = self.0.entry(name).or_insert(Alarm { again: now, count: 0 });
        alarm.count = alarm.count.saturating_add(times as u64);
        if now < alarm.again {
            return None;
        }
        alarm.again = now + PERIOD;
        Some(core::mem::take(&mut alarm.count))
    }

    /// Records that a limit of `Limits` was reached. Returns the report, if one is due.
    pub fn reached(&mut self, now: Instant, limit: &'static str) -> Option<ServerEvent> {
        self.reached_times(now, limit, 1)
    }

    /// Records that a limit of `Limits` was reached `times` times. Returns the report, if one is
    /// due.
    pub fn reached_times(
        &mut self,
        now: Instant,
        limit: &'static str,
        times: usize,
    ) -> Option<ServerEvent> {
        self.count(now, limit, times).map(|count| ServerEvent::LimitReached { limit, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_hour_20_a_limit_is_reported_at_a_bounded_rate() {
        let mut alarms = Alarms::default();
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        assert_eq!(alarms.count(at(0), "a", 1), Some(1));
        assert_eq!(alarms.count(at(1), "a", 1), None);
        assert_eq!(alarms.count(at(1), "b", 1), Some(1));
        assert_eq!(alarms.count(at(9), "a", 1), None);
        assert_eq!(alarms.count(at(10), "a", 1), Some(3));
    }
}
