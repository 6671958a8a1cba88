//! Batches: several messages in one array, whose answers are one array. Revision 2025-03-26 alone.
//!
//! In: an array, and every answer, since it may belong to one. Out: its messages, one by one; and
//! the answers, once there are as many as there will be.
//!
//! [Specification: Batching](https://modelcontextprotocol.io/specification/2025-03-26/basic#batching)

use super::super::{Opening, Server};
use crate::error::ProtocolError;
use crate::limits::Limits;
use crate::message::batches::Batches;
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
        if batches.messages() + texts.len() > max_in_flight {
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
        let answer = match (batch, self.batches()) {
            (Some(id), Some(batches)) => batches.push(id, answer),
            (None, _) | (_, None) => Some(answer),
        };
        if let Some(answer) = answer {
            self.send(answer);
        }
    }

    /// A request of a batch has entered a handler.
    pub(in super::super) fn enter(&mut self, batch: Option<u64>) {
        if let (Some(id), Some(batches)) = (batch, self.batches()) {
            batches.enter(id);
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
            Opening::Legacy(session) => session.batches.bytes(),
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
