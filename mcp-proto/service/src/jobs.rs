//! The running handlers of a connection.
//!
//! In: a job to start, a slot that was woken, a cancellation. Out: the outcome of a job. A handler
//! that is pending after its first poll gets a slot, and is polled again when its waker queues the
//! slot in the mailbox. If the adapter can spawn tasks, the handler moves to a task and responds
//! through the mailbox.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::task::Wake;
use alloc::vec::Vec;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::cancel::Cancel;
use super::handler_call::{BoxFuture, HandlerCall};
use super::panics::{catch_panic, panicked};
use super::service_mailbox::{Command, FIRST_SLOT, ServiceMailbox};
use super::{Clock, Spawned};
use mcp_proto::Duration;
use mcp_proto::ErrorData;
use mcp_proto::server::{CancelCause, Outcome, Reply, ReplyId};

/// The longest wait for the end of cancelled handlers.
const GRACE: Duration = Duration::from_millis(500);

/// A handler's future, and the reply that it owes.
pub(super) struct Job {
    reply: Reply,
    cancel: Arc<Cancel>,
    future: BoxFuture,
}

/// Result of polling a job.
pub(super) enum Progressed {
    Done(Reply, Outcome),
    Pending,
}

/// The pending jobs of a connection. Most connections never have any.
#[derive(Default)]
pub(super) struct Jobs(Option<Box<PendingJobs>>);

#[derive(Default)]
struct PendingJobs {
    slots: Vec<HandlerSlot>,
    free: Vec<usize>,
    locations: BTreeMap<ReplyId, JobLocation>,
}

struct HandlerSlot {
    /// Boxed, since most handlers end with their first poll.
    job: Option<Box<Job>>,
    waker: Waker,
}

enum JobLocation {
    HandlerSlot(usize),
    Spawned(Arc<Cancel>),
}

impl Job {
    pub(super) fn id(&self) -> ReplyId {
        self.reply.id()
    }

    pub(super) fn cancel(&self) -> Arc<Cancel> {
        self.cancel.clone()
    }

    fn poll(&mut self, waker: &Waker) -> Poll<Outcome> {
        let mut context = Context::from_waker(waker);
        catch_unwind(AssertUnwindSafe(|| self.future.as_mut().poll(&mut context)))
            .unwrap_or_else(|_| Poll::Ready(Outcome::Error(panicked())))
    }

    /// Drops the handler's future, which may panic, and marks the request as ended.
    fn end(self) -> Reply {
        let Self { reply, cancel, future } = self;
        catch_panic(|| drop(future));
        cancel.end();
        reply
    }
}

/// Result of calling a handler.
pub(super) enum StartedJob {
    Done(Reply, Outcome),
    Pending(Job),
}

impl StartedJob {
    /// Polls a job for the first time, before it is spawned. The waker does nothing, because a
    /// spawned future is polled at once.
    pub(super) fn poll_first(self) -> Self {
        let Self::Pending(mut job) = self else { return self };
        match job.poll(Waker::noop()) {
            Poll::Ready(outcome) => Self::Done(job.end(), outcome),
            Poll::Pending => Self::Pending(job),
        }
    }
}

/// Calls a handler. A panic gives an error.
pub(super) fn call_handler(
    reply: Reply,
    cancel: Arc<Cancel>,
    call: impl FnOnce() -> HandlerCall,
) -> StartedJob {
    let running = catch_unwind(AssertUnwindSafe(call));
    match running.unwrap_or_else(|_| HandlerCall::Done(Outcome::Error(panicked()))) {
        HandlerCall::Future(future) => StartedJob::Pending(Job { reply, cancel, future }),
        HandlerCall::Done(outcome) => {
            cancel.end();
            StartedJob::Done(reply, outcome)
        }
    }
}

impl Jobs {
    /// Polls a pending job for the first time. If it stays pending, it is kept, or passed to
    /// `spawn`. The mailbox is that of the connection.
    pub(super) fn start(
        &mut self,
        called: StartedJob,
        mailbox: &Arc<ServiceMailbox>,
        spawn: Option<&mut (dyn FnMut(Spawned) + Send + 'static)>,
    ) -> Progressed {
        let called = if spawn.is_some() { called.poll_first() } else { called };
        let mut job = match called {
            StartedJob::Pending(job) => job,
            StartedJob::Done(reply, outcome) => return Progressed::Done(reply, outcome),
        };
        if let Some(spawn) = spawn {
            let jobs = self.0.get_or_insert_default();
            jobs.locations.insert(job.id(), JobLocation::Spawned(job.cancel()));
            let handler = Box::pin(SpawnedHandler::new(job, mailbox.clone()));
            // A handler that cannot be spawned is dropped, and answered with an error.
            catch_panic(|| spawn(handler));
            return Progressed::Pending;
        }
        if let Some(jobs) = self.0.as_mut().filter(|jobs| !jobs.slots.is_empty()) {
            return jobs.start(job, mailbox);
        }
        // Most jobs end with this poll, and need no slot.
        let waker = Waker::from(mailbox.clone());
        if let Poll::Ready(outcome) = job.poll(&waker) {
            return Progressed::Done(job.end(), outcome);
        }
        self.0.get_or_insert_default().keep_first(job, waker);
        Progressed::Pending
    }

    /// Polls the job in a slot that was woken.
    pub(super) fn poll(&mut self, at: usize) -> Progressed {
        self.0.as_mut().map_or(Progressed::Pending, |jobs| jobs.poll(at))
    }

    /// Cancels a job, polls it once more, and drops it. Returns its outcome, which is not sent.
    /// A spawned job sends its outcome to the mailbox.
    pub(super) fn cancel(&mut self, id: ReplyId, cause: CancelCause) -> Option<Outcome> {
        self.0.as_mut()?.cancel(id, cause)
    }

    /// Cancels all jobs in the same way.
    pub(super) fn cancel_all(&mut self) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        let Some(jobs) = &mut self.0 else { return outcomes };
        while let Some(id) = jobs.locations.first_key_value().map(|(id, _)| *id) {
            outcomes.extend(jobs.cancel(id, CancelCause::Closed));
        }
        outcomes
    }

