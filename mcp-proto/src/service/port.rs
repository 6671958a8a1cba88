//! What handlers and the service share: the one lock of the crate.
//!
//! Handlers put commands, wakes and sleeps in; the service takes them out in its turn. The lock
//! is held for the time of a push or a take, never across a poll.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::mem;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Waker;
#[expect(clippy::disallowed_types, reason = "handlers may run on other threads")]
use std::sync::Mutex;
use std::sync::{MutexGuard, PoisonError};

use crate::deadlines::Deadlines;
use crate::server::{Notification, Outcome, Reply, ReplyId};
use crate::time::{Duration, Instant};

/// What a handler asks of the service.
#[derive(Debug)]
pub(super) enum Command {
    Notify(ReplyId, Notification),
    Respond(Reply, Outcome),
}

/// What has come in since the last look.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) commands: Vec<Command>,
    /// The slots of tasks that were woken.
    pub(super) ready: Vec<usize>,
}

impl Work {
    fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.ready.is_empty()
    }
}

#[derive(Debug)]
pub(super) struct Port {
    #[expect(clippy::disallowed_types, reason = "handlers may run on other threads")]
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    now: Instant,
    /// The service is in its turn and will look again before it ends.
    in_turn: bool,
    /// The service is gone: nobody looks any more.
    closed: bool,
    driver: Option<Waker>,
    work: Work,
    /// Who sleeps, by a serial number.
    sleepers: BTreeMap<u64, Waker>,
    /// Until when.
    deadlines: Deadlines<u64>,
    /// For how long, if the time is not known yet: outside of a turn `now` is stale.
    falling_asleep: Vec<(u64, Duration)>,
    sleeps: u64,
}

impl Port {
    pub(super) fn new() -> Self {
        #[expect(clippy::disallowed_types, reason = "handlers may run on other threads")]
        let state = Mutex::new(State {
            now: Instant::ZERO,
            in_turn: false,
            closed: false,
            driver: None,
            work: Work::default(),
            sleepers: BTreeMap::new(),
            deadlines: Deadlines::new(),
            falling_asleep: Vec::new(),
            sleeps: 0,
        });
        Self { state }
    }

    pub(super) fn begin_turn(&self, now: Instant, waker: &Waker) {
        let mut state = self.lock();
        state.now = now;
        state.in_turn = true;
        if !state.driver.as_ref().is_some_and(|driver| driver.will_wake(waker)) {
            state.driver = Some(waker.clone());
        }
        for (sleep, duration) in mem::take(&mut state.falling_asleep) {
            if state.sleepers.contains_key(&sleep) {
                state.deadlines.set(sleep, now + duration);
            }
        }
        let mut due = Vec::new();
        while let Some(sleep) = state.deadlines.expire(now) {
            due.extend(state.sleepers.remove(&sleep));
        }
        drop(state);
        due.into_iter().for_each(Waker::wake);
    }

    /// What has come in.
    pub(super) fn take_work(&self) -> Option<Work> {
        let mut state = self.lock();
        if state.work.is_empty() { None } else { Some(mem::take(&mut state.work)) }
    }

    /// The commands among what has come in.
    pub(super) fn take_commands(&self) -> Vec<Command> {
        mem::take(&mut self.lock().work.commands)
    }

    /// Ends the turn; what has come in meanwhile asks for another one.
    pub(super) fn end_turn(&self) {
        let mut state = self.lock();
        state.in_turn = false;
        if !state.work.is_empty() {
            state.wake_driver();
        }
    }

    /// Drops what comes in from now on.
    pub(super) fn close(&self) {
        let work = {
            let mut state = self.lock();
            state.closed = true;
            mem::take(&mut state.work)
        };
        drop(work);
    }

    pub(super) fn command(&self, command: Command) {
        self.add(|work| work.commands.push(command));
    }

    pub(super) fn ready(&self, slot: usize) {
        self.add(|work| {
            if !work.ready.contains(&slot) {
                work.ready.push(slot);
            }
        });
    }

    /// Wakes `waker` in `duration`; returns what the sleep is called.
    pub(super) fn sleep(&self, duration: Duration, waker: Waker) -> u64 {
        let mut state = self.lock();
        state.sleeps += 1;
        let sleep = state.sleeps;
        state.sleepers.insert(sleep, waker);
        if state.in_turn {
            let at = state.now + duration;
            state.deadlines.set(sleep, at);
        } else {
            state.falling_asleep.push((sleep, duration));
            state.wake_driver();
        }
        sleep
    }

    /// Whether a sleep is over; if not, `waker` is woken then.
    pub(super) fn has_slept(&self, sleep: u64, waker: &Waker) -> bool {
        // Dropping a waker may run anything, and must not find the lock held.
        let before = match self.lock().sleepers.get_mut(&sleep) {
            Some(sleeper) if sleeper.will_wake(waker) => return false,
            Some(sleeper) => mem::replace(sleeper, waker.clone()),
            None => return true,
        };
        drop(before);
        false
    }

    pub(super) fn forget_sleep(&self, sleep: u64) {
        let sleeper = {
            let mut state = self.lock();
            state.deadlines.clear(sleep);
            state.sleepers.remove(&sleep)
        };
        drop(sleeper);
    }

    pub(super) fn next_sleep(&self) -> Option<Instant> {
        self.lock().deadlines.next()
    }

    fn add(&self, push: impl FnOnce(&mut Work)) {
        let mut state = self.lock();
        if !state.closed {
            push(&mut state.work);
            state.wake_driver();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn wake_driver(&self) {
        if let Some(driver) = self.driver.as_ref().filter(|_| !self.in_turn) {
            driver.wake_by_ref();
        }
    }
}

/// Whether a request is cancelled, and who wants to know.
#[derive(Debug, Default)]
pub(super) struct Cancel {
    set: AtomicBool,
    #[expect(clippy::disallowed_types, reason = "handlers may run on other threads")]
    wakers: Mutex<Vec<Waker>>,
}

impl Cancel {
    pub(super) fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }

    pub(super) fn set(&self) {
        self.set.store(true, Ordering::Release);
        let wakers = mem::take(&mut *self.wakers.lock().unwrap_or_else(PoisonError::into_inner));
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Wakes `waker` when it is set; `false` if it is set already.
    pub(super) fn watch(&self, waker: &Waker) -> bool {
        let mut wakers = self.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_set() {
            return false;
        }
        if !wakers.iter().any(|known| known.will_wake(waker)) {
            wakers.push(waker.clone());
        }
        true
    }
}
