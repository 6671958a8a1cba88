//! Timers that are late, since the process was suspended.
//!
//! In: the times for which a timer is set, and the polls of its task. Out: a short pause before the
//! task looks at its deadlines. A process that continues after SIGSTOP may see its timers before
//! the events of its sockets: the system interrupts the wait for events. Without a pause a call
//! would time out although its answer has arrived.

use core::task::{Context, Poll};

use crate::Clock;
use mcp_proto::{Duration, Instant};

/// The delay of a timer, or the pause between two polls, after which the process may have been
/// suspended. Input may then have arrived before deadlines that are due.
#[doc(hidden)]
pub const SUSPENSION: Duration = Duration::from_secs(1);

/// The time after which a runtime has looked for the events of all streams.
const TURN: Duration = Duration::from_millis(1);

/// The timer of a runtime that may see its timers before the events of its streams.
#[doc(hidden)]
#[derive(Debug)]
pub struct ResumingTimer<C> {
    timer: C,
    lateness: Lateness,
}

/// A timer that was not set yet.
impl<C> From<C> for ResumingTimer<C> {
    fn from(timer: C) -> Self {
        Self { timer, lateness: Lateness { due: Instant::NEVER, is_pausing: false } }
    }
}

impl<C: Clock> Clock for ResumingTimer<C> {
    fn now(&self) -> Instant {
        self.timer.now()
    }

    fn unix_time(&self) -> Duration {
        self.timer.unix_time()
    }

    fn poll_timer(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        let polled = self.timer.poll_timer(context, at);
        self.lateness.set(if polled.is_ready() { Instant::NEVER } else { at });
        polled
    }

    fn poll_resumed(&mut self, context: &mut Context<'_>, now: Instant) -> Poll<()> {
        let until = self.lateness.poll(now);
        until.map_or(Poll::Ready(()), |until| self.timer.poll_timer(context, until))
    }
}

/// The lateness of one timer.
#[derive(Debug)]
struct Lateness {
    /// The time for which the timer was set last; [`Instant::NEVER`] if it is not set.
    due: Instant,
    /// True while `due` is the end of a pause.
    is_pausing: bool,
}

impl Lateness {
    /// Records that the timer is set for this time. That ends a pause.
    fn set(&mut self, due: Instant) {
        *self = Self { due, is_pausing: false };
    }

    /// Handles a poll of the timer's task. Returns the end of a pause, if the task has to wait.
    fn poll(&mut self, now: Instant) -> Option<Instant> {
        if now >= self.due {
            self.is_pausing = !self.is_pausing && self.due + SUSPENSION <= now;
            self.due = if self.is_pausing { now + TURN } else { Instant::NEVER };
        }
        self.is_pausing.then_some(self.due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(millis: u64) -> Instant {
        Instant::from_micros(millis * 1000)
    }

    #[test]
    fn task_pauses_once_if_its_timer_is_late() {
        let mut lateness = ResumingTimer::from(()).lateness;
        assert_eq!(lateness.poll(millis(5000)), None);
        lateness.set(millis(6000));
        assert_eq!(lateness.poll(millis(5500)), None);
        assert_eq!(lateness.poll(millis(7000)), Some(millis(7001)));
        // Another task wakes it during the pause.
        assert_eq!(lateness.poll(millis(7000)), Some(millis(7001)));
        // The process is suspended again.
        assert_eq!(lateness.poll(millis(9000)), None);
        assert_eq!(lateness.poll(millis(9000)), None);
    }

    #[test]
    fn timer_that_is_set_during_a_pause_ends_it() {
        let mut lateness = ResumingTimer::from(()).lateness;
        lateness.set(millis(1000));
        assert!(lateness.poll(millis(3000)).is_some());
        lateness.set(millis(60_000));
        assert_eq!(lateness.poll(millis(3000)), None);
    }

    #[test]
    fn timer_that_was_seen_in_time_is_not_late_afterwards() {
        let mut lateness = ResumingTimer::from(()).lateness;
        lateness.set(millis(1000));
        assert_eq!(lateness.poll(millis(1999)), None);
        assert_eq!(lateness.poll(millis(60_000)), None);
    }
}
