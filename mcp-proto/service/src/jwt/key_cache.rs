//! Cache of the keys of an issuer.
//!
//! | keys | token | last try | then |
//! |---|---|---|---|
//! | none | any | none | fetch |
//! | newer than 1 h | known key | any | use it |
//! | older than 1 h | known key | 1 min ago or more, 5 s if it failed | fetch; if that fails, use the old keys |
//! | older than 1 h | known key | later, or running | use it |
//! | any | unknown key | 1 min ago or more, 5 s if it failed | fetch, and look again |
//! | any | unknown key | later | refuse the token; 503 if the last try failed |
//! | any | unknown key | running | wait for it |
//!
//! A fetch that has taken 5 s has failed. A token waits for one fetch at most. The reason of a
//! failed fetch is reported, at most once a minute: the client only gets 503.
//!
//! The cache owns the fetch, because anybody may send a token and close the connection. At most one
//! fetch runs, and it continues without the token that started it. Each verified token polls the
//! fetch if the fetch was woken. A fetch that nobody waits for rests until then. After 5 s the
//! next token drops a resting fetch, which counts as failed at the time it began.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::task::Wake;
use alloc::vec::Vec;
use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, Waker};
use std::io;
use std::thread;

use mcp_proto::Duration;

use super::key_source::KeySource;
use super::keys::VerifyingKey;
use super::token::Jwt;
use crate::lock::Lock;
use crate::runtime::{report_alarm, unblock};

/// The longest time of a fetch. The default of `Limits::verify_timeout` is longer, so that a token
/// with a known key is verified although the source does not answer.
const FETCH_TIME: Duration = Duration::from_secs(5);

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
    waker: Arc<FetchWaker>,
    report: fn(&str),
}

/// The result of the search for the key of a token.
pub(super) enum KeyLookup {
    Key(Box<VerifyingKey>),
    Nothing,
    Unavailable,
}

type Clock<'a> = &'a (dyn Fn() -> Duration + Sync);

/// A fetch with its timeout.
type FetchFuture = Pin<Box<dyn Future<Output = io::Result<Vec<u8>>> + Send>>;

#[derive(Default)]
struct CacheState {
    keys: Vec<VerifyingKey>,
    fetched: Option<Duration>,
    /// The time and the result of the last fetch.
    tried: Option<(Duration, FetchResult)>,
    running: Option<RunningFetch>,
    /// The time of the last report of a failure since the last success.
    reported: Option<Duration>,
    /// Number of tokens that wait for the fetch.
    waiting: usize,
}

struct RunningFetch {
    begun: Duration,
    /// `None` while a token polls it.
    future: Option<FetchFuture>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FetchResult {
    Keys,
    Failure,
}

/// The next step for a token.
enum CacheStep {
    Use(KeyLookup),
    Fetch,
    Wait,
}

impl KeyCache {
    pub(super) fn new(source: Box<dyn KeySource>) -> Self {
        Self { source, state: Lock::default(), waker: Arc::default(), report }
    }

    /// Finds the key of a token. `now` counts from the Unix epoch.
    pub(super) async fn find(&self, now: Clock<'_>, token: &Jwt) -> KeyLookup {
        let mut waiter = Waiter { cache: self, is_waiting: false, started: None };
        poll_fn(|context| {
            let mut is_registered = false;
            loop {
                self.drive(now);
                let step = self.next(now(), token, &mut waiter);
                match step {
                    CacheStep::Use(found) => return Poll::Ready(found),
                    CacheStep::Fetch => self.poll(now, || with_timeout(self.source.fetch())),
                    CacheStep::Wait if is_registered => return Poll::Pending,
                    // The fetch may have been woken before the registration: look again.
                    CacheStep::Wait => {
                        self.waker.register(context.waker());
                        is_registered = true;
                    }
                }
            }
        })
        .await
    }

    /// Decides the next step. For a fetch, the caller polls its future.
    fn next(&self, now: Duration, token: &Jwt, waiter: &mut Waiter<'_>) -> CacheStep {
        let mut state = self.state.lock();
        let step = state.next(now, token, waiter);
        if let CacheStep::Use(_) = step {
            return step;
        }
        if let CacheStep::Fetch = step {
            state.running = Some(RunningFetch { begun: now, future: None });
            waiter.started = Some(now);
        }
        if !waiter.is_waiting {
            waiter.is_waiting = true;
            state.waiting += 1;
        }
        step
    }

