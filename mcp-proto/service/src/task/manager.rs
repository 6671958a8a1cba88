//! The tasks of a server: every change of one, wherever it comes from.
//!
//! In: events of handlers, of requests and of the application. Out: changed records, in the store.
//! A change reads the record, applies one event by the table of `mcp-proto`, and writes it if nobody
//! else has; otherwise it reads again.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use core::error::Error;
use core::fmt;

use super::host::TaskHost;
use super::memory::MemoryStore;
use super::store::{StoreError, TaskStore};
use super::watched::{TaskWatcher, WatchedTasks};
use crate::io::unix_time;
use crate::lock::Lock;
use mcp_proto::server::task::step::TaskStep;
use mcp_proto::server::task::{Record, TaskId};
use mcp_proto::server::{Input, InputRequired};
use mcp_proto::types::{CallToolResult, TaskStatus};
use mcp_proto::{Duration, ErrorData, Json};

/// A change that loses against others so often gives up.
const MAX_RACES: usize = 64;

/// The shortest lease. A shorter one would be renewed all the time.
const MIN_LEASE: Duration = Duration::from_secs(1);

/// Settings of the tasks of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TaskConfig {
    /// Time that a task may take, and for which clients may ask for its result; default an hour. An
    /// ended task is kept for 5 minutes at least.
    pub ttl: Duration,
    /// Interval at which clients should ask; default 1 s.
    pub poll_interval: Duration,
    /// With a result of more bytes than this a task fails; default 1 MiB.
    pub max_task_bytes: usize,
    /// Number of tasks that clients subscribe to at the same time; default 1,000. Subscriptions to
    /// more are not honoured, and clients ask for those tasks instead.
    pub max_watched_tasks: usize,
    /// Time after which a task fails whose process has ended; default 60 s, at least 1 s. The process
    /// that runs a task renews its lease after a third of this. So a store that is slower than that
    /// ends tasks whose process lives, and so do clocks of processes that differ by as much.
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

/// The moment at which a call of a tool becomes a task, if its client can follow one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Tasks {
    /// After this time.
    After(Duration),
    /// As soon as its handler awaits something.
    Always,
    /// The same; a client that cannot follow tasks gets -32021, and its call does not run.
    Required,
    /// If its handler returns [`Interrupt::Task`](crate::Interrupt::Task).
    Manual,
}

impl Tasks {
    /// The time after which a call becomes a task by itself.
    pub(super) fn after(self) -> Option<Duration> {
        match self {
            Self::After(after) => Some(after),
            Self::Always | Self::Required => Some(Duration::ZERO),
            Self::Manual => None,
        }
    }
}

/// A task that runs elsewhere and is to be made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct NewTask {
    /// Time that it may take; default [`TaskConfig::ttl`].
    pub ttl: Option<Duration>,
    /// Interval at which clients should ask; default [`TaskConfig::poll_interval`].
    pub poll_interval: Option<Duration>,
    /// Its status in words; default none.
    pub message: Option<String>,
}

/// The tasks of a server, for jobs that run elsewhere: see
/// [`Context::create_task`](crate::Context::create_task). Cheap to clone; all clones are the same.
#[derive(Clone)]
pub struct TaskManager {
    shared: Arc<ManagerShared>,
}

struct ManagerShared {
    store: Lock<Arc<dyn TaskStore>>,
    config: Lock<TaskConfig>,
    host: Lock<Option<Arc<TaskHost>>>,
    /// Functions that cancel the tasks whose handlers run in this process.
    running: Lock<BTreeMap<TaskId, Arc<Canceller>>>,
    watched: Arc<WatchedTasks>,
    /// True if the store was given a watcher.
    is_store_watched: Lock<bool>,
}

pub(super) type Canceller = dyn Fn() + Send + Sync;

/// Why a task could not be changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum TaskError {
    /// There is no such task, or there is none any more.
    Unknown,
    /// The store has not done it.
    Store(StoreError),
    /// The store has something else than a record of a task, or it changes too often.
    Unreadable,
    /// The task has ended, so that there is no input for it.
    Ended,
    /// No adapter serves this server, so that there is nowhere to run.
    NoHost,
}

impl TaskManager {
    /// Sets where tasks run. Adapters do that when they serve; of several the last one counts.
    pub fn host(&self, host: TaskHost) {
        let before = self.shared.host.lock().replace(Arc::new(host));
        drop(before);
    }

