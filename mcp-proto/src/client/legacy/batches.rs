//! Batches of a server: several messages in one array, whose answers are one array. Revision
//! 2025-03-26 alone.
//!
//! [Specification: Batching](https://modelcontextprotocol.io/specification/2025-03-26/basic#batching)

use super::super::{Client, Life, Origin};
use crate::error::ProtocolError;
use crate::message::batches::Batches;
use crate::message::{self, Batch, Incoming, Outgoing};
use crate::time::Instant;

impl Client {
    pub(in super::super) fn batch(&mut self, now: Instant, batch: &Batch, origin: Origin) {
        let max_in_flight = self.config.limits.max_in_flight;
        let Some(texts) = batch.elements(max_in_flight) else {
            return self.outbox.fault(ProtocolError::BatchTooLong { max_in_flight });
        };
        if texts.is_empty() {
            return self.outbox.fault(ProtocolError::EmptyBatch);
        }
        let Some(batches) = self.batches() else { return };
        if batches.messages() + texts.len() > max_in_flight {
            return self.outbox.fault(ProtocolError::TooManyInFlight { max_in_flight });
        }
        let batch = Some(batches.begin(0, texts.len(), None));
        let origin = Origin { batch, ..origin };
        for text in texts {
            match message::parse(&text, &self.config.limits) {
                Ok(Incoming::Message(message)) => self.message(now, message, origin),
                Ok(Incoming::Batch(_)) => self.outbox.fault(ProtocolError::NotAMessage),
                Err(malformed) => self.handle_malformed(now, malformed),
            }
        }
        self.leave_batch(batch);
    }

    /// A refusal that names no request: its id belongs to one that is not answered yet.
    pub(super) fn refuse_legacy(&mut self, batch: Option<u64>, error: &ProtocolError) {
        let error = self.error_of(error);
        self.answer_batch(batch, Outgoing::Error { id: None, error });
        self.leave_batch(batch);
    }

    /// A request, of a batch perhaps, is going to be answered.
    pub(super) fn enter_batch(&mut self, batch: Option<u64>) {
        if let (Some(id), Some(batches)) = (batch, self.batches()) {
            batches.enter(id);
        }
    }

    /// Sends an answer, or keeps it until its batch is complete.
    pub(in super::super) fn answer_batch(&mut self, batch: Option<u64>, answer: Outgoing) {
        let answer = match (batch, self.batches()) {
            (Some(id), Some(batches)) => batches.push(id, answer),
            _ => Some(answer),
        };
        if let Some(answer) = answer {
            self.outbox.send(answer);
        }
    }

    /// A request, of a batch perhaps, is answered; the last one sends the answers.
    pub(in super::super) fn leave_batch(&mut self, batch: Option<u64>) {
        let answers = batch.and_then(|id| self.batches()?.leave(id));
        let answers = answers.filter(|answers| !answers.is_empty());
        if let Some(answers) = answers {
            self.outbox.send(Outgoing::Batch(answers));
        }
    }

    fn batches(&mut self) -> Option<&mut Batches> {
        match &mut self.life {
            Life::Legacy(session) => Some(&mut session.batches),
            Life::Modern(_)
            | Life::Unopened
            | Life::Negotiating(_)
            | Life::Reopening { .. }
            | Life::Unconnected(_)
            | Life::Closed => None,
        }
    }
}
