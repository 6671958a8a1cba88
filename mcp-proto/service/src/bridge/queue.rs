//! Messages of clients on their way to the machine of a connection.
//!
//! In: requests, cancellations and notifications. Out: the same, in order, in the next turn of the
//! driver. The driver of a connection may not run for up to 30 s, while a server that could not be
//! started is about to be started again. So the number of messages is limited, and the bytes of
//! notifications. A request that is cancelled meanwhile is dropped.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use mcp_proto::bridge::{Bridge, ClientRequest};
use mcp_proto::server::ReplyId;
use mcp_proto::{ErrorData, Instant, Limits, client};

/// A method of the machine, with its arguments.
pub(super) type Verb = dyn FnOnce(&mut Bridge, Instant, &mut client::Client) + Send;

/// A message on its way to the machine.
pub(super) enum Queued {
    Request(Box<ClientRequest>),
    /// A notification, with its bytes.
    Notification(usize, Box<Verb>),
    /// An event that is never dropped. Their number is limited by the requests and the sessions
    /// that the machine knows.
    Event(Box<Verb>),
}

/// Messages on their way to the machine.
pub(super) struct MessageQueue {
    messages: VecDeque<Queued>,
    /// The bytes of the notifications.
    bytes: usize,
    max_messages: usize,
    max_bytes: usize,
    /// True if the machine will get the messages in the next turn of the driver.
    is_scheduled: bool,
}

impl MessageQueue {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            messages: VecDeque::new(),
            bytes: 0,
            max_messages: limits.max_in_flight,
            max_bytes: limits.max_unsent_bytes,
            is_scheduled: false,
        }
    }

    /// The error of a request for which there is no room.
    pub(super) fn full(&self) -> ErrorData {
        let max = self.max_messages;
        ErrorData::internal(alloc::format!(
            "Limits::max_in_flight = {max} messages wait for the server"
        ))
    }

    /// Adds a message. Returns whether the caller must schedule the queue; `None` if there is no
    /// room.
    pub(super) fn push(&mut self, message: Queued) -> Option<bool> {
        let is_full = self.messages.len() >= self.max_messages;
        match &message {
            Queued::Request(_) if is_full => return None,
            Queued::Request(_) | Queued::Event(_) => {}
            Queued::Notification(bytes, _) => {
                let all = self.bytes.saturating_add(*bytes);
                if is_full || self.bytes > 0 && all > self.max_bytes {
                    return None;
                }
                self.bytes = all;
            }
        }
        self.messages.push_back(message);
        Some(!core::mem::replace(&mut self.is_scheduled, true))
    }

    /// Removes and returns the next message. After the last one, the queue must be scheduled again.
    pub(super) fn pop(&mut self) -> Option<Queued> {
        let message = self.messages.pop_front();
        match &message {
            Some(Queued::Notification(bytes, _)) => self.bytes = self.bytes.saturating_sub(*bytes),
            Some(Queued::Request(_) | Queued::Event(_)) => {}
            None => self.is_scheduled = false,
        }
        message
    }

    /// Removes and returns a request that the machine has not got.
    pub(super) fn withdraw(&mut self, about: ReplyId) -> Option<Queued> {
        let is_it = |message: &Queued| matches!(message, Queued::Request(it) if it.about == about);
        let at = self.messages.iter().rposition(is_it)?;
        self.messages.remove(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notification(bytes: usize) -> Queued {
        Queued::Notification(bytes, Box::new(|_, _, _| ()))
    }

    #[test]
    fn notifications_beyond_a_limit_are_dropped_and_events_never() {
        let mut limits = Limits::default();
        (limits.max_in_flight, limits.max_unsent_bytes) = (3, 10);
        let mut queue = MessageQueue::new(&limits);
        // One is accepted whatever its size.
        assert_eq!(queue.push(notification(11)), Some(true));
        assert_eq!(queue.push(notification(0)), None);
        assert!(queue.pop().is_some() && queue.pop().is_none());
        assert_eq!(queue.push(notification(9)), Some(true));
        assert_eq!(queue.push(notification(2)), None);
        assert_eq!(queue.push(notification(1)), Some(false));
        let event = || Queued::Event(Box::new(|_, _, _| ()));
        assert_eq!([event(), event()].map(|event| queue.push(event)), [Some(false); 2]);
        assert!(queue.pop().is_some());
        assert_eq!(queue.push(notification(0)), None, "three messages are queued");
        assert!(queue.pop().is_some());
        assert_eq!(queue.push(notification(10)), Some(false));
        assert!(queue.full().message.contains("max_in_flight = 3 "));
    }
}
