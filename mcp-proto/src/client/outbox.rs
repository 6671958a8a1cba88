//! Queue of a client's actions, and the flow of its messages to the server.
//!
//! In: messages and events, as the machine makes them; whether the driver can write. Out: the
//! actions, in their order; whether a call is sent or held. A server that does not read must not
//! make the client grow: its driver says so by `handle_blocked`, and from then on calls are held, in
//! order, with their time running. A call that is held has not reached the server; to cancel it
//! sends nothing.
//!
//! | state | a call | leaves by |
//! |---|---|---|
//! | open, at most [`MAX_QUEUED`] bytes in the queue | is sent | more bytes; `handle_blocked` |
//! | open, more bytes in the queue | is held | the queue is taken: a deadline that is due at once sends what is held |
//! | blocked | is held | `handle_unblocked` sends what is held, up to [`MAX_QUEUED`] bytes at a time |
//!
//! At most `Limits::max_unsent_bytes` of calls are held; another one is an error. Answers to the
//! server and cancellations of calls that were sent are never held; what makes a client answer is
//! bounded by its driver, which reads no more.

use alloc::collections::VecDeque;

use super::event::{ClientAction, ClientEvent};
use crate::error::{ProtocolError, UsageError};
use crate::machine::Action;
use crate::message::{Outgoing, RequestId};
use crate::time::{Duration, Instant};

/// With more bytes of requests and notifications than this in the queue, calls are held.
const MAX_QUEUED: usize = 1024 * 1024;

/// Delay before the next look at a queue that should have been taken and was not.
const PAUSE: Duration = Duration::from_millis(10);

/// The actions that the driver has not taken.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    actions: VecDeque<ClientAction>,
    /// The bytes of requests and notifications among them.
    queued: usize,
    is_blocked: bool,
    /// Over HTTP, the messages without a response that the server has not accepted.
    unaccepted: usize,
    /// Deadline for sending calls that are held although the driver can write.
    resumes: Option<Instant>,
}

impl Outbox {
    pub(super) fn send(&mut self, message: Outgoing) {
        self.queued += size(&message);
        self.actions.push_back(ClientAction::Send(message));
    }

    pub(super) fn event(&mut self, event: ClientEvent) {
        self.actions.push_back(ClientAction::Event(event));
    }

    pub(super) fn fault(&mut self, error: ProtocolError) {
        self.event(ClientEvent::PeerFault(error));
    }

    pub(super) fn abort(&mut self, request: RequestId) {
        self.actions.push_back(ClientAction::Abort(request));
    }

    /// Closes the connection; nothing follows, and nothing is held any more.
    pub(super) fn close(&mut self) {
        self.resumes = None;
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

    /// The next action if it is to send a message.
    pub(super) fn poll_send(&mut self) -> Option<Outgoing> {
        match self.actions.pop_front()? {
            ClientAction::Send(message) => {
                self.queued = self.queued.saturating_sub(size(&message));
                Some(message)
            }
            other @ (ClientAction::Event(_) | ClientAction::Abort(_) | ClientAction::Close) => {
                self.actions.push_front(other);
                None
            }
        }
    }

    /// The next action if it is an event or the end.
    pub(super) fn poll_event(&mut self) -> Option<Action<ClientEvent>> {
        match self.actions.pop_front()? {
            ClientAction::Event(event) => Some(Action::Event(event)),
            ClientAction::Close => Some(Action::Close),
            other @ (ClientAction::Send(_) | ClientAction::Abort(_)) => {
                self.actions.push_front(other);
                None
            }
        }
    }

    /// Sets the number of messages that the server has not accepted.
    pub(super) fn set_unaccepted(&mut self, unaccepted: usize) {
        self.unaccepted = unaccepted;
    }

    /// Counts another message that the server is to accept.
    ///
    /// Fails with [`UsageError::TooManyCalls`] at `max_in_flight`.
    pub(super) fn admit(&mut self, max_in_flight: usize) -> Result<(), UsageError> {
        if self.unaccepted >= max_in_flight {
            return Err(UsageError::TooManyCalls { max_in_flight });
        }
        self.unaccepted += 1;
        Ok(())
    }

    pub(super) fn set_blocked(&mut self, is_blocked: bool) {
        self.is_blocked = is_blocked;
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.is_blocked
    }

    /// Returns whether calls are held.
    pub(super) fn holds(&self) -> bool {
        self.is_blocked || self.queued > MAX_QUEUED
    }

    /// A call is held: the queue is looked at once the driver has had its turn.
    pub(super) fn look_soon(&mut self, now: Instant) {
        if !self.is_blocked && self.resumes.is_none() {
            self.resumes = Some(now);
        }
    }

    /// Calls are still held: the queue is looked at again after a pause.
    pub(super) fn look_later(&mut self, now: Instant) {
        if !self.is_blocked {
            self.resumes = Some(now + PAUSE);
        }
    }

    /// When calls that are held are to be sent, as far as there is room.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.resumes
    }

    /// The deadline takes effect.
    pub(super) fn expire(&mut self) {
        self.resumes = None;
    }
}

/// The bytes of a message that the application asked for.
fn size(message: &Outgoing) -> usize {
    match message {
        Outgoing::Request { params, .. } | Outgoing::Notification { params, .. } => {
            params.as_bytes().len()
        }
        Outgoing::Result { .. } | Outgoing::Error { .. } | Outgoing::Batch(_) => 0,
    }
}
