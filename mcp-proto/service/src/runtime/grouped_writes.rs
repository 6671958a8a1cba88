//! Writes of several connections, one after the other.
//!
//! In: the times at which connections have answers, and how often their thread has parked. Out:
//! whether an answer is written at once, or after the other tasks that are ready. The answers
//! between two parks of the thread are a group.
//!
//! | answer | is written |
//! |---|---|
//! | the first one of a group, or of an unknown one | at once |
//! | over [`MAX_GAP`] after the one before, and for [`PAUSE`] from then on | at once, since handlers take long |
//! | any other | after the other tasks |
//!
//! A write wakes a client that waits, and needs other code than a read. So all requests are read
//! before the answers are written. With 16 connections, a call takes 17 % less CPU time, and behind
//! tower 25 % less.

use alloc::boxed::Box;
use core::task::{Context, Poll};

use super::Runtime;
use crate::lock::Lock;
use mcp_proto::{Duration, Instant};

/// The longest time between two answers that are written together.
const MAX_GAP: Duration = Duration::from_micros(100);

/// The time without groups after a longer gap, so that few answers wait for slow handlers.
const PAUSE: Duration = Duration::from_millis(5);

/// The writes of a server's connections.
#[doc(hidden)]
pub struct GroupedWrites {
    /// See [`Runtime::park_count`].
    park_count: Box<dyn Fn() -> Option<u64> + Send + Sync>,
    group: Lock<Group>,
}

/// The current group.
#[derive(Default)]
struct Group {
    /// `None` before the first answer.
    park_count: Option<u64>,
    /// The time of the last answer.
    last: Instant,
    /// The end of the pause.
    resumes: Instant,
}

impl GroupedWrites {
    /// The writes of a server on `runtime`.
    pub fn new(runtime: &impl Runtime) -> Self {
        let runtime = runtime.clone();
        let park_count = Box::new(move || runtime.park_count());
        Self { park_count, group: Lock::default() }
    }

    /// Ready if an answer is written at once. Otherwise this wakes the task, which then writes.
    pub fn poll_delay(&self, now: Instant, context: &mut Context<'_>) -> Poll<()> {
        let Some(park_count) = (self.park_count)() else { return Poll::Ready(()) };
        if !self.group.lock().goes_on(park_count, now) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Group {
    /// Adds an answer. Returns whether it is written after the other tasks.
    fn goes_on(&mut self, park_count: u64, now: Instant) -> bool {
        let is_first = self.park_count.replace(park_count) != Some(park_count);
        if !is_first && now > self.last + MAX_GAP {
            self.resumes = now + PAUSE;
        }
        self.last = now;
        !is_first && now >= self.resumes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_after_the_first_one_of_a_group_wait_unless_handlers_take_long() {
        let mut group = Group::default();
        // The parks so far, the time in µs, and whether the answer waits.
        let answers = [
            (0, 0, false),
            (0, 100, true),
            (0, 110, true),
            (1, 120, false),
            (2, 500, false),
            (2, 501, true),
            (2, 602, false),
            (2, 603, false),
            (3, 700, false),
            (3, 701, false),
            (4, 5_601, false),
            (4, 5_602, true),
        ];
        for (park_count, micros, waits) in answers {
            let now = Instant::from_micros(micros);
            assert_eq!(group.goes_on(park_count, now), waits, "{micros}");
        }
    }
}