    /// Polls the fetch if it was woken, or drops it if it has rested too long.
    fn drive(&self, now: Clock<'_>) {
        let time = now();
        let mut state = self.state.lock();
        let abandoned = state.take_abandoned(time);
        let woken = state.running.as_mut().filter(|_| self.waker.is_woken.load(Ordering::Acquire));
        let future = woken.and_then(|running| running.future.take());
        drop(state);
        drop(abandoned);
        if let Some(future) = future {
            self.poll(now, || future);
        }
    }

    /// Polls the future of the running fetch, which no other token has.
    fn poll(&self, now: Clock<'_>, future: impl FnOnce() -> FetchFuture) {
        let mut turn = FetchTurn { cache: self, now, pending: None, ended: None };
        let mut future = future();
        self.waker.is_woken.swap(false, Ordering::AcqRel);
        let waker = Waker::from(self.waker.clone());
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Pending => turn.pending = Some(future),
            Poll::Ready(ended) => turn.ended = Some(ended),
        }
    }
}

/// Limits a fetch to [`FETCH_TIME`].
fn with_timeout(mut fetch: FetchFuture) -> FetchFuture {
    Box::pin(async move {
        let mut timeout = pin!(unblock(|| {
            pause();
            Ok(())
        }));
        let first = poll_fn(|context| match fetch.as_mut().poll(context) {
            Poll::Pending => timeout.as_mut().poll(context).map(|_| None),
            Poll::Ready(keys) => Poll::Ready(Some(keys)),
        });
        first.await.unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))
    })
}

/// Waits on a thread of its own: a source of keys has no timer.
#[expect(clippy::disallowed_methods, reason = "the thread does nothing else")]
fn pause() {
    thread::sleep(FETCH_TIME);
}

/// The waker of the fetch. It wakes all tokens that wait, since any of them may be dropped.
#[derive(Default)]
struct FetchWaker {
    is_woken: AtomicBool,
    waiting: Lock<Vec<Waker>>,
}

impl FetchWaker {
    fn register(&self, waker: &Waker) {
        let mut waiting = self.waiting.lock();
        if !waiting.iter().any(|other| other.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }

    fn wake_tokens(&self) {
        let waiting = core::mem::take(&mut *self.waiting.lock());
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl Wake for FetchWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        self.wake_tokens();
    }
}

/// A token, as seen by the cache.
struct Waiter<'a> {
    cache: &'a KeyCache,
    /// True once the token has waited for a fetch.
    is_waiting: bool,
    /// The time at which the token started a fetch.
    started: Option<Duration>,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if self.is_waiting {
            self.cache.state.lock().waiting -= 1;
        }
    }
}

/// One poll of the fetch. Dropping it records the result; without one, the future has panicked.
struct FetchTurn<'a> {
    cache: &'a KeyCache,
    now: Clock<'a>,
    pending: Option<FetchFuture>,
    ended: Option<io::Result<Vec<u8>>>,
}

impl Drop for FetchTurn<'_> {
    fn drop(&mut self) {
        if let Some(future) = self.pending.take() {
            if let Some(running) = &mut self.cache.state.lock().running {
                running.future = Some(future);
            }
            // Tokens that were woken during the poll have not found the future.
            if self.cache.waker.is_woken.load(Ordering::Acquire) {
                self.cache.waker.wake_tokens();
            }
            return;
        }
        let now = (self.now)();
        let keys = match self.ended.take() {
            Some(Ok(text)) => VerifyingKey::read_set(&text)
                .ok_or(Cow::Borrowed("the source has no JSON Web Key Set")),
            Some(Err(error)) => Err(error.to_string().into()),
            None => Err("the source has panicked".into()),
        };
        let mut state = self.cache.state.lock();
        let failure = state.handle_fetched(now, keys);
        drop(state);
        if let Some(reason) = failure {
            (self.cache.report)(&reason);
        }
        self.cache.waker.wake_tokens();
    }
}

/// Reports a failed fetch to the operator of the server.
fn report(reason: &str) {
    report_alarm(&format!("the keys that verify tokens cannot be fetched: {reason}"));
}

