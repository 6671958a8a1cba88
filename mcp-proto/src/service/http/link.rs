//! A socket of an [`HttpServer`](super::HttpServer): its machine, and visits to the endpoint.

use alloc::sync::Arc;
use core::sync::atomic::AtomicU64;

use bytes::Bytes;

use super::super::Link;
use super::super::runner::Scope;
use super::{Hub, Visit, Visitor};
use crate::error::UsageError;
use crate::http::Connection;
use crate::machine::{Action, Machine};
use crate::server::{Change, Declaration, Notification, Outcome, Reply, ReplyId, ServerEvent};
use crate::time::{Duration, Instant};

/// A socket of an [`HttpServer`](super::HttpServer).
#[derive(Debug)]
pub struct HttpLink {
    hub: Arc<Hub>,
    number: u64,
    connection: Connection,
}

impl HttpLink {
    pub(super) fn new(hub: Arc<Hub>, number: u64, connection: Connection) -> Self {
        Self { hub, number, connection }
    }
}

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

    /// The endpoint tells of changes.
    fn publish(&mut self, _now: Instant, _change: &Change) {}
}

impl Link for HttpLink {
    const MEETS: bool = true;

    fn shutdown(&mut self, now: Instant) {
        self.connection.shutdown(now);
    }

    fn patience(&self) -> Option<Duration> {
        Some(self.hub.config.server.limits.connection_idle_timeout)
    }

    fn handle_disconnect(&mut self, now: Instant) -> bool {
        self.connection.handle_disconnect(now);
        true
    }

    fn number(&self) -> Option<(u64, Arc<AtomicU64>)> {
        Some((self.number, self.hub.told.clone()))
    }

    fn meet(&mut self, now: Instant, woken: bool, visitor: &Visitor) -> bool {
        let meets = woken || self.connection.needs_endpoint();
        if meets {
            let visits = &mut |endpoint: &mut _| self.connection.visit(now, endpoint, visitor);
            self.hub.visit(now, Visit { visitor, visits });
        }
        meets
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
