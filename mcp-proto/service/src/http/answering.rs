//! Requests that another HTTP stack reads, and their responses.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::net::IpAddr;
use core::task::Waker;

use bytes::{Buf, Bytes};

use super::super::catalog::{Catalog, CatalogSnapshot};
use super::super::link::EndpointVisitor;
use super::super::runner::{Runner, Scope};
use super::super::session::SessionScope;
use super::request_caches::TakenCache;
use super::verifying::with_time_left;
use super::{EndpointVisit, EndpointWaker, ServerShared};
use crate::drive::TURN_ROUNDS;
use mcp_proto::Instant;
use mcp_proto::frame::http1::HeadSource;
use mcp_proto::http::{self, Exchange, ExchangeAction, ResponseHead};
use mcp_proto::internals::{admit_cached, answer_cached, has_machine};
use mcp_proto::resource_server::{Claims, VerifiedToken};
use mcp_proto::server::{
    Declaration, Extensions, Notification, Outcome, Reply, ReplyId, ServerEvent,
};
use mcp_proto::{RequestId, UsageError};

/// A request whose head was accepted, so that its body can be read.
#[derive(Debug)]
pub struct Admission {
    shared: Arc<ServerShared>,
    /// A request that is given up loses its cache, which costs the next one some work.
    taken: TakenCache,
    request: http::Admission,
}

impl Admission {
    pub(super) fn new(
        shared: Arc<ServerShared>,
        head: impl HeadSource,
        verified: Option<VerifiedToken>,
    ) -> Result<Self, Box<Answering>> {
        let mut taken = shared.caches.take(head.length());
        let admitted = match verified {
            None => admit_cached(&shared.config, head, &mut taken.cache),
            verified => http::Admission::with_verified(&shared.config, head.into_head(), verified),
        };
        match admitted {
            Ok(request) => Ok(Self { shared, taken, request }),
            Err(exchange) => {
                shared.caches.put_back(taken);
                let snapshot = shared.catalog.snapshot();
                Err(Box::new(Answering::new(Instant::ZERO, shared, snapshot, *exchange)))
            }
        }
    }

    /// Sets the address of the client, for limits per client.
    pub fn set_peer(&mut self, peer: IpAddr) {
        self.request.set_peer(peer);
    }

    /// Adds values for handlers; see [`http::Admission::extend`]. Also measures the time that is
    /// left to [`Claims`].
    pub fn extend(&mut self, mut extensions: Extensions) {
        if let Some(claims) = extensions.get::<Claims>() {
            extensions.insert(with_time_left(claims.clone()));
        }
        self.request.extend(extensions);
    }

    /// Adds bytes of the body; see [`http::Admission::add`], also for errors.
    pub fn add(&mut self, data: impl Buf) -> Result<(), u16> {
        self.request.add(data)
    }

    /// The response to a body that cannot be read; see [`http::Admission::refuse`].
    pub fn refuse(&self, status: u16) -> (ResponseHead, Bytes) {
        self.request.refuse(status)
    }

    /// Begins the response, once the body is complete.
    pub fn answer(self, now: Instant) -> Answering {
        self.begin(now, None)
    }

    /// Begins the response, with a body that the caller has read.
    pub(super) fn answer_with(self, now: Instant, body: &Bytes) -> Answering {
        self.begin(now, Some(body))
    }

    fn begin(self, now: Instant, body: Option<&Bytes>) -> Answering {
        let Self { shared, mut taken, request } = self;
        let snapshot = shared.catalog.snapshot();
        let exchange = answer_cached(request, now, &snapshot.declaration, body, &mut taken.cache);
        shared.caches.put_back(taken);
        Answering::new(now, shared, snapshot, exchange)
    }
}

/// The response to a request that another HTTP stack has read. It is driven like a future: each
/// [`turn`](Self::turn) returns the next part of the response, or arranges for the waker to be
/// woken. Dropping it before the end reports that the client is gone.
pub struct Answering {
    shared: Arc<ServerShared>,
    exchange: Exchange,
    runner: LazyRunner,
    now: Instant,
    /// The earliest end of a handler's sleep.
    next_sleep: Option<Instant>,
    ended: bool,
}

