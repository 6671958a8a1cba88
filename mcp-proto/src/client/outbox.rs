//! Queue of a client's actions, and the flow of its messages to the server.
//!
//! In: messages and events of the machine; the driver's reports that it can or cannot write. Out:
//! the actions, in order; for each call, whether it is sent or held. A server that does not read
//! must not make the client's memory grow, so its driver calls `handle_blocked`. From then on calls
//! are held, in order, while their timeouts run. A held call has not reached the server, so its
//! cancellation sends nothing. The held calls are in `calls`.
//!
//! | state | a call | leaves by |
//! |---|---|---|
//! | open, at most [`MAX_QUEUED`] bytes in the queue | is sent | more bytes; `handle_blocked` |
//! | open, more bytes in the queue | is held | the driver has emptied the queue: a deadline that is already due sends what is held |
//! | blocked | is held | `handle_unblocked` sends what is held, up to [`MAX_QUEUED`] bytes at a time |
//!
//! At most `Limits::max_unsent_bytes` of calls are held; a call beyond this limit fails. Answers to
//! the server, and cancellations of calls that were sent, are never held. Their number is limited
//! because a blocked driver reads no more requests.

use alloc::collections::VecDeque;

use super::call_error::CallError;
use super::event::{ClientAction, ClientEvent, Undelivered};
use crate::error::{ProtocolError, UsageError};
use crate::machine::Action;
use crate::message::{Outgoing, RequestId};
use crate::time::{Duration, Instant};

/// The most bytes of requests and notifications in the queue; above that, calls are held.
const MAX_QUEUED: usize = 1024 * 1024;

/// Delay before the next check of a queue that the driver has not emptied.
const PAUSE: Duration = Duration::from_millis(10);

/// The actions that the driver has not polled.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    actions: VecDeque<ClientAction>,
    /// The bytes of requests and notifications in the queue.
    queued: usize,
    is_blocked: bool,
    /// Over HTTP, the number of answers and notifications for which no 202 has come.
    unaccepted: usize,
    /// Time of the next attempt to send held calls, if the driver is not blocked.
    held_check_at: Option<Instant>,
}

impl Outbox {
    pub(super) fn send(&mut self, message: Outgoing) {
        self.queued += size(&message);
        self.actions.push_back(ClientAction::Send(message));
    }

    pub(super) fn event(&mut self, event: ClientEvent) {
        self.actions.push_back(ClientAction::Event(event));
    }

    /// Reports a notification that has waited for a server, if there was none. Roots are announced
    /// to the next server anyway.
    pub(super) fn unsent_notification(&mut self, method: &str, error: Option<CallError>) {
        if let Some(error) = error
            && method != "notifications/roots/list_changed"
        {
            let message = Undelivered::Notification { method: method.into() };
            self.event(ClientEvent::Undelivered { message, error });
        }
    }

    pub(super) fn fault(&mut self, error: ProtocolError) {
        self.event(ClientEvent::PeerFault(error));
    }

    /// Closes the HTTP stream of a request whose response is no longer needed.
    pub(super) fn abort(&mut self, request: RequestId) {
        self.actions.push_back(ClientAction::Abort(request));
    }

    /// Closes the connection; nothing follows, and the held calls are dropped.
    pub(super) fn close(&mut self) {
        self.held_check_at = None;
        self.actions.push_back(ClientAction::Close);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    pub(super) fn poll(&mut self) -> Option<ClientAction> {
        let action = self.actions.pop_front()?;
        if let ClientAction::Send(message) = &action {
            self.queued = self.queued.saturating_sub(size(message));
        }
        Some(action)
    }

    /// The next action if it is a message.
    pub(super) fn poll_send(&mut self) -> Option<Outgoing> {
        let ClientAction::Send(_) = self.actions.front()? else { return None };
        let Some(ClientAction::Send(message)) = self.actions.pop_front() else { return None };
        self.queued = self.queued.saturating_sub(size(&message));
        Some(message)
    }

    /// The next action if it is an event or the end.
    pub(super) fn poll_event(&mut self) -> Option<Action<ClientEvent>> {
        if let ClientAction::Send(_) | ClientAction::Abort(_) = self.actions.front()? {
            return None;
        }
        match self.actions.pop_front()? {
            ClientAction::Event(event) => Some(Action::Event(event)),
            ClientAction::Close => Some(Action::Close),
            ClientAction::Send(_) | ClientAction::Abort(_) => None,
        }
    }

    /// Sets the number of messages that the server has not accepted.
    pub(super) fn set_unaccepted(&mut self, unaccepted: usize) {
        self.unaccepted = unaccepted;
    }

    /// Checks that there is room for another message that the server must accept.
    ///
    /// Fails with [`UsageError::TooManyCalls`] at `max_in_flight`.
    pub(super) fn check_unaccepted(&self, max_in_flight: usize) -> Result<(), UsageError> {
        if self.unaccepted >= max_in_flight {
            return Err(UsageError::TooManyCalls { max_in_flight });
        }
        Ok(())
    }

    /// Counts another message that the server must accept.
    pub(super) fn count_unaccepted(&mut self) {
        self.unaccepted += 1;
    }

    pub(super) fn set_blocked(&mut self, is_blocked: bool) {
        self.is_blocked = is_blocked;
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.is_blocked
    }

    /// Returns whether calls are held.
    pub(super) fn holds_calls(&self) -> bool {
        self.is_blocked || self.queued > MAX_QUEUED
    }

    /// Schedules a check of the queue after the driver's next turn, because a call is held.
    pub(super) fn check_soon(&mut self, now: Instant) {
        if !self.is_blocked && self.held_check_at.is_none() {
            self.held_check_at = Some(now);
        }
    }

    /// Schedules another check of the queue after a pause, because calls are still held.
    pub(super) fn check_later(&mut self, now: Instant) {
        if !self.is_blocked {
            self.held_check_at = Some(now + PAUSE);
        }
    }

    /// Time at which held calls are sent, if there is room.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.held_check_at
    }

    /// Handles the deadline.
    pub(super) fn expire(&mut self) {
        self.held_check_at = None;
    }
}

/// The bytes of a request or notification; other messages count as 0.
fn size(message: &Outgoing) -> usize {
    match message {
        Outgoing::Request { params, .. } | Outgoing::Notification { params, .. } => {
            params.as_bytes().len()
        }
        Outgoing::Result { .. } | Outgoing::Error { .. } | Outgoing::Batch(_) => 0,
    }
}
