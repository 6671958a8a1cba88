//! A server over HTTP: what its connections share, and the handlers of sessions.
//!
//! In: connections and requests of an adapter's; what handlers of sessions report; changes of the
//! catalog; time. Out: a [`Service`] for each connection, an [`Answering`] for each request of
//! another HTTP stack.
//!
//! Modern requests run where their connection is driven. Those of sessions outlive connections: a
//! handler is polled once where its request arrives, and is spawned if it is pending then.
//! [`HttpServer::run_background`] does what no connection does: it takes what such handlers report, and sees
//! to deadlines.

mod accept;
mod answering;
mod connections;
mod held;
mod link;
mod shared;
mod verifying;
mod visitor;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use core::fmt;
use core::future::poll_fn;
use core::sync::atomic::AtomicU64;
use core::task::{Poll, Waker};

use bytes::Bytes;

use super::Spawned;
use super::catalog::{Catalog, CatalogSnapshot};
use super::jobs::{SpawnedHandler, StartedJob, begin, handlers_ended};
use super::lock::Lock;
use super::mailbox::wake;
use super::runner::{PreparedCall, gone};
use super::service_mailbox::{Cancel, ServiceMailbox};
use super::trace::{alarmed, fault};
use crate::Clock;
use crate::drive::TURN_ROUNDS;
use mcp_proto::Instant;
use mcp_proto::frame::http1::Head;
use mcp_proto::http::{Config, Endpoint, EndpointAction};
use mcp_proto::resource_server::{Verification, VerifiedToken};
use mcp_proto::server::{Account, Outcome, Reply, ReplyId, Request, ServerEvent};

use connections::Connections;
use shared::{Leftover, Shared};
pub use visitor::EndpointWaker;

pub use answering::{Admission, Answering, Part};
pub use link::HttpLink;

/// A server over HTTP. Cheap to clone; all clones are the same server.
#[derive(Clone)]
pub struct HttpServer {
    hub: Arc<ServerShared>,
}

pub(super) struct ServerShared {
    config: Arc<Config>,
    catalog: Catalog,
    /// Mailbox of the handlers of sessions.
    mailbox: Arc<ServiceMailbox>,
    shared: Lock<Shared>,
    /// The handlers of sessions that have not ended.
    running: Lock<BTreeMap<ReplyId, Arc<Cancel>>>,
    on_event: Lock<Option<Arc<OnEvent>>>,
    spawn: Box<dyn Fn(Spawned) + Send + Sync>,
    open: Connections,
    /// An account of nothing, which knows how full the endpoint is.
    account: Account,
    /// Number of connections so far.
    connections: AtomicU64,
    /// Time at which a line of any connection was last shown.
    told: Arc<AtomicU64>,
}

type OnEvent = dyn Fn(&ServerEvent) + Send + Sync;

impl HttpServer {
    /// A server that nobody is connected to. `ids` makes 128 random bits that nobody can guess;
    /// `spawn` drives a future to its end somewhere.
    pub fn new(
        catalog: impl Into<Catalog>,
        config: Config,
        ids: impl FnMut() -> [u8; 16] + Send + 'static,
        spawn: impl Fn(Spawned) + Send + Sync + 'static,
    ) -> Self {
        let catalog = catalog.into();
        let config = Arc::new(config);
        let mailbox = Arc::new(ServiceMailbox::new(catalog.clone()));
        let offer = catalog.join(&mailbox);
        let endpoint = Endpoint::new(offer.declaration.clone(), config.clone(), Box::new(ids));
        let shared = Shared::new(endpoint, offer);
        let hub = ServerShared {
            account: config.server.account(),
            config,
            catalog,
            mailbox,
            shared: Lock::new(shared),
            running: Lock::default(),
            on_event: Lock::new(None),
            spawn: Box::new(spawn),
            open: Connections::default(),
            connections: AtomicU64::new(0),
            told: Arc::default(),
        };
        Self { hub: Arc::new(hub) }
    }

    /// Tells `f` what happens in sessions: faults of clients, messages that were lost. It may be
    /// told by several threads at a time.
    pub fn on_event(&self, f: impl Fn(&ServerEvent) + Send + Sync + 'static) {
        let before = self.hub.on_event.lock().replace(Arc::new(f));
        drop(before);
    }

    /// Takes the head of a request that another HTTP stack has read. An [`Admission`] is to be
    /// given the body; else this is the answer, whatever the body is.
    ///
    /// With [`Config::verifier`] use [`HttpServer::verification`] and [`HttpServer::admit_with`]:
    /// without a verdict a request with a token gets 503.
    pub fn admit(&self, head: Head) -> Result<Admission, Box<Answering>> {
        self.admit_with(head, None)
    }

    /// The verification of the token that a request needs before it is admitted; `None` if it needs
    /// none. It is to be polled for [`Limits::verify_timeout`](mcp_proto::Limits::verify_timeout) at
    /// most, and its verdict goes to [`HttpServer::admit_with`].
    pub fn verification(&self, head: &Head) -> Option<Verification> {
        self.hub.config.verification(head).map(verifying::guarded)
    }

