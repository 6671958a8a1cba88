//! Cache for results that a server marks as cacheable, so that clients need not repeat requests.
//!
//! In: requests, their results, and changes that the server reports. Out: a result that is still
//! fresh. Called by a client with a [`CacheConfig`](settings::CacheConfig) through `access`, or by
//! an application before and after its calls.
//!
//! | event | effect on kept results |
//! |---|---|
//! | the `ttlMs` of a result, or 24 h, have passed | the result is stale: only `get_stale` returns it |
//! | another result of the same request | it replaces the earlier one, or removes it if it may not be kept |
//! | `list_changed` | the pages of that list are removed, for all principals |
//! | `resources/updated` | the contents of the resource, and of those that it is a part of, are removed |
//! | an error in place of a page | the pages of that list are removed: the cursor may be invalid |
//! | [`CacheLimits`] are reached | the least recently used results are removed |
//!
//! A result may be older than a change that was reported before the result arrived. So a request is
//! announced before it is sent, and the [`CacheTicket`] for its result becomes void when the
//! requested data changes. A ticket is valid for one result. So a result that depends on input is
//! never cached: `input_required` has already used the ticket.
//!
//! [Specification: Caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)

pub(super) mod access;
mod context;
mod request_key;
pub(super) mod settings;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;

use crate::change::Change;
use crate::json::Json;
use crate::json::write::List;
use crate::time::{Duration, Instant};
use crate::types::CacheScope;
pub use context::CacheContext;
use request_key::{READ, RequestKey, methods_of_list};

/// A cache for results of servers, for any number of clients.
///
/// Each page of a list is a result of its own. Legacy servers send no caching hints, so their
/// results are never cached.
///
/// ```
/// use mcp_proto::client::{Cache, CacheContext};
/// use mcp_proto::{Duration, Instant, Json};
///
/// let mut cache = Cache::default();
/// let params = Json::EMPTY_OBJECT;
/// let [alice, bob] = ["alice", "bob"].map(|user| CacheContext::new("weather", user));
///
/// // The cache is empty: send the request, and store its result.
/// let sent = Instant::ZERO;
/// let ticket = cache.ticket(&alice, "tools/list", &params).unwrap();
/// assert_eq!(cache.get(sent, &ticket), None);
/// let result = r#"{"resultType":"complete","tools":[],"ttlMs":5000,"cacheScope":"private"}"#;
/// let received = sent + Duration::from_secs(1);
/// assert!(cache.put(received, ticket, &Json::parse(result)?));
///
/// // The result is fresh for five seconds, and private.
/// let later = received + Duration::from_secs(4);
/// let ticket = cache.ticket(&alice, "tools/list", &params).unwrap();
/// let cached = cache.get(later, &ticket).unwrap();
/// assert_eq!((cached.result.as_str(), cached.received), (result, received));
/// let other = cache.ticket(&bob, "tools/list", &params).unwrap();
/// assert_eq!(cache.get(later, &other), None);
/// assert_eq!(cache.get(received + Duration::from_secs(5), &ticket), None);
/// # Ok::<(), mcp_proto::InvalidJson>(())
/// ```
///
/// [Specification: Caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)
pub struct Cache {
    limits: CacheLimits,
    entries: BTreeMap<CacheKey, CacheEntry>,
    /// The same results, ordered by their last use.
    order: BTreeMap<u64, CacheKey>,
    bytes: usize,
    /// The latest `now` of all calls.
    latest: Instant,
    /// The number of the last ticket, use or change: one sequence, so that their order is known.
    count: u64,
    /// Numbers of the last change, per method and (in `cleared`) of all methods. Results of earlier
    /// tickets are not cached.
    changed: BTreeMap<&'static str, u64>,
    cleared: u64,
}

/// The limits of a [`Cache`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CacheLimits {
    /// The most results; default 1024.
    pub max_entries: usize,
    /// The most bytes of results, their parameters and contexts, plus 512 for each result; default
    /// 16 MiB. A larger result is not cached.
    pub max_bytes: usize,
    /// The longest time for which a result is fresh, even if the server allows more; default 24 h.
    pub max_ttl: Duration,
}

/// The right to cache the next result of a request. A ticket is as large as the request's
/// parameters.
pub struct CacheTicket {
    request: Arc<RequestKey>,
    principal: Arc<str>,
    number: u64,
}

/// A result in a [`Cache`]: a fresh one, or from [`Cache::get_stale`] also a stale one.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Cached {
    /// The result, unchanged.
    pub result: Json,
    /// The clients that may receive the result.
    pub scope: CacheScope,
    /// Time at which the result arrived.
    pub received: Instant,
    /// Time from which on the result is stale.
    pub fresh_until: Instant,
}

/// A request, and for a private result the principal that has requested it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CacheKey {
    request: Arc<RequestKey>,
    principal: Option<Arc<str>>,
}

