//! A cache that several clients share, behind a lock.
//!
//! In: lookups and entries of clients, through [`SharedCache`]. The lock is held for one lookup or
//! one entry.

use alloc::sync::Arc;
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use std::time;

use super::super::lock::Lock;
use crate::panics::catch_panic;
use mcp_proto::Instant;
use mcp_proto::client::{Cache, CacheConfig, CacheLimits, CachePlace, SharedCache};

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

/// A cache of the application. A client that has seen it panic does not use it again: some names in
/// it would no longer be unique, and clients could share what is private.
#[derive(Debug)]
pub(super) struct GuardedCache {
    cache: Arc<dyn SharedCache>,
    has_panicked: AtomicBool,
}

impl GuardedCache {
    /// The same settings, with a guard around a shared cache.
    pub(super) fn guard(mut config: CacheConfig) -> CacheConfig {
        if let CachePlace::Shared(cache) = config.place {
            let guarded = Self { cache, has_panicked: AtomicBool::new(false) };
            config.place = CachePlace::Shared(Arc::new(guarded));
        }
        config
    }

    fn access<T>(&self, access: impl FnOnce() -> T) -> Option<T> {
        if self.has_panicked.load(Ordering::Relaxed) {
            return None;
        }
        let result = catch_panic(access);
        if result.is_none() {
            self.has_panicked.store(true, Ordering::Relaxed);
        }
        result
    }
}

impl SharedCache for GuardedCache {
    fn now(&self) -> Instant {
        self.access(|| self.cache.now()).unwrap_or(Instant::ZERO)
    }

    fn with(&self, f: &mut dyn FnMut(&mut Cache)) {
        self.access(|| self.cache.with(f));
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
