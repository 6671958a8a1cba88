//! The part of accepting connections that all adapters share. Sockets, timers and tasks are theirs.
//!
//! In: a socket that was accepted, a failure to accept. Out: a service for the socket, the time to
//! wait. Called by adapters.

use alloc::string::ToString;
use core::net::IpAddr;
use core::sync::atomic::Ordering;
use std::io;

use super::super::Service;
use super::{HttpLink, HttpServer};
use mcp_proto::http::Connection;
use mcp_proto::internals::Holder;
use mcp_proto::server::ServerEvent;
use mcp_proto::{Duration, Instant};

/// Pause when the system has no room for another connection.
const NO_ROOM: Duration = Duration::from_millis(50);

/// The longest time that connections may take to close beyond `Limits::drain`.
const GRACE: Duration = Duration::from_millis(500);

impl HttpServer {
    /// A service for a socket that was accepted at `now`. Limits per address do not apply to it.
    pub fn connect(&self, now: Instant) -> Service<HttpLink> {
        self.open(now, None)
    }

    /// A service for a socket that was accepted at `now` from `peer`.
    pub fn connect_from(&self, now: Instant, peer: IpAddr) -> Service<HttpLink> {
        self.open(now, Some(peer))
    }

    fn open(&self, now: Instant, peer: Option<IpAddr>) -> Service<HttpLink> {
        let hub = self.hub.clone();
        let config = &self.hub.config;
        Service::with(&self.hub.catalog, &config.server, |declaration, mailbox| {
            let mut connection = Connection::new(now, declaration, config.clone());
            if let Some(peer) = peer {
                connection.set_peer(peer);
            }
            let number = hub.connections.fetch_add(1, Ordering::Relaxed).saturating_add(1);
            let holder = Holder::new(config, None, peer);
            let meter = hub.open.open(now, number, holder, mailbox.clone());
            HttpLink::new(hub, number, connection, meter)
        })
    }

    /// Returns whether a connection from `peer` may be served: fewer than `Limits::max_connections`
    /// are open. If not, it makes room: an idle connection of the address with the most connections
    /// is told to end. Ask again when one has closed, or after 50 ms.
    pub fn has_room(&self, now: Instant, peer: IpAddr) -> bool {
        let has_room = self.hub.open.count() < self.config().server.limits.max_connections;
        if !has_room {
            self.hub.open.make_room(self.config(), Some(peer));
            self.hub.open.full(now).into_iter().for_each(|event| self.hub.handle_event(event));
        }
        has_room
    }

    /// A connection could not be accepted. Returns how long to wait before the next accept, unless
    /// the failure concerns only this connection. An idle connection is told to end then, to make
    /// room. When one has closed, there is no need to wait for longer.
    pub fn handle_accept_error(&self, now: Instant, error: &io::Error) -> Option<Duration> {
        let pause = Self::pause_after(error)?;
        self.hub.open.make_room(self.config(), None);
        if let Some(count) = self.hub.open.alarm(now, "accept") {
            self.hub.handle_event(ServerEvent::AcceptFailed { error: error.to_string(), count });
        }
        Some(pause)
    }

    /// Pause before the next connection is accepted, after an accept has failed. It is 50 ms if the
    /// system has no room, as with too many open files; `None` if the failure concerns one
    /// connection only.
    pub fn pause_after(error: &io::Error) -> Option<Duration> {
        let is_of_one = matches!(
            error.kind(),
            io::ErrorKind::ConnectionAborted
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionRefused
                | io::ErrorKind::Interrupted
        );
        (!is_of_one).then_some(NO_ROOM)
    }

    /// The longest time that connections may take to close once the server is to stop:
    /// `Limits::drain`, and 500 ms to write the last answers. What is left is to be cut off.
    pub fn patience(&self) -> Duration {
        self.config().server.limits.drain + GRACE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_is_gone_keeps_nobody_waiting() {
        for (kind, pause) in [
            (io::ErrorKind::ConnectionAborted, None),
            (io::ErrorKind::ConnectionReset, None),
            (io::ErrorKind::Interrupted, None),
            (io::ErrorKind::PermissionDenied, Some(NO_ROOM)),
            (io::ErrorKind::OutOfMemory, Some(NO_ROOM)),
            (io::ErrorKind::Other, Some(NO_ROOM)),
        ] {
            assert_eq!(HttpServer::pause_after(&kind.into()), pause, "{kind}");
        }
        // EMFILE, of which Rust knows no kind.
        assert_eq!(HttpServer::pause_after(&io::Error::from_raw_os_error(24)), Some(NO_ROOM));
    }
}
