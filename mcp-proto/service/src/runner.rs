//! The handlers of a machine.
//!
//! In: requests and cancellations from a machine, commands of handlers, and updates of the catalog.
//! Out: responses and notifications, to the machine.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::cancel::Cancel;
use super::catalog::{Catalog, CatalogSnapshot};
use super::checks::Checks;
use super::commands::Lost;
use super::context::{CallContext, Context};
use super::handler_call::HandlerArgs;
use super::input::Round;
use super::jobs::{Jobs, Progressed, StartedJob, call_handler, handlers_ended};
use super::mailbox::wake;
use super::panics::call_back;
use super::prepared_call::PreparedCall;
use super::service_mailbox::{CatalogUpdate, Command, ServiceMailbox};
use super::session::{OpenInputRequests, Session, SessionScope};
use super::task::{TaskCandidate, abandon_task};
use super::trace::{Span, cancelled, fault};
use super::unread_changes::UnreadChanges;
use super::{Clock, Spawned};
use mcp_proto::Era;
use mcp_proto::ErrorData;
use mcp_proto::Instant;
use mcp_proto::ProtocolError;
use mcp_proto::UsageError;
use mcp_proto::message::Method;
use mcp_proto::server::task::TaskCall;
use mcp_proto::server::{
    Change, Declaration, HandlerId, Notification, Outcome, Reply, ReplyId, Request, ServerEvent,
    SessionRef,
};
use mcp_proto::types::Task;
use mcp_proto::{Json, RequestId};

/// A machine that emits requests and accepts their responses.
pub trait Scope: SessionScope {
    /// Answers a request.
    fn respond(&mut self, now: Instant, reply: Reply, outcome: Outcome);

    /// Sends a notification about a request.
    fn notify(
        &mut self,
        now: Instant,
        about: ReplyId,
        notification: Notification,
    ) -> Result<(), UsageError>;

    /// Replaces the declaration.
    fn declare(&mut self, now: Instant, declaration: Arc<Declaration>);

    /// Reports a change to the client. The default does nothing, for machines whose endpoint
    /// reports changes.
    fn publish(&mut self, _now: Instant, _change: &Change) {}

    /// Reports changes of everything that the client has subscribed to. The default does nothing,
    /// like that of [`Scope::publish`].
    fn publish_all(&mut self, _now: Instant) {}

    /// The client's id of a request.
    fn request_id(&self, about: ReplyId) -> Option<RequestId>;
}

pub(super) struct Runner {
    pub(super) snapshot: Arc<CatalogSnapshot>,
    jobs: Jobs,
    pub(super) mailbox: Arc<ServiceMailbox>,
    pub(super) spawn: Option<Box<dyn FnMut(Spawned) + Send>>,
    rare: Option<Box<Rare>>,
}

/// State that few connections need.
#[derive(Default)]
struct Rare {
    /// Notifications that were dropped because the client does not read.
    lost: Lost,
    unread: UnreadChanges,
    input_requests: OpenInputRequests,
}

impl Runner {
    pub(super) fn new(catalog: &Catalog) -> Self {
        let mailbox = Arc::new(ServiceMailbox::new(catalog.clone()));
        let snapshot = catalog.join(&mailbox);
        Self::with(snapshot, mailbox)
    }

    /// A runner that gets no updates of the catalog: it checks the generation itself, or ends
    /// before an update matters.
    pub(super) fn without_updates(catalog: &Catalog) -> Self {
        Self::with_snapshot(catalog, catalog.snapshot())
    }

    /// The same, with a snapshot of the catalog.
    pub(super) fn with_snapshot(catalog: &Catalog, snapshot: Arc<CatalogSnapshot>) -> Self {
        Self::with(snapshot, Arc::new(ServiceMailbox::new(catalog.clone())))
    }

    fn with(snapshot: Arc<CatalogSnapshot>, mailbox: Arc<ServiceMailbox>) -> Self {
        Self { snapshot, jobs: Jobs::default(), mailbox, spawn: None, rare: None }
    }

    /// Cancels all handlers, and waits up to 500 ms for the end of the spawned ones.
    pub(super) async fn finish(&mut self, clock: &mut impl Clock) {
        self.cancel_all();
        handlers_ended(&self.mailbox, clock).await;
    }

