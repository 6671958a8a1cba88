//! A value behind a lock, with the waker of its reader.
//!
//! Writers call [`Mailbox::update`] or [`Mailbox::put`]. The reader is a future that polls
//! ([`Mailbox::poll`]), or a driver that works in turns ([`Mailbox::begin_turn`],
//! [`Mailbox::end_turn`]).
//!
//! | reader | `put` | ends with |
//! |---|---|---|
//! | absent | wakes nothing | `poll` that finds nothing; `begin_turn` |
//! | waiting | wakes it, once | `put`; `poll` that finds something |
//! | in its turn | wakes nothing: `end_turn` checks for work | `end_turn` |
//! | between turns | wakes it, each time | `put`; `begin_turn` |
//! | woken between turns | wakes it, each time | `begin_turn` |
//!
//! | promise | because |
//! |---|---|
//! | no wake-up is lost | a reader checks the value and stores its waker under one lock; `end_turn` checks under the lock whether work is left; a driver that is polled for another reason asks `needs_turn` |
//! | wakers are woken and dropped without the lock | both may run any code |
//! | functions run under the lock | they must not run user code |
//!
//! A mailbox has one reader. A value that several futures wait for needs a list of wakers, as
//! `cancel.rs` has.

use core::task::{Poll, Waker};

use super::lock::Lock;

/// A value with one reader; see the [module](self).
#[derive(Debug, Default)]
pub(super) struct Mailbox<T>(Lock<Inner<T>>);

#[derive(Debug, Default)]
struct Inner<T> {
    value: T,
    reader: MailboxReader,
}

#[derive(Debug, Default)]
struct MailboxReader {
    /// None while the reader is absent.
    waker: Option<Waker>,
    phase: ReaderPhase,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum ReaderPhase {
    #[default]
    Waiting,
    InTurn,
    BetweenTurns,
    /// Woken between turns.
    Woken,
}

impl<T> Mailbox<T> {
    pub(super) fn new(value: T) -> Self {
        Self(Lock::new(Inner { value, reader: MailboxReader::default() }))
    }

    /// Reads or changes the value, without waking the reader.
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.0.lock().value)
    }

    /// Changes the value and wakes the reader, unless `put` returns `None`.
    pub(super) fn put<R>(&self, put: impl FnOnce(&mut T) -> Option<R>) -> Option<R> {
        let mut inner = self.0.lock();
        let result = put(&mut inner.value)?;
        let woken = inner.reader.take_waker();
        drop(inner);
        wake(woken);
        Some(result)
    }

    /// Changes the value and wakes the reader.
    pub(super) fn update(&self, change: impl FnOnce(&mut T)) {
        self.put(|value| {
            change(value);
            Some(())
        });
    }

    /// [`Mailbox::put`] for a writer that holds another lock; returns the waker of the reader, to
    /// be woken without that lock.
    #[must_use]
    pub(super) fn put_without_wake(&self, put: impl FnOnce(&mut T) -> Option<()>) -> Option<Waker> {
        let mut inner = self.0.lock();
        put(&mut inner.value)?;
        inner.reader.take_waker()
    }

    /// Wakes the reader.
    pub(super) fn wake(&self) {
        self.update(|_| ());
    }

    /// Returns the result of `take`. If it is `None`, the next `put` wakes `waker`.
    pub(super) fn poll<R>(&self, waker: &Waker, take: impl FnOnce(&mut T) -> Option<R>) -> Poll<R> {
        let mut inner = self.0.lock();
        let taken = take(&mut inner.value);
        let before = match &taken {
            Some(_) => inner.reader.waker.take(),
            None => inner.reader.enter(ReaderPhase::Waiting, waker),
        };
        drop(inner);
        drop(before);
        taken.map_or(Poll::Pending, Poll::Ready)
    }

    /// Begins a turn of a driver, and returns the result of `look`. After the turn, `put` wakes
    /// `waker`.
    // Each call to a server needs one turn at least. Inlined, the two methods save 0.5 % of it.
    #[inline]
    pub(super) fn begin_turn<R>(&self, waker: &Waker, look: impl FnOnce(&mut T) -> R) -> R {
        let mut inner = self.0.lock();
        let before = inner.reader.enter(ReaderPhase::InTurn, waker);
        let result = look(&mut inner.value);
        drop(inner);
        drop(before);
        result
    }

    /// Returns whether the driver needs a turn: it was woken after the last one, which may have had
    /// another waker.
    pub(super) fn needs_turn(&self, waker: &Waker) -> bool {
        let reader = &self.0.lock().reader;
        let is_known = reader.waker.as_ref().is_some_and(|known| known.will_wake(waker));
        !is_known || reader.phase != ReaderPhase::BetweenTurns
    }

    /// Ends the turn; wakes the driver for another one if `has_work`.
    pub(super) fn end_turn(&self, has_work: impl FnOnce(&mut T) -> bool) {
        let _ = self.end_turn_unless(|value| Err::<(), _>(has_work(value)));
    }

    /// Returns the work that `take` finds, or else ends the turn. `Err(true)` means that there is
    /// work for another turn, and wakes the driver.
    #[inline]
    pub(super) fn end_turn_unless<W>(
        &self,
        take: impl FnOnce(&mut T) -> Result<W, bool>,
    ) -> Option<W> {
        let mut inner = self.0.lock();
        let has_work = match take(&mut inner.value) {
            Ok(work) => return Some(work),
            Err(has_work) => has_work,
        };
        if inner.reader.phase == ReaderPhase::InTurn {
            inner.reader.phase = ReaderPhase::BetweenTurns;
        }
        let woken = if has_work { inner.reader.take_waker() } else { None };
        drop(inner);
        wake(woken);
        None
    }
}

