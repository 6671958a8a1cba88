//! Cache of the keys of an issuer.
//!
//! | keys | token | last try | then |
//! |---|---|---|---|
//! | none | any | none | fetch |
//! | older than 1 h | any | 1 min ago or more, 5 s if it failed | fetch; if that fails, use the old keys |
//! | older than 1 h | known key | later | use it |
//! | newer | known key | any | use it |
//! | newer | unknown key | 1 min ago or more, 5 s if it failed | fetch, and look again |
//! | any | unknown key | later | refuse the token; 503 if the last try failed |
//! | any | any | running | wait for it |

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::future::poll_fn;
use core::task::{Poll, Waker};
use std::io;

use mcp_proto::Duration;

use super::key_source::KeySource;
use super::keys::VerifyingKey;
use super::token::Jwt;
use crate::lock::Lock;

/// The shortest time between two fetches.
const PAUSE: Duration = Duration::from_secs(60);

/// The shortest time between a failed fetch and the next one.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(5);

/// The age at which keys are fetched again.
const MAX_AGE: Duration = Duration::from_secs(60 * 60);

/// Keys with their source.
pub(super) struct KeyCache {
    source: Box<dyn KeySource>,
    state: Lock<CacheState>,
}

/// The result of the search for the key of a token.
pub(super) enum KeyLookup {
    Key(Box<VerifyingKey>),
    Nothing,
    Unavailable,
}

#[derive(Default)]
struct CacheState {
    keys: Vec<VerifyingKey>,
    fetched: Option<Duration>,
    /// Time of the end of the last fetch, and whether it failed.
    tried: Option<(Duration, bool)>,
    is_fetching: bool,
    waiting: Vec<Waker>,
}

/// The next step for a token.
enum CacheStep {
    Use(KeyLookup),
    Fetch,
    Wait,
}

impl KeyCache {
    pub(super) fn new(source: Box<dyn KeySource>) -> Self {
        Self { source, state: Lock::default() }
    }

    /// Finds the key of a token. `now` counts from the Unix epoch.
    pub(super) async fn find(&self, now: &(dyn Fn() -> Duration + Sync), token: &Jwt) -> KeyLookup {
        loop {
            let step = poll_fn(|context| {
                let mut state = self.state.lock();
                let step = state.next(now(), token);
                match step {
                    CacheStep::Wait => {
                        state.waiting.push(context.waker().clone());
                        return Poll::Pending;
                    }
                    CacheStep::Fetch => state.is_fetching = true,
                    CacheStep::Use(_) => {}
                }
                Poll::Ready(step)
            })
            .await;
            if let CacheStep::Use(found) = step {
                return found;
            }
            let mut fetch = Fetch { cache: self, ended: None };
            let fetched = self.source.fetch().await;
            fetch.ended = Some((now(), fetched));
        }
    }
}

/// A running fetch. If it is dropped before its end, as with the request that needs it, the next
/// token fetches.
struct Fetch<'a> {
    cache: &'a KeyCache,
    ended: Option<(Duration, io::Result<Vec<u8>>)>,
}

impl Drop for Fetch<'_> {
    fn drop(&mut self) {
        let mut state = self.cache.state.lock();
        state.is_fetching = false;
        if let Some((now, fetched)) = self.ended.take() {
            let keys = fetched.ok().and_then(|text| VerifyingKey::read_set(&text));
            state.tried = Some((now, keys.is_none()));
            if let Some(keys) = keys {
                state.keys = keys;
                state.fetched = Some(now);
            }
        }
        let waiting = core::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl CacheState {
    fn next(&self, now: Duration, token: &Jwt) -> CacheStep {
        let key = VerifyingKey::of(&self.keys, token);
        // If the clock was set back, keys count as old.
        let age = self.fetched.map(|at| now.checked_sub(at).unwrap_or(MAX_AGE));
        let is_old = age.is_none_or(|age| age >= MAX_AGE);
        if let Some(key) = key.filter(|_| !is_old) {
            return CacheStep::Use(KeyLookup::Key(Box::new(key.clone())));
        }
        if self.is_fetching {
            return CacheStep::Wait;
        }
        let may_fetch = self.tried.is_none_or(|(at, failed)| {
            let pause = if failed { PAUSE_AFTER_FAILURE } else { PAUSE };
            now.checked_sub(at).is_none_or(|since| since >= pause)
        });
        match key {
            _ if may_fetch => CacheStep::Fetch,
            Some(key) => CacheStep::Use(KeyLookup::Key(Box::new(key.clone()))),
            None if self.tried.is_some_and(|(_, failed)| failed) => {
                CacheStep::Use(KeyLookup::Unavailable)
            }
            None => CacheStep::Use(KeyLookup::Nothing),
        }
    }
}
