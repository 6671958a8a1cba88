//! The connector: it has the server choose a protocol, and keeps the connection that has HTTP/2.
//!
//! In: the URL of the server. Out: a socket for HTTP/1.1: a connection to the server, or one end of
//! a pipe to the shared connection.

use std::io;
use std::sync::Arc;

#[cfg(feature = "auth")]
use mcp_proto::auth::FetchReach;
use mcp_proto::http::{Scheme, Url};
use mcp_service::runtime::Dialer;
use mcp_service::{Connecting, Connector, HttpClientConfig};
use tokio::sync::Mutex;

use super::shared::{Room, SharedConnection};
use crate::runtime::Tokio;

/// Protocols by their names in ALPN, the preferred one first.
///
/// [RFC 9113, section 3.2](https://www.rfc-editor.org/rfc/rfc9113#section-3.2)
const PROTOCOLS: &[&[u8]] = &[b"h2", b"http/1.1"];

pub(super) struct Http2Connector {
    dialer: Dialer<Tokio>,
    /// Locked while a connection is made, so that many requests share it.
    server: Arc<Mutex<ServerProtocol>>,
}

/// The protocol of the server, as far as it is known.
enum ServerProtocol {
    Unknown,
    Http1,
    /// The connections that take requests. Usually it is one; another one is made when all streams
    /// of the others are in use, so that an answer never waits for a call.
    Http2(Vec<Arc<SharedConnection>>),
}

impl Http2Connector {
    pub(super) fn new(tokio: &Tokio, config: &HttpClientConfig) -> io::Result<Self> {
        let server = Arc::new(Mutex::new(ServerProtocol::Unknown));
        Ok(Self { dialer: Dialer::new(tokio, config)?, server })
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

impl Connector for Http2Connector {
    fn connect(&mut self, url: &Url) -> Connecting {
        let http1 = self.dialer.connect(url);
        if url.scheme() == Scheme::Http {
            return http1;
        }
        let offering = self.dialer.connect_offering(url, PROTOCOLS);
        let known = self.server.clone();
        Box::pin(async move {
            let mut server = known.lock().await;
            match &mut *server {
                ServerProtocol::Http1 => {
                    drop(server);
                    return http1.await;
                }
                ServerProtocol::Http2(connections) => {
                    if let Some(shared) = with_room(connections).await {
                        return Ok(shared.pipe());
                    }
                }
                ServerProtocol::Unknown => {}
            }
            let dialed = offering.await?;
            if dialed.protocol.as_deref() != Some(b"h2") {
                *server = ServerProtocol::Http1;
                return Ok(dialed.socket);
            }
            let shared = SharedConnection::start(dialed.socket).await?;
            if let ServerProtocol::Http2(connections) = &mut *server {
                connections.push(shared.clone());
            } else {
                *server = ServerProtocol::Http2(vec![shared.clone()]);
            }
            Ok(shared.pipe())
        })
    }

    /// A document for a sign-in is one request: HTTP/1.1 is enough for it.
    #[cfg(feature = "auth")]
    fn connect_within(&mut self, url: &Url, reach: FetchReach) -> Connecting {
        self.dialer.connect_within(url, reach)
    }
}
