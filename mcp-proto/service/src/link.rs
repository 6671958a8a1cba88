//! Trait of the machines that a service drives, on a byte stream or a connection of an HTTP server.

use alloc::sync::Arc;
use core::sync::atomic::AtomicU64;

use super::EndpointWaker;
use super::catalog::CatalogSnapshot;
use super::runner::Scope;
use mcp_proto::server::{
    Change, Declaration, Notification, Outcome, Reply, ReplyId, Server, ServerEvent,
};
use mcp_proto::stdio::Connection;
use mcp_proto::{Binding, Machine};
use mcp_proto::{Duration, Instant};
use mcp_proto::{RequestId, UsageError};

/// A machine on a byte stream that a [`Service`](super::Service) drives.
pub trait Link: Scope + Machine<Event = ServerEvent> {
    /// True if the machine shares an endpoint with other connections.
    const USES_ENDPOINT: bool;

    /// Stops the machine.
    fn shutdown(&mut self, now: Instant);

    /// The longest time that a peer may leave too much output unread; `None` is unlimited.
    fn max_unread(&self) -> Option<Duration>;

    /// Handles a peer that has stopped reading. Returns whether the machine still has work.
    fn handle_disconnect(&mut self, now: Instant) -> bool;

    /// Called at the end of a turn, and when all output is written. `writes`: some is unwritten.
    fn handle_pause(&mut self, _now: Instant, _writes: bool) {}

    /// For `MCP_WIRE`: the number of the connection, and the time of the last line of any
    /// connection; `None` without an endpoint.
    fn number(&self) -> Option<(u64, Arc<AtomicU64>)>;

    /// Visits the endpoint if needed, always if `woken`. Returns whether there may be actions.
    fn sync_endpoint(&mut self, now: Instant, woken: bool, visitor: EndpointVisitor<'_>) -> bool;
}

/// The waker and the catalog of somebody who visits the endpoint.
#[derive(Clone, Copy, Debug)]
pub struct EndpointVisitor<'a> {
    pub(super) waker: &'a EndpointWaker,
    /// If this is the current snapshot of the catalog, as it mostly is, calls need no reference of
    /// their own, whose count all threads would change.
    pub(super) snapshot: &'a CatalogSnapshot,
}

impl Scope for Connection<Server> {
    fn respond(&mut self, now: Instant, reply: Reply, outcome: Outcome) {
        self.with(now, |server| server.respond(now, reply, outcome));
    }

    fn notify(
        &mut self,
        now: Instant,
        about: ReplyId,
        notification: Notification,
    ) -> Result<(), UsageError> {
        self.with(now, |server| server.notify(now, about, notification))
    }

    fn declare(&mut self, now: Instant, declaration: Arc<Declaration>) {
        self.with(now, |server| server.declare(now, declaration));
    }

    fn publish(&mut self, now: Instant, change: &Change) {
        // The change was checked when it was published. If it is undeclared by now, it is dropped.
        let _ = self.with(now, |server| server.publish(now, change));
    }

    fn publish_all(&mut self, now: Instant) {
        self.with(now, Server::publish_all);
    }

    fn request_id(&self, about: ReplyId) -> Option<RequestId> {
        self.machine().request_id(about).cloned()
    }
}

impl Link for Connection<Server> {
    const USES_ENDPOINT: bool = false;

    fn shutdown(&mut self, now: Instant) {
        Self::shutdown(self, now);
    }

    /// Unlimited: a pipe has only one peer.
    fn max_unread(&self) -> Option<Duration> {
        None
    }

    /// Ends the session. A stream has no other peer to serve.
    fn handle_disconnect(&mut self, now: Instant) -> bool {
        self.with(now, |server| server.handle_disconnect(now));
        false
    }

    fn handle_pause(&mut self, now: Instant, writes: bool) {
        self.handle_writing(now, writes);
    }

    /// The only connection has no number.
    fn number(&self) -> Option<(u64, Arc<AtomicU64>)> {
        None
    }

    /// A stream has no endpoint.
    fn sync_endpoint(
        &mut self,
        _now: Instant,
        _woken: bool,
        _visitor: EndpointVisitor<'_>,
    ) -> bool {
        false
    }
}