struct CacheEntry {
    cached: Cached,
    /// The number of the last use.
    used: u64,
    /// The number of the ticket.
    ticket: u64,
}

/// Caching hints in a result.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hints {
    result_type: Option<String>,
    ttl_ms: Option<f64>,
    cache_scope: Option<CacheScope>,
}

/// Overhead of a cached result in addition to its text: entries in both maps, which may be half
/// empty, and headers of allocations.
const ENTRY_BYTES: usize = 512;

impl Cache {
    /// An empty cache.
    pub fn new(limits: CacheLimits) -> Self {
        Self {
            limits,
            entries: BTreeMap::new(),
            order: BTreeMap::new(),
            bytes: 0,
            latest: Instant::ZERO,
            count: 0,
            changed: BTreeMap::new(),
            cleared: 0,
        }
    }

    /// Announces a request, before it is sent. `context` names the sender and the server. Two
    /// requests to one server, in one variant, are equal if their methods are equal, and their
    /// `params` are equal JSON values without `_meta`.
    ///
    /// `None` if results of the request are never cached: its method is not `server/discover`,
    /// `tools/list`, `prompts/list`, `resources/list`, `resources/templates/list` or
    /// `resources/read`, or `params` contain input.
    pub fn ticket(
        &mut self,
        context: &CacheContext,
        method: &str,
        params: &Json,
    ) -> Option<CacheTicket> {
        let request = Arc::new(RequestKey::new(context, method, params)?);
        Some(CacheTicket { request, principal: context.principal.clone(), number: self.next() })
    }

    /// The fresh result of the request of a ticket, if there is one.
    pub fn get(&mut self, now: Instant, ticket: &CacheTicket) -> Option<Cached> {
        self.get_stale(now, ticket, Duration::ZERO)
    }

    /// The result of the request of a ticket, if the result is fresh or has been stale for less
    /// than `max_stale`. Use this for a server that cannot be reached.
    pub fn get_stale(
        &mut self,
        now: Instant,
        ticket: &CacheTicket,
        max_stale: Duration,
    ) -> Option<Cached> {
        self.latest = self.latest.max(now);
        let key = ticket.keys().into_iter().find(|key| {
            self.entries.get(key).is_some_and(|entry| now < entry.cached.fresh_until + max_stale)
        })?;
        let used = self.next();
        let entry = self.entries.get_mut(&key)?;
        self.order.remove(&entry.used);
        entry.used = used;
        self.order.insert(used, key);
        Some(entry.cached.clone())
    }

    /// Stores a result that has arrived at `now`. Returns whether the result is cached.
    ///
    /// The result replaces results of equal requests with earlier tickets. It is cached only if the
    /// ticket is not void, and no result of a later ticket is cached. It must be complete, have a
    /// valid `ttlMs` above 0, and fit the [`CacheLimits`]. It is private unless its `cacheScope` is
    /// `public`.
    pub fn put(&mut self, now: Instant, ticket: CacheTicket, result: &Json) -> bool {
        self.latest = self.latest.max(now);
        let keys = ticket.keys();
        let CacheTicket { request, principal, number } = ticket;
        let changed = self.changed.get(&request.method).copied().unwrap_or_default();
        if number < changed.max(self.cleared) {
            return false;
        }
        let mut is_late = false;
        for key in &keys {
            if self.entries.get(key).is_some_and(|entry| entry.ticket > number) {
                is_late = true;
            } else {
                self.remove(key);
            }
        }
        if is_late {
            return false;
        }
        let Some((ttl, scope)) = Hints::of(result) else { return false };
        let ttl = ttl.min(self.limits.max_ttl);
        let principal = match scope {
            CacheScope::Public => None,
            CacheScope::Private => Some(principal),
        };
        let key = CacheKey { request, principal };
        let fits = key.bytes(result) <= self.limits.max_bytes && self.limits.max_entries > 0;
        if ttl.is_zero() || !fits {
            return false;
        }
        let used = self.next();
        let fresh_until = now + ttl;
        let cached = Cached { result: result.detach(), scope, received: now, fresh_until };
        self.bytes += key.bytes(result);
        self.order.insert(used, key.clone());
        self.entries.insert(key, CacheEntry { cached, used, ticket: number });
        self.shrink();
        true
    }

    /// Handles a change that the server with this name has reported.
    pub fn handle_change(&mut self, server: &str, change: &Change) {
        match change {
            Change::ListChanged(list) => {
                for method in methods_of_list(*list) {
                    self.invalidate(server, method, |_| true);
                }
            }
            Change::ResourceUpdated(uri) => self.invalidate(server, READ, |it| it.depends_on(uri)),
            // Tasks are not cached.
            Change::TaskUpdated(_) => {}
        }
    }

