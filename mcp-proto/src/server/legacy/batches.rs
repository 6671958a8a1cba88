//! Batches: several messages in one array, whose answers are one array. Revision 2025-03-26 alone.
//!
//! In: an array, and every answer, since it may belong to one. Out: its messages, one by one; and
//! the answers, once there are as many as there will be.
//!
//! [Specification: Batching](https://modelcontextprotocol.io/specification/2025-03-26/basic#batching)

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::super::{Opening, Server};
use crate::error::ProtocolError;
use crate::limits::Limits;
use crate::message::{self, Batch, Incoming, Message, Outgoing};
use crate::time::Instant;

impl Server {
    pub(in super::super) fn batch(&mut self, now: Instant, batch: &Batch) {
        let Limits { max_in_flight, .. } = self.config.limits;
        let size = batch.0.len();
        let Some(texts) = batch.elements(max_in_flight) else {
            return self.refuse(None, None, &ProtocolError::BatchTooLong { max_in_flight });
        };
        if texts.is_empty() {
            return self.refuse(None, None, &ProtocolError::EmptyBatch);
        }
        let Some(batches) = self.batches() else { return };
        if batches.messages + texts.len() > max_in_flight {
            return self.refuse(None, None, &ProtocolError::TooManyInFlight { max_in_flight });
        }
        let batch = Some(batches.begin(size, texts.len()));
        for text in texts {
            match message::parse(&text, &self.config.limits) {
                Ok(Incoming::Message(mut message)) => {
                    // The batch is in flight as a whole, and has been counted.
                    if let Message::Request(request) = &mut message {
                        request.size = 0;
                    }
                    self.message(now, message, batch);
                }
                Ok(Incoming::Batch(_)) => self.refuse(batch, None, &ProtocolError::NotAMessage),
                Err(malformed) => self.malformed(malformed, batch),
            }
        }
        self.leave(batch);
    }

    /// Sends an answer, or keeps it until its batch is complete.
    pub(in super::super) fn answer(&mut self, batch: Option<u64>, answer: Outgoing) {
        let waiting = batch.and_then(|id| self.batches()?.open.get_mut(&id));
        match waiting {
            Some(waiting) => waiting.answers.push(answer),
            None => self.send(answer),
        }
    }

    /// A request of a batch has entered a handler.
    pub(in super::super) fn enter(&mut self, batch: Option<u64>) {
        if let Some(waiting) = batch.and_then(|id| self.batches()?.open.get_mut(&id)) {
            waiting.pending += 1;
        }
    }

    /// A request of a batch is settled, or the batch is read; the last one sends the answers.
    pub(in super::super) fn leave(&mut self, batch: Option<u64>) {
        let answers = batch.and_then(|id| self.batches()?.leave(id));
        if let Some(answers) = answers {
            self.send(Outgoing::Batch(answers));
        }
    }

    /// The bytes of the batches whose answers are not complete.
    pub(in super::super) fn batch_bytes(&self) -> usize {
        match &self.opening {
            Opening::Legacy(session) => session.batches.bytes,
            Opening::Undecided | Opening::Modern => 0,
        }
    }

    fn batches(&mut self) -> Option<&mut Batches> {
        match &mut self.opening {
            Opening::Legacy(session) => Some(&mut session.batches),
            Opening::Undecided | Opening::Modern => None,
        }
    }
}

/// Batches whose answers are not complete.
#[derive(Debug, Default)]
pub(super) struct Batches {
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
    /// The requests in handlers, and one while the batch is being read.
    pending: usize,
    answers: Vec<Outgoing>,
}

impl Batches {
    fn begin(&mut self, size: usize, messages: usize) -> u64 {
        self.serials += 1;
        self.bytes = self.bytes.saturating_add(size);
        self.messages = self.messages.saturating_add(messages);
        let waiting = OpenBatch { size, messages, pending: 1, answers: Vec::new() };
        self.open.insert(self.serials, waiting);
        self.serials
    }

    fn leave(&mut self, id: u64) -> Option<Vec<Outgoing>> {
        let waiting = self.open.get_mut(&id)?;
        waiting.pending = waiting.pending.saturating_sub(1);
        if waiting.pending > 0 {
            return None;
        }
        let waiting = self.open.remove(&id)?;
        self.bytes = self.bytes.saturating_sub(waiting.size);
        self.messages = self.messages.saturating_sub(waiting.messages);
        Some(waiting.answers).filter(|answers| !answers.is_empty())
    }
}
