//! A cache that several clients share, behind a lock.
//!
//! In: lookups and entries of clients, through [`SharedCache`]. The lock is held for one lookup or
//! one entry.

use core::fmt;
use std::time;

use super::super::lock::Lock;
use mcp_proto::Instant;
use mcp_proto::client::{Cache, CacheLimits, SharedCache};

/// A cache of results that several clients share; see
/// [`CacheConfig::shared`](mcp_proto::client::CacheConfig::shared).
///
/// ```
/// use std::sync::Arc;
///
/// use mcp_proto::client::{CacheConfig, Config};
/// use mcp_proto::types::Implementation;
/// use mcp_service::{Client, ResponseCache};
///
/// let cache = Arc::new(ResponseCache::default());
/// for user in ["ada", "bob"] {
///     let config = Config::new(Implementation::new("app", "1.0.0"));
///     let shared = CacheConfig::shared(cache.clone()).principal(user);
///     let client = Client::new(config.cache(shared));
/// }
/// ```
pub struct ResponseCache {
    cache: Lock<Cache>,
    /// The zero of the cache's clock.
    epoch: time::Instant,
}

impl ResponseCache {
    /// A cache with these limits, for all its clients together.
    #[expect(clippy::disallowed_methods, reason = "the clocks of its clients differ")]
    pub fn new(limits: CacheLimits) -> Self {
        Self { cache: Lock::new(Cache::new(limits)), epoch: time::Instant::now() }
    }

    /// Drops the private results of a principal, such as a user who has logged out. Results of
    /// requests in flight are not stored either.
    pub fn clear_principal(&self, principal: &str) {
        self.cache.lock().clear_principal(principal);
    }

    /// Drops the results of a server. Over HTTP its name is the URL, unless
    /// [`CacheConfig::server`](mcp_proto::client::CacheConfig::server) sets another.
    pub fn clear_server(&self, server: &str) {
        self.cache.lock().clear_server(server);
    }

    /// Drops everything.
    pub fn clear(&self) {
        self.cache.lock().clear();
    }

    /// Number of stored results, including stale ones.
    pub fn len(&self) -> usize {
        self.cache.lock().len()
    }

    /// Returns whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that count towards [`CacheLimits::max_bytes`].
    pub fn bytes(&self) -> usize {
        self.cache.lock().bytes()
    }
}

impl SharedCache for ResponseCache {
    fn now(&self) -> Instant {
        Instant::ZERO + self.epoch.elapsed()
    }

    fn with(&self, f: &mut dyn FnMut(&mut Cache)) {
        f(&mut self.cache.lock());
    }
}

impl Default for ResponseCache {
    fn default() -> Self {
        Self::new(CacheLimits::default())
    }
}

impl fmt::Debug for ResponseCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseCache").field("cache", &*self.cache.lock()).finish_non_exhaustive()
    }
}
