//! The handler of a task, detached from its request.
//!
//! | In | then |
//! |---|---|
//! | progress | the status message of the task, at most once in 250 ms |
//! | an outcome | the end of the task, or its input requests |
//! | an outcome with only a state | the handler is called again at once, at most 10 times in a row |
//! | `tasks/cancel` in this process | the handler is cancelled, and polled once more if it has begun |
//! | a third of the lease has passed | the lease is renewed; if the task has ended or runs elsewhere, the handler is cancelled |
//! | the TTL has passed | the handler is cancelled, and the task fails |
//! | the host drops the future | the handler is dropped, and another host stores that the task failed; without one, its lease expires |
//!
//! The handler runs while the store is accessed. Every access to the store times out after 10 s. A
//! write that ends a task is retried until the TTL expires. A write that has timed out may have
//! succeeded: the task may have got input since, and its handler a second call. So runs are
//! numbered, and reports of an earlier run are ignored.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::{Context, Poll};

use super::driven::Driven;
use super::host::TaskHost;
use super::manager::{Canceller, TaskError, TaskManager, no_room, too_long};
use super::resume::{TaskCaller, call_again, tool_is_gone};
use super::store::StoreError;
use super::timeout::{STORE_TIME, within};
use crate::commands::Command;
use mcp_proto::internals::{repeat_task, task_outcome};
use mcp_proto::server::task::step::TaskStep;
use mcp_proto::server::task::{Record, TaskId};
use mcp_proto::server::{InputRequired, Notification, Outcome, Progress};
use mcp_proto::types::TaskStatus;
use mcp_proto::{Duration, ErrorData, Instant};

/// The shortest interval of status messages.
const PAUSE: Duration = Duration::from_millis(250);

/// The most calls in a row without input of the client: as many as by default in a legacy session.
const MAX_REPEATS: usize = 10;

/// The pause before a failed write is retried.
const RETRY: Duration = Duration::from_secs(2);

/// The handler of a task, detached from its request.
pub(super) struct TaskRun {
    manager: TaskManager,
    host: Arc<TaskHost>,
    id: TaskId,
    /// Number of this run: how often the call had been resumed at its start.
    number: u32,
    driven: Driven,
    caller: TaskCaller,
    stage: HandlerStage,
    /// The outcome of the handler that is not stored yet.
    outcome: Option<Outcome>,
    canceller: Arc<Canceller>,
    watcher: Option<u64>,
    /// The status message that is not stored yet.
    message: Option<String>,
    /// The earliest time to store it.
    message_due: Instant,
    renewal: Instant,
    end: Instant,
    /// True if nothing is left to do.
    has_ended: bool,
}

/// The stage of the handler.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HandlerStage {
    /// It begins after the lease was renewed.
    Waiting,
    Running,
    /// It has an outcome, or was cancelled.
    Over,
}

enum RunEvent {
    Done(Outcome),
    Message(String),
    Renew,
    Cancelled,
    RunOut,
}

impl TaskRun {
    /// The run of the handler of a stored task.
    pub(super) fn new(
        (manager, host): (&TaskManager, &Arc<TaskHost>),
        id: TaskId,
        record: &Record,
        driven: Driven,
        caller: TaskCaller,
    ) -> Self {
        let cancel = driven.cancel().clone();
        let canceller: Arc<Canceller> = Arc::new(move || cancel.set());
        manager.begin(&id, canceller.clone());
        let now = driven.clock.now();
        Self {
            end: now + record.ends_at().saturating_sub(host.unix_time()),
            manager: manager.clone(),
            host: host.clone(),
            id,
            number: record.run(),
            driven,
            caller,
            stage: HandlerStage::Running,
            outcome: None,
            canceller,
            watcher: None,
            message: None,
            message_due: now,
            renewal: now + manager.lease() / 3,
            has_ended: false,
        }
    }

    /// Renews the lease before the first poll of the handler, whose task may have been cancelled by
    /// now.
    pub(super) fn renew_first(mut self) -> Self {
        self.renewal = self.driven.clock.now();
        self.stage = HandlerStage::Waiting;
        self
    }

    /// Runs the handler to its end on the host.
    pub(super) fn spawn(self) {
        let host = self.host.clone();
        host.spawn(Box::pin(self.run()));
    }

    async fn run(mut self) {
        self.run_to_end().await;
        self.has_ended = true;
    }

