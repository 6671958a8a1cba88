//! The place where tasks run, as an adapter provides it.

use alloc::boxed::Box;
use core::fmt;

use crate::io::unix_time;
use crate::{Clock, Spawned};
use mcp_proto::Duration;

/// The needs of tasks that an adapter serves: a place to run, time, and ids.
pub struct TaskHost {
    clock: Box<dyn Fn() -> BoxClock + Send + Sync>,
    spawn: Box<dyn Fn(Spawned) + Send + Sync>,
    ids: Box<dyn Fn() -> [u8; 16] + Send + Sync>,
    unix_time: Box<dyn Fn() -> Duration + Send + Sync>,
}

/// A clock whose type is not known.
pub(super) type BoxClock = Box<dyn Clock + Send>;

impl TaskHost {
    /// A host: `clock` makes clocks that count from one epoch, `spawn` drives a future to its end
    /// somewhere, `ids` makes 128 random bits that nobody can guess.
    pub fn new<C: Clock + Send + 'static>(
        clock: impl Fn() -> C + Send + Sync + 'static,
        spawn: impl Fn(Spawned) + Send + Sync + 'static,
        ids: impl Fn() -> [u8; 16] + Send + Sync + 'static,
    ) -> Self {
        Self {
            clock: Box::new(move || Box::new(clock())),
            spawn: Box::new(spawn),
            ids: Box::new(ids),
            unix_time: Box::new(unix_time),
        }
    }

    /// Sets where the time since the Unix epoch comes from; default the clock of the system. It may be
    /// asked on any thread.
    pub fn time_from(mut self, unix_time: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        self.unix_time = Box::new(unix_time);
        self
    }

    pub(super) fn clock(&self) -> BoxClock {
        (self.clock)()
    }

    pub(super) fn unix_time(&self) -> Duration {
        (self.unix_time)()
    }

    pub(super) fn spawn(&self, future: Spawned) {
        (self.spawn)(future);
    }

    pub(super) fn id(&self) -> [u8; 16] {
        (self.ids)()
    }
}

impl fmt::Debug for TaskHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskHost").finish_non_exhaustive()
    }
}