impl CacheState {
    /// Records the end of a fetch. Returns the reason of a failure that is to be reported.
    fn handle_fetched(
        &mut self,
        now: Duration,
        keys: Result<Vec<VerifyingKey>, Cow<'static, str>>,
    ) -> Option<Cow<'static, str>> {
        self.running = None;
        match keys {
            Ok(keys) => {
                self.keys = keys;
                self.fetched = Some(now);
                self.tried = Some((now, FetchResult::Keys));
                self.reported = None;
                None
            }
            Err(reason) => {
                self.tried = Some((now, FetchResult::Failure));
                let since = self.reported.and_then(|at| now.checked_sub(at));
                let is_due = since.is_none_or(|since| since >= PAUSE);
                is_due.then(|| {
                    self.reported = Some(now);
                    reason
                })
            }
        }
    }

    /// Takes a fetch that nobody waits for, if its time is over.
    fn take_abandoned(&mut self, now: Duration) -> Option<FetchFuture> {
        let running = self.running.as_mut().filter(|_| self.waiting == 0)?;
        if now.checked_sub(running.begun).is_some_and(|since| since < FETCH_TIME) {
            return None;
        }
        let future = running.future.take()?;
        self.tried = Some((running.begun, FetchResult::Failure));
        self.running = None;
        Some(future)
    }

    fn next(&self, now: Duration, token: &Jwt, waiter: &Waiter<'_>) -> CacheStep {
        let key = VerifyingKey::of(&self.keys, token);
        // If the clock was set back, keys count as old.
        let age = self.fetched.map(|at| now.checked_sub(at).unwrap_or(MAX_AGE));
        let is_old = age.is_none_or(|age| age >= MAX_AGE);
        if let Some(key) = key.filter(|_| !is_old) {
            return CacheStep::Use(KeyLookup::Key(Box::new(key.clone())));
        }
        let pause = |result| match result {
            FetchResult::Keys => PAUSE,
            FetchResult::Failure => PAUSE_AFTER_FAILURE,
        };
        let is_due = self.tried.is_none_or(|(at, result)| {
            now.checked_sub(at).is_none_or(|since| since >= pause(result))
        });
        match (key, &self.running) {
            (Some(_), Some(running)) if waiter.started == Some(running.begun) => CacheStep::Wait,
            (None, Some(_)) => CacheStep::Wait,
            (_, None) if is_due && !waiter.is_waiting => CacheStep::Fetch,
            (Some(key), _) => CacheStep::Use(KeyLookup::Key(Box::new(key.clone()))),
            (None, None) if self.tried.is_some_and(|(_, last)| last == FetchResult::Failure) => {
                CacheStep::Use(KeyLookup::Unavailable)
            }
            (None, None) => CacheStep::Use(KeyLookup::Nothing),
        }
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicU64, AtomicUsize};

    use super::*;

    #[test]
    fn failed_fetches_are_reported_once_a_minute() {
        static REPORTS: AtomicUsize = AtomicUsize::new(0);
        fn count(reason: &str) {
            assert_eq!(reason, "the status is 404");
            REPORTS.fetch_add(1, Ordering::AcqRel);
        }
        let has_keys = Arc::new(AtomicBool::new(false));
        let source = has_keys.clone();
        let source = move || {
            let has_keys = source.load(Ordering::Acquire);
            async move {
                let keys = has_keys.then(|| br#"{"keys":[]}"#.to_vec());
                keys.ok_or_else(|| io::Error::other("the status is 404"))
            }
        };
        let cache = KeyCache { report: count, ..KeyCache::new(Box::new(source)) };
        let seconds = AtomicU64::new(1_800_000_000);
        let now = || Duration::from_secs(seconds.load(Ordering::Acquire));
        // The header is {"alg":"ES256"}.
        let token = Jwt::read("eyJhbGciOiJFUzI1NiJ9.e30.AA").unwrap();
        let reports_after = |pause: u64| {
            seconds.fetch_add(pause, Ordering::AcqRel);
            let found = pin!(cache.find(&now, &token));
            let found = found.poll(&mut Context::from_waker(Waker::noop()));
            assert!(matches!(found, Poll::Ready(KeyLookup::Unavailable | KeyLookup::Nothing)));
            REPORTS.load(Ordering::Acquire)
        };
        assert_eq!([reports_after(0), reports_after(6), reports_after(30)], [1, 1, 1]);
        assert_eq!(reports_after(30), 2);
        has_keys.store(true, Ordering::Release);
        assert_eq!(reports_after(6), 2);
        has_keys.store(false, Ordering::Release);
        assert_eq!(reports_after(61), 3);
    }
}
