//! Stores of the records of tasks.
//!
//! In: records as bytes. Out: the same. Several processes may share a store; compare-and-swap is
//! their only coordination.

use alloc::boxed::Box;
use core::error::Error;
use core::fmt;
use core::future::Future;
use core::pin::Pin;

use bytes::Bytes;

use super::watched::TaskWatcher;
use mcp_proto::Duration;
use mcp_proto::server::task::TaskId;

/// A future of a store.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A store of tasks: opaque records by id, each with a revision that every change increases.
///
/// `now` is the time since the Unix epoch, by the clock of the server. A record must be kept for
/// `time_to_live` after the last write, and may be removed then. A future that is dropped must not
/// write later: the task may be removed meanwhile. A panic counts as [`StoreError::Unavailable`].
pub trait TaskStore: Send + Sync + 'static {
    /// Stores a new record, before the future completes. `owner` is the principal of the task, for
    /// limits.
    ///
    /// Fails with [`StoreError::Exists`] if there is a record with this id, and with
    /// [`StoreError::Full`].
    fn create<'a>(
        &'a self,
        now: Duration,
        id: &'a TaskId,
        owner: Option<&'a str>,
        record: Bytes,
        time_to_live: Duration,
    ) -> StoreFuture<'a, ()>;

    /// Returns the revision and the record with this id; `None` if there is none.
    fn get<'a>(&'a self, now: Duration, id: &'a TaskId) -> StoreFuture<'a, Option<(u64, Bytes)>>;

    /// Replaces a record if its revision is `from`. Returns `false` if the revision differs or the
    /// record is gone.
    fn change<'a>(
        &'a self,
        now: Duration,
        id: &'a TaskId,
        from: u64,
        record: Bytes,
        time_to_live: Duration,
    ) -> StoreFuture<'a, bool>;

    /// Registers a watcher: the store calls [`TaskWatcher::changed`] whenever any process has
    /// changed a record. Each server registers one, when a client first subscribes to a task.
    /// Several servers may share a store.
    ///
    /// The default does nothing. Clients then get the changes by the process that they are
    /// connected to, and poll for the others.
    fn watch(&self, watcher: TaskWatcher) {
        drop(watcher);
    }
}

/// Errors of a store.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// There is a record with this id.
    Exists,
    /// The store has no room for the record, in total or for its principal.
    Full,
    /// The store does not answer.
    Unavailable(Box<dyn Error + Send + Sync>),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists => f.write_str("there is a task with this id"),
            Self::Full => f.write_str("the store of tasks is full"),
            Self::Unavailable(_) => f.write_str("the store of tasks does not answer"),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unavailable(error) => Some(&**error),
            Self::Exists | Self::Full => None,
        }
    }
}
