//! The flow of a client's messages to its server.
//!
//! In: the sizes of messages as they are queued and taken, and whether the driver can write. Out:
//! whether a call is sent or held. A server that does not read must not make the client grow: its
//! driver says so by `handle_blocked`, and from then on calls are held, in order, with their time
//! running. A call that is held has not reached the server; to cancel it sends nothing.
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

use super::calls::{Call, State};
use super::{Client, Reason};
use crate::error::UsageError;
use crate::message::Outgoing;
use crate::time::{Duration, Instant};

/// With more bytes of requests and notifications than this in the queue, calls are held.
const MAX_QUEUED: usize = 1024 * 1024;

/// The next look at a queue that should have been taken and was not.
const PAUSE: Duration = Duration::from_millis(10);

/// What is on its way to the server.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// The bytes of requests and notifications in the queue.
    queued: usize,
    is_blocked: bool,
    /// Over HTTP, the messages without a response that the server has not accepted.
    unaccepted: usize,
}

impl Flow {
    /// A message is queued.
    pub(super) fn push(&mut self, message: &Outgoing) {
        self.queued += size(message);
    }

    /// A message is taken from the queue.
    pub(super) fn pop(&mut self, message: &Outgoing) {
        self.queued = self.queued.saturating_sub(size(message));
    }

    /// The binding has so many messages that the server has not accepted.
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

    /// Whether calls are held.
    pub(super) fn is_closed(&self) -> bool {
        self.is_blocked || self.queued > MAX_QUEUED
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

impl Client {
    /// For drivers: the server does not read, and enough waits to be written. Calls are held until
    /// [`Client::handle_unblocked`], with their time running; answers and cancellations are not.
    pub fn handle_blocked(&mut self) {
        self.flow.is_blocked = true;
    }

    /// For drivers: there is room for more messages. Sends the calls that were held.
    pub fn handle_unblocked(&mut self, now: Instant) {
        self.flow.is_blocked = false;
        self.send_held(now);
        self.watch_calls();
    }

    /// Whether the driver has said that the server does not read.
    pub fn is_blocked(&self) -> bool {
        self.flow.is_blocked
    }

    /// Whether there is room to hold a call with this many bytes, if it is not sent at once.
    ///
    /// Fails with [`UsageError::TooManyUnsentBytes`].
    pub(super) fn check_unsent(&self, bytes: usize) -> Result<(), UsageError> {
        if self.era().is_some() && !self.flow.is_closed() {
            return Ok(());
        }
        let max_unsent_bytes = self.config.limits.max_unsent_bytes;
        let held = self.calls.held_bytes();
        if held > 0 && held.saturating_add(bytes) > max_unsent_bytes {
            return Err(UsageError::TooManyUnsentBytes { max_unsent_bytes });
        }
        Ok(())
    }

    /// Holds a call that cannot be sent yet.
    pub(super) fn hold(&mut self, now: Instant, number: u64, mut call: Call) {
        if let State::Sent { .. } = call.state {
            call.state = State::Waiting;
        }
        call.restart(now);
        self.calls.insert(number, call);
        if !self.flow.is_blocked && !self.deadlines.has(Reason::Flow) {
            self.deadlines.set(Reason::Flow, now);
        }
    }

    /// Sends what is held, as far as there is room.
    pub(super) fn send_held(&mut self, now: Instant) {
        if self.era().is_none() {
            return;
        }
        for number in self.calls.held() {
            if self.flow.is_closed() {
                if !self.flow.is_blocked {
                    self.deadlines.set(Reason::Flow, now + PAUSE);
                }
                return;
            }
            if let Some(call) = self.calls.remove(number) {
                self.send_call(now, number, call);
            }
        }
    }
}
