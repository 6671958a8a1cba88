//! What an adapter supplies to a client over HTTP: connections.

use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;
use std::io;

use crate::Socket;
use mcp_proto::http::Url;

/// A connection that is being made. Dropping it gives it up.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn Socket>>> + Send>>;

/// Makes connections.
pub trait Connector {
    /// Connects to the origin of a URL: to its host and port, and for `https` within TLS, by the name
    /// of the host. What it fails with is told in words; how long it may take is not its concern.
    fn connect(&mut self, url: &Url) -> Connecting;
}
