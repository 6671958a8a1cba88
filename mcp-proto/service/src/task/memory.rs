//! In-memory store of tasks.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::future::ready;

use bytes::Bytes;

use super::store::{StoreError, StoreFuture, TaskStore};
use super::watched::TaskWatcher;
use crate::lock::Lock;
use mcp_proto::Duration;
use mcp_proto::server::task::TaskId;

/// In-memory store of tasks, the default. Its tasks end with the process. An expired task is
/// removed by the next access to the store. The number of tasks and their bytes are limited, in
/// total and for each principal. [`Debug`](fmt::Debug) shows both numbers.
pub struct MemoryStore {
    max_tasks: usize,
    max_tasks_per_principal: usize,
    max_bytes: usize,
    max_bytes_per_principal: usize,
    kept: Lock<KeptTasks>,
    watchers: Lock<Vec<TaskWatcher>>,
}

#[derive(Default)]
struct KeptTasks {
    tasks: BTreeMap<TaskId, KeptTask>,
    /// The tasks by expiry.
    ends: BTreeSet<(Duration, TaskId)>,
    /// The tasks of each principal.
    owners: BTreeMap<Option<String>, TaskUsage>,
    bytes: usize,
}

/// The number and bytes of some tasks.
#[derive(Clone, Copy, Default)]
struct TaskUsage {
    tasks: usize,
    bytes: usize,
}

struct KeptTask {
    revision: u64,
    owner: Option<String>,
    record: Bytes,
    /// Expiry, since the Unix epoch.
    until: Duration,
}

impl Default for MemoryStore {
    /// 1,000 tasks and 64 MiB; 100 tasks and 16 MiB for each principal, and for clients without
    /// one.
    fn default() -> Self {
        Self {
            max_tasks: 1_000,
            max_tasks_per_principal: 100,
            max_bytes: 64 * 1024 * 1024,
            max_bytes_per_principal: 16 * 1024 * 1024,
            kept: Lock::default(),
            watchers: Lock::default(),
        }
    }
}

impl MemoryStore {
    /// Sets the most tasks, including ended ones; default 1,000.
    pub fn max_tasks(mut self, tasks: usize) -> Self {
        self.max_tasks = tasks;
        self
    }

    /// Sets the most tasks of one principal, and of all clients without one; default 100.
    pub fn max_tasks_per_principal(mut self, tasks: usize) -> Self {
        self.max_tasks_per_principal = tasks;
        self
    }

    /// Sets the most bytes of all records; default 64 MiB.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the most bytes of the records of one principal, and of all clients without one; default
    /// 16 MiB.
    pub fn max_bytes_per_principal(mut self, bytes: usize) -> Self {
        self.max_bytes_per_principal = bytes;
        self
    }

    fn insert(
        &self,
        now: Duration,
        id: &TaskId,
        owner: Option<&str>,
        record: Bytes,
        until: Duration,
    ) -> Result<(), StoreError> {
        let kept = &mut *self.kept.lock();
        kept.remove_expired(now);
        let owner = owner.map(String::from);
        let usage = kept.owners.get(&owner).copied().unwrap_or_default();
        let is_full = kept.tasks.len() >= self.max_tasks
            || usage.tasks >= self.max_tasks_per_principal
            || self.is_too_much(kept, usage, record.len());
        if is_full {
            return Err(StoreError::Full);
        }
        if kept.tasks.contains_key(id) {
            return Err(StoreError::Exists);
        }
        kept.bytes += record.len();
        let usage = kept.owners.entry(owner.clone()).or_default();
        usage.tasks += 1;
        usage.bytes += record.len();
        kept.ends.insert((until, id.clone()));
        kept.tasks.insert(id.clone(), KeptTask { revision: 0, owner, record, until });
        Ok(())
    }

