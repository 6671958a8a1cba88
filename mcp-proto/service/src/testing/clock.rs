//! Virtual time, for handlers of a client and for tests.
//!
//! In: changes of the time. Out: futures that complete at a time.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use crate::lock::Lock;
use mcp_proto::{Duration, Instant};

/// The start of virtual time, since the Unix epoch: in January 2027.
const EPOCH: Duration = Duration::from_secs(1_800_000_000);

/// The clock of a [`Pair`](super::Pair). Cheap to clone. A user who takes a minute to answer is a
/// handler that sleeps for a minute:
///
/// ```
/// # use mcp_service::testing::Pair;
/// # use mcp_proto::types::{ElicitAction, ElicitResult, Implementation};
/// # use std::time::Duration;
/// # let registry = mcp_service::Registry::new(Implementation::new("sums", "1.0.0"));
/// let pair = Pair::new(registry);
/// let clock = pair.clock();
/// pair.client().on_form(move |_| {
///     let clock = clock.clone();
///     async move {
///         clock.sleep(Duration::from_secs(60)).await;
///         ElicitResult::new(ElicitAction::Decline)
///     }
/// });
/// ```
#[derive(Clone, Debug, Default)]
pub struct Clock {
    state: Arc<Lock<ClockState>>,
}

#[derive(Debug, Default)]
struct ClockState {
    now: Instant,
    /// Wakers of sleeping tasks, by the time at which each sleep ends.
    sleepers: BTreeMap<(Instant, u64), Waker>,
    serials: u64,
}

impl Clock {
    /// The elapsed virtual time.
    pub fn now(&self) -> Instant {
        self.state.lock().now
    }

    /// Completes when `duration` has passed since the first poll.
    pub fn sleep(&self, duration: Duration) -> Sleep {
        Sleep { clock: self.clone(), duration, key: None }
    }

    /// Sets the time.
    pub(super) fn set(&self, now: Instant) {
        let mut state = self.state.lock();
        state.now = state.now.max(now);
    }

    /// The time at which the next sleep ends.
    pub(super) fn next(&self) -> Option<Instant> {
        self.state.lock().sleepers.keys().next().map(|(until, _)| *until)
    }

    /// Wakes the tasks whose sleep has ended; returns whether there were any.
    pub(super) fn wake_due(&self) -> bool {
        let mut state = self.state.lock();
        let now = state.now;
        let mut due = Vec::new();
        while let Some(sleeper) = state.sleepers.first_entry().filter(|first| first.key().0 <= now)
        {
            due.push(sleeper.remove());
        }
        // A waker may run any code: wake without the lock.
        drop(state);
        let any = !due.is_empty();
        due.into_iter().for_each(Waker::wake);
        any
    }
}

/// A future of [`Clock::sleep`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Sleep {
    clock: Clock,
    duration: Duration,
    /// Key of the sleep in the clock, once it was polled.
    key: Option<(Instant, u64)>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let mut state = this.clock.state.lock();
        let key = *this.key.get_or_insert_with(|| {
            state.serials += 1;
            (state.now + this.duration, state.serials)
        });
        if key.0 <= state.now {
            return Poll::Ready(());
        }
        let before = state.sleepers.insert(key, context.waker().clone());
        drop(state);
        // Dropping a waker may run any code: drop it without the lock.
        drop(before);
        Poll::Pending
    }
}

/// A timer of virtual time.
#[derive(Debug)]
pub(super) struct Timer {
    clock: Clock,
    /// The sleep until the time that the timer was set to.
    sleep: Option<(Instant, Sleep)>,
}

impl Timer {
    pub(super) fn new(clock: &Clock) -> Self {
        Self { clock: clock.clone(), sleep: None }
    }
}

impl crate::Clock for Timer {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn unix_time(&self) -> Duration {
        EPOCH + self.clock.now().duration_since(Instant::ZERO)
    }

    fn poll_timer(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        let clock = &self.clock;
        let set = self.sleep.take().filter(|(until, _)| *until == at);
        let (_, sleep) = self
            .sleep
            .insert(set.unwrap_or_else(|| (at, clock.sleep(at.duration_since(clock.now())))));
        Pin::new(sleep).poll(context)
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        let sleeper = self.key.and_then(|key| self.clock.state.lock().sleepers.remove(&key));
        drop(sleeper);
    }
}
