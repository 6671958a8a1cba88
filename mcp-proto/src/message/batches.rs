//! Batches whose answers are not complete. Revision 2025-03-26 alone.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::Outgoing;

/// Batches whose answers are not complete.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    open: BTreeMap<u64, OpenBatch>,
    serials: u64,
    bytes: usize,
    /// How many messages they have, and so how many answers they may wait with.
    messages: usize,
}

#[derive(Debug)]
struct OpenBatch {
    /// The bytes of the batch.
    size: usize,
    /// The messages of the batch.
    messages: usize,
    /// The requests that are not answered yet, and one while the batch is being read.
    pending: usize,
    answers: Vec<Outgoing>,
}

impl Batches {
    /// A batch is being read.
    pub(crate) fn begin(&mut self, size: usize, messages: usize) -> u64 {
        self.serials += 1;
        self.bytes = self.bytes.saturating_add(size);
        self.messages = self.messages.saturating_add(messages);
        let waiting = OpenBatch { size, messages, pending: 1, answers: Vec::new() };
        self.open.insert(self.serials, waiting);
        self.serials
    }

    /// A request of a batch is going to be answered.
    pub(crate) fn enter(&mut self, id: u64) {
        if let Some(waiting) = self.open.get_mut(&id) {
            waiting.pending += 1;
        }
    }

    /// Keeps an answer until its batch is complete; gives it back if that is not open.
    pub(crate) fn push(&mut self, id: u64, answer: Outgoing) -> Option<Outgoing> {
        match self.open.get_mut(&id) {
            Some(waiting) => {
                waiting.answers.push(answer);
                None
            }
            None => Some(answer),
        }
    }

    /// A request of a batch is answered, or the batch is read; the last one takes the answers, if there
    /// are any.
    pub(crate) fn leave(&mut self, id: u64) -> Option<Vec<Outgoing>> {
        let waiting = self.open.get_mut(&id)?;
        waiting.pending = waiting.pending.saturating_sub(1);
        if waiting.pending > 0 {
            return None;
        }
        let waiting = self.open.remove(&id)?;
        self.bytes = self.bytes.saturating_sub(waiting.size);
        self.messages = self.messages.saturating_sub(waiting.messages);
        Some(waiting.answers)
    }

    /// Gives back the memory that only open batches need. (An empty map keeps a node.)
    pub(crate) fn shrink(&mut self) {
        if self.open.is_empty() {
            self.open = BTreeMap::new();
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn messages(&self) -> usize {
        self.messages
    }
}
