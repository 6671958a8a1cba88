//! Deadlines of a connection: that of its state, and that of its shutdown.
//!
//! In: the timeout of a state, and the time. Out: the timer that has expired.

use crate::limits::Limits;
use crate::time::{Duration, Instant};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum ConnectionTimer {
    Idle,
    Head,
    Verdict,
    Body,
    Linger,
    Drain,
}

/// The deadlines of a connection.
#[derive(Debug)]
pub(super) struct Watch {
    /// Deadline of the state, and its timer; `NEVER` after it has expired.
    watched: Option<(Instant, ConnectionTimer)>,
    /// Time until which requests may be answered during a shutdown; `NEVER` before a shutdown.
    drains: Instant,
}

impl Watch {
    /// Waits for the first request of a connection that was accepted at `now`.
    pub(super) fn new(now: Instant, limits: &Limits) -> Self {
        // A connection without idle time still has to transport a request.
        let idle = Some(limits.connection_idle_timeout).filter(|idle| !idle.is_zero());
        let idle_until = now + idle.unwrap_or(limits.head_timeout);
        Self { watched: Some((idle_until, ConnectionTimer::Idle)), drains: Instant::NEVER }
    }

    /// Sets the timeout of the state, unless the same timer is already running.
    pub(super) fn set(&mut self, now: Instant, running: Option<(ConnectionTimer, Duration)>) {
        if running.map(|(reason, _)| reason) != self.watched.map(|(_, reason)| reason) {
            self.watched = running.map(|(reason, after)| (now + after, reason));
        }
    }

    /// Sets the time until which requests may be answered during a shutdown.
    pub(super) fn drain_until(&mut self, at: Instant) {
        self.drains = at;
    }

    /// Takes a timer that has expired.
    pub(super) fn expire(&mut self, now: Instant) -> Option<ConnectionTimer> {
        let drains = (self.drains, ConnectionTimer::Drain);
        let (at, reason) = self.watched.map_or(drains, |watched| watched.min(drains));
        match reason {
            _ if at > now || at == Instant::NEVER => return None,
            ConnectionTimer::Drain => self.drains = Instant::NEVER,
            ConnectionTimer::Idle
            | ConnectionTimer::Head
            | ConnectionTimer::Verdict
            | ConnectionTimer::Body
            | ConnectionTimer::Linger => {
                self.watched = Some((Instant::NEVER, reason));
            }
        }
        Some(reason)
    }

    /// The earliest deadline; `NEVER` if there is none.
    pub(super) fn poll_timeout(&self) -> Instant {
        self.watched.map_or(self.drains, |(at, _)| at.min(self.drains))
    }
}
