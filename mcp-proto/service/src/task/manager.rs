//! The tasks of a server, and all changes of their records.
//!
//! In: events of handlers, of requests and of the application. Out: changed records, in the store.
//! A change reads the record, applies one event by the table of `mcp-proto`, and writes it by
//! compare-and-swap; if that fails, it reads again.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use core::error::Error;
use core::fmt;
use std::sync::OnceLock;

use super::host::TaskHost;
use super::hosts::{HostGuard, TaskHosts};
use super::settings::{ChosenSettings, TaskConfig, TaskSettings};
use super::store::{StoreError, TaskStore};
use super::watched::WatchedTasks;
use crate::io::unix_time;
use crate::lock::Lock;
use mcp_proto::internals::task_error;
use mcp_proto::server::task::step::TaskStep;
use mcp_proto::server::task::{Record, TaskId};
use mcp_proto::server::{Input, InputRequired};
use mcp_proto::types::{CallToolResult, TaskStatus};
use mcp_proto::{Duration, ErrorData, Json};

/// The most attempts of a change that loses races against others.
pub(super) const MAX_RACES: usize = 64;

/// The shortest lease. A shorter one would be renewed too often.
const MIN_LEASE: Duration = Duration::from_secs(1);

/// The time at which a tool call becomes a task, if its client supports tasks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Tasks {
    /// After this time.
    After(Duration),
    /// As soon as its handler is pending.
    Always,
    /// As soon as its handler is pending. A client without support for tasks gets -32021, or -32603
    /// if it is legacy, and its call does not run.
    Required,
    /// If its handler returns [`Interrupt::Task`](crate::Interrupt::Task).
    Manual,
}

impl Tasks {
    /// The time after which a call becomes a task automatically.
    pub(super) fn after(self) -> Option<Duration> {
        match self {
            Self::After(after) => Some(after),
            Self::Always | Self::Required => Some(Duration::ZERO),
            Self::Manual => None,
        }
    }
}

/// Settings of a new task for a job that runs elsewhere.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct NewTask {
    /// Its lifetime; default [`TaskConfig::ttl`].
    pub ttl: Option<Duration>,
    /// The interval at which clients should poll; default [`TaskConfig::poll_interval`].
    pub poll_interval: Option<Duration>,
    /// Its status message; default none.
    pub message: Option<String>,
}

/// The tasks of a server, for jobs that run elsewhere: see
/// [`Context::create_task`](crate::Context::create_task). Clones are cheap and share the tasks.
#[derive(Clone)]
pub struct TaskManager {
    shared: Arc<ManagerShared>,
}

struct ManagerShared {
    settings: TaskSettings,
    hosts: Arc<TaskHosts>,
    /// Functions that cancel the tasks whose handlers run in this process.
    running: Lock<BTreeMap<TaskId, Arc<Canceller>>>,
    watched: Arc<WatchedTasks>,
}

pub(super) type Canceller = dyn Fn() + Send + Sync;

/// Errors of reading and changing a task.
#[derive(Debug)]
#[non_exhaustive]
pub enum TaskError {
    /// The task does not exist, or no longer.
    Unknown,
    /// The store has failed.
    Store(StoreError),
    /// The stored value is no valid record, the new value cannot be written or is nested too
    /// deeply, or too many concurrent changes conflict.
    Unreadable,
    /// The task has ended, so it gets no input.
    Ended,
    /// No adapter serves this server, so tasks cannot run.
    NoHost,
    /// The task may not ask its client for this input. [`TaskManager::fail`] may send the error.
    InputNotAllowed(ErrorData),
    /// The response to this request cannot be a task.
    TaskNotAllowed,
}

impl TaskManager {
    /// Sets the environment in which tasks run, in place of that of an earlier call. The functions
    /// of [`runtime`](crate::runtime) set their own while they serve. The last one to be set
    /// counts; after its end, the last one of the others.
    pub fn host(&self, host: TaskHost) {
        self.shared.hosts.set(host);
    }

    /// Completes a task with a result. Returns `false` if the task has ended before, for example by
    /// a cancellation. A result that is longer than [`TaskConfig::max_task_bytes`], or for which
    /// the store has no room, fails the task; then this returns `true` as well.
    ///
    /// Fails with a [`TaskError`], as all the methods below.
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