/// The runner of a response. Without a machine of its own, the response has one once it waits. Most
/// calls of sessions never do. With a runner for each, a call in a session behind tower would cost
/// 2 % more.
enum LazyRunner {
    Snapshot(Arc<CatalogSnapshot>),
    Runner(Runner, EndpointWaker),
}

impl LazyRunner {
    fn runner(catalog: &Catalog, snapshot: Arc<CatalogSnapshot>) -> Self {
        let runner = Runner::with_snapshot(catalog, snapshot);
        let waker = EndpointWaker::new(runner.mailbox.clone());
        Self::Runner(runner, waker)
    }
}

/// A part of a response.
#[derive(Debug)]
pub enum Part {
    /// A whole response: head and body.
    Whole(ResponseHead, Bytes),
    /// The head of a stream, the first part.
    Head(ResponseHead),
    /// A chunk of the body.
    Data(Bytes),
    /// The end of the stream.
    End,
}

impl Answering {
    fn new(
        now: Instant,
        shared: Arc<ServerShared>,
        snapshot: Arc<CatalogSnapshot>,
        exchange: Exchange,
    ) -> Self {
        let runner = if has_machine(&exchange) {
            LazyRunner::runner(&shared.catalog, snapshot)
        } else {
            LazyRunner::Snapshot(snapshot)
        };
        Self { shared, exchange, runner, now, next_sleep: None, ended: false }
    }

    /// Returns the next part of the response. `None` means to wait for the waker or for
    /// [`poll_timeout`](Self::poll_timeout). After the end it returns [`Part::End`].
    pub fn turn(&mut self, now: Instant, waker: &Waker) -> Option<Part> {
        self.now = now;
        if let LazyRunner::Runner(runner, _) = &self.runner {
            runner.mailbox.begin_turn(now, waker);
        }
        if self.exchange.poll_timeout().is_some_and(|at| at <= now) {
            self.exchange.handle_timeout(now);
        }
        let part = self.part(now, waker);
        if let LazyRunner::Runner(runner, _) = &self.runner {
            self.next_sleep = runner.mailbox.end_turn();
        }
        part
    }