impl MailboxReader {
    /// Begins a phase with this waker. Returns another waker, to be dropped without the lock.
    fn enter(&mut self, phase: ReaderPhase, waker: &Waker) -> Option<Waker> {
        self.phase = phase;
        match &self.waker {
            Some(known) if known.will_wake(waker) => None,
            _ => self.waker.replace(waker.clone()),
        }
    }

    /// The waker to wake after a `put`, without the lock.
    fn take_waker(&mut self) -> Option<Waker> {
        match self.phase {
            ReaderPhase::Waiting => self.waker.take(),
            ReaderPhase::InTurn => None,
            ReaderPhase::BetweenTurns | ReaderPhase::Woken => {
                self.phase = ReaderPhase::Woken;
                self.waker.clone()
            }
        }
    }
}

pub(super) fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::Mailbox;
    use alloc::sync::Arc;
    use alloc::task::Wake;
    use core::sync::atomic::{AtomicUsize, Ordering};
    use core::task::{Poll, Waker};

    /// A reader that locks the mailbox when it is woken: a deadlock if the lock is held.
    struct Watcher {
        mailbox: Arc<Mailbox<Option<u8>>>,
        woken: AtomicUsize,
    }

    impl Wake for Watcher {
        fn wake(self: Arc<Self>) {
            self.mailbox.with(|_| ());
            self.woken.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Drop for Watcher {
        fn drop(&mut self) {
            self.mailbox.with(|_| ());
        }
    }

    fn watched() -> (Arc<Mailbox<Option<u8>>>, Arc<Watcher>, Waker) {
        let mailbox = Arc::<Mailbox<_>>::default();
        let watcher = Arc::new(Watcher { mailbox: mailbox.clone(), woken: AtomicUsize::new(0) });
        let waker = Waker::from(watcher.clone());
        (mailbox, watcher, waker)
    }

    fn woken(watcher: &Watcher) -> usize {
        watcher.woken.swap(0, Ordering::Relaxed)
    }

    fn put(mailbox: &Mailbox<Option<u8>>, value: u8) {
        mailbox.update(|it| *it = Some(value));
    }

    #[test]
    fn waiting_future_is_woken_once_without_the_lock() {
        let (mailbox, watcher, waker) = watched();
        assert_eq!(mailbox.poll(&waker, Option::take), Poll::Pending);
        put(&mailbox, 1);
        put(&mailbox, 2);
        assert_eq!(woken(&watcher), 1);
        assert_eq!(mailbox.poll(&waker, Option::take), Poll::Ready(2));
        put(&mailbox, 3);
        assert_eq!(woken(&watcher), 0, "it has taken what it waited for");
    }

    #[test]
    fn last_waker_of_a_future_is_woken() {
        let (mailbox, first, waker) = watched();
        assert_eq!(mailbox.poll(&waker, Option::take), Poll::Pending);
        let second = Arc::new(Watcher { mailbox: mailbox.clone(), woken: AtomicUsize::new(0) });
        assert_eq!(mailbox.poll(&second.clone().into(), Option::take), Poll::Pending);
        put(&mailbox, 1);
        assert_eq!((woken(&first), woken(&second)), (0, 1));
    }

    #[test]
    fn driver_is_woken_between_turns_only() {
        let (mailbox, watcher, waker) = watched();
        put(&mailbox, 1);
        mailbox.begin_turn(&waker, |it| assert_eq!(it.take(), Some(1)));
        put(&mailbox, 2);
        assert_eq!(woken(&watcher), 0);
        mailbox.end_turn(|it| it.is_some());
        assert_eq!(woken(&watcher), 1, "something came in after the last look");
        mailbox.begin_turn(&waker, |it| assert_eq!(it.take(), Some(2)));
        mailbox.end_turn(|it| it.is_some());
        assert_eq!(woken(&watcher), 0);
        put(&mailbox, 3);
        put(&mailbox, 4);
        assert_eq!(woken(&watcher), 2);
    }

    #[test]
    fn driver_needs_a_turn_after_a_wake_and_for_another_waker() {
        let (mailbox, _, waker) = watched();
        assert!(mailbox.needs_turn(&waker), "it had none");
        let turn = |has_work| {
            mailbox.begin_turn(&waker, |_| ());
            mailbox.end_turn(|_| has_work);
        };
        turn(false);
        assert!(!mailbox.needs_turn(&waker));
        assert!(mailbox.needs_turn(Waker::noop()));
        mailbox.wake();
        assert!(mailbox.needs_turn(&waker));
        turn(true);
        assert!(mailbox.needs_turn(&waker));
        turn(false);
        assert!(!mailbox.needs_turn(&waker));
    }

    #[test]
    fn turn_ends_once_no_work_is_left() {
        let (mailbox, watcher, waker) = watched();
        put(&mailbox, 1);
        mailbox.begin_turn(&waker, |_| ());
        let take = |it: &mut Option<u8>| it.take().ok_or(false);
        assert_eq!(mailbox.end_turn_unless(take), Some(1));
        put(&mailbox, 2);
        assert_eq!(woken(&watcher), 0, "the turn goes on");
        assert_eq!(mailbox.end_turn_unless(take), Some(2));
        assert_eq!(mailbox.end_turn_unless(take), None);
        put(&mailbox, 3);
        assert_eq!(woken(&watcher), 1);
    }

    #[test]
    fn nothing_put_in_wakes_nobody() {
        let (mailbox, watcher, waker) = watched();
        mailbox.begin_turn(&waker, |_| ());
        mailbox.end_turn(|_| false);
        assert_eq!(mailbox.put(|_| None::<()>), None);
        assert_eq!(woken(&watcher), 0);
    }
}
