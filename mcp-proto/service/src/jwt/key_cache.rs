//! Cache of the keys of an issuer.
//!
//! | keys | token | last try | then |
//! |---|---|---|---|
//! | none | any | none | fetch |
//! | newer than 1 h | known key | any | use it |
//! | older than 1 h | known key | 1 min ago or more, 5 s if it failed or was dropped | fetch; if that fails, use the old keys |
//! | older than 1 h | known key | later, or running | use it |
//! | any | unknown key | 1 min ago or more, 5 s if it failed, or dropped | fetch, and look again |
//! | any | unknown key | later | refuse the token; 503 if the last try failed |
//! | any | unknown key | running | wait for it |
//!
//! A fetch that has taken 5 s has failed. A fetch is dropped with the token that needs it, for
//! example because a client has closed its connection.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::future::poll_fn;
use core::pin::pin;
use core::task::{Poll, Waker};
use std::io;
use std::thread;

use mcp_proto::Duration;

use super::key_source::KeySource;
use super::keys::VerifyingKey;
use super::token::Jwt;
use crate::lock::Lock;
use crate::runtime::unblock;

/// The longest time of a fetch. The default of `Limits::verify_timeout` is longer, so that a token
/// with a known key is verified although the source does not answer.
const FETCH_TIME: Duration = Duration::from_secs(5);

/// The shortest time between two fetches.
const PAUSE: Duration = Duration::from_secs(60);

/// The shortest time between a failed or dropped fetch and the next one.
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
    /// The time and the result of the last fetch.
    tried: Option<(Duration, FetchResult)>,
    is_fetching: bool,
    waiting: Vec<Waker>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FetchResult {
    Keys,
    Failure,
    /// The token that needed the keys is no longer verified.
    Dropped,
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
                        if !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                            state.waiting.push(context.waker().clone());
                        }
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
            let mut fetch = Fetch { cache: self, now, ended: None };
            fetch.ended = Some(self.fetch().await);
        }
    }

    /// Fetches the keys in at most [`FETCH_TIME`].
    async fn fetch(&self) -> io::Result<Vec<u8>> {
        let mut fetched = self.source.fetch();
        let mut timeout = pin!(unblock(|| {
            pause();
            Ok(())
        }));
        let first = poll_fn(|context| match fetched.as_mut().poll(context) {
            Poll::Pending => timeout.as_mut().poll(context).map(|_| None),
            Poll::Ready(keys) => Poll::Ready(Some(keys)),
        });
        first.await.unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// Waits on a thread of its own: a source of keys has no timer.
#[expect(clippy::disallowed_methods, reason = "the thread does nothing else")]
fn pause() {
    thread::sleep(FETCH_TIME);
}

/// A running fetch. Dropping it ends the wait of other tokens.
struct Fetch<'a> {
    cache: &'a KeyCache,
    now: &'a (dyn Fn() -> Duration + Sync),
    ended: Option<io::Result<Vec<u8>>>,
}

impl Drop for Fetch<'_> {
    fn drop(&mut self) {
        let now = (self.now)();
        let mut state = self.cache.state.lock();
        state.is_fetching = false;
        let ended = self.ended.take();
        let mut result = if ended.is_some() { FetchResult::Failure } else { FetchResult::Dropped };
        let text = ended.and_then(Result::ok);
        if let Some(keys) = text.and_then(|text| VerifyingKey::read_set(&text)) {
            state.keys = keys;
            state.fetched = Some(now);
            result = FetchResult::Keys;
        }
        state.tried = Some((now, result));
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
        let pause = |result| match result {
            FetchResult::Keys => PAUSE,
            // Without a key the next token must not fail because a client has gone.
            FetchResult::Dropped if key.is_none() => Duration::ZERO,
            FetchResult::Failure | FetchResult::Dropped => PAUSE_AFTER_FAILURE,
        };
        let is_due = self.tried.is_none_or(|(at, result)| {
            now.checked_sub(at).is_none_or(|since| since >= pause(result))
        });
        match key {
            _ if is_due && !self.is_fetching => CacheStep::Fetch,
            Some(key) => CacheStep::Use(KeyLookup::Key(Box::new(key.clone()))),
            None if self.is_fetching => CacheStep::Wait,
            None if self.tried.is_some_and(|(_, result)| result == FetchResult::Failure) => {
                CacheStep::Use(KeyLookup::Unavailable)
            }
            None => CacheStep::Use(KeyLookup::Nothing),
        }
    }
}