    /// Time by which [`turn`](Self::turn) must be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.exchange.poll_timeout().into_iter().chain(self.next_sleep).min()
    }

    /// Stops the response; see [`Exchange::shutdown`].
    pub fn shutdown(&mut self, now: Instant) {
        self.exchange.shutdown(now);
    }

    fn part(&mut self, now: Instant, waker: &Waker) -> Option<Part> {
        if self.ended {
            return Some(Part::End);
        }
        // A visit that makes no room is not repeated.
        let mut may_need_room = true;
        for _ in 0..TURN_ROUNDS {
            if let Some(part) = self.take_part(now) {
                return Some(part);
            }
            let needs_room = may_need_room && self.shared.needs_room();
            if self.exchange.needs_endpoint() || needs_room {
                may_need_room = false;
                self.visit(now);
                continue;
            }
            let LazyRunner::Runner(runner, _) = &self.runner else {
                self.run(now, waker);
                // From this visit on the endpoint wakes the runner.
                self.visit(now);
                continue;
            };
            let work = runner.mailbox.take_work()?;
            if work.visit {
                self.visit(now);
            }
            let Some(queued) = work.queued else { continue };
            let LazyRunner::Runner(runner, _) = &mut self.runner else { continue };
            for command in queued.commands {
                runner.apply_command(now, &mut self.exchange, command, false);
            }
            for slot in queued.ready {
                runner.poll(now, &mut self.exchange, slot, false);
            }
        }
        // If work is left after these rounds, `end_turn` wakes the waker.
        let part = self.take_part(now);
        let is_awaited = matches!(self.runner, LazyRunner::Runner(..));
        if part.is_none() && (self.exchange.needs_endpoint() || !is_awaited) {
            waker.wake_by_ref();
        }
        part
    }

    /// Handles the actions of the exchange up to the next part.
    fn take_part(&mut self, now: Instant) -> Option<Part> {
        while let Some(action) = self.exchange.poll_part() {
            match action {
                ExchangeAction::Head(head) => return Some(Part::Head(head)),
                ExchangeAction::Data(data) => {
                    return Some(Part::Data(self.shared.count_bytes(data)));
                }
                ExchangeAction::End => {
                    self.ended = true;
                    self.handle_remaining_events(now);
                    return Some(Part::End);
                }
                ExchangeAction::Event(event) => self.event(now, event),
                _ => {}
            }
        }
        let (head, body) = self.exchange.take_whole()?;
        self.ended = true;
        // A notification is answered before its handler gets it.
        self.handle_remaining_events(now);
        let body = self.shared.count_bytes(body.unwrap_or_default());
        Some(Part::Whole(head, body))
    }

    fn visit(&mut self, now: Instant) {
        let Self { shared, exchange, runner, .. } = self;
        let (snapshot, waker) = match runner {
            LazyRunner::Snapshot(snapshot) => (&*snapshot, &EndpointWaker::NOBODY),
            LazyRunner::Runner(runner, waker) => (&runner.snapshot, &*waker),
        };
        let visitor = EndpointVisitor { waker, snapshot };
        let visits = &mut |endpoint: &mut _, answer: Option<_>| match answer {
            None => exchange.visit(now, endpoint, waker),
            Some((reply, outcome)) => exchange.visit_with(now, endpoint, waker, reply, outcome),
        };
        shared.visit(now, EndpointVisit { visitor, visits });
    }

    fn event(&mut self, now: Instant, event: ServerEvent) {
        // Without a machine of its own, an exchange has no events.
        let LazyRunner::Runner(runner, _) = &mut self.runner else { return };
        match event {
            ServerEvent::Request(request) => runner.start(now, &mut self.exchange, request, false),
            event => runner.handle_event(event),
        }
    }

    /// Makes the runner, unless there is one, and begins its first turn.
    fn run(&mut self, now: Instant, waker: &Waker) {
        let LazyRunner::Snapshot(snapshot) = &self.runner else { return };
        self.runner = LazyRunner::runner(&self.shared.catalog, snapshot.clone());
        if let LazyRunner::Runner(runner, _) = &self.runner {
            runner.mailbox.begin_turn(now, waker);
        }
    }

    fn handle_remaining_events(&mut self, now: Instant) {
        while let Some(action) = self.exchange.poll_part() {
            if let ExchangeAction::Event(event) = action {
                self.event(now, event);
            }
        }
    }
}

impl Drop for Answering {
    /// Ends the exchange, unless the client has its response: the client is gone.
    fn drop(&mut self) {
        if self.exchange.is_over() {
            return;
        }
        let now = self.now;
        self.exchange.handle_disconnect(now);
        if self.exchange.needs_endpoint() {
            self.visit(now);
        }
        self.handle_remaining_events(now);
    }
}

/// The endpoint has the sessions: an exchange has none of its own.
impl SessionScope for Exchange {}

impl Scope for Exchange {
    fn respond(&mut self, now: Instant, reply: Reply, outcome: Outcome) {
        Self::respond(self, now, reply, outcome);
    }

    fn notify(
        &mut self,
        now: Instant,
        about: ReplyId,
        notification: Notification,
    ) -> Result<(), UsageError> {
        Self::notify(self, now, about, notification)
    }

    /// Does nothing: an exchange keeps its first declaration.
    fn declare(&mut self, _now: Instant, _declaration: Arc<Declaration>) {}

    fn request_id(&self, about: ReplyId) -> Option<RequestId> {
        Self::request_id(self, about).cloned()
    }
}

impl fmt::Debug for Answering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answering").field("exchange", &self.exchange).finish_non_exhaustive()
    }
}