    fn replace(
        &self,
        now: Duration,
        id: &TaskId,
        from: u64,
        record: Bytes,
        until: Duration,
    ) -> Result<bool, StoreError> {
        let kept = &mut *self.kept.lock();
        kept.remove_expired(now);
        let Some(task) = kept.tasks.get(id).filter(|task| task.revision == from) else {
            return Ok(false);
        };
        let before = task.record.len();
        // A record that does not grow is always accepted: a task with a too long result fails that
        // way.
        let growth = record.len().saturating_sub(before);
        let usage = kept.owners.get(&task.owner).copied().unwrap_or_default();
        if growth > 0 && self.is_too_much(kept, usage, growth) {
            return Err(StoreError::Full);
        }
        let KeptTasks { tasks, ends, owners, bytes } = kept;
        let Some(task) = tasks.get_mut(id) else { return Ok(false) };
        let of_owner = owners.get_mut(&task.owner).map(|usage| &mut usage.bytes);
        for bytes in of_owner.into_iter().chain([bytes]) {
            *bytes = bytes.saturating_sub(before).saturating_add(record.len());
        }
        ends.remove(&(task.until, id.clone()));
        ends.insert((until, id.clone()));
        (task.record, task.until) = (record, until);
        task.revision += 1;
        Ok(true)
    }

    /// Returns whether `more` bytes exceed a limit, in total or for this principal.
    fn is_too_much(&self, kept: &KeptTasks, usage: TaskUsage, more: usize) -> bool {
        kept.bytes.saturating_add(more) > self.max_bytes
            || usage.bytes.saturating_add(more) > self.max_bytes_per_principal
    }
}

impl KeptTasks {
    fn remove_expired(&mut self, now: Duration) {
        while let Some((_, id)) = self.ends.first().filter(|(until, _)| *until <= now) {
            let removed = self.tasks.remove(id);
            self.ends.pop_first();
            let Some(task) = removed else { continue };
            self.bytes = self.bytes.saturating_sub(task.record.len());
            if let Some(usage) = self.owners.get_mut(&task.owner) {
                usage.tasks = usage.tasks.saturating_sub(1);
                usage.bytes = usage.bytes.saturating_sub(task.record.len());
                if usage.tasks == 0 {
                    self.owners.remove(&task.owner);
                }
            }
        }
    }
}

impl TaskStore for MemoryStore {
    fn create<'a>(
        &'a self,
        now: Duration,
        id: &'a TaskId,
        owner: Option<&'a str>,
        record: Bytes,
        time_to_live: Duration,
    ) -> StoreFuture<'a, ()> {
        Box::pin(ready(self.insert(now, id, owner, record, now.saturating_add(time_to_live))))
    }

    fn get<'a>(&'a self, now: Duration, id: &'a TaskId) -> StoreFuture<'a, Option<(u64, Bytes)>> {
        let kept = &mut *self.kept.lock();
        kept.remove_expired(now);
        let found = kept.tasks.get(id);
        Box::pin(ready(Ok(found.map(|task| (task.revision, task.record.clone())))))
    }

    fn change<'a>(
        &'a self,
        now: Duration,
        id: &'a TaskId,
        from: u64,
        record: Bytes,
        time_to_live: Duration,
    ) -> StoreFuture<'a, bool> {
        let changed = self.replace(now, id, from, record, now.saturating_add(time_to_live));
        if matches!(changed, Ok(true)) {
            // Watchers wake tasks, which may run any code: call them without the lock.
            let watchers = self.watchers.lock().clone();
            for watcher in &watchers {
                watcher.changed(id);
            }
        }
        Box::pin(ready(changed))
    }

    fn watch(&self, watcher: TaskWatcher) {
        let mut watchers = self.watchers.lock();
        watchers.retain(|watcher| !watcher.is_gone());
        watchers.push(watcher);
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tasks, bytes) = {
            let kept = self.kept.lock();
            (kept.tasks.len(), kept.bytes)
        };
        f.debug_struct("MemoryStore")
            .field("tasks", &tasks)
            .field("bytes", &bytes)
            .finish_non_exhaustive()
    }
}
