//! Kind of the failure of a connection, which the text in a [`ConnectError`] has lost.
//!
//! In: the attempts of a connector. Out: the kind of the last one, for the error of a client that
//! does not connect.

use alloc::boxed::Box;
use alloc::sync::Arc;
use std::error::Error;
use std::io;

use crate::lock::Lock;
use crate::{Connecting, Connector};
#[cfg(feature = "auth")]
use mcp_proto::auth::FetchReach;
use mcp_proto::client::ConnectError;
use mcp_proto::http::Url;

/// The kind of the last failure; `None` while the last attempt has succeeded.
#[derive(Clone, Default)]
pub(super) struct FailureKind(Arc<Lock<Option<io::ErrorKind>>>);

impl FailureKind {
    /// The error of a client that does not connect.
    pub(super) fn error(
        &self,
        reason: &ConnectError,
        failure: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> io::Error {
        let kind = match reason {
            ConnectError::Connection(_) => *self.0.lock(),
            ConnectError::TimedOut => Some(io::ErrorKind::TimedOut),
            _ => None,
        };
        io::Error::new(kind.unwrap_or(io::ErrorKind::Other), failure)
    }
}

/// A connector whose failures are noted.
pub(super) struct NotingConnector<C> {
    pub(super) connector: C,
    pub(super) kind: FailureKind,
}

impl<C: Connector> Connector for NotingConnector<C> {
    fn connect(&mut self, url: &Url) -> Connecting {
        let (connecting, kind) = (self.connector.connect(url), self.kind.clone());
        // An attempt that takes too long is dropped.
        *kind.0.lock() = Some(io::ErrorKind::TimedOut);
        Box::pin(async move {
            let connected = connecting.await;
            *kind.0.lock() = connected.as_ref().err().map(io::Error::kind);
            connected
        })
    }

    #[cfg(feature = "auth")]
    fn connect_within(&mut self, url: &Url, reach: FetchReach) -> Connecting {
        self.connector.connect_within(url, reach)
    }
}
