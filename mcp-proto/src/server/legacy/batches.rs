//! Batches: several messages in one array, whose answers are one array. Revision 2025-03-26 alone.
//!
//! In: an array, and every answer, since it may belong to one. Out: its messages, one by one; and
//! the answers, once there are as many as there will be. Above `Limits::max_batch_bytes` of answers
//! a request of the batch has an error for an answer, and is not looked at.
//!
//! [Specification: Batching](https://modelcontextprotocol.io/specification/2025-03-26/basic#batching)

use alloc::collections::BTreeSet;

use super::super::call::ReplyPath;
use super::super::{MessageSource, Server};
use crate::error::ProtocolError;
use crate::limits::Limits;
use crate::message::batches::Batches;
use crate::message::{self, Batch, ErrorData, Incoming, Message, Outgoing};
use crate::time::Instant;

/// The error for a request of a batch that is not looked at.
const SKIPPED: &str = "the request was not executed: the answers of its batch are as long as \
                       Limits::max_batch_bytes; send fewer requests at a time";

impl Server {
    pub(in super::super) fn batch(&mut self, now: Instant, batch: &Batch, path: ReplyPath) {
        let Limits { max_in_flight, .. } = *self.context.limits();
        let size = batch.0.len();
        let Some(texts) = batch.elements(max_in_flight) else {
            return self.refuse(path, None, &ProtocolError::BatchTooLong { max_in_flight });
        };
        if texts.is_empty() {
            return self.refuse(path, None, &ProtocolError::EmptyBatch);
        }
        if self.context.batches().map_or(0, Batches::messages) + texts.len() > max_in_flight {
            return self.refuse(path, None, &ProtocolError::TooManyInFlight { max_in_flight });
        }
        let charge = match self.context.config().admit(size) {
            Ok(charge) => charge,
            Err(error) => return self.refuse(path, None, &error),
        };
        let batch = self.context.begin_batch(size, texts.len(), charge);
        let path = ReplyPath { batch: Some(batch), ..path };
        let mut ids = BTreeSet::new();
        for text in texts {
            match message::parse(&text, self.context.limits()) {
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
                            self.context.answer(path, None, Outgoing::Error { id, error });
                            continue;
                        }
                    }
                    self.message(now, message, MessageSource { path, ..MessageSource::default() });
                }
                Ok(Incoming::Batch(_)) => self.refuse(path, None, &ProtocolError::NotAMessage),
                Err(malformed) => self.malformed(malformed, path),
            }
        }
        self.context.leave(path);
    }

    /// Whether the answers of a batch are as long as they may be.
    fn is_answered_enough(&self, path: ReplyPath) -> bool {
        let max_batch_bytes = self.context.limits().max_batch_bytes;
        let answered = path.batch.and_then(|id| Some(self.context.batches()?.answered(id)));
        answered.is_some_and(|answered| answered >= max_batch_bytes)
    }
}
