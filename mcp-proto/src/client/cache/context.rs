//! The sender of a request, as far as results depend on it.

use alloc::sync::Arc;
use core::fmt;

/// The sender and the server of a request, as far as results depend on them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct CacheContext {
    /// Name of the server, such as its URL; default empty. A cache of one server needs none.
    pub server: Arc<str>,
    /// Name of the authorization that requests are sent with, such as a user's id; default empty.
    /// Another access token is another principal, unless it is known to be of the same user with
    /// the same rights. Private results are only for the same principal.
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
    /// The context of a principal that asks a server.
    pub fn new(server: impl Into<Arc<str>>, principal: impl Into<Arc<str>>) -> Self {
        Self { server: server.into(), principal: principal.into(), variant: "".into() }
    }

    /// Sets what else results depend on.
    pub fn variant(mut self, variant: impl Into<Arc<str>>) -> Self {
        self.variant = variant.into();
        self
    }
}

/// Says nothing of who asks.
impl fmt::Debug for CacheContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheContext").finish_non_exhaustive()
    }
}
