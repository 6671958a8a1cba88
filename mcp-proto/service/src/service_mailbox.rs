//! State that handlers and the service share, behind a lock.
//!
//! Handlers put commands, wakes and sleeps in; the service takes them out in its turn. The lock
//! is held for the time of a push or a take, never across a poll.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Poll, Waker};

use super::catalog::{Catalog, CatalogSnapshot};
use super::changes::Changes;
pub(super) use super::commands::Command;
use super::commands::Commands;
use super::lock::Lock;
use super::mailbox::{Mailbox, wake};
use super::session::{SessionCommand, SessionError};
use mcp_proto::internals::Deadlines;
use mcp_proto::server::Change;
use mcp_proto::{Duration, Instant};

/// Commands and wakes since the last turn.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) commands: Commands,
    /// The slots of tasks that were woken.
    pub(super) ready: Vec<usize>,
    /// The change.
    pub(super) news: CatalogUpdate,
    /// True if the endpoint asks for a visit.
    pub(super) visit: bool,
}

/// Update of the catalog.
#[derive(Debug, Default)]
pub(super) struct CatalogUpdate {
    pub(super) offer: Option<CatalogSnapshot>,
    pub(super) changes: Changes,
}

impl Work {
    fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.ready.is_empty() && self.news.is_empty() && !self.visit
    }
}

impl CatalogUpdate {
    pub(super) fn is_empty(&self) -> bool {
        self.offer.is_none() && self.changes.is_empty()
    }
}

#[derive(Debug)]
pub(super) struct ServiceMailbox {
    catalog: Catalog,
    state: Mailbox<MailboxState>,
    spawned: Lock<SpawnedHandlers>,
}

/// The handlers that an adapter runs in tasks of their own.
#[derive(Debug, Default)]
struct SpawnedHandlers {
    count: usize,
    /// Tasks that wait for the end of all handlers.
    waiting: Vec<Waker>,
}

#[derive(Debug)]
struct MailboxState {
    /// In a turn, its time.
    now: Option<Instant>,
    /// The service is gone: nobody looks any more.
    closed: bool,
    work: Work,
    /// Wakers of sleeping tasks, by a serial number.
    sleepers: BTreeMap<u64, Waker>,
    /// Until when.
    deadlines: Deadlines<u64>,
    /// For how long, if they fell asleep outside of a turn, where the time is not known.
    falling_asleep: Vec<(u64, Duration)>,
    sleeps: u64,
}

impl ServiceMailbox {
    pub(super) fn new(catalog: Catalog) -> Self {
        let state = Mailbox::new(MailboxState {
            now: None,
            closed: false,
            work: Work::default(),
            sleepers: BTreeMap::new(),
            deadlines: Deadlines::new(),
            falling_asleep: Vec::new(),
            sleeps: 0,
        });
        Self { catalog, state, spawned: Lock::default() }
    }

    pub(super) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    pub(super) fn begin_turn(&self, now: Instant, waker: &Waker) {
        let due = self.state.begin_turn(waker, |state| {
            state.now = Some(now);
            for (sleep, duration) in mem::take(&mut state.falling_asleep) {
                if state.sleepers.contains_key(&sleep) {
                    state.deadlines.set(sleep, now + duration);
                }
            }
            let mut due = Vec::new();
            while let Some(sleep) = state.deadlines.expire(now) {
                due.extend(state.sleepers.remove(&sleep));
            }
            due
        });
        due.into_iter().for_each(Waker::wake);
    }

    /// Takes all that has come in, if there is anything.
    pub(super) fn take_work(&self) -> Option<Work> {
        self.state.look(|MailboxState { work, .. }| (!work.is_empty()).then(|| mem::take(work)))
    }

    /// Returns whether anything has come in.
    pub(super) fn has_work(&self) -> bool {
        self.state.look(|state| !state.work.is_empty())
    }

    /// Takes all that has come in except wakes, if there is anything.
    pub(super) fn take_commands(&self) -> Option<(Commands, CatalogUpdate)> {
        self.state.look(|MailboxState { work, .. }| {
            if work.commands.is_empty() && work.news.is_empty() {
                return None;
            }
            Some((mem::take(&mut work.commands), mem::take(&mut work.news)))
        })
    }

    /// Asks for a visit to the endpoint.
    pub(super) fn ask_for_visit(&self) {
        self.add(|work| work.visit = true);
    }

    /// Has the driver look again.
    pub(super) fn wake_driver(&self) {
        self.state.wake();
    }

    /// Ends the turn; what has come in meanwhile asks for another one.
    pub(super) fn end_turn(&self) {
        self.state.end_turn(|state| {
            state.now = None;
            !state.work.is_empty()
        });
    }

    /// Drops what comes in from now on, and lets nobody sleep any more.
    pub(super) fn close(&self) {
        let (work, sleepers) = self.state.look(|state| {
            state.closed = true;
            (mem::take(&mut state.work), mem::take(&mut state.sleepers))
        });
        drop(work);
        sleepers.into_values().for_each(Waker::wake);
    }

    pub(super) fn command(&self, command: Command) {
        self.add(|work| work.commands.push(command));
    }

