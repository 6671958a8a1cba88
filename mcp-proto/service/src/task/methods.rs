//! The methods `tasks/get`, `tasks/update` and `tasks/cancel`, and the tools whose calls become tasks.
//!
//! In: requests about tasks, whose clients declare the extension. Out: answers, by the table of
//! `mcp-proto`; a handler that is called again once all its input is there.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

use super::detached::detached;
use super::driven::Driven;
use super::manager::{NewTask, TaskConfig, TaskError, TaskManager, Tasks};
use super::run::{TaskRun, within, within_time};
use super::store::TaskStore;
use super::watch::{SubscribedTasks, subscribe};
use crate::checks::Checks;
use crate::context::CallContext;
use crate::handler_call::{HandlerArgs, HandlerCall};
use crate::input::Round;
use crate::service_mailbox::{Cancel, ServiceMailbox};
use crate::{Catalog, Context, Handler, Registry};
use mcp_proto::ext::{self, Feature};
use mcp_proto::message::Method;
use mcp_proto::server::task::method::{self, Lookup, TaskAnswer, TaskMethod};
use mcp_proto::server::task::step::TaskStep;
use mcp_proto::server::task::{Record, TaskCall, TaskId};
use mcp_proto::server::{Change, HandlerId, Outcome};
use mcp_proto::types::{InputResponses, Task};
use mcp_proto::{ErrorData, Instant, Json, UsageError};

impl Registry {
    /// Lets calls of a tool become tasks, for clients that declare the extension
    /// [`ext::TASKS`] with their request. All others wait for the
    /// result, as ever.
    ///
    /// The handler stays as it is. What it returns becomes the result or the error of the task. Input
    /// that it asks for becomes input requests of the task, and it is called again with the answers.
    /// Before there is a task, input is a multi round-trip request. [`Context::progress`] becomes the
    /// status message. [`Context::cancelled`] completes when the task is cancelled, or when its
    /// [`TaskConfig::ttl`] is over. Log messages are dropped.
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
    /// Tasks need an adapter that serves, or [`TaskManager::host`](crate::TaskManager::host).
    ///
    /// Fails with [`UsageError::UnknownTool`], and with [`UsageError::Duplicate`] if the registry has
    /// methods of tasks already.
    ///
    /// [SEP-2663](https://github.com/modelcontextprotocol/modelcontextprotocol/pull/2663)
    pub fn tasks(&mut self, tool: &str, tasks: Tasks) -> Result<&mut Self, UsageError> {
        let unknown = || UsageError::UnknownTool { name: tool.into() };
        let handler = self.handler_of_tool(tool).ok_or_else(unknown)?;
        if self.task_tools.is_empty() {
            self.extension(ext::TASKS, Json::EMPTY_OBJECT)?;
            for method in [TaskMethod::Get, TaskMethod::Update, TaskMethod::Cancel] {
                let handler = Handler::method(move |params: Json, context: Context| async move {
                    answer(method, &params, &context).await
                });
                self.add_method(method.name(), handler)?;
                self.requires_extension(Feature::method(method.name()), ext::TASKS)?;
            }
            self.task_subscriptions(Handler::method(
                async move |params: Json, context: Context| look_up(&params, &context).await,
            ))?;
        }
        self.allow_tasks(tool)?;
        if tasks == Tasks::Required {
            self.requires_extension(Feature::tool(tool), ext::TASKS)?;
        }
        self.task_tools.insert(handler, tasks);
        Ok(self)
    }

    /// Sets how long tasks may take and the like.
    pub fn task_config(&mut self, config: TaskConfig) -> &mut Self {
        self.task_manager.set_config(config);
        self
    }

    /// Sets what keeps tasks; default a [`MemoryStore`](crate::MemoryStore). Servers of several
    /// processes share a store, so that each of them may be asked for a task.
    pub fn task_store(&mut self, store: Arc<dyn TaskStore>) -> &mut Self {
        self.task_manager.set_store(store);
        self
    }
}

impl Context {
    /// Makes a task for a job that runs elsewhere. The handler ends with
    /// [`Interrupt::Task`](crate::Interrupt::Task); whoever has the id changes the task with
    /// [`Catalog::tasks`](crate::Catalog::tasks). It belongs to the principal of this request.
    ///
    /// Only for a request that [may become a task](Self::may_be_task).
    ///
    /// Fails with a [`TaskError`].
    pub async fn create_task(&self, new: NewTask) -> Result<(TaskId, Box<Task>), TaskError> {
        let owner = self.peer().principal.as_deref();
        let manager = self.catalog().tasks();
        let (id, record) = manager.create(new, |record, _| record.owned_by(owner)).await?;
        Ok((id, Box::new(record.task().clone())))
    }
}

