//! The store of a server, which the application may replace.
//!
//! In: stores. Out: the last one. Each store gets a watcher once, when it is first needed.

use alloc::sync::Arc;

use super::guarded_store::GuardedStore;
use super::memory::MemoryStore;
use super::store::TaskStore;
use super::watched::{TaskWatcher, WatchedTasks};
use crate::lock::Lock;

/// The store of a server. One lock holds all parts, so that no store misses its watcher.
pub(super) struct CurrentStore(Lock<StoreSlot>);

struct StoreSlot {
    store: Arc<dyn TaskStore>,
    /// The address of the application's store; `None` if it has set none.
    address: Option<usize>,
    /// True if the store was given a watcher.
    is_watched: bool,
}

impl Default for CurrentStore {
    fn default() -> Self {
        let store = Arc::new(MemoryStore::default());
        Self(Lock::new(StoreSlot { store, address: None, is_watched: false }))
    }
}

impl CurrentStore {
    pub(super) fn get(&self) -> Arc<dyn TaskStore> {
        self.0.lock().store.clone()
    }

    /// Replaces the store, and returns the replaced one. A store that is set again keeps its
    /// watcher: a second one would stay with the store.
    pub(super) fn replace(&self, store: Arc<dyn TaskStore>) -> Arc<dyn TaskStore> {
        let address = Some(Arc::as_ptr(&store).addr());
        let slot = &mut *self.0.lock();
        if slot.address == address {
            return store;
        }
        let store = Arc::new(GuardedStore(store));
        core::mem::replace(slot, StoreSlot { store, address, is_watched: false }).store
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