    /// The same as [`HttpServer::admit`], with the verdict about the token of the request.
    pub fn admit_with(
        &self,
        head: Head,
        verdict: Option<VerifiedToken>,
    ) -> Result<Admission, Box<Answering>> {
        Admission::new(self.hub.clone(), head, verdict)
    }

    /// The answer to a request that another HTTP stack has read to its end.
    pub fn answer(&self, now: Instant, head: Head, body: &Bytes) -> Answering {
        match self.admit(head) {
            Ok(admission) => admission.answer_with(now, body),
            Err(answering) => *answering,
        }
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.hub.config
    }

    /// The server is to stop: see [`Endpoint::shutdown`]. Its connections are to be told by
    /// whoever drives them.
    pub fn shutdown(&self, now: Instant) {
        let ((), todo) = self.hub.share(|shared| shared.endpoint.shutdown(now));
        self.hub.act(now, todo, None);
    }

    /// Cancels the handlers of sessions that still run, and waits until they have ended, for 500 ms
    /// at most. An adapter calls it when all connections are closed, before its runtime ends: a
    /// cancelled handler is polled once more.
    pub async fn finish(&self, clock: &mut impl Clock) {
        self.hub.cancel_all();
        handlers_ended(&self.hub.mailbox, clock).await;
    }

    /// Number of open sessions.
    pub fn sessions(&self) -> usize {
        self.hub.shared.lock().endpoint.sessions()
    }

    /// Does what no connection does, for as long as it is polled: runs beside them, once.
    pub async fn run_background(&self, clock: &mut impl Clock) {
        poll_fn(|context| {
            loop {
                let due = self.hub.turn(clock.now(), context.waker());
                let Some(at) = due else { return Poll::<()>::Pending };
                if clock.poll_timer(context, at).is_pending() {
                    return Poll::Pending;
                }
            }
        })
        .await;
    }
}

/// A visit of an exchange, which may be made again: the waker that it leaves, and what it does.
pub(super) struct EndpointVisit<'a> {
    pub(super) visitor: &'a EndpointWaker,
    pub(super) visits: &'a mut dyn FnMut(&mut Endpoint<EndpointWaker>),
}

/// Actions to take once nothing is locked.
struct DeferredActions {
    /// Mostly it is one thing.
    first: Option<EndpointAction<EndpointWaker>>,
    others: VecDeque<EndpointAction<EndpointWaker>>,
    /// Offer of the catalog, if the first action is a request that a handler owes the answer to.
    offer: Option<CatalogSnapshot>,
    /// True if whoever tends is to look sooner.
    sooner: bool,
}

impl ServerShared {
    /// Has an exchange visit the endpoint. What a handler answers at once is there for it when
    /// this returns.
    pub(super) fn visit(self: &Arc<Self>, now: Instant, mut visit: EndpointVisit<'_>) {
        let ((), todo) = self.share(|shared| (visit.visits)(&mut shared.endpoint));
        self.act(now, todo, Some(&mut visit));
    }

    /// Does something with what is shared, and says what is to be done after that.
    fn share<R>(&self, f: impl FnOnce(&mut Shared) -> R) -> (R, DeferredActions) {
        let mut shared = self.shared.lock();
        let result = f(&mut shared);
        let Shared { endpoint, offer, tended, .. } = &mut *shared;
        let first = endpoint.poll_action();
        let others = endpoint.take_actions();
        let offer = match &first {
            Some(EndpointAction::Event(ServerEvent::Request(request))) => {
                // It may have been cancelled by what came with it.
                let is_owed = others.is_empty() || endpoint.is_owed(request.reply.id());
                is_owed.then(|| offer.clone())
            }
            _ => None,
        };
        let due = endpoint.poll_timeout().unwrap_or(Instant::NEVER);
        let sooner = due < *tended;
        if sooner {
            *tended = due;
        }
        (result, DeferredActions { first, others, offer, sooner })
    }

    /// Does what is to be done; `visit` is by whom it was left.
    fn act(
        self: &Arc<Self>,
        now: Instant,
        todo: DeferredActions,
        mut visit: Option<&mut EndpointVisit<'_>>,
    ) {
        if todo.sooner {
            self.mailbox.wake_driver();
        }
        match todo.first {
            Some(EndpointAction::Event(ServerEvent::Request(request))) => {
                if let Some(offer) = todo.offer {
                    self.start(now, &offer, request, visit.as_deref_mut());
                }
            }
            Some(action) => self.act_on(now, action, visit.as_deref_mut()),
            None => return,
        }
        for action in todo.others {
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
            // Whoever visits has seen what there is.
            EndpointAction::Wake(EndpointWaker(mailbox))
                if visit.as_ref().is_some_and(|visit| Arc::ptr_eq(&visit.visitor.0, &mailbox)) => {}
            EndpointAction::Wake(EndpointWaker(mailbox)) => mailbox.ask_for_visit(),
            EndpointAction::Event(ServerEvent::Request(request)) => {
                // Another connection may have cancelled it meanwhile.
                let offer = {
                    let shared = self.shared.lock();
                    let is_owed = shared.endpoint.is_owed(request.reply.id());
                    is_owed.then(|| shared.offer.clone())
                };
                if let Some(offer) = offer {
                    self.start(now, &offer, request, visit);
                }
            }
            EndpointAction::Event(event) => self.handle_event(event),
            _ => {}
        }
    }

