//! A server over HTTP: the state that its connections share, and the handlers of sessions.
//!
//! In: connections and requests of an adapter; reports of the handlers of sessions; changes of the
//! catalog; time. Out: a [`Service`] for each connection, an [`Answering`] for each request of
//! another HTTP stack.
//!
//! Handlers of modern requests run in the task of their connection. Requests of sessions outlive
//! connections: their handlers are polled once when the request arrives, and spawned if they are
//! pending. [`HttpServer::run_background`] processes the reports of spawned handlers, and
//! deadlines.

mod accept;
mod answering;
mod connections;
mod counted_bytes;
mod link;
mod locked_state;
mod request_caches;
mod running;
mod verifying;
mod visitor;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::future::poll_fn;
use core::sync::atomic::AtomicU64;
use core::task::{Poll, Waker, ready};

use bytes::Bytes;

use super::Spawned;
use super::catalog::{Catalog, CatalogSnapshot};
use super::jobs::{SpawnedHandler, StartedJob, handlers_ended};
use super::link::EndpointVisitor;
use super::lock::Lock;
use super::mailbox::wake;
use super::panics::{call_back, catch_panic};
use super::service_mailbox::ServiceMailbox;
use super::trace::{alarmed, cancelled, fault};
use crate::Clock;
use crate::drive::TURN_ROUNDS;
use mcp_proto::Instant;
use mcp_proto::frame::http1::{Head, HeadSource};
use mcp_proto::http::{Config, Endpoint, EndpointAction};
use mcp_proto::resource_server::{Verification, VerifiedToken};
use mcp_proto::server::{Account, Outcome, Reply, Request, ServerEvent};

use connections::Connections;
use locked_state::{DeferredActions, Leftover, LockedState};
use request_caches::RequestCaches;
use running::RunningHandlers;
use verifying::GuardedVerifier;
pub use visitor::EndpointWaker;

pub use answering::{Admission, Answering, Part};
pub use link::HttpLink;

/// A server over HTTP. Cheap to clone; all clones are the same server.
#[derive(Clone)]
pub struct HttpServer {
    shared: Arc<ServerShared>,
}

pub(super) struct ServerShared {
    config: Arc<Config>,
    catalog: Catalog,
    /// Mailbox of the handlers of sessions.
    mailbox: Arc<ServiceMailbox>,
    locked: Lock<LockedState>,
    /// The handlers of sessions that have not ended.
    running: RunningHandlers,
    on_event: Lock<Option<Arc<OnEvent>>>,
    spawn: Box<dyn Fn(Spawned) + Send + Sync>,
    open: Connections,
    /// The caches of requests that another HTTP stack has read.
    caches: RequestCaches,
    /// An empty account, to read how full the endpoint is.
    account: Account,
    /// Number of connections so far.
    connections: AtomicU64,
    /// Time at which a line of any connection was last shown, in microseconds.
    last_shown: Arc<AtomicU64>,
}

type OnEvent = dyn Fn(&ServerEvent) + Send + Sync;

