//! The methods `tasks/get`, `tasks/update` and `tasks/cancel`, and the tools whose calls become
//! tasks.
//!
//! In: requests about tasks, from clients that declare the extension. Out: responses, by
//! `server::task::method::TABLE`; the repeated call of a handler once all its input is there.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::detached::detached;
use super::manager::{NewTask, TaskError, TaskManager, Tasks};
use super::resume::{TaskCaller, call_again, tool_is_gone};
use super::run::TaskRun;
use super::settings::TaskConfig;
use super::store::{StoreError, TaskStore};
use super::timeout::{within, within_time};
use super::unclaimed::UnclaimedTask;
use super::watch::{SubscribedTasks, subscribe};
use crate::lock::Lock;
use crate::{Catalog, Context, Handler, Registry};
use mcp_proto::ext::{self, Feature};
use mcp_proto::internals::check_scopes;
use mcp_proto::server::Change;
use mcp_proto::server::task::method::{self, Lookup, TaskAnswer, TaskMethod};
use mcp_proto::server::task::step::TaskStep;
use mcp_proto::server::task::{Record, TaskId};
use mcp_proto::types::{InputResponses, Task};
use mcp_proto::{ErrorData, Json, UsageError};

impl Registry {
    /// Lets calls of a tool become tasks, for clients that declare the extension [`ext::TASKS`] in
    /// their request. Other clients wait for the result as usual.
    ///
    /// The handler needs no change. Its return value becomes the result or the error of the task.
    /// Its requests for input become input requests of the task, and the handler is called again
    /// with the answers. (Before the call becomes a task, they are multi round-trip requests.)
    /// [`Context::progress`] sets the status message. [`Context::cancelled`] completes when the
    /// task is cancelled, or when its [`TaskConfig::ttl`] expires. Log messages are dropped.
    ///
    /// ```
    /// use mcp_proto::types::Implementation;
    /// use mcp_service::{Context, Registry, Tasks};
    /// use std::time::Duration;
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Film {
    ///     title: String,
    /// }
    ///
    /// async fn render(film: Film, context: Context) -> String {
    ///     for minute in 1..=90 {
    ///         context.sleep(Duration::from_secs(1)).await;
    ///         context.progress(minute);
    ///     }
    ///     format!("{} is done", film.title)
    /// }
    ///
    /// let mut registry = Registry::new(Implementation::new("studio", "1.0.0"));
    /// registry.tool("render", "Renders a film", render)?;
    /// registry.tasks("render", Tasks::After(Duration::from_secs(5)))?;
    /// # Ok::<(), mcp_proto::UsageError>(())
    /// ```
    ///
    /// The last call for a tool decides. Tasks run on the runtime that serves the registry, or on
    /// the one of [`TaskManager::host`](crate::TaskManager::host). Of several, it is the last one
    /// that has begun to serve and still does.
    ///
    /// Fails, and changes nothing, with [`UsageError::UnknownTool`], and with
    /// [`UsageError::Duplicate`] if the registry already has handlers of the methods of tasks.
    ///
    /// [SEP-2663](https://github.com/modelcontextprotocol/modelcontextprotocol/pull/2663)
    pub fn tasks(&mut self, tool: &str, tasks: Tasks) -> Result<&mut Self, UsageError> {
        let unknown = || UsageError::UnknownTool { name: tool.into() };
        let handler = self.handler_of_tool(tool).ok_or_else(unknown)?;
        if !self.has_task_methods {
            let mut changed = self.clone();
            changed.add_task_methods(tool)?;
            *self = changed;
        }
        self.allow_tasks(tool)?;
        self.task_tools.insert(handler, tasks);
        self.require_tasks(tool, tasks == Tasks::Required);
        Ok(self)
    }

    /// Adds the methods of the extension. Declares the extension, unless the application has
    /// declared it with settings of its own.
    fn add_task_methods(&mut self, tool: &str) -> Result<(), UsageError> {
        // The tool is known, so only the declaration can be missing.
        if self.allow_tasks(tool).is_err() {
            self.extension(ext::TASKS, Json::EMPTY_OBJECT)?;
        }
        for method in [TaskMethod::Get, TaskMethod::Update, TaskMethod::Cancel] {
            let handler = Handler::method(move |params: Json, context: Context| async move {
                answer_in_time(method, &params, &context).await
            });
            self.add_method(method.name(), handler)?;
            self.requires_extension(Feature::method(method.name()), ext::TASKS)?;
        }
        self.task_subscriptions(Handler::method(async move |params: Json, context: Context| {
            look_up_tasks(&params, &context).await
        }))?;
        self.has_task_methods = true;
        Ok(())
    }

    /// Sets the configuration of the tasks.
    pub fn task_config(&mut self, config: TaskConfig) -> &mut Self {
        self.task_settings.config = Some(config);
        self
    }

    /// Sets the store of the tasks; default a [`MemoryStore`](crate::MemoryStore). Several
    /// processes of a server share a store, so that each can answer requests about all tasks.
    pub fn task_store(&mut self, store: Arc<dyn TaskStore>) -> &mut Self {
        self.task_settings.store = Some(store);
        self
    }
}

impl Context {
    /// Creates a task for a job that runs elsewhere. The handler returns it as
    /// [`Interrupt::Task`](crate::Interrupt::Task). The job changes the task by its id with
    /// [`Catalog::tasks`](crate::Catalog::tasks). The task belongs to the principal of this
    /// request. A handler whose call is a task already cannot return another task: both then end.
    ///
    /// Fails with a [`TaskError`]; with [`TaskError::TaskNotAllowed`] if the request [may not
    /// become a task](Self::may_be_task).
    pub async fn create_task(&self, new: NewTask) -> Result<(TaskId, Box<Task>), TaskError> {
        if !self.may_be_task() {
            return Err(TaskError::TaskNotAllowed);
        }
        let peer = self.peer();
        let finish = |record: Record, _| {
            record.owned_by(peer.principal.as_deref()).for_client(&peer.capabilities)
        };
        let manager = self.catalog().tasks();
        let (unclaimed, record) = UnclaimedTask::create(&manager, new, finish).await?;
        Ok((unclaimed.claim(), Box::new(record.task().clone())))
    }
}

/// The parameters of all three methods.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskParams {
    task_id: String,
    input_responses: Option<Json>,
}

