//! Messages to clients that are encoded when they are sent.
//!
//! In: messages. Out: their lengths at once, and their texts later. All sessions of a server share
//! the endpoint's lock, so a message for a connected client is encoded once the lock is released.

use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::message::Outgoing;

/// A message, or its text.
#[derive(Clone, Debug)]
pub(super) enum Unsent {
    Message { message: Arc<Outgoing>, length: usize },
    Text(Bytes),
}

impl Unsent {
    pub(super) fn new(message: Outgoing) -> Self {
        let length = message.length();
        Self::Message { message: Arc::new(message), length }
    }

    /// The text of a message that is sent at once.
    pub(super) fn encoded(message: &Outgoing) -> Self {
        Self::Text(text(message, message.size_hint()))
    }

    /// The length of the text, in bytes.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Message { length, .. } => *length,
            Self::Text(text) => text.len(),
        }
    }

    /// True if this is an error that is not encoded yet.
    pub(super) fn is_error(&self) -> bool {
        match self {
            Self::Message { message, .. } => matches!(**message, Outgoing::Error { .. }),
            Self::Text(_) => false,
        }
    }

    /// Encodes the message, so that it shares no memory. Call this for a message that waits for a
    /// client: its parts may be slices of larger buffers.
    pub(super) fn encode(&mut self) {
        if let Self::Message { message, length } = self {
            *self = Self::Text(text(message, *length));
        }
    }

    /// The text.
    pub(super) fn into_text(self) -> Bytes {
        match self {
            Self::Message { message, length } => text(&message, length),
            Self::Text(text) => text,
        }
    }

    /// Appends the text to `out`.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Message { message, .. } => message.write(out),
            Self::Text(text) => out.extend_from_slice(text),
        }
    }
}

/// The text of a message. If it fills the capacity, it becomes `Bytes` without an allocation.
fn text(message: &Outgoing, capacity: usize) -> Bytes {
    let mut text = Vec::with_capacity(capacity);
    message.write(&mut text);
    text.into()
}
