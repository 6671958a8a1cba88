//! Results of commands, shared by a future of a session and the service.
//!
//! | state | next |
//! |---|---|
//! | waiting, with its request for input sent or not | settled, by the service; over, when the future is dropped |
//! | settled | over, when the future takes the result or is dropped |
//!
//! The service has a [`Ticket`]. Dropping the ticket settles the slot with
//! [`SessionError::Closed`], so that no future waits for a service that is gone.

use alloc::sync::Arc;
use core::mem;
use core::task::{Poll, Waker};

use super::super::mailbox::{Mailbox, wake};
use super::error::SessionError;
use mcp_proto::server::InputId;

/// The result of a command.
pub(super) type Outcome<T> = Result<T, SessionError>;

#[derive(Debug)]
pub(super) struct AnswerSlot<T>(Mailbox<AnswerSlotState<T>>);

#[derive(Debug)]
enum AnswerSlotState<T> {
    /// For the service, or for the client if the request has an id.
    Waiting(Option<InputId>),
    Settled(Outcome<T>),
    /// The future is dropped or has taken the result.
    Over,
}

impl<T> AnswerSlot<T> {
    /// A slot and the ticket that settles it.
    pub(super) fn new() -> (Ticket<T>, Arc<Self>) {
        let slot = Arc::new(Self(Mailbox::new(AnswerSlotState::Waiting(None))));
        (Ticket(slot.clone()), slot)
    }

    /// The result; if there is none yet, `waker` is woken when there is.
    pub(super) fn poll(&self, waker: &Waker) -> Poll<Outcome<T>> {
        self.0.poll(waker, |state| match mem::replace(state, AnswerSlotState::Over) {
            AnswerSlotState::Waiting(input) => {
                *state = AnswerSlotState::Waiting(input);
                None
            }
            AnswerSlotState::Settled(outcome) => Some(outcome),
            AnswerSlotState::Over => Some(Err(SessionError::Closed)),
        })
    }

    /// Handles the drop of the future, and drops its waker: the service may drop the ticket with a
    /// lock. Returns the request to cancel, if it was sent.
    pub(super) fn abandon(&self) -> Option<InputId> {
        let end = |state: &mut _| Some(mem::replace(state, AnswerSlotState::Over));
        let before = self.0.poll(Waker::noop(), end);
        if let Poll::Ready(AnswerSlotState::Waiting(input)) = before { input } else { None }
    }

    fn settle(&self, outcome: Outcome<T>) -> Option<Waker> {
        self.0.put_without_wake(|state| {
            let AnswerSlotState::Waiting(_) = state else { return None };
            *state = AnswerSlotState::Settled(outcome);
            Some(())
        })
    }
}

/// The right to settle a slot, once.
#[derive(Debug)]
pub(in super::super) struct Ticket<T>(Arc<AnswerSlot<T>>);

impl<T> Ticket<T> {
    /// Returns whether the future is gone.
    pub(super) fn is_abandoned(&self) -> bool {
        self.0.0.with(|state| matches!(state, AnswerSlotState::Over))
    }

    /// Records that the request was sent. Returns false if the future is gone.
    pub(super) fn mark_sent(&self, out: InputId) -> bool {
        self.0.0.with(|state| {
            let AnswerSlotState::Waiting(input) = state else { return false };
            *input = Some(out);
            true
        })
    }

    /// Stores the result. The caller must wake the returned waker without a lock.
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::task::Wake;

    struct Woken;

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {}
    }

    #[test]
    fn abandoned_slot_has_no_waker_while_its_ticket_exists() {
        let (ticket, slot) = AnswerSlot::<()>::new();
        let woken = Arc::new(Woken);
        assert!(slot.poll(&Waker::from(woken.clone())).is_pending());
        assert_eq!(Arc::strong_count(&woken), 2);
        assert_eq!(slot.abandon(), None);
        assert_eq!(Arc::strong_count(&woken), 1);
        assert!(ticket.is_abandoned());
    }
}
