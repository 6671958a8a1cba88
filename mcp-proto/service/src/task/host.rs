//! The environment in which tasks run, provided by an adapter.

use alloc::boxed::Box;
use core::fmt;

use crate::io::unix_time;
use crate::panics::catch_panic;
use crate::{Clock, Spawned};
use mcp_proto::Duration;

/// The environment of tasks, provided by an adapter: an executor, clocks, and random ids.
pub struct TaskHost {
    clock: Box<dyn Fn() -> BoxClock + Send + Sync>,
    spawn: Box<dyn Fn(Spawned) + Send + Sync>,
    ids: Box<dyn Fn() -> [u8; 16] + Send + Sync>,
    unix_time: Box<dyn Fn() -> Duration + Send + Sync>,
}

/// A boxed clock.
pub(super) type BoxClock = Box<dyn Clock + Send>;

impl TaskHost {
    /// A host. `clock` returns clocks that count from one epoch, `spawn` runs a future to its end
    /// in another task, `ids` returns 128 unpredictable random bits.
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

    /// Sets the source of the time since the Unix epoch; default the system clock. Any thread may
    /// call it.
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

    /// Runs a future to its end in another task. A future that cannot be spawned is dropped.
    pub(super) fn spawn(&self, future: Spawned) {
        catch_panic(|| (self.spawn)(future));
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
