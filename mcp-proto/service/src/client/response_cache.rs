//! A cache that several clients share, behind a lock.
//!
//! In: what clients look for and keep, through [`SharedCache`]. The lock is held for one look or one
//! entry.

use core::fmt;
use std::time;

use super::super::lock::Lock;
use mcp_proto::Instant;
use mcp_proto::client::{Cache, CacheLimits, SharedCache};

/// Results of servers, for clients that share them; see
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
    /// Time at which the time of the cache begins.
    epoch: time::Instant,
}

impl ResponseCache {
    /// A cache within these bounds, which are those of all its clients together.
    #[expect(clippy::disallowed_methods, reason = "the clocks of its clients differ")]
    pub fn new(limits: CacheLimits) -> Self {
        Self { cache: Lock::new(Cache::new(limits)), epoch: time::Instant::now() }
    }

    /// Drops what is private to a principal, such as a user who has logged out. A result that is under
    /// way is not kept.
    pub fn clear_principal(&self, principal: &str) {
        self.cache.lock().clear_principal(principal);
    }

    /// Drops the results of a server, by the name that its clients give it. Over HTTP that is its URL,
    /// unless [`CacheConfig::server`](mcp_proto::client::CacheConfig::server) says another.
    pub fn clear_server(&self, server: &str) {
        self.cache.lock().clear_server(server);
    }

    /// Drops everything.
    pub fn clear(&self) {
        self.cache.lock().clear();
    }

    /// Number of results that are kept, stale ones included.
    pub fn len(&self) -> usize {
        self.cache.lock().len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that count for [`CacheLimits::max_bytes`].
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
