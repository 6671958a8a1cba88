//! The server's side of a byte stream.

use alloc::sync::Arc;

use super::{Connection, Side};
use crate::limits::Limits;
use crate::machine::Action;
use crate::message::{Incoming, Malformed, Outgoing};
use crate::server::{Config, Declaration, Server, ServerEvent};
use crate::time::Instant;

impl Connection<Server> {
    /// A server for the peer at the other end of a stream that is yet to be read.
    pub fn server(declaration: Arc<Declaration>, config: Config) -> Self {
        Self::new(Server::new(declaration, config))
    }

    /// The server is to stop: nothing more is read, the beginning of a line is dropped, and
    /// requests in flight get `Limits::drain` to be answered.
    pub fn shutdown(&mut self, now: Instant) {
        self.side.handle_eof(now);
    }
}

impl Side for Server {
    type Event = ServerEvent;

    fn limits(&self) -> &Limits {
        self.limits()
    }

    fn handle_message(&mut self, now: Instant, incoming: Incoming) {
        self.handle_message(now, incoming);
    }

    fn handle_malformed(&mut self, now: Instant, malformed: Malformed) {
        self.handle_malformed(now, malformed);
    }

    fn handle_eof(&mut self, now: Instant) {
        self.handle_eof(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.handle_timeout(now);
    }

    fn poll_send(&mut self) -> Option<Outgoing> {
        self.poll_send()
    }

    fn poll_event(&mut self) -> Option<Action<ServerEvent>> {
        self.poll_event()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.poll_timeout()
    }

    fn wants_read(&self) -> bool {
        self.wants_read()
    }
}