/// Answers a request about a task within 10 s, however many accesses to the store it needs.
async fn answer_in_time(
    method: TaskMethod,
    params: &Json,
    context: &Context,
) -> Result<Json, ErrorData> {
    let answering = answer(method, params, context);
    match context.catalog().tasks().current_host() {
        Some(host) => {
            let answer = within(&mut *host.clock(), answering).await;
            answer.unwrap_or_else(|| Err(failed()))
        }
        None => answering.await,
    }
}

/// Answers a request about a task.
async fn answer(method: TaskMethod, params: &Json, context: &Context) -> Result<Json, ErrorData> {
    let params: Result<TaskParams, _> = params.decode();
    let Ok(TaskParams { task_id, input_responses }) = params else {
        return Err(ErrorData::invalid_params("params: `taskId` must be a string"));
    };
    let id = TaskId::from(task_id);
    let responses: Option<InputResponses> = input_responses.and_then(|it| it.decode().ok());
    let found = context.catalog().tasks().get(&id).await;
    let lookup = match &found {
        Ok(record) if record.owner() == context.peer().principal.as_deref() => Lookup::Found,
        Ok(_) => Lookup::Foreign,
        Err(TaskError::Unknown) => Lookup::Unknown,
        Err(_) => Lookup::Failed,
    };
    match (method::answer(method, responses.is_some(), lookup), found) {
        (TaskAnswer::Show, Ok(record)) => Ok(record.detailed()),
        (TaskAnswer::Give, Ok(record)) => {
            let responses = responses.unwrap_or_default();
            // On an error the request for input stays open.
            if let Some(call) = record.call() {
                let snapshot = context.catalog().snapshot();
                check_scopes(&snapshot.declaration, &call.tool, &context.shared_peer())?;
            }
            if let Some(key) = record.misfit(&responses) {
                let text =
                    alloc::format!("params: the input `{key}` is no answer to what was asked");
                return Err(ErrorData::invalid_params(text));
            }
            give(id, responses, context).await
        }
        (TaskAnswer::Cancel, _) => cancel(id, context).await,
        (TaskAnswer::UnknownTask, _) => Err(unknown()),
        (TaskAnswer::InvalidResponses, _) => {
            Err(ErrorData::invalid_params("params: `inputResponses` must be an object"))
        }
        (TaskAnswer::StoreFailed, Err(error)) => Err(refused(&error)),
        (TaskAnswer::StoreFailed | TaskAnswer::Show | TaskAnswer::Give, _) => Err(failed()),
    }
}

/// The same error for a task that never existed, that is gone, or that belongs to another
/// principal.
fn unknown() -> ErrorData {
    ErrorData::invalid_params("there is no such task")
}

fn failed() -> ErrorData {
    ErrorData::internal("the store of tasks does not answer")
}

fn refused(error: &TaskError) -> ErrorData {
    if matches!(error, TaskError::Unknown) {
        return unknown();
    }
    ErrorData::internal(error.to_string())
}

