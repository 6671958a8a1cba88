//! Settings of a client that uses a cache.
//!
//! The module `access` applies the settings.

use alloc::sync::Arc;
use core::fmt;

use super::{Cache, CacheLimits};
use crate::time::{Duration, Instant};

/// Settings of a client's cache. A client without these settings sends every request to the server.
///
/// Results are cached as long as the server allows. Only modern servers allow caching.
/// [`Client::list`](crate::client::Client::list) is answered from the cache if all pages are
/// cached, and [`Client::call`](crate::client::Client::call) if the result of an equal request is
/// cached. The `ttlMs` of such a result is the remaining time. A change that the server reports
/// drops the results that it affects. To receive changes, the client needs a
/// [subscription](crate::client::Client::subscribe). When a subscription begins, the results that
/// it covers are dropped, because earlier changes may not have been reported.
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
    /// Name of the server, for a shared cache. Clients with the same name share the results of one
    /// server. Default `None`: over HTTP the URL, otherwise a unique name.
    pub server: Option<Arc<str>>,
    /// Name of the user or the tenant for whom the client sends requests, for a shared cache.
    /// Clients with the same name share private results.
    /// [`Client::set_principal`](crate::client::Client::set_principal) changes the name.
    ///
    /// Default `None`: a unique name. A new name replaces the old name when the credentials may
    /// have changed: after a sign-in, and whenever a header is set.
    pub principal: Option<Arc<str>>,
    /// The longest time after expiry for which a stale result replaces an error; default zero,
    /// which means never. The error must show that the server cannot be reached or cannot serve.
    /// Such errors are: no connection, no answer in time, and an HTTP status of 500 or above. A
    /// result that a change has dropped is never used.
    pub stale_on_error: Duration,
}

/// The place of the results of a client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CachePlace {
    /// The memory of the client, within these limits.
    Memory(CacheLimits),
    /// A cache of several clients.
    Shared(Arc<dyn SharedCache>),
}

/// A cache that several clients use. `mcp-service` implements it with a lock. Its clients no longer
/// use a cache that has panicked.
pub trait SharedCache: fmt::Debug + Send + Sync {
    /// The time of the cache. A client reads this time once, at its first use of the cache.
    /// Afterwards the client's own clock measures the elapsed time.
    fn now(&self) -> Instant;

    /// Calls `f` once, with exclusive access to the cache. `f` does not block.
    fn with(&self, f: &mut dyn FnMut(&mut Cache));
}

impl CacheConfig {
    /// Settings for a cache that only this client uses.
    pub fn memory(limits: CacheLimits) -> Self {
        Self::at(CachePlace::Memory(limits))
    }

    /// Settings for a cache that other clients use as well.
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

    /// Sets the time for which a stale result replaces an error.
    pub fn stale_on_error(mut self, stale_on_error: Duration) -> Self {
        self.stale_on_error = stale_on_error;
        self
    }
}
