//! Idle connections, kept for later requests.
//!
//! In: connections whose response has ended, and time. Out: a connection for a request.
//!
//! | the server | keeps | gives a connection to |
//! |---|---|---|
//! | unproven: no reused connection has had a response, or one was closed since | one connection, to see how long it stays open | requests that may be sent twice |
//! | proven: it has responded on a reused connection, or has left one open for 1 s | all within the bound | all requests |
//!
//! A connection is kept for 4 s, because many servers close idle connections after 5 s. The most
//! recently used connection is reused first, so that the others expire. A connection that has
//! ended, or has unexpected input, is dropped when it is checked.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use super::connection::Connection;
use mcp_proto::{Duration, Instant};

/// The time that an idle connection is kept.
const KEPT: Duration = Duration::from_secs(4);

/// The idle time after which an open connection proves that the server keeps connections.
const SETTLED: Duration = Duration::from_secs(1);

/// Connections without a request.
#[derive(Default)]
pub(super) struct IdleConnections {
    /// With the times of their last responses, in this order.
    connections: VecDeque<(Instant, Box<Connection>)>,
    /// True if the server is known to keep connections.
    is_proven: bool,
}

impl IdleConnections {
    /// Takes a connection for a request; `None` if the request needs a new one.
    pub(super) fn take(&mut self, now: Instant, is_idempotent: bool) -> Option<Box<Connection>> {
        self.check_unproven(now);
        while is_idempotent || self.is_proven {
            let (_, mut connection) = self.connections.pop_back()?;
            if connection.is_silent() {
                return Some(connection);
            }
            self.is_proven = false;
        }
        None
    }

    /// Keeps a connection whose response has ended.
    pub(super) fn keep(&mut self, now: Instant, connection: Box<Connection>) {
        self.check_unproven(now);
        if self.is_proven || self.connections.is_empty() {
            self.connections.push_back((now, connection));
        }
    }

    /// Records that the server has responded on a reused connection.
    pub(super) fn prove(&mut self) {
        self.is_proven = true;
    }

    /// Records that the server has closed a kept connection.
    pub(super) fn disprove(&mut self) {
        self.is_proven = false;
    }

    /// Drops the oldest connections beyond `max`.
    pub(super) fn trim(&mut self, max: usize) {
        let excess = self.connections.len().saturating_sub(max);
        self.connections.drain(..excess);
    }

    /// The time at which the oldest connection expires.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.connections.front().map(|(since, _)| *since + KEPT)
    }

    /// Drops expired connections.
    pub(super) fn expire(&mut self, now: Instant) {
        let expired = self.connections.iter().take_while(|(since, _)| *since + KEPT <= now).count();
        self.connections.drain(..expired);
    }

    /// Drops all connections.
    pub(super) fn clear(&mut self) {
        self.connections.clear();
    }

    /// Looks for a proof in the oldest connections of an unproven server, and drops those that have
    /// ended or expired.
    fn check_unproven(&mut self, now: Instant) {
        if self.is_proven {
            return;
        }
        while let Some((since, connection)) = self.connections.front_mut() {
            let is_silent = connection.is_silent();
            if !is_silent {
                self.is_proven = false;
            } else if now >= *since + SETTLED {
                self.is_proven = true;
            }
            if is_silent && now < *since + KEPT {
                return;
            }
            self.connections.pop_front();
        }
    }
}
