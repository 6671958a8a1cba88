//! Machines that a service drives: on a byte stream, alone or with others of a server.

use alloc::sync::Arc;
use core::sync::atomic::AtomicU64;

use super::EndpointWaker;
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
    /// True if it has anything to do with others.
    const USES_ENDPOINT: bool;

    /// The server is to stop.
    fn shutdown(&mut self, now: Instant);

    /// Time for which a peer may leave the output unread above its limit; `None` is for ever.
    fn max_unread(&self) -> Option<Duration>;

    /// Nobody reads any more. Returns whether there is still something to do about it.
    fn handle_disconnect(&mut self, now: Instant) -> bool;

    /// The turn has ended; `writes` if some of the output is not written yet. Called as well once
    /// all of it is written.
    fn handle_pause(&mut self, _now: Instant, _writes: bool) {}

    /// Number of the connection among those of a server, and the time at which a line of any of
    /// them was last shown.
    fn number(&self) -> Option<(u64, Arc<AtomicU64>)>;

    /// Does what is to be done with others; `woken` if they asked for it. Returns whether there
    /// may be actions.
    fn sync_endpoint(&mut self, now: Instant, woken: bool, waker: &EndpointWaker) -> bool;
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
        // It was declared when it was published; if it is not any more, nobody is told.
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

    /// A pipe has one peer, which may take its time.
    fn max_unread(&self) -> Option<Duration> {
        None
    }

    /// There is nobody to serve.
    fn handle_disconnect(&mut self, _now: Instant) -> bool {
        false
    }

    /// It is the only one.
    fn number(&self) -> Option<(u64, Arc<AtomicU64>)> {
        None
    }

    /// A stream has nobody to share anything with.
    fn sync_endpoint(&mut self, _now: Instant, _woken: bool, _port: &EndpointWaker) -> bool {
        false
    }
}