    async fn run_to_end(&mut self) {
        loop {
            match poll_fn(|context| self.poll(context)).await {
                RunEvent::Done(outcome) => {
                    let Some(state) = only_state(&outcome) else {
                        return self.settle(outcome).await;
                    };
                    if !self.repeat(state).await {
                        return;
                    }
                }
                RunEvent::Cancelled => return self.stop().await,
                RunEvent::Message(message) => {
                    let report = |record: &mut Record, now| record.report(now, message.clone());
                    // An error is ignored: the next message replaces this one.
                    let _ = self.change(report).await;
                    self.message_due = self.driven.clock.now() + PAUSE;
                }
                RunEvent::Renew => {
                    if !self.renew().await {
                        return self.stop().await;
                    }
                }
                RunEvent::RunOut => {
                    self.stop().await;
                    self.persist(Record::handle_run_out).await;
                    return;
                }
            }
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<RunEvent> {
        let cancel = self.driven.cancel().clone();
        if !cancel.watch(&mut self.watcher, context.waker()) {
            return Poll::Ready(RunEvent::Cancelled);
        }
        if self.stage == HandlerStage::Waiting {
            if self.renewal <= self.driven.clock.now() {
                return Poll::Ready(RunEvent::Renew);
            }
            self.stage = HandlerStage::Running;
        }
        self.poll_handler(context);
        if let Some(outcome) = self.outcome.take() {
            return Poll::Ready(RunEvent::Done(outcome));
        }
        let now = self.driven.clock.now();
        if self.end <= now {
            return Poll::Ready(RunEvent::RunOut);
        }
        if self.renewal <= now {
            return Poll::Ready(RunEvent::Renew);
        }
        if self.message_due <= now
            && let Some(message) = self.message.take()
        {
            return Poll::Ready(RunEvent::Message(message));
        }
        let message = self.message.as_ref().map_or(Instant::NEVER, |_| self.message_due);
        let next = self.renewal.min(self.end).min(message);
        if self.driven.poll_timer(context, next).is_ready() {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Polls the handler, if it runs.
    fn poll_handler(&mut self, context: &mut Context<'_>) {
        if self.stage != HandlerStage::Running {
            return;
        }
        let mut last = None;
        let polled = self.driven.poll(context, |command| {
            if let Command::Notify(_, Notification::Progress(progress)) = command {
                last = Some(status_message(&progress));
            }
        });
        self.message = last.or(self.message.take());
        if let Poll::Ready(outcome) = polled {
            (self.stage, self.outcome) = (HandlerStage::Over, Some(outcome));
        }
    }

    /// Cancels the handler and polls it once more, if it runs. Drops its outcome.
    async fn stop(&mut self) {
        let before = core::mem::replace(&mut self.stage, HandlerStage::Over);
        if before == HandlerStage::Running {
            let ended = poll_fn(|context| Poll::Ready(self.driven.end(context))).await;
            if let Poll::Ready(outcome) = ended {
                self.outcome = Some(outcome);
            }
        }
        // Nobody learns the id of a task that the handler has created.
        if let Some(Outcome::Task(task)) = self.outcome.take() {
            cancel_other(&self.manager, &self.host, &TaskId::from(task.task_id)).await;
        }
    }

    /// Stores the outcome of the handler.
    async fn settle(&mut self, outcome: Outcome) {
        let max = self.manager.config().max_task_bytes;
        let outcome = task_outcome(&self.driven.peer, outcome.encoded());
        let outcome = match outcome {
            Outcome::Complete(result) if result.as_bytes().len() > max => {
                Outcome::Error(too_long())
            }
            Outcome::Complete(_) | Outcome::InputRequired(_) | Outcome::Error(_) => outcome,
            outcome => {
                if let Outcome::Task(task) = outcome {
                    cancel_other(&self.manager, &self.host, &TaskId::from(task.task_id)).await;
                }
                Outcome::Error(ErrorData::internal("a task cannot become another task"))
            }
        };
        self.persist(move |record, now| match &outcome {
            Outcome::Complete(result) => record.complete(now, result.clone()),
            // The input was requested by an earlier attempt that timed out.
            Outcome::InputRequired(_) if record.task().status == TaskStatus::InputRequired => {
                TaskStep::Ignore
            }
            Outcome::InputRequired(required) => record.ask(now, required.clone()),
            Outcome::Error(error) => record.fail(now, error.clone()),
            _ => TaskStep::Ignore,
        })
        .await;
    }

    /// Stores the state of a handler that asks for nothing else, and calls it again; `false` if the
    /// task has ended.
    async fn repeat(&mut self, state: String) -> bool {
        let repeats = self.caller.repeats.saturating_add(1);
        if repeats > MAX_REPEATS {
            let why = alloc::format!("the task has asked for {MAX_REPEATS} calls without input");
            self.persist(|record, now| record.fail(now, ErrorData::internal(why.clone()))).await;
            return false;
        }
        let lease = self.manager.lease();
        let stored = self.persist(|record, now| {
            let step = repeat_task(record, state.clone());
            if step == TaskStep::Resume {
                record.renew(now.saturating_add(lease));
            }
            step
        });
        let Some(record) = stored.await else { return false };
        // Nobody else resumes a task that works: the state is stored, if only by an attempt that
        // timed out.
        let next = self.number.wrapping_add(1);
        if record.run() != next || record.task().status != TaskStatus::Working {
            return false;
        }
        self.number = next;
        let caller = TaskCaller { repeats, ..self.caller.clone() };
        let Some(driven) = call_again(&self.host, &record, &caller) else {
            self.persist(|record, now| record.fail(now, tool_is_gone())).await;
            return false;
        };
        let place = (&self.manager, &self.host);
        self.has_ended = true;
        *self = Self::new(place, self.id.clone(), &record, driven, caller).renew_first();
        true
    }

    /// Renews the lease; `false` if the task has ended, or if a later run has it.
    async fn renew(&mut self) -> bool {
        let lease = self.manager.lease();
        self.renewal = self.driven.clock.now() + lease / 3;
        let renewed = self.change(|record, now| record.renew(now.saturating_add(lease))).await;
        match renewed {
            Ok(record) => {
                let left = record.ends_at().saturating_sub(self.host.unix_time());
                self.end = self.driven.clock.now() + left;
                record.run() == self.number && !record.task().status.is_terminal()
            }
            // Other errors of the store may be temporary.
            Err(error) => !matches!(error, TaskError::Unknown),
        }
    }

    /// Changes the task, retries while the store fails, and renews the lease in the meantime. If
    /// the store has no room for the change, the task fails. Returns the task, unless it is over.
    async fn persist(
        &mut self,
        event: impl Fn(&mut Record, Duration) -> TaskStep + Send + Sync,
    ) -> Option<Record> {
        loop {
            let mut changed = self.change(&event).await;
            if matches!(changed, Err(TaskError::Store(StoreError::Full))) {
                changed = self.change(|record, now| record.fail(now, no_room())).await;
            }
            if !matches!(changed, Err(TaskError::Store(_) | TaskError::Unreadable)) {
                return changed.ok();
            }
            let now = self.driven.clock.now();
            if self.end <= now {
                return None;
            }
            let clock = &mut self.driven.clock;
            poll_fn(|context| clock.poll_timer(context, now + RETRY)).await;
            if self.renewal <= self.driven.clock.now() && !self.renew().await {
                return None;
            }
        }
    }

    async fn change(
        &mut self,
        event: impl Fn(&mut Record, Duration) -> TaskStep + Send + Sync,
    ) -> Result<Record, TaskError> {
        let (manager, id, number) = (self.manager.clone(), self.id.clone(), self.number);
        let mut changing = pin!(manager.change(&id, |record, now| {
            if record.run() == number { event(record, now) } else { TaskStep::Ignore }
        }));
        let until = self.driven.clock.now() + STORE_TIME;
        let changed = poll_fn(|context| {
            if let Poll::Ready(changed) = changing.as_mut().poll(context) {
                return Poll::Ready(changed);
            }
            self.poll_handler(context);
            // Otherwise nothing completes the sleeps of the handler.
            let late = if self.stage == HandlerStage::Running {
                self.driven.poll_timer(context, until)
            } else {
                self.driven.clock.poll_timer(context, until)
            };
            late.map(|()| Err(TaskError::Unreadable))
        });
        Ok(changed.await?.0)
    }
}

impl Drop for TaskRun {
    /// If the host has dropped the run, another host stores the failure of the task.
    fn drop(&mut self) {
        self.manager.end(&self.id, &self.canceller);
        if !self.has_ended
            && let Some(host) = self.manager.host_except(&self.host)
        {
            fail_lost(&self.manager, &host, self.id.clone(), self.number);
        }
    }
}

/// Fails a task whose handler was lost with its host, unless a later run has the task. If the store
/// fails, the task fails after its lease has expired.
fn fail_lost(manager: &TaskManager, host: &Arc<TaskHost>, id: TaskId, run: u32) {
    let (manager, own) = (manager.clone(), host.clone());
    host.spawn(Box::pin(async move {
        let failing = manager.change(&id, |record, now| {
            // A task that waits for input has stored all that its handler did.
            if record.run() != run || record.task().status != TaskStatus::Working {
                return TaskStep::Ignore;
            }
            record.fail(now, ErrorData::internal("the runtime of the task has ended"))
        });
        let _ = within(&mut *own.clock(), failing).await;
    }));
}

/// The state of an outcome that asks for nothing else.
fn only_state(outcome: &Outcome) -> Option<String> {
    let Outcome::InputRequired(InputRequired { requests, state, .. }) = outcome else {
        return None;
    };
    state.clone().filter(|_| requests.is_empty())
}

/// Cancels a task whose id no client learns. If the store fails, the task stays until its TTL.
async fn cancel_other(manager: &TaskManager, host: &TaskHost, id: &TaskId) {
    manager.cancel_running(id);
    let cancelled = manager.change(id, Record::cancel);
    let _ = within(&mut *host.clock(), cancelled).await;
}

/// Progress as a status message: `3 of 10: encoding`.
fn status_message(progress: &Progress) -> String {
    let mut text = progress.progress.to_string();
    if let Some(total) = progress.total {
        text.push_str(" of ");
        text.push_str(&total.to_string());
    }
    if let Some(message) = &progress.message {
        text.push_str(": ");
        text.push_str(message);
    }
    text
}
