//! Stores, which keep the records of tasks.
//!
//! In: records as bytes. Out: the same. A store may be shared by several processes; compare-and-swap
//! is all that they need to agree.

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

/// A store of tasks: bytes by ids, with a revision that each change increases. It never looks into a
/// record.
///
/// `now` is the time since the Unix epoch, by the clock of the server. A record may be removed once
/// `time_to_live` has passed since it was last written, and no earlier.
pub trait TaskStore: Send + Sync + 'static {
    /// Keeps a record under an id; it is kept when the future completes. `owner` is the principal
    /// that the task belongs to, for limits.
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

    /// The record with this id and its revision, if there is one.
    fn get<'a>(&'a self, now: Duration, id: &'a TaskId) -> StoreFuture<'a, Option<(u64, Bytes)>>;

    /// Replaces a record if its revision is still `from`; `false` if it is another one, or if there
    /// is no record any more.
    fn change<'a>(
        &'a self,
        now: Duration,
        id: &'a TaskId,
        from: u64,
        record: Bytes,
        time_to_live: Duration,
    ) -> StoreFuture<'a, bool>;

    /// Has the store call [`TaskWatcher::changed`] from now on, whenever any process has changed a
    /// record. It is called once, when a client first subscribes to a task. Several servers may
    /// share a store, so there may be several watchers.
    ///
    /// Default: nothing is told. Then clients are told of the changes of the process that they are
    /// connected to, and ask for the others.
    fn watch(&self, watcher: TaskWatcher) {
        drop(watcher);
    }
}

/// Why a store has not done what it was asked to.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// There is a record with this id.
    Exists,
    /// The store has no room for another record, or for another one of this principal.
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
