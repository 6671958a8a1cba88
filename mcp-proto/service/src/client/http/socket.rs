//! What an adapter supplies to a client over HTTP: connections.

use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;

use bytes::Bytes;

use mcp_proto::http::Url;

/// A connection to a server. Dropping it closes it.
///
/// Each `poll_*` arranges for the context's waker to be woken when it returns `Pending`. Reading and
/// writing go on at the same time.
pub trait Socket: Send {
    /// Reads what there is; empty bytes are the end of the stream.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>>;

    /// Writes some of `data` and says how much.
    fn poll_write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>>;

    /// Hands on what is buffered.
    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Whether the operating system knows of nothing that has come and was not read, and of no end.
    /// A runtime that has been busy may not have asked it; by default that is all there is to know.
    fn is_quiet(&self) -> bool {
        true
    }
}

/// A connection that is being made. Dropping it gives it up.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn Socket>>> + Send>>;

/// Makes connections.
pub trait Connector {
    /// Connects to the origin of a URL: to its host and port, and for `https` within TLS, by the name
    /// of the host. What it fails with is told in words; how long it may take is not its concern.
    fn connect(&mut self, url: &Url) -> Connecting;
}