impl HttpServer {
    /// A server without connections. `ids` returns 128 unpredictable random bits. `spawn` runs a
    /// future to its end in another task.
    pub fn new(
        catalog: impl Into<Catalog>,
        mut config: Config,
        ids: impl FnMut() -> [u8; 16] + Send + 'static,
        spawn: impl Fn(Spawned) + Send + Sync + 'static,
    ) -> Self {
        let catalog = catalog.into();
        config.verifier = config.verifier.map(|own| Arc::new(GuardedVerifier(own)) as _);
        let config = Arc::new(config);
        let mailbox = Arc::new(ServiceMailbox::new(catalog.clone()));
        let snapshot = catalog.join(&mailbox);
        let endpoint = Endpoint::new(snapshot.declaration.clone(), config.clone(), Box::new(ids));
        let locked = LockedState::new(endpoint, snapshot);
        let shared = ServerShared {
            account: config.server.account(),
            config,
            catalog,
            mailbox,
            locked: Lock::new(locked),
            running: RunningHandlers::default(),
            on_event: Lock::new(None),
            spawn: Box::new(spawn),
            open: Connections::default(),
            caches: RequestCaches::default(),
            connections: AtomicU64::new(0),
            last_shown: Arc::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Calls `f` with each event of the endpoint that concerns no handler. That is a fault of a
    /// client, a lost message, a limit that was reached, or a connection that could not be
    /// accepted. Several threads may call `f` at the same time. A panic of `f` is ignored.
    pub fn on_event(&self, f: impl Fn(&ServerEvent) + Send + Sync + 'static) {
        let before = self.shared.on_event.lock().replace(Arc::new(f));
        drop(before);
    }

    /// Checks the head of a request that another HTTP stack has read: a [`Head`], or the
    /// [`HeadParts`](mcp_proto::frame::http1::HeadParts) that are copied only if no earlier head
    /// equals them. Returns an [`Admission`], which takes the body, or else the response, which
    /// does not depend on the body.
    ///
    /// With [`Config::verifier`] use [`HttpServer::verification`] and [`HttpServer::admit_with`]:
    /// without its result a request with a token gets 503.
    pub fn admit(&self, head: impl HeadSource) -> Result<Admission, Box<Answering>> {
        self.admit_with(head, None)
    }

    /// The verification of the token of a request, to be awaited before the request is admitted;
    /// `None` if it is not needed. Poll it for
    /// [`Limits::verify_timeout`](mcp_proto::Limits::verify_timeout) at most, and pass the result
    /// to [`HttpServer::admit_with`].
    pub fn verification(&self, head: &Head) -> Option<Verification> {
        self.shared.config.verification(head)
    }

    /// The same as [`HttpServer::admit`], with the result of the check of its token.
    pub fn admit_with(
        &self,
        head: impl HeadSource,
        verified: Option<VerifiedToken>,
    ) -> Result<Admission, Box<Answering>> {
        Admission::new(self.shared.clone(), head, verified)
    }

    /// The response to a request that another HTTP stack has read completely.
    pub fn answer(&self, now: Instant, head: Head, body: &Bytes) -> Answering {
        match self.admit(head) {
            Ok(admission) => admission.answer_with(now, body),
            Err(answering) => *answering,
        }
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// Stops the sessions; see [`Endpoint::shutdown`]. Drivers stop their connections by
    /// [`Drive::handle_stop`](crate::Drive::handle_stop).
    pub fn shutdown(&self, now: Instant) {
        let deferred = self.shared.with_locked(None, |locked| locked.endpoint.shutdown(now));
        self.shared.act(now, deferred, None);
    }

    /// Cancels the running handlers of sessions, and waits up to 500 ms for their end. Adapters
    /// call it after all connections are closed and before their runtime ends, because a cancelled
    /// handler is polled once more.
    pub async fn finish(&self, clock: &mut impl Clock) {
        self.shared.running.cancel_all();
        handlers_ended(&self.shared.mailbox, clock).await;
    }

    /// Number of open sessions.
    pub fn sessions(&self) -> usize {
        self.shared.locked.lock().endpoint.sessions()
    }

    /// Runs the background work of the server: reports of spawned handlers, and deadlines of
    /// sessions. Never completes; run it in one task per server.
    pub async fn run_background(&self, clock: &mut impl Clock) {
        poll_fn(|context| {
            loop {
                let now = clock.now();
                // Requests that have arrived keep their sessions.
                ready!(clock.poll_resumed(context, now));
                let due = self.shared.turn(now, context.waker());
                let Some(at) = due else { return Poll::<()>::Pending };
                if clock.poll_timer(context, at).is_pending() {
                    return Poll::Pending;
                }
            }
        })
        .await;
    }
}

/// A visit of an exchange to the endpoint, which may be repeated: the visitor, and the function to
/// run. A repeated visit may have the outcome of a request.
pub(super) struct EndpointVisit<'a> {
    pub(super) visitor: EndpointVisitor<'a>,
    pub(super) visits: &'a mut Visits<'a>,
}

type Visits<'a> = dyn FnMut(&mut Endpoint<EndpointWaker>, Option<(Reply, Outcome)>) + 'a;

impl ServerShared {
    /// Runs a visit of an exchange. Responses of handlers that complete at once are available to
    /// the exchange when this returns.
    pub(super) fn visit(self: &Arc<Self>, now: Instant, mut visit: EndpointVisit<'_>) {
        let known = Some(visit.visitor.snapshot);
        let deferred = self.with_locked(known, |locked| (visit.visits)(&mut locked.endpoint, None));
        self.act(now, deferred, Some(&mut visit));
    }

    /// Calls `f` under the lock, and returns the actions to execute without it. `known` is the
    /// snapshot that a visitor has.
    fn with_locked<'a>(
        &self,
        known: Option<&'a CatalogSnapshot>,
        f: impl FnOnce(&mut LockedState),
    ) -> DeferredActions<'a> {
        let mut locked = self.locked.lock();
        f(&mut locked);
        locked.take_actions(known)
    }

    /// Executes actions; `visit` is the visit that caused them.
    fn act(
        self: &Arc<Self>,
        now: Instant,
        deferred: DeferredActions<'_>,
        mut visit: Option<&mut EndpointVisit<'_>>,
    ) {
        if deferred.wakes_background {
            self.mailbox.wake_driver();
        }
        match deferred.first {
            Some(EndpointAction::Event(ServerEvent::Request(request))) => {
                if let Some(snapshot) = &deferred.snapshot {
                    self.start(now, snapshot, request, visit.as_deref_mut());
                }
            }
            Some(action) => self.act_on(now, action, visit.as_deref_mut()),
            None => return,
        }
        for action in deferred.others {
            self.act_on(now, action, visit.as_deref_mut());
        }
    }

    fn act_on(
        self: &Arc<Self>,
        now: Instant,
        action: EndpointAction<EndpointWaker>,
        visit: Option<&mut EndpointVisit<'_>>,
    ) {
        match action {
            EndpointAction::Wake(waker) => {
                waker.request_visit(visit.as_ref().map(|visit| visit.visitor.waker));
            }
            EndpointAction::Event(ServerEvent::Request(request)) => {
                // Another connection may have cancelled the request by now.
                let snapshot = {
                    let locked = self.locked.lock();
                    let is_owed = locked.endpoint.is_owed(request.reply.id());
                    is_owed.then(|| locked.snapshot.clone())
                };
                if let Some(snapshot) = snapshot {
                    self.start(now, &snapshot, request, visit);
                }
            }
            EndpointAction::Event(event) => self.handle_event(event),
            _ => {}
        }
    }

