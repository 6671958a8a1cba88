//! Connector of a client over HTTP: the connections that an adapter supplies.

use alloc::boxed::Box;
use core::future::Future;
#[cfg(feature = "auth")]
use core::future::ready;
use core::pin::Pin;
use std::io;

use crate::Socket;
#[cfg(feature = "auth")]
use mcp_proto::auth::FetchReach;
use mcp_proto::http::Url;

/// A connection that is being made. Dropping it gives it up.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn Socket>>> + Send>>;

/// Makes connections.
pub trait Connector {
    /// Connects to the origin of a URL: to its host and port, and for `https` within TLS, by the
    /// name of the host. The text of an error is shown to the user. The caller limits the time.
    fn connect(&mut self, url: &Url) -> Connecting;

    /// Connects to the origin of a URL from somebody else, such as an authorization server. With
    /// [`FetchReach::Public`] it connects only to addresses that are
    /// [`HostKind::Public`](mcp_proto::auth::HostKind::Public), after the name is resolved. `https`
    /// uses TLS even if the URL of the server does not.
    ///
    /// By default this connects within [`FetchReach::Any`], and fails within
    /// [`FetchReach::Public`].
    #[cfg(feature = "auth")]
    fn connect_within(&mut self, url: &Url, reach: FetchReach) -> Connecting {
        match reach {
            FetchReach::Any => self.connect(url),
            FetchReach::Public => Box::pin(ready(Err(io::Error::other(
                "this connector does not check the addresses that a name resolves to",
            )))),
        }
    }
}
