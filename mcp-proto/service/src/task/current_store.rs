//! The store of a server, which the application may replace.
//!
//! In: stores. Out: the last one. Each store gets a watcher once, when it is first needed.

use alloc::sync::Arc;

use super::store::TaskStore;
use super::watched::{TaskWatcher, WatchedTasks};
use crate::lock::Lock;

/// The store of a server. One lock holds both parts, so that no store misses its watcher.
pub(super) struct CurrentStore(Lock<StoreSlot>);

struct StoreSlot {
    store: Arc<dyn TaskStore>,
    /// True if the store was given a watcher.
    is_watched: bool,
}

impl CurrentStore {
    pub(super) fn new(store: Arc<dyn TaskStore>) -> Self {
        Self(Lock::new(StoreSlot { store, is_watched: false }))
    }

    pub(super) fn get(&self) -> Arc<dyn TaskStore> {
        self.0.lock().store.clone()
    }

    pub(super) fn set(&self, store: Arc<dyn TaskStore>) {
        let before =
            core::mem::replace(&mut *self.0.lock(), StoreSlot { store, is_watched: false });
        // It is dropped without the lock, since it is the application's.
        drop(before);
    }

    /// Registers a watcher for changes with the store, once.
    pub(super) fn watch(&self, watched: &Arc<WatchedTasks>) {
        let unwatched = {
            let slot = &mut *self.0.lock();
            let was_watched = core::mem::replace(&mut slot.is_watched, true);
            (!was_watched).then(|| slot.store.clone())
        };
        if let Some(store) = unwatched {
            store.watch(TaskWatcher::new(watched));
        }
    }
}
