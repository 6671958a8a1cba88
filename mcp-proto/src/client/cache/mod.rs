//! Results that a server lets its clients keep for a time, so that they need not ask again.
//!
//! In: what is asked, the results, and what the server tells of changes. Out: a result that is
//! still fresh. Called by whoever makes calls, before and after; no machine does by itself.
//!
//! | what happens | what becomes of a kept result |
//! |---|---|
//! | its `ttlMs` is over, or 24 h are | it is stale, and not given out any more |
//! | another result of the same request | that takes its place, or none does, if it may not be kept |
//! | `list_changed` | the pages of that list are gone, for everyone |
//! | `resources/updated` | what was read of that resource is gone, and of what it is a part of |
//! | an error in place of a page | the pages of that list are gone: the cursor may be invalid |
//! | [`CacheLimits`] are reached | what has not been used for longest is gone |
//!
//! A result may be older than a change that was told before it arrived. So a request is announced
//! before it is sent, and the [`CacheTicket`] for its result is void once what it asks for has
//! changed. A ticket is good for one result. That is how a result which depends on input stays out:
//! its request has had `input_required` for a result before.
//!
//! [Specification: Caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)

mod question;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

use serde::Deserialize;

use crate::change::Change;
use crate::json::Json;
use crate::time::{Duration, Instant};
use crate::types::CacheScope;
use question::{Question, READ, of_list};

/// The results of one server that are fresh, for all who ask it.
///
/// Each page of a list is a result of its own. Legacy servers say nothing of how long a result is
/// fresh, so none of theirs is kept.
///
/// ```
/// use mcp_proto::client::Cache;
/// use mcp_proto::{Duration, Instant, Json};
///
/// let mut cache = Cache::default();
/// let params = Json::EMPTY_OBJECT;
///
/// // Nothing is there: send the request, and come back with its result.
/// let sent = Instant::ZERO;
/// let ticket = cache.ticket("alice", "tools/list", &params).unwrap();
/// assert_eq!(cache.get(sent, &ticket), None);
/// let result = r#"{"resultType":"complete","tools":[],"ttlMs":5000,"cacheScope":"private"}"#;
/// let received = sent + Duration::from_secs(1);
/// assert!(cache.put(received, ticket, &Json::parse(result)?));
///
/// // It is fresh for five seconds, and private.
/// let later = received + Duration::from_secs(4);
/// let ticket = cache.ticket("alice", "tools/list", &params).unwrap();
/// let cached = cache.get(later, &ticket).unwrap();
/// assert_eq!((cached.result.as_str(), cached.received), (result, received));
/// let other = cache.ticket("bob", "tools/list", &params).unwrap();
/// assert_eq!(cache.get(later, &other), None);
/// assert_eq!(cache.get(received + Duration::from_secs(5), &ticket), None);
/// # Ok::<(), mcp_proto::InvalidJson>(())
/// ```
///
/// [Specification: Caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)
pub struct Cache {
    limits: CacheLimits,
    entries: BTreeMap<CacheKey, CacheEntry>,
    /// The same by when they were used last.
    order: BTreeMap<u64, CacheKey>,
    bytes: usize,
    /// The number of the last ticket, use or change: they count together, so that it is known what
    /// was first.
    count: u64,
    /// What was asked before is not kept: of a method, and of all.
    changed: BTreeMap<&'static str, u64>,
    cleared: u64,
}

/// The bounds of a [`Cache`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CacheLimits {
    /// The most results; default 1024.
    pub max_entries: usize,
    /// The most bytes of results, their parameters and contexts, and 512 for each result; default
    /// 16 MiB. A result that is larger is not kept.
    pub max_bytes: usize,
    /// The longest time for which a result is fresh, whatever the server says; default 24 h.
    pub max_ttl: Duration,
}

/// The right to keep the next result of a request. It is as large as the request's parameters.
pub struct CacheTicket {
    question: Arc<Question>,
    context: Arc<str>,
    number: u64,
}

/// A result that is fresh.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Cached {
    /// The result as the server gave it.
    pub result: Json,
    /// Who may be given it.
    pub scope: CacheScope,
    /// When it came.
    pub received: Instant,
    /// From when on it is stale.
    pub fresh_until: Instant,
}

/// A question and, of a private result, who has asked it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CacheKey {
    question: Arc<Question>,
    context: Option<Arc<str>>,
}

struct CacheEntry {
    cached: Cached,
    /// Its number in the order.
    used: u64,
    /// The number of its ticket.
    asked: u64,
}

/// What a result says of itself.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hints {
    result_type: Option<String>,
    ttl_ms: Option<f64>,
    cache_scope: Option<CacheScope>,
}

/// What a result costs beside its text: its places in both maps, which may be half empty, and the
/// heads of what it is made of.
const ENTRY_BYTES: usize = 512;

impl Cache {
    /// An empty cache.
    pub fn new(limits: CacheLimits) -> Self {
        Self {
            limits,
            entries: BTreeMap::new(),
            order: BTreeMap::new(),
            bytes: 0,
            count: 0,
            changed: BTreeMap::new(),
            cleared: 0,
        }
    }

