//! Accepting of connections, as far as all adapters share it. Adapters own sockets, timers and
//! tasks.
//!
//! In: an accepted socket, or an error of `accept`. Out: a service for the socket, or the time to
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

/// The pause when the system has no resources for another connection.
const NO_ROOM: Duration = Duration::from_millis(50);

/// The longest time that connections may take to close beyond `Limits::drain`.
const GRACE: Duration = Duration::from_millis(500);

impl HttpServer {
    /// A service for a socket that was accepted at `now`. Limits per address do not apply to the
    /// connection.
    pub fn connect(&self, now: Instant) -> Service<HttpLink> {
        self.open(now, None)
    }

    /// A service for a socket that was accepted at `now` from `peer`.
    pub fn connect_from(&self, now: Instant, peer: IpAddr) -> Service<HttpLink> {
        self.open(now, Some(peer))
    }

    fn open(&self, now: Instant, peer: Option<IpAddr>) -> Service<HttpLink> {
        let shared = self.shared.clone();
        let config = &self.shared.config;
        Service::with(&self.shared.catalog, &config.server, |declaration, mailbox| {
            let mut connection = Connection::new(now, declaration, config.clone());
            if let Some(peer) = peer {
                connection.set_peer(peer);
            }
            let number = shared.connections.fetch_add(1, Ordering::Relaxed).saturating_add(1);
            let holder = Holder::new(config, None, peer);
            let meter = shared.open.open(now, number, holder, mailbox.clone());
            HttpLink::new(shared, number, connection, meter)
        })
    }

    /// Returns whether a connection from `peer` may be served: fewer than `Limits::max_connections`
    /// are open. If not, a connection of the address with the most connections is closed to make
    /// room, unless all of them owe a response. Call again when a connection has closed, or after
    /// 50 ms.
    pub fn has_room(&self, now: Instant, peer: IpAddr) -> bool {
        // With zero the caller would ask again for ever, and serve nobody.
        let max = self.config().server.limits.max_connections.max(1);
        let has_room = self.shared.open.count() < max;
        if !has_room {
            self.shared.open.make_room(self.config(), Some(peer));
            if let Some(event) = self.shared.open.full(now) {
                self.shared.handle_event(event);
            }
        }
        has_room
    }

    /// Handles an error of `accept`. Returns the time to wait before the next `accept`, or `None`
    /// if the error concerns only this connection. A connection is closed to make room, as by
    /// [`HttpServer::has_room`]. The wait may end as soon as a connection has closed.
    pub fn handle_accept_error(&self, now: Instant, error: &io::Error) -> Option<Duration> {
        let pause = Self::pause_after(error)?;
        self.shared.open.make_room(self.config(), None);
        if let Some(count) = self.shared.open.accept_failed(now) {
            self.shared.handle_event(ServerEvent::AcceptFailed { error: error.to_string(), count });
        }
        Some(pause)
    }

    /// The time to wait before the next `accept` after this error. It is 50 ms if the system has no
    /// resources, such as file descriptors, and `None` if the error concerns one connection only.
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

    /// The longest time that connections may take to close when the server stops: `Limits::drain`,
    /// and 500 ms to write the last responses. Drop the remaining connections after that.
    pub fn shutdown_timeout(&self) -> Duration {
        self.config().server.limits.drain.saturating_add(GRACE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Handler, Registry};
    use mcp_proto::http::Config;
    use mcp_proto::types::Implementation;

    #[test]
    fn a_server_with_room_for_no_connection_serves_one() {
        let mut config = Config::default();
        config.server.limits.max_connections = 0;
        let registry = Registry::<Handler>::new(Implementation::new("small", "1"));
        let server = HttpServer::new(registry, config, || [0; 16], |_| ());
        let (now, peer) = (Instant::ZERO, IpAddr::from([127, 0, 0, 1]));
        assert!(server.has_room(now, peer));
        let service = server.connect_from(now, peer);
        assert!(!server.has_room(now, peer));
        drop(service);
        assert!(server.has_room(now, peer));
    }

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
