//! The watched tasks, and the servers whose clients subscribe to them.
//!
//! In: subscriptions, and changes of tasks by this process and by others. Out: states, to the
//! servers; wakes of the watch of a task that was changed elsewhere. [`watch`](super::watch) has
//! the rules.

use alloc::collections::BTreeMap;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::fmt;

use crate::lock::Lock;
use crate::mailbox::Mailbox;
use mcp_proto::server::Change;
use mcp_proto::server::task::{Record, TaskId};

/// Reports a change, if there is one, to the clients of a server; `false` if the server is gone.
pub(super) type ChangeListener = dyn Fn(Option<&Change>) -> bool + Send + Sync;

/// The fewest servers among which those that are gone are searched.
const MIN_SWEEP: usize = 16;

/// True if a watched task was changed since the last read.
pub(super) type ChangedFlag = Mailbox<bool>;

/// The watched tasks of a server.
#[derive(Default)]
pub(super) struct WatchedTasks(Lock<WatchedState>);

#[derive(Default)]
struct WatchedState {
    tasks: BTreeMap<TaskId, WatchedTask>,
    /// Number of running lookups for subscriptions.
    lookups: usize,
    /// The servers, by the numbers of their catalogs.
    listeners: BTreeMap<usize, Arc<ChangeListener>>,
    /// The number of servers at which those that are gone are removed. It is twice the number that
    /// was left before, so a lookup costs the same with any number of servers.
    next_sweep: usize,
}

struct WatchedTask {
    changed: Arc<ChangedFlag>,
    /// The number of the last state that was reported.
    changes: Option<u64>,
}

/// Result of beginning a watch.
pub(super) enum WatchBegin {
    /// The task is watched from now on; the flag reports changes elsewhere.
    Begun(Arc<ChangedFlag>),
    /// The task is already watched.
    Known,
    /// Too many tasks are watched.
    Full,
}

/// A handle for a [`TaskStore`](super::TaskStore) to report changes of tasks to a server. Cheap to
/// clone.
#[derive(Clone)]
pub struct TaskWatcher(Weak<WatchedTasks>);

impl TaskWatcher {
    pub(super) fn new(watched: &Arc<WatchedTasks>) -> Self {
        Self(Arc::downgrade(watched))
    }

    /// Reports that the task with this id was changed, by this process or another one. The server
    /// then reads the task and notifies its subscribers. Does not block; any thread may call it.
    pub fn changed(&self, id: &TaskId) {
        if let Some(watched) = self.0.upgrade() {
            watched.handle_changed(id);
        }
    }

    /// Returns whether the server is gone, so that the watcher can be dropped.
    pub fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }
}

impl fmt::Debug for TaskWatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskWatcher").field("is_gone", &self.is_gone()).finish()
    }
}

impl WatchedTasks {
    /// Begins a lookup for a subscription of a server.
    pub(super) fn begin_lookup(&self, server: usize, listener: Arc<ChangeListener>) {
        let (before, gone) = {
            let mut state = self.0.lock();
            state.lookups += 1;
            (state.listeners.insert(server, listener), state.remove_gone())
        };
        drop((before, gone));
    }

    pub(super) fn end_lookup(&self) {
        let mut state = self.0.lock();
        state.lookups = state.lookups.saturating_sub(1);
    }

    /// Begins to watch a task, unless there are `max`.
    pub(super) fn begin(&self, id: &TaskId, max: usize) -> WatchBegin {
        let mut state = self.0.lock();
        if state.tasks.contains_key(id) {
            return WatchBegin::Known;
        }
        if state.tasks.len() >= max {
            return WatchBegin::Full;
        }
        let changed = Arc::new(ChangedFlag::new(false));
        state.tasks.insert(id.clone(), WatchedTask { changed: changed.clone(), changes: None });
        WatchBegin::Begun(changed)
    }

    /// Ends the watch of a task.
    pub(super) fn end(&self, id: &TaskId, changed: &Arc<ChangedFlag>) {
        let mut state = self.0.lock();
        if state.tasks.get(id).is_some_and(|task| Arc::ptr_eq(&task.changed, changed)) {
            state.tasks.remove(id);
        }
    }

    /// Wakes the watch of a task that was changed elsewhere.
    pub(super) fn handle_changed(&self, id: &TaskId) {
        let changed = self.0.lock().tasks.get(id).map(|task| task.changed.clone());
        if let Some(changed) = changed {
            changed.update(|changed| *changed = true);
        }
    }

    /// Reports a state of a task to the servers; also a state that was reported before, if `again`.
    pub(super) fn notify(&self, id: &TaskId, record: &Record, again: bool) {
        let listeners = self.0.lock().listeners(id, record.changes(), again);
        if listeners.is_empty() {
            return;
        }
        let Some(update) = record.update() else { return };
        let change = Change::TaskUpdated(Arc::new(update));
        for (server, listener) in listeners {
            if !listener(Some(&change)) {
                self.leave(server, &listener);
            }
        }
    }

    /// Removes a server that is gone, unless another one has its number.
    fn leave(&self, server: usize, listener: &Arc<ChangeListener>) {
        let mut state = self.0.lock();
        if state.listeners.get(&server).is_some_and(|known| Arc::ptr_eq(known, listener)) {
            state.listeners.remove(&server);
        }
    }
}

impl WatchedState {
    /// Removes and returns the servers that are gone, if there are many servers. Others remove them
    /// only when the state of a task is reported.
    fn remove_gone(&mut self) -> Vec<Arc<ChangeListener>> {
        if self.listeners.len() < self.next_sweep.max(MIN_SWEEP) {
            return Vec::new();
        }
        let mut gone = Vec::new();
        self.listeners.retain(|_, listener| {
            let lives = listener(None);
            gone.extend((!lives).then(|| listener.clone()));
            lives
        });
        self.next_sweep = self.listeners.len().saturating_mul(2);
        gone
    }

    /// The servers to notify of a state; none if it was reported before, unless `again`.
    fn listeners(
        &mut self,
        id: &TaskId,
        changes: u64,
        again: bool,
    ) -> Vec<(usize, Arc<ChangeListener>)> {
        if self.lookups == 0 && self.tasks.is_empty() {
            return Vec::new();
        }
        if let Some(task) = self.tasks.get_mut(id) {
            if !again && task.changes.is_some_and(|reported| reported >= changes) {
                return Vec::new();
            }
            task.changes = task.changes.max(Some(changes));
        }
        let listeners = self.listeners.iter();
        listeners.map(|(server, listener)| (*server, listener.clone())).collect()
    }
}