    /// Removes a spawned job, which has responded.
    pub(super) fn forget(&mut self, id: ReplyId) {
        if let Some(jobs) = &mut self.0 {
            jobs.locations.remove(&id);
        }
    }
}

impl PendingJobs {
    fn start(&mut self, mut job: Job, mailbox: &Arc<ServiceMailbox>) -> Progressed {
        let at = self.free_slot(mailbox);
        let Some(slot) = self.slots.get_mut(at) else {
            return Progressed::Done(job.reply, dropped());
        };
        match job.poll(&slot.waker) {
            Poll::Ready(outcome) => {
                self.free.push(at);
                Progressed::Done(job.end(), outcome)
            }
            Poll::Pending => {
                self.locations.insert(job.id(), JobLocation::HandlerSlot(at));
                slot.job = Some(Box::new(job));
                Progressed::Pending
            }
        }
    }

    /// Keeps a pending job while there is no slot.
    fn keep_first(&mut self, job: Job, waker: Waker) {
        // Most connections have one call at a time.
        self.slots.reserve_exact(1);
        self.locations.insert(job.id(), JobLocation::HandlerSlot(FIRST_SLOT));
        self.slots.push(HandlerSlot { job: Some(Box::new(job)), waker });
    }

    fn poll(&mut self, at: usize) -> Progressed {
        let Some(slot) = self.slots.get_mut(at) else { return Progressed::Pending };
        let Some(job) = &mut slot.job else { return Progressed::Pending };
        let Poll::Ready(outcome) = job.poll(&slot.waker) else { return Progressed::Pending };
        match self.remove(at) {
            Some(job) => Progressed::Done(job.end(), outcome),
            None => Progressed::Pending,
        }
    }

    fn cancel(&mut self, id: ReplyId, cause: CancelCause) -> Option<Outcome> {
        match self.locations.remove(&id)? {
            JobLocation::Spawned(cancel) => {
                cancel.set_for(cause);
                None
            }
            JobLocation::HandlerSlot(at) => {
                let mut job = self.remove(at)?;
                job.cancel.set_for(cause);
                let polled = job.poll(Waker::noop());
                drop(job.end());
                match polled {
                    Poll::Ready(outcome) => Some(outcome),
                    Poll::Pending => None,
                }
            }
        }
    }

    fn remove(&mut self, at: usize) -> Option<Job> {
        let job = self.slots.get_mut(at)?.job.take()?;
        self.locations.remove(&job.id());
        self.free.push(at);
        Some(*job)
    }

    fn free_slot(&mut self, mailbox: &Arc<ServiceMailbox>) -> usize {
        self.free.pop().unwrap_or_else(|| {
            let at = self.slots.len();
            let waker = Waker::from(Arc::new(SlotWaker { at, mailbox: mailbox.clone() }));
            self.slots.push(HandlerSlot { job: None, waker });
            at
        })
    }
}

/// Waker of the job in a slot other than the first. A late wake polls the next job in the slot,
/// which is harmless.
struct SlotWaker {
    at: usize,
    mailbox: Arc<ServiceMailbox>,
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        self.mailbox.ready(self.at);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.mailbox.ready(self.at);
    }
}

/// A job in a spawned task.
pub(super) struct SpawnedHandler {
    job: Option<Job>,
    mailbox: Arc<ServiceMailbox>,
    watcher: Option<u64>,
}

impl SpawnedHandler {
    pub(super) fn new(job: Job, mailbox: Arc<ServiceMailbox>) -> Self {
        mailbox.add_handler();
        Self { job: Some(job), mailbox, watcher: None }
    }
}

/// Waits until all spawned handlers, which were cancelled, have ended, for 500 ms at most.
pub(super) async fn handlers_ended(mailbox: &ServiceMailbox, clock: &mut impl Clock) {
    let until = clock.now() + GRACE;
    poll_fn(|context| match mailbox.poll_handlers_ended(context.waker()) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => clock.poll_timer(context, until),
    })
    .await;
}

impl Future for SpawnedHandler {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { job, watcher, .. } = &mut *self;
        let Some(job) = job else { return Poll::Ready(()) };
        let cancelled = !job.cancel.watch(watcher, context.waker());
        match job.poll(context.waker()) {
            Poll::Ready(outcome) => {
                if let Some(job) = self.job.take() {
                    self.mailbox.command(Command::Respond(job.end(), outcome));
                }
                Poll::Ready(())
            }
            Poll::Pending if cancelled => {
                self.job.take().map(Job::end);
                Poll::Ready(())
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Drop for SpawnedHandler {
    fn drop(&mut self) {
        if let Some(job) = self.job.take() {
            self.mailbox.command(Command::Respond(job.end(), dropped()));
        }
        self.mailbox.remove_handler();
    }
}

fn dropped() -> Outcome {
    Outcome::Error(ErrorData::internal("the handler ended without an answer"))
}