    /// The job of a task has ended with a result; `false` if the task has ended before, by a
    /// cancellation for example.
    ///
    /// Fails with a [`TaskError`], and so do all that follow.
    pub async fn complete(&self, id: &TaskId, result: &CallToolResult) -> Result<bool, TaskError> {
        let result = Json::encode(result).map_err(|_| TaskError::Unreadable)?;
        let max = self.config().max_task_bytes;
        if result.as_bytes().len() > max {
            return self.fail(id, &too_long()).await;
        }
        let completed = self.apply(id, |record, now| record.complete(now, result.clone())).await;
        match completed {
            Err(TaskError::Store(StoreError::Full)) => self.fail(id, &no_room()).await,
            completed => completed,
        }
    }

    /// The job of a task has ended with a JSON-RPC error.
    pub async fn fail(&self, id: &TaskId, error: &ErrorData) -> Result<bool, TaskError> {
        self.apply(id, |record, now| record.fail(now, error.clone())).await
    }

    /// Tells clients how far the job of a task has come.
    pub async fn status(&self, id: &TaskId, message: &str) -> Result<bool, TaskError> {
        self.apply(id, |record, now| record.report(now, message.into())).await
    }

    /// Asks the client of a task for input. What it was asked before is void.
    pub async fn ask(&self, id: &TaskId, required: &InputRequired) -> Result<bool, TaskError> {
        self.apply(id, |record, now| record.ask(now, required.clone())).await
    }

    /// The input that the client has given last; `None` while some of it is missing. Fails with
    /// [`TaskError::Ended`] if the task was cancelled, for example.
    pub async fn input(&self, id: &TaskId) -> Result<Option<Input>, TaskError> {
        let (record, _) = self.change(id, |_, _| TaskStep::Ignore).await?;
        let status = record.task().status;
        if status.is_terminal() {
            return Err(TaskError::Ended);
        }
        Ok((status != TaskStatus::InputRequired).then(|| record.input()))
    }

    /// Returns whether a task has ended: the job of one that was cancelled is to stop.
    pub async fn has_ended(&self, id: &TaskId) -> Result<bool, TaskError> {
        let (record, _) = self.change(id, |_, _| TaskStep::Ignore).await?;
        Ok(record.task().status.is_terminal())
    }

    async fn apply(
        &self,
        id: &TaskId,
        event: impl Fn(&mut Record, Duration) -> TaskStep + Send + Sync,
    ) -> Result<bool, TaskError> {
        Ok(self.change(id, event).await?.1 != TaskStep::Ignore)
    }
}

impl TaskManager {
    pub(crate) fn new() -> Self {
        let store: Arc<dyn TaskStore> = Arc::new(MemoryStore::default());
        Self {
            shared: Arc::new(ManagerShared {
                store: Lock::new(store),
                config: Lock::default(),
                host: Lock::new(None),
                running: Lock::default(),
                watched: Arc::default(),
                is_store_watched: Lock::new(false),
            }),
        }
    }

    pub(super) fn set_store(&self, store: Arc<dyn TaskStore>) {
        *self.shared.is_store_watched.lock() = false;
        let before = core::mem::replace(&mut *self.shared.store.lock(), store);
        drop(before);
    }

    /// Has the store tell of changes from now on, if it can.
    pub(super) fn watch_store(&self) {
        if !core::mem::replace(&mut *self.shared.is_store_watched.lock(), true) {
            self.store().watch(TaskWatcher::new(&self.shared.watched));
        }
    }

    /// The tasks that clients subscribe to.
    pub(super) fn watched(&self) -> &WatchedTasks {
        &self.shared.watched
    }

    pub(super) fn set_config(&self, config: TaskConfig) {
        *self.shared.config.lock() = config;
    }

    pub(super) fn config(&self) -> TaskConfig {
        *self.shared.config.lock()
    }

    /// Time for which a process that runs a task promises to come back.
    pub(super) fn lease(&self) -> Duration {
        self.config().lease.max(MIN_LEASE)
    }

    /// The place where tasks run, if an adapter serves.
    pub(super) fn current_host(&self) -> Option<Arc<TaskHost>> {
        self.shared.host.lock().clone()
    }

    /// Stores a task that is made now, as `finish` completes it, unless nobody could read it again:
    /// parameters stand one level deeper in a record than in a message.
    pub(crate) async fn create(
        &self,
        new: NewTask,
        finish: impl FnOnce(Record, Duration) -> Record,
    ) -> Result<(TaskId, Record), TaskError> {
        let host = self.current_host().ok_or(TaskError::NoHost)?;
        let config = self.config();
        let now = host.unix_time();
        let id = TaskId::from_bits(host.id());
        let ttl = new.ttl.unwrap_or(config.ttl);
        let interval = new.poll_interval.unwrap_or(config.poll_interval);
        let mut record = finish(Record::new(now, &id, ttl, interval), now);
        if let Some(message) = new.message {
            record.report(now, message);
        }
        let store = self.store();
        let (bytes, expires) = (record.to_bytes(), record.expires_in(now));
        if Record::from_bytes(bytes.clone()).is_none() {
            return Err(TaskError::Unreadable);
        }
        store.create(now, &id, record.owner(), bytes, expires).await?;
        Ok((id, record))
    }

