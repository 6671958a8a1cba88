//! The driver of a service, as those see it who have something for the service to do.
//!
//! In: the waker of each turn, and how the turn ends. Out: wakers. Waking and dropping them may run
//! anything, so that both are done when the lock around this is released.

use core::task::Waker;

#[derive(Debug, Default)]
pub(super) struct Driver {
    waker: Option<Waker>,
    /// It is in its turn and will look again before it ends.
    in_turn: bool,
}

impl Driver {
    /// Begins a turn, after which `waker` asks for another one; returns the waker before it, to
    /// drop.
    #[must_use]
    pub(super) fn begin_turn(&mut self, waker: &Waker) -> Option<Waker> {
        self.in_turn = true;
        let known = self.waker.as_ref().is_some_and(|before| before.will_wake(waker));
        if known { None } else { self.waker.replace(waker.clone()) }
    }

    /// Ends the turn; whom to wake if something is left to do.
    #[must_use]
    pub(super) fn end_turn(&mut self, has_work: bool) -> Option<Waker> {
        self.in_turn = false;
        self.sleeping().filter(|_| has_work)
    }

    /// Whom to wake for what has come in.
    #[must_use]
    pub(super) fn sleeping(&self) -> Option<Waker> {
        self.waker.as_ref().filter(|_| !self.in_turn).cloned()
    }

    pub(super) fn is_in_turn(&self) -> bool {
        self.in_turn
    }
}

pub(super) fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::Driver;
    use core::task::Waker;

    #[test]
    fn it_is_woken_out_of_its_turn_alone() {
        let mut driver = Driver::default();
        assert!(driver.sleeping().is_none());
        assert!(driver.begin_turn(Waker::noop()).is_none());
        assert!(driver.is_in_turn() && driver.sleeping().is_none());
        assert!(driver.end_turn(true).is_some());
        assert!(driver.end_turn(false).is_none());
        assert!(driver.sleeping().is_some());
    }
}
