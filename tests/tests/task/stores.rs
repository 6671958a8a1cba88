//! Stores that make it hard for tasks.

use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use mcp_proto::server::task::TaskId;
use mcp_service::{MemoryStore, StoreError, StoreFuture, TaskStore, TaskWatcher};

/// A store that is slow, fails, or loses races, as the test says.
#[derive(Default)]
pub(crate) struct HardStore {
    inner: MemoryStore,
    /// Nothing is created as long as this is set.
    pub(crate) blocks: AtomicBool,
    /// Tasks are created, and nobody hears of them, as long as this is set.
    pub(crate) holds_new: AtomicBool,
    /// Everything fails as long as this is set.
    pub(crate) fails: AtomicBool,
    /// Changes are done, and nobody hears of them, as long as this is set.
    pub(crate) holds: AtomicBool,
    /// Nothing is read as long as this is set.
    pub(crate) hangs: AtomicBool,
    /// What was read arrives only once this is not set.
    pub(crate) holds_reads: AtomicBool,
    /// No result is written as long as this is set.
    pub(crate) refuses_results: AtomicBool,
    /// All is written, and the store says that it does not answer, as long as this is set.
    pub(crate) denies: AtomicBool,
    /// Records are kept after their end.
    pub(crate) keeps: bool,
    /// Every change loses once against nobody.
    pub(crate) loses: bool,
    /// It panics when it is watched.
    pub(crate) panics_at_watch: bool,
    lost: Mutex<BTreeSet<(TaskId, u64)>>,
    /// So many polls pass between the wish for a change and the change.
    pub(crate) delay: usize,
    pub(crate) changes: AtomicUsize,
}

impl HardStore {
    /// A store with room for so many tasks.
    pub(crate) fn small(room: usize) -> Self {
        Self { inner: MemoryStore::default().max_tasks(room), ..Self::default() }
    }

    fn failure(&self) -> Result<(), StoreError> {
        if self.fails.load(Ordering::Relaxed) {
            return Err(StoreError::Unavailable("the test wants it".into()));
        }
        Ok(())
    }

    fn answer<T>(&self, written: Result<T, StoreError>) -> Result<T, StoreError> {
        if self.denies.load(Ordering::Relaxed) {
            return Err(StoreError::Unavailable("the test wants it".into()));
        }
        written
    }

    fn kept(&self, time_to_live: Duration) -> Duration {
        if self.keeps { Duration::MAX } else { time_to_live }
    }
}

/// The output of a future that takes no time.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it takes time"),
    }
}

async fn while_set(flag: &AtomicBool) {
    poll_fn(|context| {
        context.waker().wake_by_ref();
        if flag.load(Ordering::Relaxed) { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
}

async fn polls(mut count: usize) {
    poll_fn(|context| {
        count = count.saturating_sub(1);
        context.waker().wake_by_ref();
        if count == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

impl TaskStore for HardStore {
    fn create<'a>(
        &'a self,
        now: Duration,
        id: &'a TaskId,
        owner: Option<&'a str>,
        record: Bytes,
        time_to_live: Duration,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.failure()?;
            while_set(&self.blocks).await;
            let time_to_live = self.kept(time_to_live);
            let created = self.inner.create(now, id, owner, record, time_to_live).await;
            while_set(&self.holds_new).await;
            self.answer(created)
        })
    }

    fn get<'a>(&'a self, now: Duration, id: &'a TaskId) -> StoreFuture<'a, Option<(u64, Bytes)>> {
        Box::pin(async move {
            self.failure()?;
            while_set(&self.hangs).await;
            let read = self.inner.get(now, id).await;
            while_set(&self.holds_reads).await;
            read
        })
    }

    fn change<'a>(
        &'a self,
        now: Duration,
        id: &'a TaskId,
        from: u64,
        record: Bytes,
        time_to_live: Duration,
    ) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            self.failure()?;
            self.changes.fetch_add(1, Ordering::Relaxed);
            polls(self.delay).await;
            if self.loses && self.lost.lock().unwrap().insert((id.clone(), from)) {
                return Ok(false);
            }
            let is_result = String::from_utf8_lossy(&record).contains(r#""status":"completed""#);
            if is_result && self.refuses_results.load(Ordering::Relaxed) {
                return Err(StoreError::Unavailable("the test wants it".into()));
            }
            let time_to_live = self.kept(time_to_live);
            let changed = self.inner.change(now, id, from, record, time_to_live).await;
            while_set(&self.holds).await;
            self.answer(changed)
        })
    }

    fn watch(&self, watcher: TaskWatcher) {
        drop(watcher);
        if self.panics_at_watch {
            std::panic::resume_unwind(Box::new("quiet"));
        }
    }
}
