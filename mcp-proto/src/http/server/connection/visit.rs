//! Visits of a connection to the endpoint, which are those of its exchange.

use super::super::{Endpoint, Exchange};
use super::Connection;
use crate::server::{Outcome, Reply};
use crate::time::Instant;

impl Connection {
    /// Returns whether this connection needs a visit by itself; for others the endpoint wakes it.
    pub fn needs_endpoint(&self) -> bool {
        let has_exchange = self.state.exchange();
        has_exchange.is_some_and(Exchange::needs_endpoint) || self.reader.needs_room()
    }

    /// Visits the endpoint; see [`Exchange::visit`](super::super::Exchange::visit).
    pub fn visit<W: Clone>(&mut self, now: Instant, endpoint: &mut Endpoint<W>, me: &W) {
        self.now = now;
        match self.state.exchange_mut() {
            Some(exchange) => exchange.visit(now, endpoint, me),
            None => endpoint.make_room(now),
        }
        self.reader.handle_visited();
    }

    /// Visits the endpoint with the outcome of a request; see
    /// [`Exchange::visit_with`](super::super::Exchange::visit_with).
    pub fn visit_with<W: Clone>(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint<W>,
        me: &W,
        reply: Reply,
        outcome: Outcome,
    ) {
        self.now = now;
        match self.state.exchange_mut() {
            Some(exchange) => exchange.visit_with(now, endpoint, me, reply, outcome),
            None => endpoint.respond(now, reply, outcome),
        }
    }
}