    /// Handles an event of the machine.
    pub(super) fn handle_event(&mut self, event: ServerEvent) {
        match event {
            ServerEvent::Cancelled { about, cause } => {
                cancelled(&cause);
                if let Some(rare) = &mut self.rare {
                    rare.lost.take(about);
                }
                let outcome = self.jobs.cancel(about, cause);
                self.drop_unsent(outcome);
            }
            ServerEvent::Notification { session, handler, method, params } => {
                self.snapshot.notify(&self.mailbox, (session, handler), &method, params);
            }
            ServerEvent::SessionEnded { session, handler } => {
                self.snapshot.end_session(session, handler);
            }
            ServerEvent::InputAnswered { input, answer } => {
                wake(self.rare.as_mut().and_then(|rare| rare.input_requests.answer(input, answer)));
            }
            ServerEvent::PeerFault(error) => fault(&error),
            // Other events concern no handler.
            _ => {}
        }
    }

    /// Applies an update of the catalog.
    pub(super) fn apply_update(
        &mut self,
        now: Instant,
        scope: &mut impl Scope,
        update: CatalogUpdate,
    ) {
        if let Some(snapshot) = update.snapshot
            && snapshot.generation > self.snapshot.generation
        {
            scope.declare(now, snapshot.declaration.clone());
            self.snapshot = snapshot;
        }
        update.changes.publish(|change| match change {
            Some(change) => scope.publish(now, change),
            None => scope.publish_all(now),
        });
    }

    /// Takes the current snapshot of the catalog, if it has changed.
    pub(super) fn refresh(&mut self, now: Instant, scope: &mut impl Scope) {
        let catalog = self.mailbox.catalog();
        if catalog.generation() != self.snapshot.generation {
            let snapshot = catalog.snapshot();
            scope.declare(now, snapshot.declaration.clone());
            self.snapshot = snapshot;
        }
    }

    /// Applies a command of a handler. If `is_full`, the client does not read, and only responses
    /// and some changes of another server are sent.
    pub(super) fn apply_command(
        &mut self,
        now: Instant,
        scope: &mut impl Scope,
        command: Command,
        is_full: bool,
    ) {
        if let Some(rare) = &mut self.rare
            && !is_full
        {
            rare.unread = UnreadChanges::default();
        }
        match command {
            Command::Notify(about, notification)
                if is_full && !self.rare().unread.admit(&notification) =>
            {
                // The end of a request removes its count, so one that has ended gets none.
                if scope.request_id(about).is_some() {
                    let count =
                        if let Notification::Lost { count } = notification { count } else { 1 };
                    self.rare().lost.add(about, count);
                }
            }
            // Errors are ignored, such as progress after the end of the request.
            Command::Notify(about, notification) => {
                let _ = scope.notify(now, about, notification);
            }
            Command::Respond(reply, outcome) => {
                self.jobs.forget(reply.id());
                self.respond(now, scope, reply, outcome);
            }
            // Only requests of sessions have streams that can be closed, and those are not handled
            // here.
            Command::CloseStream(_) => {}
            Command::Session(command) => {
                let Rare { input_requests, unread, .. } = self.rare();
                let is_full = is_full && !command.notification().is_some_and(|it| unread.admit(it));
                wake(input_requests.apply_command(now, scope, *command, is_full));
            }
        }
    }

    /// Calls the handler of a request.
    pub(super) fn start(
        &mut self,
        now: Instant,
        scope: &mut impl Scope,
        request: Request,
        is_full: bool,
    ) {
        let about = request.reply.id();
        let id = &|| scope.request_id(about);
        let called = self.snapshot.call(&self.mailbox, request, now, id);
        let progressed = self.jobs.start(called, &self.mailbox, self.spawn.as_deref_mut());
        self.settle(now, scope, progressed, is_full);
    }

    /// Polls the handler in a slot that was woken.
    pub(super) fn poll(
        &mut self,
        now: Instant,
        scope: &mut impl Scope,
        slot: usize,
        is_full: bool,
    ) {
        let progressed = self.jobs.poll(slot);
        self.settle(now, scope, progressed, is_full);
    }

    /// Responds, after the queued commands of the handler.
    fn settle(
        &mut self,
        now: Instant,
        scope: &mut impl Scope,
        progressed: Progressed,
        is_full: bool,
    ) {
        let Progressed::Done(reply, outcome) = progressed else { return };
        if let Some((commands, update)) = self.mailbox.take_commands() {
            if !update.is_empty() {
                self.apply_update(now, scope, update);
            }
            for command in commands {
                self.apply_command(now, scope, command, is_full);
            }
        }
        self.respond(now, scope, reply, outcome);
    }

    fn respond(&mut self, now: Instant, scope: &mut impl Scope, reply: Reply, outcome: Outcome) {
        self.report_lost(now, scope, reply.id());
        // A request that was cancelled gets no response.
        if let Outcome::Task(task) = &outcome
            && scope.request_id(reply.id()).is_none()
        {
            self.remove_unsent_task(task);
        }
        scope.respond(now, reply, outcome);
    }

    /// Cancels all handlers.
    fn cancel_all(&mut self) {
        let outcomes = self.jobs.cancel_all();
        self.drop_unsent(outcomes);
    }

