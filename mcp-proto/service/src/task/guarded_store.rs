//! A store of the application that may panic.
//!
//! In: accesses to records. Out: those of the application's store; an error in place of a panic.

use alloc::boxed::Box;
use alloc::sync::Arc;

use bytes::Bytes;

use super::store::{StoreError, StoreFuture, TaskStore};
use super::watched::TaskWatcher;
use crate::panics::{CaughtFuture, catch_panic};
use mcp_proto::Duration;
use mcp_proto::server::task::TaskId;

/// A store whose panics are errors: the change may have been made.
pub(super) struct GuardedStore(pub(super) Arc<dyn TaskStore>);

impl TaskStore for GuardedStore {
    fn create<'a>(
        &'a self,
        now: Duration,
        id: &'a TaskId,
        owner: Option<&'a str>,
        record: Bytes,
        time_to_live: Duration,
    ) -> StoreFuture<'a, ()> {
        guarded(|| self.0.create(now, id, owner, record, time_to_live))
    }

    fn get<'a>(&'a self, now: Duration, id: &'a TaskId) -> StoreFuture<'a, Option<(u64, Bytes)>> {
        guarded(|| self.0.get(now, id))
    }

    fn change<'a>(
        &'a self,
        now: Duration,
        id: &'a TaskId,
        from: u64,
        record: Bytes,
        time_to_live: Duration,
    ) -> StoreFuture<'a, bool> {
        guarded(|| self.0.change(now, id, from, record, time_to_live))
    }

    fn watch(&self, watcher: TaskWatcher) {
        catch_panic(|| self.0.watch(watcher));
    }
}

fn guarded<'a, T: Send + 'a>(access: impl FnOnce() -> StoreFuture<'a, T>) -> StoreFuture<'a, T> {
    let access = catch_panic(access).map(CaughtFuture::new);
    Box::pin(async move {
        let answer = match access {
            Some(access) => access.await,
            None => None,
        };
        answer.unwrap_or_else(|| Err(StoreError::Unavailable("the store has panicked".into())))
    })
}