    fn handle_event(&self, event: ServerEvent) {
        match event {
            ServerEvent::Cancelled { about, .. } => {
                let cancel = self.running.lock().remove(&about);
                if let Some(cancel) = cancel {
                    cancel.set();
                }
            }
            ServerEvent::Notification { session, handler, method, params } => {
                let offer = self.shared.lock().offer.clone();
                offer.notify(&self.mailbox, (session, handler), method, params);
            }
            ServerEvent::SessionEnded { session, handler } => {
                let offer = self.shared.lock().offer.clone();
                offer.end_session(session, handler);
            }
            ServerEvent::InputAnswered { input, answer } => {
                let waker = self.shared.lock().questions.answer(input, answer);
                wake(waker);
            }
            event => {
                if let ServerEvent::PeerFault(error) = &event {
                    fault(error);
                }
                if let Some(alarm) = event.alarm() {
                    alarmed(&alarm);
                }
                // It may do anything, and must not find the lock held.
                let on_event = self.on_event.lock().clone();
                if let Some(on_event) = on_event {
                    on_event(&event);
                }
            }
        }
    }

    /// Calls the handler of a session's request.
    fn start(
        self: &Arc<Self>,
        now: Instant,
        offer: &CatalogSnapshot,
        request: Request,
        visit: Option<&mut EndpointVisit<'_>>,
    ) {
        let about = request.reply.id();
        let id = &|| self.shared.lock().endpoint.request_id(about).cloned();
        let called = offer.call(&self.mailbox, request, Arc::new(Cancel::new()), now, id);
        let PreparedCall { reply, cancel, call } = match called {
            Err(reply) => return self.respond(now, reply, gone(), visit),
            Ok(called) => called,
        };
        match begin(reply, cancel, call) {
            StartedJob::Done(reply, outcome) => self.respond(now, reply, outcome, visit),
            StartedJob::Pending(job) => {
                let cancel = job.cancel();
                self.running.lock().insert(about, cancel.clone());
                // Or before it was among those that run.
                if !self.shared.lock().endpoint.is_owed(about) {
                    self.running.lock().remove(&about);
                    cancel.set();
                }
                (self.spawn)(Box::pin(SpawnedHandler::new(job, self.mailbox.clone())));
            }
        }
    }

    /// Answers after what the handler has reported, and has whoever visits take the answer.
    fn respond(
        self: &Arc<Self>,
        now: Instant,
        reply: Reply,
        outcome: Outcome,
        mut visit: Option<&mut EndpointVisit<'_>>,
    ) {
        let (leftover, todo) = self.share(|shared| {
            let leftover = self.catch_up(now, shared);
            shared.endpoint.respond(now, reply, outcome);
            if let Some(visit) = &mut visit {
                (visit.visits)(&mut shared.endpoint);
            }
            leftover
        });
        leftover.finish();
        self.act(now, todo, visit);
    }

    /// Does what has been reported. It is taken out and done under one lock: else somebody could
    /// answer a request between the two, and what its handler has told before would be lost.
    fn catch_up(&self, now: Instant, shared: &mut Shared) -> Leftover {
        match self.mailbox.take_commands() {
            Some((commands, news)) => shared.catch_up(now, commands, news, &self.running),
            None => Leftover::default(),
        }
    }

    fn cancel_all(&self) {
        let running = core::mem::take(&mut *self.running.lock());
        for cancel in running.into_values() {
            cancel.set();
        }
    }

    /// Does what is to be done, and says when there is more.
    fn turn(self: &Arc<Self>, now: Instant, waker: &Waker) -> Option<Instant> {
        self.mailbox.begin_turn(now, waker);
        // What is left after that many rounds has the driver woken again.
        for _ in 0..TURN_ROUNDS {
            let (leftover, todo) = self.share(|shared| {
                shared.tended = Instant::NEVER;
                if shared.endpoint.poll_timeout().is_some_and(|at| at <= now) {
                    shared.endpoint.handle_timeout(now);
                }
                self.catch_up(now, shared)
            });
            leftover.finish();
            self.act(now, todo, None);
            if !self.mailbox.has_work() {
                break;
            }
        }
        self.mailbox.end_turn();
        let due = self.shared.lock().endpoint.poll_timeout();
        due.into_iter().chain(self.mailbox.next_sleep()).min()
    }
}

impl Drop for ServerShared {
    /// Tells the catalog, and handlers of sessions, that nobody waits for them.
    fn drop(&mut self) {
        self.catalog.leave(&self.mailbox);
        self.mailbox.close();
        self.cancel_all();
    }
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServer").field("config", &self.hub.config).finish_non_exhaustive()
    }
}

impl fmt::Debug for ServerShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerShared").finish_non_exhaustive()
    }
}
