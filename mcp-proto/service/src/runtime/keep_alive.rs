//! Sockets of clients that notice a dead peer.
//!
//! In: a connected socket. Out: the same socket, whose system asks the peer whether it is there. A
//! client only reads from a stream of notifications. Without these probes it would wait for ever if
//! a gateway forgot the connection, or the server lost power.

use mcp_proto::Duration;
use socket2::{SockRef, TcpKeepalive};

/// The time without traffic before the first probe.
const IDLE: Duration = Duration::from_secs(30);

/// Has the system probe the peer of a client's socket. A read fails about two minutes after the
/// peer has disappeared.
pub fn keep_alive<S>(socket: S) -> S
where
    for<'s> SockRef<'s>: From<&'s S>,
{
    let probes = TcpKeepalive::new().with_time(IDLE);
    // Systems send 8 to 10 probes before they give up. Some have one interval for all sockets.
    #[cfg(any(
        target_os = "linux",
        target_os = "android",
        target_os = "macos",
        target_os = "freebsd",
        windows
    ))]
    let probes = probes.with_interval(Duration::from_secs(10));
    // Without probes the connection works as well.
    let _ = SockRef::from(&socket).set_tcp_keepalive(&probes);
    socket
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn socket_has_probes() -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let socket = keep_alive(TcpStream::connect(listener.local_addr()?)?);
        assert!(SockRef::from(&socket).keepalive()?);
        Ok(())
    }
}
