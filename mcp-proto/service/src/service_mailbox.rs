//! Queue of commands, wakes and sleeps from handlers to the service.
//!
//! Handlers push; the service takes in its turn. A turn is one run of the service by its driver,
//! from `begin_turn`, which sets the time, to `end_turn` or `take_work_or_end_turn`. The lock is
//! held only to push or take, never while a future is polled.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::task::Wake;
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
use super::task::abandon_task;
use mcp_proto::server::{Change, Outcome};
use mcp_proto::{Duration, Instant};

/// The work since the last turn.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// True if the endpoint has requested a visit.
    pub(super) visit: bool,
    /// Most handlers end in the turn that calls them, and queue nothing.
    pub(super) queued: Option<Box<QueuedWork>>,
}

/// Commands and wakes.
#[derive(Debug, Default)]
pub(super) struct QueuedWork {
    pub(super) commands: Commands,
    /// The slots of handlers that were woken.
    pub(super) ready: Vec<usize>,
    /// The update of the catalog.
    pub(super) update: CatalogUpdate,
}

/// Update of the catalog.
#[derive(Debug, Default)]
pub(super) struct CatalogUpdate {
    pub(super) snapshot: Option<Arc<CatalogSnapshot>>,
    pub(super) changes: Changes,
}

impl Work {
    fn is_empty(&self) -> bool {
        !self.visit && self.queued.is_none()
    }
}

impl CatalogUpdate {
    pub(super) fn is_empty(&self) -> bool {
        self.snapshot.is_none() && self.changes.is_empty()
    }
}

#[derive(Debug)]
pub(super) struct ServiceMailbox {
    catalog: Catalog,
    state: Mailbox<MailboxState>,
    /// True if work is queued; changed with `state` locked. It is read without the lock: a reader
    /// sees what was queued before, such as the commands of a handler that has ended.
    has_work: AtomicBool,
    spawned: Lock<SpawnedHandlers>,
}

/// The handlers that run in spawned tasks.
#[derive(Debug, Default)]
struct SpawnedHandlers {
    count: usize,
    /// Tasks that wait for the end of all handlers.
    waiting: Vec<Waker>,
}

#[derive(Debug)]
struct MailboxState {
    /// The time of the current turn.
    now: Option<Instant>,
    /// True if the service is gone.
    closed: bool,
    work: Work,
    /// The sleeps of handlers. Most handlers never sleep.
    sleeps: Option<Box<Sleeps>>,
}

impl MailboxState {
    /// Ends the turn and returns the end of the next sleep.
    fn end_turn(&mut self) -> Option<Instant> {
        self.now = None;
        self.sleeps.as_ref()?.next()
    }
}

/// Sleeping futures. Over HTTP the handlers of all sessions share one mailbox, so each step costs
/// the logarithm of their number.
#[derive(Debug, Default)]
struct Sleeps {
    /// Sleeping futures by serial number.
    sleepers: BTreeMap<u64, Sleeper>,
    /// Ends of the sleeps, with their numbers.
    ends: BTreeSet<(Instant, u64)>,
    /// Sleeps with durations that began outside of a turn, where the time is unknown.
    falling_asleep: Vec<(u64, Duration)>,
    count: u64,
}

#[derive(Debug)]
struct Sleeper {
    waker: Waker,
    /// The end of the sleep, once it is known.
    end: Option<Instant>,
}

impl Sleeps {
    /// Begins a sleep that ends at a known time, or once the next turn has set it.
    fn begin(&mut self, now: Option<Instant>, duration: Duration, waker: Waker) -> u64 {
        self.count += 1;
        let sleep = self.count;
        self.sleepers.insert(sleep, Sleeper { waker, end: None });
        match now {
            Some(now) => self.set_end(sleep, now + duration),
            None => self.falling_asleep.push((sleep, duration)),
        }
        sleep
    }

    /// Sets the end of a sleep. A sleep until the end of time has none.
    fn set_end(&mut self, sleep: u64, end: Instant) {
        if let Some(sleeper) = self.sleepers.get_mut(&sleep)
            && end != Instant::NEVER
        {
            sleeper.end = Some(end);
            self.ends.insert((end, sleep));
        }
    }