    /// Announces a request, before it is sent. `context` names the authorization that it is sent
    /// with, such as a user's id, and is empty if there is none; another access token is another
    /// context, unless it is known to be of the same user with the same rights. Two requests are
    /// the same if method and `params` are, as JSON values; `_meta` does not count.
    ///
    /// `None` if results of the request are never kept: its method is not `server/discover`,
    /// `tools/list`, `prompts/list`, `resources/list`, `resources/templates/list` or
    /// `resources/read`, or `params` bring input.
    pub fn ticket(&mut self, context: &str, method: &str, params: &Json) -> Option<CacheTicket> {
        let question = Arc::new(Question::new(method, params)?);
        Some(CacheTicket { question, context: context.into(), number: self.next() })
    }

    /// The result of the request that a ticket is for, if there is one that is fresh.
    pub fn get(&mut self, now: Instant, ticket: &CacheTicket) -> Option<Cached> {
        let key = ticket.keys().into_iter().find(|key| {
            self.entries.get(key).is_some_and(|entry| now < entry.cached.fresh_until)
        })?;
        let used = self.next();
        let entry = self.entries.get_mut(&key)?;
        self.order.remove(&entry.used);
        entry.used = used;
        self.order.insert(used, key);
        Some(entry.cached.clone())
    }

    /// Takes the result that the server gave at `now`; whether it is kept.
    ///
    /// It takes the place of others of the same request. It is kept if it is complete, fresh for a
    /// time by its `ttlMs`, and not void, and if it fits the [`CacheLimits`]; private unless its
    /// `cacheScope` is `public`. What is malformed in it makes it one that is not kept.
    pub fn put(&mut self, now: Instant, ticket: CacheTicket, result: &Json) -> bool {
        let keys = ticket.keys();
        let CacheTicket { question, context, number } = ticket;
        let changed = self.changed.get(&question.method).copied().unwrap_or_default();
        let is_late =
            |key: &CacheKey| self.entries.get(key).is_some_and(|entry| entry.asked > number);
        if number < changed.max(self.cleared) || keys.iter().any(is_late) {
            return false;
        }
        for key in &keys {
            self.remove(key);
        }
        let Some((ttl, scope)) = Hints::of(result) else { return false };
        let ttl = ttl.min(self.limits.max_ttl);
        let context = match scope {
            CacheScope::Public => None,
            CacheScope::Private => Some(context),
        };
        let key = CacheKey { question, context };
        let fits = key.bytes(result) <= self.limits.max_bytes && self.limits.max_entries > 0;
        if ttl.is_zero() || !fits {
            return false;
        }
        let used = self.next();
        let fresh_until = now + ttl;
        let cached = Cached { result: result.detach(), scope, received: now, fresh_until };
        self.bytes += key.bytes(result);
        self.order.insert(used, key.clone());
        self.entries.insert(key, CacheEntry { cached, used, asked: number });
        self.shrink();
        true
    }

    /// The server told of a change.
    pub fn handle_change(&mut self, change: &Change) {
        match change {
            Change::ListChanged(list) => {
                for method in of_list(*list) {
                    self.void(method, |_| true);
                }
            }
            Change::ResourceUpdated(uri) => self.void(READ, |question| question.reads(uri)),
        }
    }

    /// The server answered a request with an error. If that asked for a page, its cursor may have
    /// become invalid, and servers do not agree on the code that says so: the whole list is to be
    /// asked for again, from the beginning.
    #[expect(clippy::needless_pass_by_value, reason = "it is good for one answer")]
    pub fn handle_error(&mut self, ticket: CacheTicket) {
        if ticket.question.has_cursor {
            self.void(ticket.question.method, |_| true);
        }
    }

    /// Drops what is private to a context, such as that of a user who has logged out. All tickets
    /// are void.
    pub fn clear_context(&mut self, context: &str) {
        self.cleared = self.next();
        self.remove_all(|key| key.context.as_deref() == Some(context));
    }

    /// Drops everything. All tickets are void.
    pub fn clear(&mut self) {
        self.cleared = self.next();
        self.entries.clear();
        self.order.clear();
        self.bytes = 0;
    }

    /// How many results are kept, stale ones included.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many bytes count for [`CacheLimits::max_bytes`].
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Drops some results of a method, and voids all tickets for it.
    fn void(&mut self, method: &'static str, is: impl Fn(&Question) -> bool) {
        let number = self.next();
        self.changed.insert(method, number);
        self.remove_all(|key| key.question.method == method && is(&key.question));
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

    /// Drops what has not been used for longest, until all bounds hold.
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
    /// Where a result may be: that of the context alone, and that of everyone.
    fn keys(&self) -> [CacheKey; 2] {
        [Some(self.context.clone()), None]
            .map(|context| CacheKey { question: self.question.clone(), context })
    }
}

impl CacheKey {
    fn bytes(&self, result: &Json) -> usize {
        let context = self.context.as_ref().map_or(0, |context| context.len());
        ENTRY_BYTES + self.question.bytes() + context + result.as_bytes().len()
    }
}

impl Hints {
    /// For how long a result is fresh, and for whom; `None` if it is not to be kept.
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

/// Says nothing of whose results they are, and what is in them.
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
        f.debug_struct("CacheTicket").field("method", &self.question.method).finish_non_exhaustive()
    }
}