    /// The same for a session. A command for which there is no room, or nobody, says so itself.
    pub(super) fn session_command(&self, command: Box<SessionCommand>) {
        let mut refused = None;
        self.add(|work| refused = work.commands.push_session(command).err());
        let refused = refused.and_then(|command| command.refuse(SessionError::Full));
        wake(refused);
    }

    /// There is another offer.
    pub(super) fn offer(&self, offer: CatalogSnapshot) {
        let mut before = None;
        self.add(|work| {
            // Of two updates at a time the earlier one may come later.
            let waiting = work.news.offer.as_ref().map_or(0, |offer| offer.generation);
            before = if waiting < offer.generation {
                work.news.offer.replace(offer)
            } else {
                Some(offer)
            };
        });
        // Handlers may run anything when they are dropped.
        drop(before);
    }

    /// Something has changed.
    pub(super) fn publish(&self, change: &Arc<Change>) {
        self.add(|work| work.news.changes.insert(change));
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
        let mut sleep = 0;
        let mut waker = Some(waker);
        self.state.put(|state| {
            state.sleeps += 1;
            sleep = state.sleeps;
            if state.closed {
                return None;
            }
            state.sleepers.extend(waker.take().map(|waker| (sleep, waker)));
            match state.now {
                Some(now) => state.deadlines.set(sleep, now + duration),
                None => state.falling_asleep.push((sleep, duration)),
            }
            Some(())
        });
        wake(waker);
        sleep
    }

    /// Returns whether a sleep is over; if not, `waker` is woken then.
    pub(super) fn has_slept(&self, sleep: u64, waker: &Waker) -> bool {
        let sleeping = self.state.look(|state| {
            let sleeper = state.sleepers.get_mut(&sleep)?;
            let known = sleeper.will_wake(waker);
            Some(if known { None } else { Some(mem::replace(sleeper, waker.clone())) })
        });
        sleeping.is_none()
    }

    pub(super) fn forget_sleep(&self, sleep: u64) {
        let sleeper = self.state.look(|state| {
            state.deadlines.clear(sleep);
            state.sleepers.remove(&sleep)
        });
        drop(sleeper);
    }

    /// Counts a handler that is about to be spawned.
    pub(super) fn add_handler(&self) {
        self.spawned.lock().count += 1;
    }

    /// Counts the end of a handler that was spawned.
    pub(super) fn remove_handler(&self) {
        let waiting = {
            let mut spawned = self.spawned.lock();
            spawned.count = spawned.count.saturating_sub(1);
            if spawned.count > 0 {
                return;
            }
            mem::take(&mut spawned.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Ready when no spawned handler runs.
    pub(super) fn poll_handlers_ended(&self, waker: &Waker) -> Poll<()> {
        let mut spawned = self.spawned.lock();
        if spawned.count == 0 {
            return Poll::Ready(());
        }
        if !spawned.waiting.iter().any(|waiting| waiting.will_wake(waker)) {
            spawned.waiting.push(waker.clone());
        }
        Poll::Pending
    }

    pub(super) fn next_sleep(&self) -> Option<Instant> {
        self.state.look(|state| state.deadlines.next())
    }

    fn add(&self, push: impl FnOnce(&mut Work)) {
        // Dropped without the lock if nobody looks: a command may wake somebody.
        let mut push = Some(push);
        self.state.put(|state| {
            let push = if state.closed { None } else { push.take() }?;
            push(&mut state.work);
            Some(())
        });
    }
}

/// Flag of the end of a request, by an answer or a cancellation, and the tasks to wake then.
#[derive(Debug)]
pub(super) struct Cancel {
    set: AtomicBool,
    watchers: Lock<Watchers>,
}

#[derive(Debug, Default)]
struct Watchers {
    wakers: BTreeMap<u64, Waker>,
    serials: u64,
}

impl Cancel {
    pub(super) fn new() -> Self {
        let watchers = Lock::new(Watchers::default());
        Self { set: AtomicBool::new(false), watchers }
    }

    pub(super) fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }

    pub(super) fn set(&self) {
        self.set.store(true, Ordering::Release);
        let wakers = {
            let wakers = &mut self.watchers.lock().wakers;
            // Mostly nobody wants to know.
            if wakers.is_empty() {
                return;
            }
            mem::take(wakers)
        };
        wakers.into_values().for_each(Waker::wake);
    }

    /// Wakes `waker` when it is set; `false` if it is set already. `watcher` is what a watcher is
    /// called, from its first look on.
    pub(super) fn watch(&self, watcher: &mut Option<u64>, waker: &Waker) -> bool {
        let mut watchers = self.watchers.lock();
        if self.is_set() {
            return false;
        }
        let key = *watcher.get_or_insert_with(|| {
            watchers.serials += 1;
            watchers.serials
        });
        let before = watchers.wakers.insert(key, waker.clone());
        drop(watchers);
        drop(before);
        true
    }

    pub(super) fn unwatch(&self, watcher: u64) {
        let waker = self.watchers.lock().wakers.remove(&watcher);
        drop(waker);
    }
}