    fn remove(&mut self, sleep: u64) -> Option<Waker> {
        let Sleeper { waker, end } = self.sleepers.remove(&sleep)?;
        if let Some(end) = end {
            self.ends.remove(&(end, sleep));
        }
        Some(waker)
    }

    /// The wakers of the sleeps that end at `now`.
    fn expire(&mut self, now: Instant) -> Vec<Waker> {
        for (sleep, duration) in mem::take(&mut self.falling_asleep) {
            self.set_end(sleep, now + duration);
        }
        let mut due = Vec::new();
        while let Some((_, sleep)) = self.ends.first().filter(|(end, _)| *end <= now) {
            due.extend(self.remove(*sleep));
        }
        due
    }

    /// The end of the next sleep.
    fn next(&self) -> Option<Instant> {
        self.ends.first().map(|(end, _)| *end)
    }
}

/// The slot of the handler that the mailbox itself wakes, which needs no other waker.
pub(super) const FIRST_SLOT: usize = 0;

impl Wake for ServiceMailbox {
    fn wake(self: Arc<Self>) {
        self.ready(FIRST_SLOT);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready(FIRST_SLOT);
    }
}

impl ServiceMailbox {
    pub(super) fn new(catalog: Catalog) -> Self {
        let state = Mailbox::new(MailboxState {
            now: None,
            closed: false,
            work: Work::default(),
            sleeps: None,
        });
        Self { catalog, state, has_work: AtomicBool::new(false), spawned: Lock::default() }
    }

    pub(super) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    pub(super) fn begin_turn(&self, now: Instant, waker: &Waker) {
        let due = self.state.begin_turn(waker, |state| {
            state.now = Some(now);
            state.sleeps.as_mut().map(|sleeps| sleeps.expire(now)).unwrap_or_default()
        });
        due.into_iter().for_each(Waker::wake);
    }

    /// Takes the queued work; `None` if there is none.
    pub(super) fn take_work(&self) -> Option<Work> {
        self.state.with(|state| self.take_from(state))
    }

    /// Takes the queued work, or else ends the turn and returns the end of the next sleep.
    pub(super) fn take_work_or_end_turn(&self) -> Result<Work, Option<Instant>> {
        let mut next_sleep = None;
        let work = self.state.end_turn_unless(|state| {
            self.take_from(state).ok_or_else(|| {
                next_sleep = state.end_turn();
                false
            })
        });
        work.ok_or(next_sleep)
    }

    fn take_from(&self, state: &mut MailboxState) -> Option<Work> {
        if state.work.is_empty() {
            return None;
        }
        self.has_work.store(false, Ordering::Relaxed);
        Some(mem::take(&mut state.work))
    }

    /// Returns whether the driver was woken after its last turn, which may have had another waker.
    pub(super) fn needs_turn(&self, waker: &Waker) -> bool {
        self.state.needs_turn(waker)
    }

    /// Returns whether work is queued.
    pub(super) fn has_work(&self) -> bool {
        self.has_work.load(Ordering::Acquire)
    }

    /// Takes the queued commands and updates, without wakes; `None` if nothing is queued.
    pub(super) fn take_commands(&self) -> Option<(Commands, CatalogUpdate)> {
        if !self.has_work() {
            return None;
        }
        self.state.with(|MailboxState { work, .. }| {
            let queued = work.queued.as_mut()?;
            let taken = (mem::take(&mut queued.commands), mem::take(&mut queued.update));
            if queued.ready.is_empty() {
                work.queued = None;
                self.has_work.store(work.visit, Ordering::Relaxed);
            }
            Some(taken)
        })
    }

    /// Requests a visit to the endpoint.
    pub(super) fn request_visit(&self) {
        self.put(|work| work.visit = true);
    }

    /// Wakes the driver.
    pub(super) fn wake_driver(&self) {
        self.state.wake();
    }

    /// Ends the turn and returns the end of the next sleep. The driver is woken again if more work
    /// was queued meanwhile.
    pub(super) fn end_turn(&self) -> Option<Instant> {
        let mut next_sleep = None;
        self.state.end_turn(|state| {
            next_sleep = state.end_turn();
            !state.work.is_empty()
        });
        next_sleep
    }

