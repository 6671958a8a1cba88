//! Batches with missing answers, only in revision 2025-03-26.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::Outgoing;
use crate::budget::Charge;

/// Batches with missing answers.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    open: BTreeMap<u64, OpenBatch>,
    serials: u64,
    bytes: usize,
    /// Number of messages in these batches, which limits the number of queued answers.
    messages: usize,
}

#[derive(Debug)]
struct OpenBatch {
    /// The bytes of the batch.
    size: usize,
    /// The messages of the batch.
    messages: usize,
    /// The number of unanswered requests, plus one while the batch is being read.
    pending: usize,
    answers: Vec<Outgoing>,
    /// The bytes of the answers.
    answered: usize,
    /// Bytes of the batch and its answers, charged to the budget of a server.
    charge: Option<Charge>,
}

impl Batches {
    /// Begins to read a batch.
    pub(crate) fn begin(&mut self, size: usize, messages: usize, charge: Option<Charge>) -> u64 {
        self.serials += 1;
        self.bytes = self.bytes.saturating_add(size);
        self.messages = self.messages.saturating_add(messages);
        let answers = Vec::new();
        let answered = 0;
        let waiting = OpenBatch { size, messages, pending: 1, answers, answered, charge };
        self.open.insert(self.serials, waiting);
        self.serials
    }

    /// Counts a request of a batch that will be answered.
    pub(crate) fn enter(&mut self, id: u64) {
        if let Some(waiting) = self.open.get_mut(&id) {
            waiting.pending += 1;
        }
    }

    /// Keeps an answer until its batch is complete; returns the answer if there is no such batch.
    pub(crate) fn push(&mut self, id: u64, answer: Outgoing) -> Option<Outgoing> {
        match self.open.get_mut(&id) {
            Some(waiting) => {
                waiting.answered = waiting.answered.saturating_add(answer.size_hint());
                if let Some(charge) = &mut waiting.charge {
                    charge.set(waiting.size.saturating_add(waiting.answered));
                }
                waiting.answers.push(answer);
                None
            }
            None => Some(answer),
        }
    }

    /// Counts a settled request of a batch, or the end of reading the batch. The last call returns
    /// the answers, of which there may be none.
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

    /// The bytes of the answers of an open batch.
    pub(crate) fn answered(&self, id: u64) -> usize {
        self.open.get(&id).map_or(0, |waiting| waiting.answered)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn messages(&self) -> usize {
        self.messages
    }
}