/// The parameters of all three methods.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskParams {
    task_id: String,
    input_responses: Option<Json>,
}

/// The answer to a request about a task.
async fn answer(method: TaskMethod, params: &Json, context: &Context) -> Result<Json, ErrorData> {
    let params: Result<TaskParams, _> = params.decode();
    let Ok(TaskParams { task_id, input_responses }) = params else {
        return Err(ErrorData::invalid_params("params: `taskId` must be a string"));
    };
    let id = TaskId::from(task_id);
    let responses: Option<InputResponses> = input_responses.and_then(|it| it.decode().ok());
    let found = find(&id, context).await;
    let lookup = match &found {
        Ok(record) if record.owner() == context.peer().principal.as_deref() => Lookup::Found,
        Ok(_) => Lookup::Foreign,
        Err(TaskError::Unknown) => Lookup::Unknown,
        Err(_) => Lookup::Failed,
    };
    match (method::answer(method, responses.is_some(), lookup), found) {
        (TaskAnswer::Show, Ok(record)) => Ok(record.detailed()),
        (TaskAnswer::Give, _) => give(id, responses.unwrap_or_default(), context).await,
        (TaskAnswer::Cancel, _) => cancel(&id, context).await,
        (TaskAnswer::UnknownTask, _) => Err(unknown()),
        (TaskAnswer::InvalidResponses, _) => {
            Err(ErrorData::invalid_params("params: `inputResponses` must be an object"))
        }
        (TaskAnswer::StoreFailed | TaskAnswer::Show, _) => Err(failed()),
    }
}

/// The same for a task that never was, that is gone, and that is of another principal.
fn unknown() -> ErrorData {
    ErrorData::invalid_params("there is no such task")
}

fn failed() -> ErrorData {
    ErrorData::internal("the store of tasks does not answer")
}

fn refused(error: &TaskError) -> ErrorData {
    if matches!(error, TaskError::Unknown) { unknown() } else { failed() }
}

/// The tasks of a subscription that are its client's. They are looked up for 10 s at most: a store
/// that fails leaves the client to ask for the others.
async fn look_up(params: &Json, context: &Context) -> Result<Json, ErrorData> {
    let mut found = Vec::new();
    let manager = context.catalog().tasks();
    if let (Some(host), Ok(wanted)) = (manager.current_host(), params.decode::<SubscribedTasks>()) {
        let lookup = Lookups::begin(&manager, context.catalog());
        let owner = context.peer().principal.as_deref();
        let looking = async {
            for id in wanted.ids() {
                if subscribe(&manager, &host, &id, owner).await {
                    found.push(String::from(id.as_str()));
                }
            }
        };
        let _ = within(&mut *host.clock(), looking).await;
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

/// A lookup that goes on: what changes meanwhile is told.
struct Lookups<'a>(&'a TaskManager);

impl<'a> Lookups<'a> {
    fn begin(manager: &'a TaskManager, catalog: &Catalog) -> Self {
        let server = catalog.downgrade();
        let listener = move |change: &Change| {
            let server = server.upgrade();
            // It is declared, or nobody subscribes.
            server.map(|server| drop(server.publish(change))).is_some()
        };
        manager.watched().begin_lookup(catalog.number(), Arc::new(listener));
        manager.watch_store();
        Self(manager)
    }
}

impl Drop for Lookups<'_> {
    fn drop(&mut self) {
        self.0.watched().end_lookup();
    }
}

/// The task, with what has ended by the time.
async fn find(id: &TaskId, context: &Context) -> Result<Record, TaskError> {
    let manager = context.catalog().tasks();
    Ok(manager.change(id, |_, _| TaskStep::Ignore).await?.0)
}

async fn cancel(id: &TaskId, context: &Context) -> Result<Json, ErrorData> {
    let manager = context.catalog().tasks();
    let cancelled = manager.change(id, Record::cancel).await;
    cancelled.map_err(|error| refused(&error))?;
    manager.cancel_running(id);
    Ok(Json::EMPTY_OBJECT)
}

