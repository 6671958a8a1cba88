//! Settings of a client that uses a cache.
//!
//! What a client does with them is in `access`.

use alloc::sync::Arc;
use core::fmt;

use super::{Cache, CacheLimits};
use crate::time::{Duration, Instant};

/// The use that a client makes of a cache. A client without these settings asks the server each time.
///
/// Results are kept as long as the server allows, so only those of modern servers are.
/// [`Client::list`](crate::client::Client::list) is answered from the cache if all pages are there, and
/// [`Client::call`](crate::client::Client::call) if the result of the same request is. The `ttlMs` of
/// such a result is what is left of it. A change that the server reports drops what it concerns; for
/// that the client needs a [subscription](crate::client::Client::subscribe).
///
/// ```
/// use mcp_proto::client::{CacheConfig, CacheLimits, Config};
/// use mcp_proto::types::Implementation;
///
/// let config = Config::new(Implementation::new("app", "1.0.0"));
/// let config = config.cache(CacheConfig::memory(CacheLimits::default()));
/// ```
///
/// [Specification: Caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CacheConfig {
    /// The place of the results.
    pub place: CachePlace,
    /// Name of the server, for a shared cache. Clients that give the same name have the same server.
    /// Default `None`: over HTTP the URL, else a name that no other client has.
    pub server: Option<Arc<str>>,
    /// Name of the user or the tenant for whom the client asks, for a shared cache. Clients that
    /// give the same name may see the same results.
    /// [`Client::set_principal`](crate::client::Client::set_principal) changes it.
    ///
    /// Default `None`: a name that no other client has. It is another one as soon as the credentials
    /// may be others: after a sign-in, and whenever a header is set.
    pub principal: Option<Arc<str>>,
    /// The longest time for which a stale result is given in place of an error; default zero, which
    /// is never. The error must be a sign that the server cannot be reached or cannot serve: no
    /// connection, no answer in time, an HTTP status of 500 or above. A result that a change has
    /// dropped is never given.
    pub stale_on_error: Duration,
}

/// The place of the results of a client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CachePlace {
    /// The client, within these bounds.
    Memory(CacheLimits),
    /// A cache of several clients.
    Shared(Arc<dyn SharedCache>),
}

/// A cache that several clients use. `mcp-service` implements it with a lock.
pub trait SharedCache: fmt::Debug + Send + Sync {
    /// The time of the cache. A client asks once, when it first uses the cache. From then on its own
    /// time says how much has passed.
    fn now(&self) -> Instant;

    /// Calls `f` once, with the cache. Nobody else has it meanwhile. `f` does not block.
    fn with(&self, f: &mut dyn FnMut(&mut Cache));
}

impl CacheConfig {
    /// A cache of the client's own.
    pub fn memory(limits: CacheLimits) -> Self {
        Self::at(CachePlace::Memory(limits))
    }

    /// A cache that other clients use as well.
    pub fn shared(cache: Arc<dyn SharedCache>) -> Self {
        Self::at(CachePlace::Shared(cache))
    }

    fn at(place: CachePlace) -> Self {
        Self { place, server: None, principal: None, stale_on_error: Duration::ZERO }
    }

    /// Sets the name of the server.
    pub fn server(mut self, server: impl Into<Arc<str>>) -> Self {
        self.server = Some(server.into());
        self
    }

    /// Sets the name of the principal.
    pub fn principal(mut self, principal: impl Into<Arc<str>>) -> Self {
        self.principal = Some(principal.into());
        self
    }

    /// Sets for how long a stale result is given in place of an error.
    pub fn stale_on_error(mut self, stale_on_error: Duration) -> Self {
        self.stale_on_error = stale_on_error;
        self
    }
}
