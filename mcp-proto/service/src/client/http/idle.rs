//! Connections that are kept for the next requests, and what is known of a server that keeps them.
//!
//! In: connections whose answer has ended, and time. Out: a connection for a request.
//!
//! | the server | keeps | gives a connection to |
//! |---|---|---|
//! | unproven: no kept connection has been answered on, or one was closed since | the oldest, to see how long it stays open | requests that may be sent twice |
//! | proven: it has answered on one, or has left one open for a second | all within the bound | all requests |
//!
//! A connection is kept for 4 s, as many servers close one after 5 s. The connection that was used
//! last is used first, so that the others run out. One that has ended, or on which anything has come,
//! is dropped when it is looked at.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use super::connection::Connection;
use mcp_proto::{Duration, Instant};

/// Time for which an idle connection is kept.
const KEPT: Duration = Duration::from_secs(4);

/// Age at which an idle connection shows that the server keeps connections.
const SETTLED: Duration = Duration::from_secs(1);

/// Connections without a request.
#[derive(Default)]
pub(super) struct IdleConnections {
    /// With the times of their last answers, in this order.
    connections: VecDeque<(Instant, Box<Connection>)>,
    /// True if the server is known to keep connections.
    is_proven: bool,
}

impl IdleConnections {
    /// Takes a connection for a request; `None` if the request needs a connection of its own.
    pub(super) fn take(&mut self, now: Instant, is_idempotent: bool) -> Option<Box<Connection>> {
        self.look(now);
        while is_idempotent || self.is_proven {
            let (_, mut connection) = self.connections.pop_back()?;
            if connection.is_silent() {
                return Some(connection);
            }
            self.is_proven = false;
        }
        None
    }

    /// Keeps a connection whose answer has ended.
    pub(super) fn keep(&mut self, now: Instant, connection: Box<Connection>) {
        if !self.is_proven {
            self.look(now);
        }
        if self.is_proven || self.connections.is_empty() {
            self.connections.push_back((now, connection));
        }
    }

    /// Records that the server has answered on a connection that was kept.
    pub(super) fn prove(&mut self) {
        self.is_proven = true;
    }

    /// Records that the server has closed a connection that was kept.
    pub(super) fn disprove(&mut self) {
        self.is_proven = false;
    }

    /// Drops the oldest connections that are too many.
    pub(super) fn trim(&mut self, max: usize) {
        let excess = self.connections.len().saturating_sub(max);
        self.connections.drain(..excess);
    }

    /// The time at which the oldest connection is to be dropped.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.connections.front().map(|(since, _)| *since + KEPT)
    }

    /// Drops the connections that were kept for too long.
    pub(super) fn expire(&mut self, now: Instant) {
        let expired = self.connections.iter().take_while(|(since, _)| *since + KEPT <= now).count();
        self.connections.drain(..expired);
    }

    /// Drops all connections.
    pub(super) fn clear(&mut self) {
        self.connections.clear();
    }

    /// Learns from the oldest connection, and drops those that have ended or were kept for too long.
    fn look(&mut self, now: Instant) {
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
