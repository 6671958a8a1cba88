//! The settings of the tasks of a server, which the application may replace.
//!
//! In: configurations and stores of a registry, which its server takes over. Out: the last ones, or
//! the defaults.

use alloc::sync::Arc;
use core::fmt;

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

/// The settings of a registry, which count once a server has the registry; `None` if the
/// application has set none.
#[derive(Clone, Default)]
pub(crate) struct ChosenSettings {
    pub(super) store: Option<Arc<dyn TaskStore>>,
    pub(super) config: Option<TaskConfig>,
}

impl fmt::Debug for ChosenSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChosenSettings").field("config", &self.config).finish_non_exhaustive()
    }
}

/// The store and the configuration of the tasks of a server.
#[derive(Default)]
pub(super) struct TaskSettings {
    pub(super) store: CurrentStore,
    config: Lock<TaskConfig>,
}

impl TaskSettings {
    pub(super) fn config(&self) -> TaskConfig {
        *self.config.lock()
    }

    /// Takes over the settings of a registry. Returns the store that was replaced, to be dropped
    /// where no lock is held.
    pub(super) fn adopt(&self, chosen: &ChosenSettings) -> Option<Arc<dyn TaskStore>> {
        if let Some(config) = chosen.config {
            *self.config.lock() = config;
        }
        chosen.store.clone().map(|store| self.store.replace(store))
    }
}
