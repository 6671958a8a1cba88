//! Changes of records whose result may stay unknown.
//!
//! In: a change for the store. Out: its result, or a wake of the watch of the task if the change is
//! dropped before its result is known.

use alloc::sync::Arc;

use bytes::Bytes;

use super::manager::TaskManager;
use super::store::{StoreError, TaskStore};
use super::watched::WatchedTasks;
use mcp_proto::Duration;
use mcp_proto::server::task::TaskId;

/// A store whose changes may be dropped before their result is known, such as after a timeout. The
/// watch of the task then reads it: the change may have succeeded.
pub(super) struct WatchedStore<'a> {
    store: Arc<dyn TaskStore>,
    watched: &'a WatchedTasks,
}

/// A change whose result is not known.
struct UnknownChange<'a> {
    watched: &'a WatchedTasks,
    id: &'a TaskId,
    is_known: bool,
}

impl TaskManager {
    /// The store, for changes.
    pub(super) fn watched_store(&self) -> WatchedStore<'_> {
        WatchedStore { store: self.store(), watched: self.watched() }
    }
}

impl WatchedStore<'_> {
    /// Replaces a record; see [`TaskStore::change`].
    pub(super) async fn change(
        &self,
        now: Duration,
        id: &TaskId,
        from: u64,
        record: Bytes,
        time_to_live: Duration,
    ) -> Result<bool, StoreError> {
        let mut unknown = UnknownChange { watched: self.watched, id, is_known: false };
        let changed = self.store.change(now, id, from, record, time_to_live).await;
        unknown.is_known = !matches!(changed, Err(StoreError::Unavailable(_)));
        changed
    }
}

impl Drop for UnknownChange<'_> {
    fn drop(&mut self) {
        if !self.is_known {
            self.watched.handle_changed(self.id);
        }
    }
}
