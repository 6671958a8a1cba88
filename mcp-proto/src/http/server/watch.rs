//! Deadlines of a connection: that of its state, and that of its end.
//!
//! In: the wait that a state has, time. Out: the reason whose time has come.

use crate::time::{Duration, Instant};

/// The reason why a connection does something by itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Reason {
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
    /// The wait of the state, and its end; never, once that has passed.
    watched: Option<(Instant, Reason)>,
    /// Until when a request may be answered once the server is to stop; never before.
    drains: Instant,
}

impl Watch {
    /// The deadline for the first request.
    pub(super) fn new(idle_until: Instant) -> Self {
        Self { watched: Some((idle_until, Reason::Idle)), drains: Instant::NEVER }
    }

    /// Sets the wait of the state, unless it is the same as before.
    pub(super) fn set(&mut self, now: Instant, running: Option<(Reason, Duration)>) {
        if running.map(|(reason, _)| reason) != self.watched.map(|(_, reason)| reason) {
            self.watched = running.map(|(reason, after)| (now + after, reason));
        }
    }

    /// Sets the end of the time in which a request may be answered.
    pub(super) fn drain_until(&mut self, at: Instant) {
        self.drains = at;
    }

    /// The next reason for which something is to be done, once.
    pub(super) fn expire(&mut self, now: Instant) -> Option<Reason> {
        let drains = (self.drains, Reason::Drain);
        let (at, reason) = self.watched.map_or(drains, |watched| watched.min(drains));
        match reason {
            _ if at > now || at == Instant::NEVER => return None,
            Reason::Drain => self.drains = Instant::NEVER,
            Reason::Idle | Reason::Head | Reason::Verdict | Reason::Body | Reason::Linger => {
                self.watched = Some((Instant::NEVER, reason));
            }
        }
        Some(reason)
    }

    /// The earliest deadline; never if there is none.
    pub(super) fn poll_timeout(&self) -> Instant {
        self.watched.map_or(self.drains, |(at, _)| at.min(self.drains))
    }
}