    /// Drops the outcomes of cancelled handlers, and removes their tasks.
    fn drop_unsent(&self, outcomes: impl IntoIterator<Item = Outcome>) {
        for outcome in outcomes {
            if let Outcome::Task(task) = &outcome {
                self.remove_unsent_task(task);
            }
        }
    }

    /// Removes a task whose id no client learns, because its request gets no response.
    fn remove_unsent_task(&self, task: &Task) {
        abandon_task(&self.mailbox.catalog().tasks(), task);
    }

    /// Reports the number of dropped notifications about a request.
    fn report_lost(&mut self, now: Instant, scope: &mut impl Scope, about: ReplyId) {
        if let Some(rare) = &mut self.rare
            && let Some(lost) = rare.lost.take(about)
        {
            let _ = scope.notify(now, about, lost);
        }
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }
}

impl Drop for Runner {
    /// Leaves the catalog, and cancels the handlers.
    fn drop(&mut self) {
        self.mailbox.catalog().leave(&self.mailbox);
        self.mailbox.close();
        self.cancel_all();
    }
}

impl CatalogSnapshot {
    /// Calls a request's handler. A pending job was not polled.
    pub(super) fn call(
        &self,
        mailbox: &Arc<ServiceMailbox>,
        request: Request,
        now: Instant,
        id: &dyn Fn() -> Option<RequestId>,
    ) -> StartedJob {
        let Some(handler) = self.registry.handler(request.handler) else {
            return StartedJob::Done(request.reply, gone());
        };
        let cancel = Cancel::new();
        let message = (&request.method, &request.params);
        let client = (&*request.peer, request.trace.as_deref());
        let prepared = PreparedCall {
            registry: &self.registry,
            handler,
            id: request.handler,
            received: now,
            is_rerun: request.input.is_some() && request.peer.version.era() == Era::Legacy,
            span: Span::of_request(message, client, id, mailbox.catalog().hook()),
        };
        let task_candidate = if request.may_be_task {
            self.task_candidate(&request, mailbox, &cancel).map(Box::new)
        } else {
            None
        };
        let (own_mailbox, own_cancel) = match &task_candidate {
            None => (mailbox.clone(), cancel.clone()),
            Some(task_candidate) => task_candidate.handler_side(),
        };
        let Request { reply, method, params, arguments, peer, .. } = request;
        let call_context = CallContext {
            method,
            checks: Checks::of(&self.registry, request.handler),
            peer,
            wants_progress: request.wants_progress,
            reports_status: task_candidate.is_some(),
            may_be_task: request.may_be_task,
            log_level: request.log_level,
            round: request.input.map(|input| Arc::new(Round::new(*input))),
            trace: request.trace,
            #[cfg(feature = "request-state")]
            params: request.handler.asks().then(|| params.detach()),
        };
        let context = Context::new(own_mailbox, own_cancel, reply.id(), call_context);
        call_handler(reply, cancel, move || {
            let called = prepared.run(HandlerArgs { params, arguments }, context);
            match task_candidate {
                None => called,
                Some(task_candidate) => task_candidate.wrap(called),
            }
        })
    }

    /// Everything that a call needs to become a task, if its tool allows tasks.
    fn task_candidate(
        &self,
        request: &Request,
        mailbox: &Arc<ServiceMailbox>,
        cancel: &Arc<Cancel>,
    ) -> Option<TaskCandidate> {
        let tasks = *self.registry.task_tools.get(&request.handler)?;
        let tool = &self.registry.tool_of(request.handler)?.name;
        let manager = self.registry.task_manager.clone();
        let call = TaskCall { tool: tool.clone(), params: request.params.detach() };
        TaskCandidate::new((manager, tasks), call, request, mailbox, cancel)
    }

    /// Reports the end of a session to a handler that forwards.
    pub(super) fn end_session(&self, session: SessionRef, handler: HandlerId) {
        call_back(self.registry.handler(handler), |handler| handler.end_session(session));
    }

    /// Calls the handler of a notification, and ignores a panic. Reports parameters that do not
    /// fit.
    pub(super) fn notify(
        &self,
        mailbox: &Arc<ServiceMailbox>,
        (session, handler): (SessionRef, HandlerId),
        method: &Method,
        params: Json,
    ) {
        call_back(self.registry.handler(handler), |handler| {
            if !handler.notify(method, params, Session::new(mailbox, session)) {
                fault(&ProtocolError::InvalidNotification { method: method.name().into() });
            }
        });
    }
}

/// Error for a request whose handler was removed.
fn gone() -> Outcome {
    Outcome::Error(ErrorData::internal("the handler of the request was removed"))
}
