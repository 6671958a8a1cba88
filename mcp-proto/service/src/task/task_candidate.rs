//! A call that may become a task, while its request waits.
//!
//! | In | then |
//! |---|---|
//! | an outcome | the request has this outcome, also if it requests input |
//! | the request is cancelled, also while the task is stored | the handler is cancelled, and the task removed |
//! | the handler exceeds its time, and the store accepts a task | the outcome is the task, and the handler continues, detached |
//! | the handler ends while the task is stored | the request has this outcome, and the task is removed |
//! | the handler exceeds its time, and the store fails | the request waits on; if a task is required, it fails |

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::{Context, Poll};

use super::driven::Driven;
use super::host::TaskHost;
use super::manager::{NewTask, TaskError, TaskManager, Tasks};
use super::resume::TaskCaller;
use super::run::TaskRun;
use super::timeout::STORE_TIME;
use super::unclaimed::UnclaimedTask;
use crate::cancel::Cancel;
use crate::handler_call::HandlerCall;
use crate::service_mailbox::ServiceMailbox;
use mcp_proto::server::task::{Record, TaskCall};
use mcp_proto::server::{Input, Outcome, Peer, ReplyId, Request};
use mcp_proto::{ErrorData, Instant, TraceContext};

/// A call with everything that it needs to become a task.
pub(crate) struct TaskCandidate {
    manager: TaskManager,
    host: Arc<TaskHost>,
    tasks: Tasks,
    call: TaskCall,
    input: Option<Input>,
    peer: Arc<Peer>,
    about: ReplyId,
    trace: Option<Arc<TraceContext>>,
    /// The mailbox and the cancellation of the request.
    mailbox: Arc<ServiceMailbox>,
    cancel: Arc<Cancel>,
    /// The mailbox and the cancellation of the handler.
    own_mailbox: Arc<ServiceMailbox>,
    own_cancel: Arc<Cancel>,
}

/// Result of storing a task.
type StoredTask = Result<(UnclaimedTask, Record), TaskError>;

enum CandidateStep {
    Done(Outcome),
    /// The handler has exceeded its time.
    Due,
}

impl TaskCandidate {
    /// A tool call; `None` if it does not become a task automatically, or if no adapter can run
    /// tasks.
    pub(crate) fn new(
        (manager, tasks): (TaskManager, Tasks),
        call: TaskCall,
        request: &Request,
        mailbox: &Arc<ServiceMailbox>,
        cancel: &Arc<Cancel>,
    ) -> Option<Self> {
        tasks.after()?;
        let host = manager.current_host()?;
        Some(Self {
            manager,
            host,
            tasks,
            call,
            input: request.input.as_deref().cloned(),
            peer: request.peer.clone(),
            about: request.reply.id(),
            trace: request.trace.clone(),
            own_mailbox: Arc::new(ServiceMailbox::new(mailbox.catalog().clone())),
            own_cancel: Cancel::new(),
            mailbox: mailbox.clone(),
            cancel: cancel.clone(),
        })
    }

    /// The mailbox and the cancellation for the handler.
    pub(crate) fn handler_side(&self) -> (Arc<ServiceMailbox>, Arc<Cancel>) {
        (self.own_mailbox.clone(), self.own_cancel.clone())
    }

    /// Wraps the call of a handler.
    pub(crate) fn wrap(self, call: HandlerCall) -> HandlerCall {
        let handler = match call {
            HandlerCall::Done(outcome) => return HandlerCall::Done(outcome),
            HandlerCall::Future(handler) => handler,
        };
        let clock = self.host.clock();
        let driven = Driven::new(handler, self.peer.clone(), self.handler_side(), clock);
        HandlerCall::Future(Box::pin(self.run(driven)))
    }

    async fn run(self, mut driven: Driven) -> Outcome {
        let mut due = self.tasks.after().map_or(Instant::NEVER, |after| driven.clock.now() + after);
        loop {
            match poll_fn(|context| self.poll(context, &mut driven, due)).await {
                CandidateStep::Done(outcome) => return outcome,
                CandidateStep::Due => match self.store(&mut driven).await {
                    Err(outcome) => return outcome,
                    // Nobody learns the id of the task, which is removed.
                    Ok(_) if self.cancel.is_set() => due = Instant::NEVER,
                    Ok(Ok((unclaimed, record))) => {
                        // The host of the beginning of the call may have ended.
                        let current = self.manager.current_host();
                        let place = (&self.manager, current.as_ref().unwrap_or(&self.host));
                        let id = unclaimed.claim();
                        TaskRun::new(place, id, &record, driven, self.caller()).spawn();
                        return Outcome::Task(Box::new(record.task().clone()));
                    }
                    Ok(Err(error)) if self.tasks == Tasks::Required => return refused(&error),
                    Ok(Err(_)) => due = Instant::NEVER,
                },
            }
        }
    }

    /// The request, for later calls of its handler.
    fn caller(&self) -> TaskCaller {
        TaskCaller {
            catalog: self.mailbox.catalog().clone(),
            peer: self.peer.clone(),
            about: self.about,
            trace: self.trace.clone(),
            repeats: 0,
        }
    }

    fn poll(
        &self,
        context: &mut Context<'_>,
        driven: &mut Driven,
        due: Instant,
    ) -> Poll<CandidateStep> {
        if self.cancel.is_set() {
            driven.cancel().set();
        }
        let polled = driven.poll(context, |command| self.mailbox.command(command));
        if let Poll::Ready(outcome) = polled {
            return Poll::Ready(CandidateStep::Done(outcome));
        }
        if self.cancel.is_set() {
            return Poll::Pending;
        }
        driven.poll_timer(context, due).map(|()| CandidateStep::Due)
    }

    /// Stores the task, within 10 s, unless the request is cancelled. The handler runs meanwhile;
    /// fails with its outcome if the handler ends first.
    async fn store(&self, driven: &mut Driven) -> Result<StoredTask, Outcome> {
        let (call, lease) = (self.call.clone(), self.manager.lease());
        let creating = UnclaimedTask::create(&self.manager, NewTask::default(), |record, now| {
            let mut record =
                record.owned_by(self.peer.principal.as_deref()).called(call, self.input.clone());
            record.renew(now.saturating_add(lease));
            record
        });
        let mut creating = pin!(creating);
        let until = driven.clock.now() + STORE_TIME;
        poll_fn(|context| {
            if self.cancel.is_set() {
                return Poll::Ready(Ok(Err(TaskError::Ended)));
            }
            if let Poll::Ready(created) = creating.as_mut().poll(context) {
                return Poll::Ready(Ok(created));
            }
            self.poll(context, driven, until).map(|step| match step {
                CandidateStep::Done(outcome) => Err(outcome),
                CandidateStep::Due => Ok(Err(TaskError::Unreadable)),
            })
        })
        .await
    }
}

fn refused(error: &TaskError) -> Outcome {
    Outcome::Error(ErrorData::internal(alloc::format!("the call cannot become a task: {error}")))
}