/// Gives input to a task, also if the request ends meanwhile: what the store has got would wait for
/// a handler that nobody calls. A store that takes more than 10 s is waited for, for as long as the
/// task has a lease, but the client gets an error. If the reply is later than that, the task fails
/// at the end of its lease.
async fn give(id: TaskId, responses: InputResponses, context: &Context) -> Result<Json, ErrorData> {
    let host = context.catalog().tasks().current_host().ok_or_else(failed)?;
    let (mut clock, context) = (host.clock(), context.clone());
    let lease = context.catalog().tasks().lease();
    let giving = async move {
        let given = give_and_resume(&id, responses, &context);
        within_time(&mut *clock, lease, given).await
    };
    let given = within(&mut *host.clock(), detached(&host, giving)).await;
    given.flatten().flatten().unwrap_or_else(|| Err(failed()))
}

/// Whoever brings the last of the input calls the handler again.
async fn give_and_resume(
    id: &TaskId,
    responses: InputResponses,
    context: &Context,
) -> Result<Json, ErrorData> {
    let manager = context.catalog().tasks();
    let given = manager.change(id, |record, now| {
        let step = record.give(now, responses.clone());
        if step == TaskStep::Resume && record.call().is_some() {
            record.renew(now.saturating_add(manager.lease()));
        }
        step
    });
    let (record, step) = given.await.map_err(|error| refused(&error))?;
    if step == TaskStep::Resume
        && let Some(call) = record.call()
        && !resume(id, call, &record, context)
    {
        let gone = ErrorData::internal("the tool of the task has been removed");
        manager.fail(id, &gone).await.map_err(|error| refused(&error))?;
    }
    Ok(Json::EMPTY_OBJECT)
}

/// Calls the handler of a task again, detached; `false` if it is gone.
fn resume(id: &TaskId, call: &TaskCall, record: &Record, context: &Context) -> bool {
    let catalog = context.catalog();
    let manager = catalog.tasks();
    let offer = catalog.offer();
    let handler = offer.registry.handler_of_tool(&call.tool);
    let (Some(host), Some(handler)) = (manager.current_host(), handler) else { return false };
    let clock = host.clock();
    let mailbox = Arc::new(ServiceMailbox::new(catalog.clone()));
    let cancel = Arc::new(Cancel::new());
    let running = call_again(
        &offer.registry,
        (handler, call, record),
        clock.now(),
        |asked| Context::new(mailbox.clone(), cancel.clone(), context.about(), asked),
        context,
    );
    let Some(running) = running else { return false };
    let future = match running {
        HandlerCall::Future(future) => future,
        HandlerCall::Done(outcome) => Box::pin(ready(outcome)),
    };
    let driven = Driven::new(future, mailbox, cancel, clock);
    TaskRun::new((&manager, &host), id.clone(), record, driven).renew_first().spawn();
    true
}

/// Calls the handler of a task with the input that was given.
fn call_again(
    registry: &Registry,
    (id, call, record): (HandlerId, &TaskCall, &Record),
    now: Instant,
    make: impl FnOnce(CallContext) -> Context,
    context: &Context,
) -> Option<HandlerCall> {
    let handler = registry.handler(id)?.clone();
    let checks = Checks::of(registry, id);
    let layered = registry.layers.around(registry, &Method::CallTool, id, now);
    let asked = CallContext {
        checks: checks.clone(),
        peer: context.peer().clone(),
        wants_progress: true,
        may_be_task: false,
        log_level: None,
        round: Some(Arc::new(Round::new(record.input()))),
        trace: None,
        #[cfg(feature = "request-state")]
        request: id.asks().then(|| (Method::CallTool, call.params.clone())),
    };
    let arguments: Option<CallArguments> = call.params.decode().ok();
    let given = HandlerArgs {
        method: Method::CallTool,
        params: call.params.clone(),
        arguments: arguments.and_then(|it| it.arguments).unwrap_or(Json::EMPTY_OBJECT),
    };
    let context = make(asked);
    let call = || match layered {
        None => checks.call(&handler, given, context),
        Some(layered) => layered.run(&handler, checks, given, context),
    };
    let called = catch_unwind(AssertUnwindSafe(call));
    Some(called.unwrap_or_else(|_| {
        let error = ErrorData::internal("the handler panicked");
        HandlerCall::Done(Outcome::Error(error))
    }))
}

#[derive(Deserialize)]
struct CallArguments {
    arguments: Option<Json>,
}