    fn handle_event(&self, event: ServerEvent) {
        match event {
            ServerEvent::Cancelled { about, cause } => {
                cancelled(&cause);
                self.running.cancel(about, cause);
            }
            ServerEvent::Notification { session, handler, method, params } => {
                let snapshot = self.locked.lock().snapshot.clone();
                snapshot.notify(&self.mailbox, (session, handler), &method, params);
            }
            ServerEvent::SessionEnded { session, handler } => {
                let snapshot = self.locked.lock().snapshot.clone();
                snapshot.end_session(session, handler);
            }
            ServerEvent::InputAnswered { input, answer } => {
                let waker = self.locked.lock().input_requests.answer(input, answer);
                wake(waker);
            }
            event => {
                if let ServerEvent::PeerFault(error) = &event {
                    fault(error);
                }
                if let Some(alarm) = event.alarm() {
                    alarmed(&alarm);
                }
                // The callback may run any code, so call it without the lock.
                let on_event = self.on_event.lock().clone();
                call_back(on_event, |f| f(&event));
            }
        }
    }

    /// Calls the handler of a session's request.
    fn start(
        self: &Arc<Self>,
        now: Instant,
        snapshot: &CatalogSnapshot,
        request: Request,
        visit: Option<&mut EndpointVisit<'_>>,
    ) {
        let about = request.reply.id();
        let id = &|| self.locked.lock().endpoint.request_id(about).cloned();
        match snapshot.call(&self.mailbox, request, now, id).poll_first() {
            StartedJob::Done(reply, outcome) => self.respond(now, reply, outcome, visit),
            StartedJob::Pending(job) => {
                self.running.insert(about, job.cancel());
                // The request may have been cancelled before it was inserted into `running`.
                if !self.locked.lock().endpoint.is_owed(about) {
                    self.running.cancel_inserted(about);
                }
                let handler = Box::pin(SpawnedHandler::new(job, self.mailbox.clone()));
                // A handler that cannot be spawned is dropped, and answered with an error.
                catch_panic(|| (self.spawn)(handler));
            }
        }
    }

    /// Responds after the reports of the handler, and repeats the visit so that it gets the
    /// response.
    fn respond(
        self: &Arc<Self>,
        now: Instant,
        reply: Reply,
        outcome: Outcome,
        mut visit: Option<&mut EndpointVisit<'_>>,
    ) {
        let known = visit.as_ref().map(|visit| visit.visitor.snapshot);
        let mut leftover = Leftover::default();
        let deferred = self.with_locked(known, |locked| {
            leftover = self.apply_queued(now, locked);
            match &mut visit {
                None => locked.endpoint.respond(now, reply, outcome),
                Some(visit) => (visit.visits)(&mut locked.endpoint, Some((reply, outcome))),
            }
        });
        leftover.finish();
        self.act(now, deferred, visit);
    }

    /// Applies the queued reports. They are taken and applied under one lock: otherwise a response
    /// could overtake earlier reports of its handler, which would be lost.
    fn apply_queued(&self, now: Instant, locked: &mut LockedState) -> Leftover {
        match self.mailbox.take_commands() {
            Some((commands, update)) => locked.apply_queued(now, commands, update, &self.running),
            None => Leftover::default(),
        }
    }

    /// Processes pending work, and returns the time of the next deadline.
    fn turn(self: &Arc<Self>, now: Instant, waker: &Waker) -> Option<Instant> {
        self.mailbox.begin_turn(now, waker);
        // If work is left after these rounds, the driver is woken again.
        for _ in 0..TURN_ROUNDS {
            let mut leftover = Leftover::default();
            let deferred = self.with_locked(None, |locked| {
                locked.background_due = Instant::NEVER;
                if locked.endpoint.poll_timeout().is_some_and(|at| at <= now) {
                    locked.endpoint.handle_timeout(now);
                }
                leftover = self.apply_queued(now, locked);
            });
            leftover.finish();
            self.act(now, deferred, None);
            if !self.mailbox.has_work() {
                break;
            }
        }
        let next_sleep = self.mailbox.end_turn();
        // The earliest deadline may have changed since the round, in either direction.
        let due = self.locked.lock().plan_background();
        due.into_iter().chain(next_sleep).min()
    }
}

impl Drop for ServerShared {
    /// Leaves the catalog, cancels the handlers of sessions, and ends the sessions.
    fn drop(&mut self) {
        self.catalog.leave(&self.mailbox);
        self.mailbox.close();
        self.running.cancel_all();
        self.locked.get_mut().end_sessions();
    }
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServer").field("config", &self.shared.config).finish_non_exhaustive()
    }
}

impl fmt::Debug for ServerShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerShared").finish_non_exhaustive()
    }
}
