//! Messages that a server sends before its era is known.
//!
//! In: requests and notifications of the server. Out: the same messages, in order, once the era is
//! known.

use alloc::vec::Vec;

use crate::message::{Message, Notification, Request};

/// The maximum number of queued messages; `MAX_BYTES` limits their bytes.
const MAX_MESSAGES: usize = 1024;
const MAX_BYTES: usize = 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct EarlyMessages {
    messages: Vec<Message>,
    bytes: usize,
}

impl EarlyMessages {
    /// Queues a message, unless it is a response; returns false if there is no room for the
    /// message.
    pub(super) fn push(&mut self, message: Message) -> bool {
        let (message, bytes) = match message {
            Message::Request(Request { id, method, params, size }) => {
                let bytes =
                    id.as_str().len() + method.name().len() + params.json().as_bytes().len();
                (Message::Request(Request { id, method, params: params.detach(), size }), bytes)
            }
            Message::Notification(Notification { method, params }) => {
                let bytes = method.name().len() + params.json().as_bytes().len();
                (Message::Notification(Notification { method, params: params.detach() }), bytes)
            }
            Message::Response(_) => return true,
        };
        let sum = self.bytes.saturating_add(bytes);
        if self.messages.len() >= MAX_MESSAGES || sum > MAX_BYTES {
            return false;
        }
        self.bytes = sum;
        self.messages.push(message);
        true
    }

    pub(super) fn into_messages(self) -> Vec<Message> {
        self.messages
    }
}
