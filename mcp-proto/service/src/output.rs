//! Queue of output to write.
//!
//! In: bytes, and the number of written ones. Out: the bytes, in order. Above 4 KiB they count
//! towards `Limits::max_endpoint_bytes` of a server.

use alloc::collections::VecDeque;

use bytes::{Buf, Bytes};

use mcp_proto::server::Account;

/// The most unwritten output. Beyond it no input is handled, no action is taken from the machine,
/// and progress is dropped. On a stream some input is read ahead.
const MAX_BYTES: usize = 1024 * 1024;

/// The same while the server refuses new work for lack of memory.
const MAX_BYTES_IF_TIGHT: usize = 16 * 1024;

#[derive(Debug, Default)]
pub(super) struct Output {
    queue: VecDeque<Bytes>,
    /// Number of bytes in the queue.
    waiting: usize,
    /// None for a client.
    account: Option<Account>,
}

impl Output {
    /// A queue that counts in a server's account.
    pub(super) fn counted(account: Account) -> Self {
        Self { account: Some(account), ..Self::default() }
    }

    pub(super) fn push(&mut self, bytes: Bytes) {
        self.waiting += bytes.len();
        if self.queue.capacity() == 0 {
            // Most connections have one piece at a time.
            self.queue.reserve_exact(1);
        }
        self.queue.push_back(bytes);
        self.count();
    }

    /// The bytes to write next; empty if there are none.
    pub(super) fn front(&self) -> &[u8] {
        self.queue.front().map_or(&[], |bytes| bytes)
    }

    /// Removes the first `count` bytes, which were written.
    pub(super) fn advance(&mut self, count: usize) {
        let Some(mut bytes) = self.queue.pop_front() else { return };
        let count = count.min(bytes.len());
        bytes.advance(count);
        self.waiting = self.waiting.saturating_sub(count);
        if !bytes.is_empty() {
            self.queue.push_front(bytes);
        }
        self.count();
    }

    /// Number of unwritten bytes.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Returns whether so many bytes are unwritten that only responses are sent.
    pub(super) fn is_full(&self) -> bool {
        self.waiting > MAX_BYTES_IF_TIGHT
            && (self.waiting > MAX_BYTES || self.account.as_ref().is_some_and(Account::is_tight))
    }

    /// Drops all bytes.
    pub(super) fn clear(&mut self) {
        self.queue.clear();
        self.waiting = 0;
        self.count();
    }

    fn count(&mut self) {
        if let Some(account) = &mut self.account {
            account.set(if self.waiting > Account::UNCOUNTED { self.waiting } else { 0 });
        }
    }
}
