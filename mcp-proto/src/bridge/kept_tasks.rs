//! The tasks that a modern server keeps for the clients of a bridge.
//!
//! In: results of calls. Out: the time at which the last task expires.

use super::translate::is_of_type;
use crate::json::Json;
use crate::time::{Duration, Instant};
use crate::types::Task;

/// The most time for which a task counts, also if it has no TTL.
const MAX_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The tasks that the server may still run, or whose results it has.
#[derive(Debug, Default)]
pub(super) struct KeptTasks {
    until: Option<Instant>,
}

impl KeptTasks {
    /// Records the task that is the result of a call, if it is one.
    pub(super) fn read(&mut self, now: Instant, result: &Json) {
        if !is_of_type(result, "task") {
            return;
        }
        let task: Option<Task> = result.decode().ok();
        let ttl = task.and_then(|task| task.ttl_ms).map_or(MAX_TIME, Duration::from_millis);
        self.until = self.until.max(Some(now + ttl.min(MAX_TIME)));
    }

    /// The time at which the last task expires; `None` if there is none.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Forgets the tasks that have expired.
    pub(super) fn expire(&mut self, now: Instant) {
        self.until = self.until.filter(|until| *until > now);
    }
}