    /// Applies an event to a task, after the end of its TTL or its lease, if that has passed. Where
    /// its handler runs in this process, the lease does not matter: it tells others that the process
    /// lives. Fails a task that nobody could read any more.
    pub(super) async fn change(
        &self,
        id: &TaskId,
        event: impl Fn(&mut Record, Duration) -> TaskStep + Send + Sync,
    ) -> Result<(Record, TaskStep), TaskError> {
        let store = self.store();
        for _ in 0..MAX_RACES {
            let now = self.now();
            let (revision, mut record) = self.read(id).await?;
            let over = if self.runs_here(id) {
                record.handle_run_out(now)
            } else {
                record.handle_timeout(now)
            };
            let (before, seen) = (record.clone(), record.changes());
            let mut step = event(&mut record, now);
            if (over, step) == (TaskStep::Ignore, TaskStep::Ignore) {
                return Ok((record, step));
            }
            let mut bytes = record.to_bytes();
            if Record::from_bytes(bytes.clone()).is_none() {
                record = before;
                step = record.fail(now, too_deep());
                bytes = record.to_bytes();
            }
            if store.change(now, id, revision, bytes, record.expires_in(now)).await? {
                if record.changes() != seen {
                    self.shared.watched.tell(id, &record, false);
                }
                return Ok((record, step));
            }
        }
        Err(TaskError::Unreadable)
    }

    /// The way to cancel a task whose handler runs in this process, from now on.
    pub(super) fn begin(&self, id: &TaskId, cancel: Arc<Canceller>) {
        let before = self.shared.running.lock().insert(id.clone(), cancel);
        drop(before);
    }

    fn runs_here(&self, id: &TaskId) -> bool {
        self.shared.running.lock().contains_key(id)
    }

    /// The handler of a task does not run any more, unless another one has begun.
    pub(super) fn end(&self, id: &TaskId, cancel: &Arc<Canceller>) {
        let mut running = self.shared.running.lock();
        if running.get(id).is_some_and(|known| Arc::ptr_eq(known, cancel)) {
            running.remove(id);
        }
    }

    /// Cancels the handler of a task, if it runs in this process.
    pub(super) fn cancel_running(&self, id: &TaskId) {
        let cancel = self.shared.running.lock().remove(id);
        // It wakes the handler, which may do anything.
        if let Some(cancel) = cancel {
            cancel();
        }
    }

    async fn read(&self, id: &TaskId) -> Result<(u64, Record), TaskError> {
        let now = self.now();
        let store = self.store();
        let (revision, bytes) = store.get(now, id).await?.ok_or(TaskError::Unknown)?;
        let record = Record::from_bytes(bytes).ok_or(TaskError::Unreadable)?;
        if record.is_gone(now) { Err(TaskError::Unknown) } else { Ok((revision, record)) }
    }

    fn store(&self) -> Arc<dyn TaskStore> {
        self.shared.store.lock().clone()
    }

    fn now(&self) -> Duration {
        self.current_host().map_or_else(unix_time, |host| host.unix_time())
    }
}

/// The error in place of a result that is too long.
pub(super) fn too_long() -> ErrorData {
    ErrorData::internal("the result is longer than TaskConfig::max_task_bytes")
}

/// The error in place of a result for which the store has no room.
pub(super) fn no_room() -> ErrorData {
    ErrorData::internal("the store of tasks has no room for the result")
}

/// The error in place of what nobody could read again.
fn too_deep() -> ErrorData {
    ErrorData::internal("what the task got is nested too deeply to be kept")
}

impl From<StoreError> for TaskError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("there is no such task"),
            Self::Store(error) => error.fmt(f),
            Self::Unreadable => f.write_str("the task cannot be read or written"),
            Self::Ended => f.write_str("the task has ended"),
            Self::NoHost => f.write_str("no adapter serves, so that tasks cannot run"),
        }
    }
}

impl Error for TaskError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Store(error) => error.source(),
            Self::Unknown | Self::Unreadable | Self::Ended | Self::NoHost => None,
        }
    }
}

impl fmt::Debug for TaskManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskManager").field("config", &self.config()).finish_non_exhaustive()
    }
}
