//! The connector: it has the server choose a protocol, and keeps the connection that has HTTP/2.
//!
//! In: the URL of the server. Out: a socket for HTTP/1.1: a connection to the server, or one end of
//! a pipe to the shared connection.

use std::io;
use std::sync::Arc;

#[cfg(feature = "auth")]
use mcp_proto::auth::FetchReach;
use mcp_proto::http::{Scheme, Url};
use mcp_service::{Connecting, Connector, HttpClientConfig};

use super::pipe::pipe;
use super::server::{Http2Server, Reached};
use crate::runtime::Tokio;

pub(super) struct Http2Connector {
    server: Arc<Http2Server>,
}

impl Http2Connector {
    pub(super) fn new(tokio: &Tokio, config: &HttpClientConfig) -> io::Result<Self> {
        Ok(Self { server: Arc::new(Http2Server::new(tokio, config)?) })
    }
}

impl Connector for Http2Connector {
    fn connect(&mut self, url: &Url) -> Connecting {
        if url.scheme() == Scheme::Http {
            return self.server.dialer().connect(url);
        }
        let (server, url) = (self.server.clone(), url.clone());
        Box::pin(async move {
            match server.reach(&url).await? {
                Reached::Http1(socket) => Ok(socket),
                Reached::Http2(shared) => Ok(pipe(shared, server, url)),
            }
        })
    }

    /// A document for a sign-in is one request: HTTP/1.1 is enough for it.
    #[cfg(feature = "auth")]
    fn connect_within(&mut self, url: &Url, reach: FetchReach) -> Connecting {
        self.server.dialer().connect_within(url, reach)
    }
}
