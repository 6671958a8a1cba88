//! The place where a future of a session and the service meet.
//!
//! | state | next |
//! |---|---|
//! | waiting, its request for input out or not | settled, by the service; over, when the future is dropped |
//! | settled | over, when the future takes the result or is dropped |
//!
//! The service holds a [`Ticket`], and to drop it settles the slot with
//! [`SessionError::Closed`]: no future waits for a service that is gone.

use alloc::sync::Arc;
use core::mem;
use core::task::{Poll, Waker};

use super::super::lock::Lock;
use super::super::mailbox::wake;
use super::error::SessionError;
use mcp_proto::server::InputId;

/// The result of a command.
pub(super) type Outcome<T> = Result<T, SessionError>;

#[derive(Debug)]
pub(super) struct Slot<T> {
    state: Lock<State<T>>,
}

#[derive(Debug)]
enum State<T> {
    /// For the service; then for the client, if `input` is what its request is called.
    Waiting {
        input: Option<InputId>,
        waker: Option<Waker>,
    },
    Settled(Outcome<T>),
    /// Nobody waits.
    Over,
}

impl<T> Slot<T> {
    /// A slot, with what settles it.
    pub(super) fn new() -> (Ticket<T>, Arc<Self>) {
        let state = Lock::new(State::Waiting { input: None, waker: None });
        let slot = Arc::new(Self { state });
        (Ticket(slot.clone()), slot)
    }

    /// The result; if there is none, `waker` is woken then.
    pub(super) fn poll(&self, waker: &Waker) -> Poll<Outcome<T>> {
        let mut state = self.state.lock();
        if let State::Waiting { waker: known, .. } = &mut *state {
            let same = known.as_ref().is_some_and(|known| known.will_wake(waker));
            let before = if same { None } else { known.replace(waker.clone()) };
            drop(state);
            // Dropping a waker may run anything, and must not find the lock held.
            drop(before);
            return Poll::Pending;
        }
        match mem::replace(&mut *state, State::Over) {
            State::Settled(outcome) => Poll::Ready(outcome),
            State::Waiting { .. } | State::Over => Poll::Ready(Err(SessionError::Closed)),
        }
    }

    /// Nobody waits any more. Returns the request to withdraw, if one is out.
    pub(super) fn abandon(&self) -> Option<InputId> {
        let before = mem::replace(&mut *self.state.lock(), State::Over);
        match before {
            State::Waiting { input, .. } => input,
            State::Settled(_) | State::Over => None,
        }
    }

    fn settle(&self, outcome: Outcome<T>) -> Option<Waker> {
        let mut state = self.state.lock();
        let State::Waiting { waker, .. } = &mut *state else { return None };
        let waker = waker.take();
        *state = State::Settled(outcome);
        waker
    }
}

/// The right to settle a slot, once.
#[derive(Debug)]
pub(in super::super) struct Ticket<T>(Arc<Slot<T>>);

impl<T> Ticket<T> {
    /// Whether nobody waits any more.
    pub(super) fn is_over(&self) -> bool {
        matches!(*self.0.state.lock(), State::Over)
    }

    /// The request is out. Returns whether anybody waits for the answer.
    pub(super) fn is_out(&self, out: InputId) -> bool {
        match &mut *self.0.state.lock() {
            State::Waiting { input, .. } => {
                *input = Some(out);
                true
            }
            State::Settled(_) | State::Over => false,
        }
    }

    /// Puts the result in; returns whom to wake once nothing is locked.
    #[must_use]
    pub(super) fn settle(self, outcome: Outcome<T>) -> Option<Waker> {
        self.0.settle(outcome)
    }
}

impl<T> Drop for Ticket<T> {
    fn drop(&mut self) {
        wake(self.0.settle(Err(SessionError::Closed)));
    }
}