    /// Fails a task with a JSON-RPC error. A code that the specification reserves and does not
    /// define is replaced, as in the errors of handlers.
    pub async fn fail(&self, id: &TaskId, error: &ErrorData) -> Result<bool, TaskError> {
        let error = task_error(error.clone());
        self.apply(id, |record, now| record.fail(now, error.clone())).await
    }

    /// Sets the status message of a task. Returns `false` if the task has ended before.
    pub async fn status(&self, id: &TaskId, message: &str) -> Result<bool, TaskError> {
        let (record, _) = self.change(id, |record, now| record.report(now, message.into())).await?;
        Ok(!record.task().status.is_terminal())
    }

    /// Requests input from the client of a task, in place of earlier requests.
    ///
    /// Fails with [`TaskError::InputNotAllowed`], and changes nothing, if the request that became
    /// the task does not declare the capabilities for this input. The same applies to a sampling
    /// request that has tool uses without results.
    pub async fn ask(&self, id: &TaskId, required: &InputRequired) -> Result<bool, TaskError> {
        let refusal = OnceLock::new();
        let asks = self.apply(id, |record, now| {
            if record.task().status.is_terminal() {
                return TaskStep::Ignore;
            }
            match record.check_input(required.clone()) {
                Ok(required) => record.ask(now, required),
                Err(error) => {
                    let _ = refusal.set(error);
                    TaskStep::Ignore
                }
            }
        });
        let has_asked = asks.await?;
        refusal.into_inner().map_or(Ok(has_asked), |error| Err(TaskError::InputNotAllowed(error)))
    }

    /// The last input of the client; `None` while answers are missing. Fails with
    /// [`TaskError::Ended`] if the task has ended, for example by a cancellation.
    pub async fn input(&self, id: &TaskId) -> Result<Option<Input>, TaskError> {
        let record = self.get(id).await?;
        let status = record.task().status;
        if status.is_terminal() {
            return Err(TaskError::Ended);
        }
        Ok((status != TaskStatus::InputRequired).then(|| record.input()))
    }

    /// Returns whether a task has ended, so that its job should stop.
    pub async fn has_ended(&self, id: &TaskId) -> Result<bool, TaskError> {
        Ok(self.get(id).await?.task().status.is_terminal())
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
        Self {
            shared: Arc::new(ManagerShared {
                settings: TaskSettings::default(),
                hosts: Arc::default(),
                running: Lock::default(),
                watched: Arc::default(),
            }),
        }
    }

    /// Takes over the settings of a registry whose server has this manager. Returns the store that
    /// was replaced, to be dropped where no lock is held.
    pub(crate) fn adopt(&self, chosen: &ChosenSettings) -> Option<Arc<dyn TaskStore>> {
        self.shared.settings.adopt(chosen)
    }

    /// Registers a watcher for changes with the store, once.
    pub(super) fn watch_store(&self) {
        self.shared.settings.store.watch(&self.shared.watched);
    }

    /// The tasks that clients subscribe to.
    pub(super) fn watched(&self) -> &WatchedTasks {
        &self.shared.watched
    }

    pub(super) fn config(&self) -> TaskConfig {
        self.shared.settings.config()
    }

    /// The lease of the tasks that a process runs.
    pub(super) fn lease(&self) -> Duration {
        self.config().lease.max(MIN_LEASE)
    }

    /// Sets the environment in which tasks run, until the guard is dropped.
    pub(crate) fn host_while(&self, host: TaskHost) -> HostGuard {
        self.shared.hosts.add(host)
    }

    /// The environment of tasks, if an adapter serves.
    pub(super) fn current_host(&self) -> Option<Arc<TaskHost>> {
        self.shared.hosts.current()
    }

    /// The environment for the work that another one has dropped.
    pub(super) fn host_except(&self, lost: &Arc<TaskHost>) -> Option<Arc<TaskHost>> {
        self.shared.hosts.current_except(lost)
    }

