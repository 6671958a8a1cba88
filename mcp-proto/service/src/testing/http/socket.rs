//! The two ends of a connection: the client's socket, and the server's stream.

use alloc::boxed::Box;
#[cfg(feature = "auth")]
use core::future::ready;
use core::task::{Context, Poll};
use std::io;

use bytes::Bytes;

#[cfg(feature = "auth")]
use super::super::auth_server::AuthServer;
use super::super::clock::{Clock, Timer};
#[cfg(feature = "auth")]
use super::auth_socket::AuthSocket;
use super::net::{End, Net, ReadResult};
use crate::{Clock as _, Connecting};
use mcp_proto::Instant;
#[cfg(feature = "auth")]
use mcp_proto::auth::FetchReach;
use mcp_proto::http::Url;

/// One end of a connection. Dropping it closes the end.
pub(super) struct Socket {
    net: Net,
    number: u64,
    end: End,
    /// Timer of the next arrival.
    timer: Timer,
}

impl Socket {
    pub(super) fn new(net: &Net, number: u64, end: End, clock: &Clock) -> Self {
        Self { net: net.clone(), number, end, timer: Timer::new(clock) }
    }

    fn read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        loop {
            let now = self.timer.now();
            match self.net.read(now, self.number, self.end, context) {
                ReadResult::Read(read) => return Poll::Ready(read),
                ReadResult::Nothing => return Poll::Pending,
                ReadResult::Later(at) => {
                    if self.timer.poll_timer(context, at).is_pending() {
                        return Poll::Pending;
                    }
                }
            }
        }
    }

    fn write(&self, context: &Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.net.write(self.timer.now(), self.number, self.end, data, context)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.net.close(self.timer.now(), self.number, self.end);
    }
}

impl crate::Reader for Socket {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        self.read(context)
    }
}

impl crate::Writer for Socket {
    fn poll_write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.write(context, data)
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl crate::Socket for Socket {}

/// Opens the connections of a client.
pub(super) struct Connector {
    #[cfg(feature = "auth")]
    pub(super) auth_server: Option<AuthServer>,
    pub(super) net: Net,
    pub(super) clock: Clock,
}

impl crate::Connector for Connector {
    fn connect(&mut self, _: &Url) -> Connecting {
        let net = self.net.clone();
        let clock = self.clock.clone();
        let delay = net.delay();
        Box::pin(async move {
            clock.sleep(delay).await;
            let number = net.connect(clock.now())?;
            let socket = Socket::new(&net, number, End::Client, &clock);
            Ok(Box::new(socket) as Box<dyn crate::Socket>)
        })
    }

    #[cfg(feature = "auth")]
    fn connect_within(&mut self, url: &Url, _: FetchReach) -> Connecting {
        let connected = match &self.auth_server {
            Some(server) => {
                let socket = AuthSocket::new(server.clone(), url.clone());
                Ok(Box::new(socket) as Box<dyn crate::Socket>)
            }
            None => Err(io::Error::other("there is no authorization server")),
        };
        Box::pin(ready(connected))
    }
}

/// The stream of a server's connection.
pub(super) struct Stream {
    socket: Socket,
    timer: Timer,
}

impl Stream {
    pub(super) fn new(net: &Net, number: u64, clock: &Clock) -> Self {
        let socket = Socket::new(net, number, End::Server, clock);
        Self { socket, timer: Timer::new(clock) }
    }
}

impl crate::Reader for Stream {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        self.socket.read(context)
    }
}

impl crate::Writer for Stream {
    fn poll_write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.socket.write(context, data)
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl crate::Clock for Stream {
    fn now(&self) -> Instant {
        self.timer.now()
    }

    fn poll_timer(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        self.timer.poll_timer(context, at)
    }
}

impl crate::Io for Stream {
    /// Never: a server that is restarted is dropped.
    fn poll_stop(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}
