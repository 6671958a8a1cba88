//! What waits to be written.

use alloc::collections::VecDeque;

use bytes::{Buf, Bytes};

#[derive(Debug, Default)]
pub(super) struct Output {
    queue: VecDeque<Bytes>,
    /// How many bytes it has.
    waiting: usize,
}

impl Output {
    pub(super) fn push(&mut self, bytes: Bytes) {
        self.waiting += bytes.len();
        self.queue.push_back(bytes);
    }

    /// The bytes to write next; empty if there are none.
    pub(super) fn front(&self) -> &[u8] {
        self.queue.front().map_or(&[], |bytes| bytes)
    }

    /// The first `count` of them are written.
    pub(super) fn advance(&mut self, count: usize) {
        let Some(mut bytes) = self.queue.pop_front() else { return };
        let count = count.min(bytes.len());
        bytes.advance(count);
        self.waiting = self.waiting.saturating_sub(count);
        if !bytes.is_empty() {
            self.queue.push_front(bytes);
        }
    }

    /// How many bytes wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Nobody will read them.
    pub(super) fn clear(&mut self) {
        self.queue.clear();
        self.waiting = 0;
    }
}
