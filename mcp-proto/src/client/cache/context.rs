//! Context of a request: the facts about sender and server on which the result depends.

use alloc::sync::Arc;
use core::fmt;

/// The facts about the sender and the server of a request on which its result depends.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct CacheContext {
    /// Name of the server, such as its URL; default empty. A cache of one server needs no name.
    pub server: Arc<str>,
    /// Name of the authorization that requests are sent with, such as a user's id; default empty.
    /// Another access token is another principal, unless both tokens are known to belong to the
    /// same user with the same rights. Private results are only for the same principal.
    pub principal: Arc<str>,
    /// Other facts that results may depend on, such as the version and the client's capabilities;
    /// default empty.
    pub variant: Arc<str>,
}

impl Default for CacheContext {
    fn default() -> Self {
        Self::new("", "")
    }
}

impl CacheContext {
    /// The context of requests that a principal sends to a server.
    pub fn new(server: impl Into<Arc<str>>, principal: impl Into<Arc<str>>) -> Self {
        Self { server: server.into(), principal: principal.into(), variant: "".into() }
    }

    /// Sets the other facts on which results depend.
    pub fn variant(mut self, variant: impl Into<Arc<str>>) -> Self {
        self.variant = variant.into();
        self
    }
}

/// Shows neither the server nor the principal.
impl fmt::Debug for CacheContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheContext").finish_non_exhaustive()
    }
}