    /// Closes the mailbox: queued and later work is dropped, and sleeping futures are woken.
    pub(super) fn close(&self) {
        let (work, sleeps) = self.state.with(|state| {
            state.closed = true;
            self.has_work.store(false, Ordering::Relaxed);
            (mem::take(&mut state.work), state.sleeps.take())
        });
        let commands = work.queued.map(|queued| queued.commands).unwrap_or_default();
        commands.into_iter().for_each(|command| self.drop_unsent(command));
        sleeps
            .into_iter()
            .flat_map(|sleeps| sleeps.sleepers.into_values())
            .for_each(|it| it.waker.wake());
    }

    pub(super) fn command(&self, command: Command) {
        let mut command = Some(command);
        self.add(|work| command.take().into_iter().for_each(|it| work.commands.push(it)));
        if let Some(command) = command {
            self.drop_unsent(command);
        }
    }

    /// Drops a command of a closed mailbox. No client learns the id of a task in a response, so the
    /// task is removed.
    fn drop_unsent(&self, command: Command) {
        if let Command::Respond(_, Outcome::Task(task)) = command {
            abandon_task(&self.catalog.tasks(), &task);
        }
    }

    /// Queues a command of a session. A command that is not accepted fails its future.
    pub(super) fn session_command(&self, command: Box<SessionCommand>) {
        let mut refused = None;
        self.add(|work| refused = work.commands.push_session(command).err());
        let refused = refused.and_then(|command| command.refuse(SessionError::Full));
        wake(refused);
    }

    /// Queues a new snapshot of the catalog.
    pub(super) fn queue_snapshot(&self, snapshot: Arc<CatalogSnapshot>) {
        let mut before = None;
        self.add(|work| {
            // Concurrent updates may arrive in the wrong order.
            let waiting = work.update.snapshot.as_ref().map_or(0, |snapshot| snapshot.generation);
            before = if waiting < snapshot.generation {
                work.update.snapshot.replace(snapshot)
            } else {
                Some(snapshot)
            };
        });
        // The drop of a handler may run any code: drop it without the lock.
        drop(before);
    }

    /// Queues a change to publish.
    pub(super) fn publish(&self, change: &Arc<Change>) {
        self.add(|work| work.update.changes.insert(change));
    }

    pub(super) fn ready(&self, slot: usize) {
        self.add(|work| {
            if !work.ready.contains(&slot) {
                work.ready.push(slot);
            }
        });
    }

    /// Wakes `waker` after `duration`; returns the number of the sleep.
    pub(super) fn sleep(&self, duration: Duration, waker: Waker) -> u64 {
        let mut sleep = 0;
        let mut waker = Some(waker);
        self.state.put(|state| {
            if state.closed {
                return None;
            }
            let sleeps = state.sleeps.get_or_insert_default();
            sleep = sleeps.begin(state.now, duration, waker.take()?);
            Some(())
        });
        wake(waker);
        sleep
    }

    /// Returns whether a sleep has ended; if not, `waker` is woken at its end.
    pub(super) fn has_slept(&self, sleep: u64, waker: &Waker) -> bool {
        let sleeping = self.state.with(|state| {
            let Sleeper { waker: before, .. } = state.sleeps.as_mut()?.sleepers.get_mut(&sleep)?;
            let known = before.will_wake(waker);
            Some(if known { None } else { Some(mem::replace(before, waker.clone())) })
        });
        sleeping.is_none()
    }

    pub(super) fn forget_sleep(&self, sleep: u64) {
        let waker = self.state.with(|state| state.sleeps.as_mut()?.remove(sleep));
        drop(waker);
    }

    /// Counts a handler that is about to be spawned.
    pub(super) fn add_handler(&self) {
        self.spawned.lock().count += 1;
    }

    /// Counts the end of a spawned handler.
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

    fn add(&self, push: impl FnOnce(&mut QueuedWork)) {
        self.put(|work| push(work.queued.get_or_insert_default()));
    }

    fn put(&self, push: impl FnOnce(&mut Work)) {
        // If the mailbox is closed, work is dropped without the lock: the drop of a command may
        // wake a task.
        let mut push = Some(push);
        self.state.put(|state| {
            let push = if state.closed { None } else { push.take() }?;
            push(&mut state.work);
            self.has_work.store(true, Ordering::Release);
            Some(())
        });
    }
}