    /// Handles an error in response to a request. If the request was for a page, its cursor may
    /// have become invalid, and servers do not agree on the error code. So all pages of the list
    /// are dropped. The application must fetch the whole list again, from the beginning.
    #[expect(clippy::needless_pass_by_value, reason = "it is good for one answer")]
    pub fn handle_error(&mut self, ticket: CacheTicket) {
        if ticket.request.has_cursor {
            self.invalidate(&ticket.request.server, ticket.request.method, |_| true);
        }
    }

    /// Drops the private results of a principal, such as a user who has logged out. All tickets
    /// become void.
    pub fn clear_principal(&mut self, principal: &str) {
        self.cleared = self.next();
        self.remove_all(|key| key.principal.as_deref() == Some(principal));
    }

    /// Drops the results of a server. All tickets become void.
    pub fn clear_server(&mut self, server: &str) {
        self.cleared = self.next();
        self.remove_all(|key| &*key.request.server == server);
    }

    /// Drops all results. All tickets become void.
    pub fn clear(&mut self) {
        self.cleared = self.next();
        self.entries.clear();
        self.order.clear();
        self.bytes = 0;
    }

    /// Number of cached results, including stale ones.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether the cache has no results.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes that count for [`CacheLimits::max_bytes`].
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The next number of the sequence.
    fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Drops the matching results of a method and a server, and voids all tickets for the method,
    /// also for other servers.
    fn invalidate(&mut self, server: &str, method: &'static str, is: impl Fn(&RequestKey) -> bool) {
        let number = self.next();
        self.changed.insert(method, number);
        self.remove_all(|CacheKey { request, .. }| {
            request.method == method && &*request.server == server && is(request)
        });
    }

    fn remove_all(&mut self, is: impl Fn(&CacheKey) -> bool) {
        let order = &mut self.order;
        let bytes = &mut self.bytes;
        self.entries.retain(|key, entry| {
            let goes = is(key);
            if goes {
                order.remove(&entry.used);
                *bytes = bytes.saturating_sub(key.bytes(&entry.cached.result));
            }
            !goes
        });
    }

    fn remove(&mut self, key: &CacheKey) {
        if let Some(entry) = self.entries.remove(key) {
            self.order.remove(&entry.used);
            self.bytes = self.bytes.saturating_sub(key.bytes(&entry.cached.result));
        }
    }

    /// Drops the least recently used results, until all limits hold.
    fn shrink(&mut self) {
        while self.entries.len() > self.limits.max_entries || self.bytes > self.limits.max_bytes {
            let Some((_, oldest)) = self.order.pop_first() else { return };
            self.remove(&oldest);
        }
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self::new(CacheLimits::default())
    }
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self {
            max_entries: 1024,
            max_bytes: 16 * 1024 * 1024,
            max_ttl: Duration::from_secs(24 * 60 * 60),
        }
    }
}

impl CacheTicket {
    /// The possible keys of a result: the key with its principal, and the key of public results.
    fn keys(&self) -> [CacheKey; 2] {
        [Some(self.principal.clone()), None]
            .map(|principal| CacheKey { request: self.request.clone(), principal })
    }
}

impl Cached {
    /// The result with the remaining time as `ttlMs`, for a recipient that caches the result as
    /// well.
    pub fn result_at(&self, now: Instant) -> Json {
        let left = self.fresh_until.duration_since(now).as_millis();
        with_ttl(&self.result, left)
    }
}

impl CacheKey {
    fn bytes(&self, result: &Json) -> usize {
        let principal = self.principal.as_ref().map_or(0, |principal| principal.len());
        ENTRY_BYTES + self.request.bytes() + principal + result.as_bytes().len()
    }
}

impl Hints {
    /// The lifetime and the scope of a result; `None` if it must not be cached.
    fn of(result: &Json) -> Option<(Duration, CacheScope)> {
        let hints: Self = result.decode().ok()?;
        let is_complete = hints.result_type.is_none_or(|name| name == "complete");
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the cast saturates: what is negative is 0"
        )]
        let ttl = Duration::from_millis(hints.ttl_ms? as u64);
        let scope = hints.cache_scope.unwrap_or(CacheScope::Private);
        is_complete.then_some((ttl, scope))
    }
}

/// A result, with this `ttlMs` in place of its own.
fn with_ttl(result: &Json, ttl: u128) -> Json {
    let mut out = Vec::with_capacity(result.as_bytes().len() + 32);
    let mut object = List::object(&mut out);
    result.raw().members(|key, value| {
        if key.string().as_deref() != Some("ttlMs") {
            object.copy(key, value);
        }
    });
    object.member("ttlMs", format!("{ttl}").as_bytes());
    object.end();
    Json::trusted(out)
}

/// Shows neither principals nor the contents of results.
impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("limits", &self.limits)
            .field("len", &self.len())
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for CacheTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheTicket").field("method", &self.request.method).finish_non_exhaustive()
    }
}
