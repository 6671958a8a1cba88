//! The settings of the tasks of a server, which the application may replace.
//!
//! In: configurations and stores, also those of a registry that replaces another one. Out: the last
//! ones, or the defaults.

use alloc::sync::Arc;

use super::current_store::CurrentStore;
use super::store::TaskStore;
use crate::lock::Lock;
use mcp_proto::Duration;

/// Settings of the tasks of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TaskConfig {
    /// The lifetime of a task and its result; default 1 hour. An ended task is kept for at least 5
    /// minutes, or 1 minute if it ended because its lifetime was over.
    pub ttl: Duration,
    /// The interval at which clients should poll; default 1 s.
    pub poll_interval: Duration,
    /// The longest result in bytes, beyond which a task fails; default 1 MiB.
    pub max_task_bytes: usize,
    /// The most tasks that clients subscribe to at the same time; default 1,000. Subscriptions to
    /// more are not honoured, and clients poll those tasks.
    pub max_watched_tasks: usize,
    /// The time after which a task fails if its process has ended; default 60 s, at least 1 s. The
    /// process that runs a task renews the lease after a third of this time. Tasks of live
    /// processes fail too if the store is slower than that, or if the clocks of the processes
    /// differ by as much.
    pub lease: Duration,
}

impl Default for TaskConfig {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(3600),
            poll_interval: Duration::from_secs(1),
            max_task_bytes: 1024 * 1024,
            max_watched_tasks: 1_000,
            lease: Duration::from_secs(60),
        }
    }
}

/// The store and the configuration of the tasks of a server.
#[derive(Default)]
pub(super) struct TaskSettings {
    pub(super) store: CurrentStore,
    /// `None` if the application has set none.
    config: Lock<Option<TaskConfig>>,
}

impl TaskSettings {
    pub(super) fn set_config(&self, config: TaskConfig) {
        *self.config.lock() = Some(config);
    }

    pub(super) fn config(&self) -> TaskConfig {
        self.config.lock().unwrap_or_default()
    }

    /// Takes over what the application has set in other settings. Returns the store that was
    /// replaced, to be dropped where no lock is held.
    pub(super) fn adopt(&self, other: &Self) -> Option<Arc<dyn TaskStore>> {
        let config = *other.config.lock();
        if let Some(config) = config {
            self.set_config(config);
        }
        self.store.adopt(&other.store)
    }
}
