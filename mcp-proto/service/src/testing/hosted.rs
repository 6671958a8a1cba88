//! The tasks of a server in virtual time.
//!
//! In: futures of tasks. Out: whether any was polled. A server that is restarted has lost them, as
//! after a crash.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::clock::{Clock, Timer};
use super::http::TestTasks;
use super::random::Random;
use crate::lock::Lock;
use crate::{Catalog, Clock as _, Spawned, TaskHost};

/// The tasks of a server.
#[derive(Default)]
pub(super) struct HostedTasks {
    spawned: Arc<Lock<Vec<Spawned>>>,
    tasks: TestTasks,
}

impl HostedTasks {
    /// Hosts the tasks of this server from now on.
    pub(super) fn of(catalog: &Catalog, clock: &Clock) -> Self {
        let hosted = Self::default();
        let spawned = hosted.spawned.clone();
        let (timers, time) = (clock.clone(), clock.clone());
        // Two servers that share a store must not generate the same ids.
        let random = Lock::new(Random::new(next_server()));
        let host = TaskHost::new(
            move || Timer::new(&timers),
            move |task| spawned.lock().push(task),
            move || {
                let random = &mut *random.lock();
                (u128::from(random.next()) << 64 | u128::from(random.next())).to_be_bytes()
            },
        );
        catalog.tasks().host(host.time_from(move || Timer::new(&time).unix_time()));
        hosted
    }

    /// Polls each woken task once; returns whether there was any.
    pub(super) fn run_round(&mut self) -> bool {
        let spawned = core::mem::take(&mut *self.spawned.lock());
        for task in spawned {
            self.tasks.spawn(task);
        }
        self.tasks.run()
    }

    /// Drops all tasks.
    pub(super) fn clear(&mut self) {
        self.spawned.lock().clear();
        self.tasks = TestTasks::default();
    }
}

/// The number of servers before this one.
fn next_server() -> u64 {
    use core::sync::atomic::{AtomicU64, Ordering};
    static SERVERS: AtomicU64 = AtomicU64::new(0);
    SERVERS.fetch_add(1, Ordering::Relaxed)
}
