//! An event count: a number that only grows, and the futures that wait until it reaches a value.
//!
//! In: [`EventCount::advance_to`], [`EventCount::advance`]. Out: [`Reached`], a future. The phases
//! of a listener, its connections that have closed, and the end of a server's standard error are
//! event counts.
//!
//! A pending future is polled whenever its task runs. Such a poll only reads the number and
//! compares wakers; only the first poll and a new waker take the lock.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::future::Future;
use core::mem;
use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll, Waker};

use crate::lock::Lock;

/// A number that only grows. Clones share the number.
#[derive(Clone, Debug, Default)]
pub(super) struct EventCount(Arc<EventCountShared>);

#[derive(Debug, Default)]
struct EventCountShared {
    /// Changed only while `waiting` is locked.
    count: AtomicUsize,
    waiting: Lock<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Keyed by the awaited value and the number of the future.
    wakers: BTreeMap<(usize, u64), Waker>,
    futures: u64,
}

impl EventCount {
    pub(super) fn count(&self) -> usize {
        self.0.count.load(Ordering::Acquire)
    }

    /// Adds one to the number.
    pub(super) fn advance(&self) {
        self.set(|count| count + 1);
    }

    /// Raises the number to at least `count`.
    pub(super) fn advance_to(&self, count: usize) {
        self.set(|before| before.max(count));
    }

    /// Completes when the number is `count` or more.
    pub(super) fn reached(&self, count: usize) -> Reached {
        Reached { shared: self.0.clone(), count, registered: None }
    }

    fn set(&self, next: impl FnOnce(usize) -> usize) {
        let due = {
            let mut waiting = self.0.waiting.lock();
            let count = next(self.count());
            self.0.count.store(count, Ordering::Release);
            let later = waiting.wakers.split_off(&(count.saturating_add(1), 0));
            mem::replace(&mut waiting.wakers, later)
        };
        // A waker may run any code, so wake without the lock.
        due.into_values().for_each(Waker::wake);
    }
}

/// A future of [`EventCount::reached`].
#[derive(Debug)]
pub(super) struct Reached {
    shared: Arc<EventCountShared>,
    count: usize,
    /// The number of this future, and its registered waker.
    registered: Option<(u64, Waker)>,
}

impl Future for Reached {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.shared.count.load(Ordering::Acquire) >= self.count {
            return Poll::Ready(());
        }
        let waker = context.waker();
        if self.registered.as_ref().is_some_and(|(_, known)| known.will_wake(waker)) {
            return Poll::Pending;
        }
        let (number, before) = {
            let mut waiting = self.shared.waiting.lock();
            // The number may have grown before the lock was taken.
            if self.shared.count.load(Ordering::Acquire) >= self.count {
                return Poll::Ready(());
            }
            let number = if let Some((number, _)) = self.registered {
                number
            } else {
                waiting.futures += 1;
                waiting.futures
            };
            (number, waiting.wakers.insert((self.count, number), waker.clone()))
        };
        // Dropping a waker may run any code.
        drop(before);
        self.registered = Some((number, waker.clone()));
        Poll::Pending
    }
}

impl Drop for Reached {
    fn drop(&mut self) {
        if let Some((number, _)) = self.registered {
            let left = self.shared.waiting.lock().wakers.remove(&(self.count, number));
            drop(left);
        }
    }
}

/// Advances an event count by one when it is dropped.
#[derive(Debug)]
pub(super) struct AdvanceOnDrop(pub(super) EventCount);

impl Drop for AdvanceOnDrop {
    fn drop(&mut self) {
        self.0.advance();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::task::Wake;
    use core::pin::pin;

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn only_futures_that_have_reached_their_value_are_woken() {
        let events = EventCount::default();
        let wakes = [Arc::new(Wakes::default()), Arc::new(Wakes::default())];
        let [first, second] = wakes.clone().map(Waker::from);
        let mut one = pin!(events.reached(1));
        let mut three = pin!(events.reached(3));
        assert!(one.as_mut().poll(&mut Context::from_waker(&first)).is_pending());
        assert!(three.as_mut().poll(&mut Context::from_waker(&second)).is_pending());
        events.advance();
        assert_eq!(wakes.each_ref().map(|wakes| wakes.0.load(Ordering::SeqCst)), [1, 0]);
        assert!(one.as_mut().poll(&mut Context::from_waker(&first)).is_ready());
        // It is still registered for its value.
        assert!(three.as_mut().poll(&mut Context::from_waker(&second)).is_pending());
        events.advance_to(5);
        events.advance_to(2);
        assert_eq!(events.count(), 5);
        assert_eq!(wakes.each_ref().map(|wakes| wakes.0.load(Ordering::SeqCst)), [1, 1]);
    }

    #[test]
    fn a_future_that_moves_to_another_task_is_woken_there() {
        let events = EventCount::default();
        let wakes = [Arc::new(Wakes::default()), Arc::new(Wakes::default())];
        let mut reached = pin!(events.reached(1));
        for waker in wakes.clone().map(Waker::from) {
            assert!(reached.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        drop(AdvanceOnDrop(events));
        assert_eq!(wakes.each_ref().map(|wakes| wakes.0.load(Ordering::SeqCst)), [0, 1]);
    }

    #[test]
    fn a_dropped_future_leaves_nothing() {
        let events = EventCount::default();
        let mut reached = events.reached(1);
        assert!(Pin::new(&mut reached).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(reached);
        assert!(events.0.waiting.lock().wakers.is_empty());
    }
}
