//! A connection of an [`HttpServer`](super::HttpServer): its machine, and its visits to the
//! endpoint.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::sync::atomic::AtomicU64;

use bytes::Bytes;

use super::super::link::{EndpointVisitor, Link};
use super::super::runner::Scope;
use super::super::session::SessionScope;
use super::connections::Meter;
use super::verifying::Verifying;
use super::{EndpointVisit, EndpointWaker, ServerShared};
use mcp_proto::http::{Activity, Connection};
use mcp_proto::server::{Declaration, Notification, Outcome, Reply, ReplyId, ServerEvent};
use mcp_proto::{Action, Machine};
use mcp_proto::{Duration, Instant};
use mcp_proto::{RequestId, UsageError};

/// A connection of an [`HttpServer`](super::HttpServer).
pub struct HttpLink {
    shared: Arc<ServerShared>,
    number: u64,
    /// The longest time for which the client may read nothing of a long output.
    max_unread: Duration,
    connection: Connection,
    activity: Activity,
    meter: Arc<Meter>,
    /// The running verification of a request's token.
    verifying: Option<Box<Verifying>>,
}

impl HttpLink {
    pub(super) fn new(
        shared: Arc<ServerShared>,
        number: u64,
        connection: Connection,
        meter: Arc<Meter>,
    ) -> Self {
        let limits = &shared.config.server.limits;
        // An answer takes time to read, also on a connection without idle time.
        let idle = Some(limits.connection_idle_timeout).filter(|idle| !idle.is_zero());
        let max_unread = idle.unwrap_or(limits.drain);
        let activity = Activity::Idle;
        Self { shared, number, max_unread, connection, activity, meter, verifying: None }
    }

    /// Polls the verification of a token, if it is new or was `woken`. Returns whether there is a
    /// result.
    fn verify(&mut self, now: Instant, woken: bool, visitor: &EndpointWaker) -> bool {
        if !self.connection.is_verifying() {
            // The verification has timed out, or the client is gone.
            self.verifying = None;
            return false;
        }
        match self.connection.poll_verification() {
            Some((number, verification)) => {
                let verifying = Verifying::new(number, verification, visitor);
                self.verifying = Some(Box::new(verifying));
            }
            None if woken => {}
            None => return false,
        }
        let Some(verifying) = &mut self.verifying else { return false };
        let number = verifying.number;
        let Some(verified) = verifying.poll() else { return false };
        self.verifying = None;
        self.connection.handle_verified(now, number, verified);
        true
    }

    /// Closes the connection, unless it has a request by now.
    fn make_room(&mut self, now: Instant) {
        let owes = [self.activity, self.connection.activity()].contains(&Activity::Answering);
        if !owes {
            self.connection.handle_disconnect(now);
        }
    }
}

/// The endpoint has the sessions: a connection has none of its own.
impl SessionScope for HttpLink {}

impl Scope for HttpLink {
    fn respond(&mut self, now: Instant, reply: Reply, outcome: Outcome) {
        self.connection.respond(now, reply, outcome);
    }

    fn notify(
        &mut self,
        now: Instant,
        about: ReplyId,
        notification: Notification,
    ) -> Result<(), UsageError> {
        self.connection.notify(now, about, notification)
    }

    fn declare(&mut self, _now: Instant, declaration: Arc<Declaration>) {
        self.connection.declare(declaration);
    }

    fn request_id(&self, about: ReplyId) -> Option<RequestId> {
        self.connection.request_id(about).cloned()
    }
}

impl Link for HttpLink {
    const USES_ENDPOINT: bool = true;

    fn shutdown(&mut self, now: Instant) {
        self.connection.shutdown(now);
    }

    fn max_unread(&self) -> Option<Duration> {
        Some(self.max_unread)
    }

    fn handle_disconnect(&mut self, now: Instant) -> bool {
        self.connection.handle_disconnect(now);
        true
    }

    fn handle_pause(&mut self, now: Instant, writes: bool) {
        let activity = if writes { Activity::Answering } else { self.connection.activity() };
        if activity != self.activity {
            self.activity = activity;
            self.meter.record(now, activity);
        }
    }

    fn number(&self) -> Option<(u64, Arc<AtomicU64>)> {
        Some((self.number, self.shared.last_shown.clone()))
    }

    fn sync_endpoint(&mut self, now: Instant, woken: bool, visitor: EndpointVisitor<'_>) -> bool {
        if woken && self.meter.take_close_request() {
            self.make_room(now);
        }
        let verifies = self.shared.config.verifier.is_some();
        let is_verified = verifies && self.verify(now, woken, visitor.waker);
        let visits_endpoint = woken || self.connection.needs_endpoint();
        if visits_endpoint {
            let visits = &mut |endpoint: &mut _, answer: Option<_>| match answer {
                None => self.connection.visit(now, endpoint, visitor.waker),
                Some((reply, outcome)) => {
                    self.connection.visit_with(now, endpoint, visitor.waker, reply, outcome);
                }
            };
            self.shared.visit(now, EndpointVisit { visitor, visits });
        }
        visits_endpoint || is_verified
    }
}

impl fmt::Debug for HttpLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpLink").field("connection", &self.connection).finish_non_exhaustive()
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        self.shared.open.close(self.number);
    }
}

impl Machine for HttpLink {
    type Event = ServerEvent;

    fn handle_bytes(&mut self, now: Instant, data: Bytes) {
        self.connection.handle_bytes(now, data);
    }

    fn handle_eof(&mut self, now: Instant) {
        self.connection.handle_eof(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.connection.handle_timeout(now);
    }

    fn poll_action(&mut self) -> Option<Action<ServerEvent>> {
        self.connection.poll_action()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.connection.poll_timeout()
    }

    fn wants_read(&self) -> bool {
        self.connection.wants_read()
    }
}