    /// Stores a new task, which `finish` completes. Fails if the record could not be read again:
    /// parameters are nested one level deeper in a record than in a message.
    pub(super) async fn create(
        &self,
        id: &TaskId,
        new: NewTask,
        finish: impl FnOnce(Record, Duration) -> Record,
    ) -> Result<Record, TaskError> {
        let host = self.current_host().ok_or(TaskError::NoHost)?;
        let config = self.config();
        let now = host.unix_time();
        let ttl = new.ttl.unwrap_or(config.ttl);
        let interval = new.poll_interval.unwrap_or(config.poll_interval);
        let mut record = finish(Record::new(now, id, ttl, interval), now);
        if let Some(message) = new.message {
            record.report(now, message);
        }
        let store = self.store();
        let (bytes, expires) = (record.to_bytes(), record.expires_in(now));
        if Record::from_bytes(bytes.clone()).is_none() {
            return Err(TaskError::Unreadable);
        }
        store.create(now, id, record.owner(), bytes, expires).await?;
        Ok(record)
    }

    /// Reads a task, after applying an expired TTL or lease.
    pub(super) async fn get(&self, id: &TaskId) -> Result<Record, TaskError> {
        Ok(self.change(id, |_, _| TaskStep::Ignore).await?.0)
    }

    /// Applies an event to a task. An expired TTL or lease is applied before; the lease of a
    /// handler in this process is ignored, since it only shows other processes that this one lives.
    /// A task whose record could not be read again fails.
    pub(super) async fn change(
        &self,
        id: &TaskId,
        event: impl Fn(&mut Record, Duration) -> TaskStep + Send + Sync,
    ) -> Result<(Record, TaskStep), TaskError> {
        let store = self.watched_store();
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
                    self.shared.watched.notify(id, &record, false);
                }
                return Ok((record, step));
            }
        }
        Err(TaskError::Unreadable)
    }

    /// Registers the function that cancels the handler of a task in this process.
    pub(super) fn begin(&self, id: &TaskId, cancel: Arc<Canceller>) {
        let before = self.shared.running.lock().insert(id.clone(), cancel);
        drop(before);
    }

    pub(super) fn runs_here(&self, id: &TaskId) -> bool {
        self.shared.running.lock().contains_key(id)
    }

    /// Removes the function of [`TaskManager::begin`], unless another handler of the task has
    /// begun.
    pub(super) fn end(&self, id: &TaskId, cancel: &Arc<Canceller>) {
        let mut running = self.shared.running.lock();
        if running.get(id).is_some_and(|known| Arc::ptr_eq(known, cancel)) {
            running.remove(id);
        }
    }

    /// Cancels the handler of a task, if it runs in this process.
    pub(super) fn cancel_running(&self, id: &TaskId) {
        let cancel = self.shared.running.lock().remove(id);
        // It wakes the handler's task, which may run any code: call it without the lock.
        if let Some(cancel) = cancel {
            cancel();
        }
    }

    pub(super) async fn read(&self, id: &TaskId) -> Result<(u64, Record), TaskError> {
        let now = self.now();
        let store = self.store();
        let (revision, bytes) = store.get(now, id).await?.ok_or(TaskError::Unknown)?;
        let record = Record::from_bytes(bytes).ok_or(TaskError::Unreadable)?;
        if record.is_gone(now) { Err(TaskError::Unknown) } else { Ok((revision, record)) }
    }

    pub(super) fn store(&self) -> Arc<dyn TaskStore> {
        self.shared.settings.store.get()
    }

    pub(super) fn now(&self) -> Duration {
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

/// The error in place of an event whose record could not be read again.
fn too_deep() -> ErrorData {
    ErrorData::internal("the record of the task is nested too deeply")
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
            Self::InputNotAllowed(error) => f.write_str(&error.message),
            Self::TaskNotAllowed => f.write_str("the response to this request cannot be a task"),
            Self::NoHost => f.write_str("tasks cannot run without an adapter that serves"),
        }
    }
}

impl Error for TaskError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Store(error) => error.source(),
            Self::InputNotAllowed(error) => Some(error),
            Self::Unknown
            | Self::Unreadable
            | Self::Ended
            | Self::NoHost
            | Self::TaskNotAllowed => None,
        }
    }
}

impl fmt::Debug for TaskManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskManager").field("config", &self.config()).finish_non_exhaustive()
    }
}