/// Returns the tasks of a subscription that belong to its client. The lookup takes at most 10 s;
/// the client polls the tasks that were not found.
async fn look_up_tasks(params: &Json, context: &Context) -> Result<Json, ErrorData> {
    let mut found = Vec::new();
    let manager = context.catalog().tasks();
    if let (Some(host), Ok(wanted)) = (manager.current_host(), params.decode::<SubscribedTasks>()) {
        let lookup = Lookups::begin(&manager, context.catalog());
        let owner = context.peer().principal.as_deref();
        let lookups = async {
            for id in wanted.ids() {
                if subscribe(&manager, &host, &id, owner).await {
                    found.push(String::from(id.as_str()));
                }
            }
        };
        let _ = within(&mut *host.clock(), lookups).await;
        drop(lookup);
    }
    let found = FoundTasks { task_ids: found };
    Json::encode(&found).map_err(|_| failed())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FoundTasks {
    task_ids: Vec<String>,
}

/// A running lookup. Until its end changes of every task are published, so that none between the
/// lookup and the subscription is missed.
struct Lookups<'a>(&'a TaskManager);

impl<'a> Lookups<'a> {
    fn begin(manager: &'a TaskManager, catalog: &Catalog) -> Self {
        let server = catalog.downgrade();
        let listener = move |change: Option<&Change>| {
            let Some(change) = change else { return !server.is_gone() };
            let server = server.upgrade();
            // Never fails: subscriptions to tasks are declared.
            server.map(|server| drop(server.publish(change))).is_some()
        };
        manager.watched().begin_lookup(catalog.number(), Arc::new(listener));
        let lookup = Self(manager);
        manager.watch_store();
        lookup
    }
}

impl Drop for Lookups<'_> {
    fn drop(&mut self) {
        self.0.watched().end_lookup();
    }
}

/// Cancels a task, detached from the request: if the request ended between the write and the
/// cancellation of the handler, the handler would run on until its lease is renewed.
async fn cancel(id: TaskId, context: &Context) -> Result<Json, ErrorData> {
    let manager = context.catalog().tasks();
    let Some(host) = manager.current_host() else { return cancel_now(&manager, &id).await };
    let mut clock = host.clock();
    let cancelling = async move {
        let cancelled = cancel_now(&manager, &id);
        within_time(&mut *clock, manager.lease(), cancelled).await.unwrap_or_else(|| Err(failed()))
    };
    detached(&host, cancelling).await.unwrap_or_else(|| Err(failed()))
}

async fn cancel_now(manager: &TaskManager, id: &TaskId) -> Result<Json, ErrorData> {
    manager.change(id, Record::cancel).await.map_err(|error| refused(&error))?;
    manager.cancel_running(id);
    Ok(Json::EMPTY_OBJECT)
}

/// Gives input to a task, detached from the request: if the request ended between the write and the
/// call of the handler, the task would wait forever. The detached work waits for the store until
/// the lease of the task expires; then the task fails.
async fn give(id: TaskId, responses: InputResponses, context: &Context) -> Result<Json, ErrorData> {
    let host = context.catalog().tasks().current_host().ok_or_else(failed)?;
    let (mut clock, context) = (host.clock(), context.clone());
    let lease = context.catalog().tasks().lease();
    let giving = async move {
        let given = give_and_resume(&id, responses, &context);
        within_time(&mut *clock, lease, given).await
    };
    detached(&host, giving).await.flatten().unwrap_or_else(|| Err(failed()))
}

/// Stores input, and calls the handler again if no input is missing.
async fn give_and_resume(
    id: &TaskId,
    responses: InputResponses,
    context: &Context,
) -> Result<Json, ErrorData> {
    let manager = context.catalog().tasks();
    let resumed = Lock::new(None);
    let giving = manager.change(id, |record, now| {
        let step = record.give(now, responses.clone());
        if step == TaskStep::Resume && record.call().is_some() {
            record.renew(now.saturating_add(manager.lease()));
            *resumed.lock() = Some(record.to_bytes());
        }
        step
    });
    let (record, step) = match giving.await {
        Ok(given) => given,
        Err(TaskError::Store(StoreError::Unavailable(_))) if !manager.runs_here(id) => {
            // The answer may have been lost. Nobody else would call the handler again.
            let (_, record) = manager.read(id).await.map_err(|_| failed())?;
            if Some(record.to_bytes()) != *resumed.lock() {
                return Err(failed());
            }
            (record, TaskStep::Resume)
        }
        Err(error) => return Err(refused(&error)),
    };
    if step == TaskStep::Resume
        && record.call().is_some()
        && !resume(id, &record, TaskCaller::of(context))
    {
        manager.fail(id, &tool_is_gone()).await.map_err(|error| refused(&error))?;
    }
    Ok(Json::EMPTY_OBJECT)
}

/// Calls the handler of a task again, detached; `false` if it cannot be called.
fn resume(id: &TaskId, record: &Record, caller: TaskCaller) -> bool {
    let manager = caller.catalog.tasks();
    let Some(host) = manager.current_host() else { return false };
    let Some(driven) = call_again(&host, record, &caller) else { return false };
    TaskRun::new((&manager, &host), id.clone(), record, driven, caller).renew_first().spawn();
    true
}
