//! A server, and the connections to it, which many requests share.
//!
//! In: the URL of the server. Out: a connection with room for a request.

use std::io;
use std::sync::{Arc, Mutex as SyncMutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_proto::http::Url;
use mcp_service::runtime::Dialer;
use mcp_service::{Connector, HttpClientConfig, Socket};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::shared::{Room, SharedConnection};
use crate::runtime::Tokio;

/// Protocols by their names in ALPN, the preferred one first.
///
/// [RFC 9113, section 3.2](https://www.rfc-editor.org/rfc/rfc9113#section-3.2)
const PROTOCOLS: &[&[u8]] = &[b"h2", b"http/1.1"];

/// A server, and the connections to it. Requests keep it, to connect again after a refusal.
pub(super) struct Http2Server {
    dialer: SyncMutex<Dialer<Tokio>>,
    /// Locked while a connection is made, so that many requests share it.
    protocol: Mutex<ServerProtocol>,
    connect_timeout: Duration,
}

/// A connection for a request.
pub(super) enum Reached {
    Http1(Box<dyn Socket>),
    Http2(Arc<SharedConnection>),
}

/// The protocol of the server, as far as it is known.
enum ServerProtocol {
    Unknown,
    Http1,
    /// The connections that take requests. Usually it is one; another one is made when all streams
    /// of the others are in use, so that an answer never waits for a call.
    Http2(Vec<Arc<SharedConnection>>),
}

impl Http2Server {
    pub(super) fn new(tokio: &Tokio, config: &HttpClientConfig) -> io::Result<Self> {
        let dialer = SyncMutex::new(Dialer::new(tokio, config)?);
        let protocol = Mutex::new(ServerProtocol::Unknown);
        Ok(Self { dialer, protocol, connect_timeout: config.connect_timeout })
    }

    /// Like [`Http2Server::reach`], within the time for a connection: a client has no deadline for
    /// a request that is sent again, and others wait for the connection.
    pub(super) async fn reach_again(&self, url: &Url) -> io::Result<Reached> {
        timeout(self.connect_timeout, self.reach(url)).await?
    }

    /// A connection with room for a request.
    pub(super) async fn reach(&self, url: &Url) -> io::Result<Reached> {
        let mut protocol = self.protocol.lock().await;
        match &mut *protocol {
            ServerProtocol::Http1 => {
                drop(protocol);
                let connecting = self.dialer().connect(url);
                return connecting.await.map(Reached::Http1);
            }
            ServerProtocol::Http2(connections) => {
                if let Some(shared) = with_room(connections).await {
                    return Ok(Reached::Http2(shared));
                }
            }
            ServerProtocol::Unknown => {}
        }
        let offering = self.dialer().connect_offering(url, PROTOCOLS);
        let dialed = offering.await?;
        if dialed.protocol.as_deref() != Some(b"h2") {
            *protocol = ServerProtocol::Http1;
            return Ok(Reached::Http1(dialed.socket));
        }
        let shared = SharedConnection::start(dialed.socket).await?;
        if let ServerProtocol::Http2(connections) = &mut *protocol {
            connections.push(shared.clone());
        } else {
            *protocol = ServerProtocol::Http2(vec![shared.clone()]);
        }
        Ok(Reached::Http2(shared))
    }

    pub(super) fn dialer(&self) -> MutexGuard<'_, Dialer<Tokio>> {
        self.dialer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first connection with room for a request. Connections that take no more requests
/// are dropped here; their streams keep them open.
async fn with_room(connections: &mut Vec<Arc<SharedConnection>>) -> Option<Arc<SharedConnection>> {
    let mut at = 0;
    while let Some(shared) = connections.get(at) {
        match shared.room().await {
            Room::Free => return Some(shared.clone()),
            Room::Full => at += 1,
            Room::Closed => drop(connections.remove(at)),
        }
    }
    None
}
