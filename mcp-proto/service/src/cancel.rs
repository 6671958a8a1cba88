//! Cancellation tokens of requests.
//!
//! In: the cancellation or the end of a request. Out: whether it has ended, and the wakes of tasks
//! that wait for this.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::cell::Cell;
use core::mem;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Waker;

use super::lock::Lock;
use mcp_proto::server::CancelCause;

std::thread_local! {
    /// The token of a request that has ended. Most handlers drop theirs, and then the next call
    /// makes no new one: over stdio it has two allocations in place of three.
    static UNUSED: Cell<Option<Arc<Cancel>>> = const { Cell::new(None) };
}

/// Cancellation token of a request, with the tasks to wake. It is also set at the end of the
/// request, if anybody holds it.
#[derive(Debug, Default)]
pub(super) struct Cancel {
    set: AtomicBool,
    watchers: Lock<Watchers>,
}

/// Wakers of tasks that wait. A task has a number, so that it can be forgotten.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    wakers: BTreeMap<u64, Waker>,
    serials: u64,
    /// The reason of the client that has cancelled the request.
    reason: Option<Box<str>>,
}

impl Watchers {
    /// Registers `waker` in place of the earlier one of this watcher, which is returned: its drop
    /// may run any code. `watcher` is the number of the watcher, set by its first call.
    pub(super) fn watch(&mut self, watcher: &mut Option<u64>, waker: &Waker) -> Option<Waker> {
        let key = *watcher.get_or_insert_with(|| {
            self.serials += 1;
            self.serials
        });
        self.wakers.insert(key, waker.clone())
    }

    pub(super) fn unwatch(&mut self, watcher: u64) -> Option<Waker> {
        self.wakers.remove(&watcher)
    }

    /// Takes the wakers, to be woken without a lock.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Waker> + use<> {
        mem::take(&mut self.wakers).into_values()
    }
}

impl Cancel {
    /// The token of a new request.
    pub(super) fn new() -> Arc<Self> {
        UNUSED.try_with(Cell::take).ok().flatten().unwrap_or_default()
    }

    /// Ends the token of a request: sets it, or keeps it for another request if nobody else holds
    /// it or waits for it.
    pub(super) fn end(mut self: Arc<Self>) {
        if let Some(unused) = Arc::get_mut(&mut self)
            && unused.watchers.get_mut().wakers.is_empty()
        {
            *unused.set.get_mut() = false;
            unused.watchers.get_mut().reason = None;
            // While its thread ends, the token is dropped.
            let _ = UNUSED.try_with(|kept| kept.set(Some(self)));
            return;
        }
        self.set();
    }

    pub(super) fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }

    /// Sets the token for this cause of a cancellation.
    pub(super) fn set_for(&self, cause: CancelCause) {
        if let CancelCause::Client(Some(reason)) = cause {
            self.watchers.lock().reason = Some(reason.into());
        }
        self.set();
    }

    /// The reason of the client that has cancelled the request, if there is one.
    pub(super) fn reason(&self) -> Option<Box<str>> {
        self.watchers.lock().reason.clone()
    }

    pub(super) fn set(&self) {
        self.set.store(true, Ordering::Release);
        let wakers = {
            let mut watchers = self.watchers.lock();
            // The usual case.
            if watchers.wakers.is_empty() {
                return;
            }
            watchers.take()
        };
        wakers.for_each(Waker::wake);
    }

    /// Registers `waker` to be woken when the token is set; `false` if it is set already. `watcher`
    /// is the number of the watcher, set by its first call.
    pub(super) fn watch(&self, watcher: &mut Option<u64>, waker: &Waker) -> bool {
        let mut watchers = self.watchers.lock();
        if self.is_set() {
            return false;
        }
        let before = watchers.watch(watcher, waker);
        drop(watchers);
        drop(before);
        true
    }

    pub(super) fn unwatch(&self, watcher: u64) {
        let waker = self.watchers.lock().unwatch(watcher);
        drop(waker);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::task::Wake;
    use core::sync::atomic::AtomicUsize;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn token_is_used_again_only_if_nobody_holds_it() {
        for is_held in [false, true] {
            let token = Cancel::new();
            assert!(!token.is_set());
            let held = is_held.then(|| token.clone());
            let place = Arc::as_ptr(&token);
            token.end();
            let next = Cancel::new();
            assert_eq!(Arc::as_ptr(&next) == place, !is_held);
            assert!(!next.is_set());
            assert!(held.is_none_or(|held| held.is_set()), "its request has ended");
        }
    }

    #[test]
    fn watcher_of_a_token_that_nobody_holds_is_woken() {
        let woken = Arc::new(Woken::default());
        let token = Cancel::new();
        assert!(token.watch(&mut None, &woken.clone().into()));
        token.end();
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert!(!Cancel::new().is_set());
    }

    #[test]
    fn token_that_is_used_again_has_no_watchers() {
        let woken = Arc::new(Woken::default());
        let token = Cancel::new();
        assert!(token.watch(&mut None, &woken.clone().into()));
        let place = Arc::as_ptr(&token);
        token.clone().end();
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        token.end();
        let next = Cancel::new();
        assert_eq!(Arc::as_ptr(&next), place);
        next.set();
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert!(!next.watch(&mut None, &woken.into()), "it is set");
    }
}
