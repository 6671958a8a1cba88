//! Batches: several messages in one array, whose answers are one array. Revision 2025-03-26 alone.
//!
//! In: an array, and every answer, since it may belong to one. Out: its messages, one by one; and
//! the answers, once there are as many as there will be. Above `Limits::max_batch_bytes` of answers
//! a request of the batch has an error for an answer, and is not looked at.
//!
//! [Specification: Batching](https://modelcontextprotocol.io/specification/2025-03-26/basic#batching)

use alloc::collections::BTreeSet;

use super::super::calls::ReplyPath;
use super::super::{MessageSource, Opening, Server, ServerAction};
use crate::error::{ProtocolError, Rung};
use crate::limits::Limits;
use crate::message::batches::Batches;
use crate::message::{self, Batch, ErrorData, Incoming, Message, Outgoing};
use crate::time::Instant;

/// The error for a request of a batch that is not looked at.
const SKIPPED: &str = "the request was not executed: the answers of its batch are as long as \
                       Limits::max_batch_bytes; send fewer requests at a time";

/// The error in place of a result that would make a batch too long.
const LEFT_OUT: &str = "the request was executed, but its result would make the answers of its \
                        batch longer than Limits::max_batch_bytes; send it alone";

impl Server {
    pub(in super::super) fn batch(&mut self, now: Instant, batch: &Batch, path: ReplyPath) {
        let Limits { max_in_flight, .. } = self.config.limits;
        let size = batch.0.len();
        let Some(texts) = batch.elements(max_in_flight) else {
            return self.refuse(path, None, &ProtocolError::BatchTooLong { max_in_flight });
        };
        if texts.is_empty() {
            return self.refuse(path, None, &ProtocolError::EmptyBatch);
        }
        let Some(batches) = self.batches() else { return };
        if batches.messages() + texts.len() > max_in_flight {
            return self.refuse(path, None, &ProtocolError::TooManyInFlight { max_in_flight });
        }
        let charge = match self.config.admit(size) {
            Ok(charge) => charge,
            Err(error) => return self.refuse(path, None, &error),
        };
        let Some(batches) = self.batches() else { return };
        let path =
            ReplyPath { batch: Some(batches.begin(size, texts.len(), Some(charge))), ..path };
        let mut ids = BTreeSet::new();
        for text in texts {
            match message::parse(&text, &self.config.limits) {
                Ok(Incoming::Message(mut message)) => {
                    if let Message::Request(request) = &mut message {
                        // An error with this id in the same array would settle the first request,
                        // whether or not that is answered already.
                        if !ids.insert(request.id.clone()) {
                            let id = request.id.as_str().into();
                            self.refuse(path, None, &ProtocolError::DuplicateId { id });
                            continue;
                        }
                        // The batch is in flight as a whole, and has been counted.
                        request.size = 0;
                        if self.is_answered_enough(path) {
                            let (id, error) =
                                (Some(request.id.clone()), ErrorData::internal(SKIPPED));
                            self.answer(path, None, Outgoing::Error { id, error });
                            continue;
                        }
                    }
                    self.message(now, message, MessageSource { path, ..MessageSource::default() });
                }
                Ok(Incoming::Batch(_)) => self.refuse(path, None, &ProtocolError::NotAMessage),
                Err(malformed) => self.malformed(malformed, path),
            }
        }
        self.leave(path);
    }

    /// Sends an answer, or keeps it until its batch is complete. `rung` is where its request
    /// failed, if it did.
    pub(in super::super) fn answer(
        &mut self,
        path: ReplyPath,
        rung: Option<Rung>,
        answer: Outgoing,
    ) {
        let max_batch_bytes = self.config.limits.max_batch_bytes;
        let answer = match (path.batch, self.batches()) {
            (Some(id), Some(batches)) => {
                let all = batches.answered(id).saturating_add(answer.size_hint());
                batches.push(id, if all > max_batch_bytes { left_out(answer) } else { answer })
            }
            (None, _) | (_, None) => Some(answer),
        };
        if let Some(message) = answer {
            self.outbox.send(&self.config, message, path.stream, rung);
        }
    }

    /// A request of a batch has entered a handler.
    pub(in super::super) fn enter(&mut self, path: ReplyPath) {
        if let (Some(id), Some(batches)) = (path.batch, self.batches()) {
            batches.enter(id);
        }
    }

    /// A request of a batch is settled, or the batch is read; the last one sends the answers.
    pub(in super::super) fn leave(&mut self, path: ReplyPath) {
        let Some(answers) = path.batch.and_then(|id| self.batches()?.leave(id)) else { return };
        match path.stream {
            Some(stream) if answers.is_empty() => {
                self.outbox.push(ServerAction::Unanswered(stream));
            }
            None if answers.is_empty() => {}
            stream => self.send(stream, Outgoing::Batch(answers)),
        }
    }

    /// The bytes of the batches whose answers are not complete.
    pub(in super::super) fn batch_bytes(&self) -> usize {
        match &self.opening {
            Opening::Legacy(session) => session.batches.bytes(),
            Opening::Undecided | Opening::Modern => 0,
        }
    }

    /// Whether the answers of a batch are as long as they may be.
    fn is_answered_enough(&mut self, path: ReplyPath) -> bool {
        let max_batch_bytes = self.config.limits.max_batch_bytes;
        let answered = path.batch.and_then(|id| Some(self.batches()?.answered(id)));
        answered.is_some_and(|answered| answered >= max_batch_bytes)
    }

    fn batches(&mut self) -> Option<&mut Batches> {
        match &mut self.opening {
            Opening::Legacy(session) => Some(&mut session.batches),
            Opening::Undecided | Opening::Modern => None,
        }
    }
}

/// The same answer without its result.
fn left_out(answer: Outgoing) -> Outgoing {
    match answer {
        Outgoing::Result { id, .. } => {
            Outgoing::Error { id: Some(id), error: ErrorData::internal(LEFT_OUT) }
        }
        other @ (Outgoing::Error { .. }
        | Outgoing::Notification { .. }
        | Outgoing::Request { .. }
        | Outgoing::Batch(_)) => other,
    }
}
