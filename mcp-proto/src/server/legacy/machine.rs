//! Methods of a server that only concern legacy clients: batches, responses, and messages outside
//! of requests.
//!
//! In: arrays (only revision 2025-03-26), responses, and commands of the application. Out: the
//! messages of an array, one by one; their answers form one array. Also messages outside of a
//! request (over HTTP on the GET stream), and an event for each ping and request for input. If the
//! answers of a batch exceed `Limits::max_batch_bytes`, its remaining requests are not executed and
//! get an error.
//!
//! | command | needs | then |
//! |---|---|---|
//! | [`Server::ping`] | `initialize` | the request |
//! | [`Server::notify_session`] with a log message | `Registry::logging`, and the level of the session | `notifications/message` |
//! | [`Server::notify_session`] with another one | `notifications/initialized` | that notification |
//! | [`Server::request_input`] | `notifications/initialized`, the revision, the client's capability | the request |
//!
//! A modern client only gets requests inside of its own requests, so all of these commands fail
//! with [`UsageError::NoServerRequests`] for it.
//!
//! These methods are separate from the others of [`Server`] so that the era can be deleted with its
//! folder.
//!
//! [Specification: Batching](https://modelcontextprotocol.io/specification/2025-03-26/basic#batching),
//! [Messages](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization)

use alloc::collections::BTreeSet;

use super::super::call::ReplyPath;
use super::super::dispatch::MessageSource;
use super::super::event::{InputId, PingId, ReplyId};
use super::super::machine::Server;
use super::super::notification::Notification;
use super::serve_again;
use crate::error::{ProtocolError, UsageError};
use crate::message::batches::Batches;
use crate::message::{self, Batch, Capability, ErrorData, Incoming, Message, Outgoing, Response};
use crate::time::{Duration, Instant};
use crate::types::InputRequest;

/// The error for a request of a batch that is not executed.
const SKIPPED: &str = "the request was not executed: the answers of its batch are as long as \
                       Limits::max_batch_bytes; send fewer requests at a time";

impl Server {
    /// Pings a legacy client. A [`Pong`](crate::server::ServerEvent::Pong) reports the outcome,
    /// after `timeout` at the latest.
    ///
    /// Fails with [`UsageError::NoServerRequests`] unless the connection was opened with
    /// `initialize`, and with [`UsageError::Closed`] after the end of input.
    ///
    /// [Specification: Ping](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping)
    pub fn ping(&mut self, now: Instant, timeout: Duration) -> Result<PingId, UsageError> {
        self.lifecycle.live_session(&self.context)?;
        Ok(self.sent_requests.ping(now, &mut self.context, timeout))
    }

    /// Sends a notification that belongs to no request to a legacy client. A log message that is
    /// less severe than the session's level is dropped without an error. So is
    /// `notifications/elicitation/complete` if the revision does not define it.
    ///
    /// Fails with [`UsageError::Closed`], and with [`UsageError::NoServerRequests`] unless the
    /// connection was opened with `initialize`. Fails with [`UsageError::NotInitialized`] (log
    /// messages may be sent earlier), and with [`UsageError::Undeclared`] for a log message without
    /// [`Registry::logging`](crate::server::Registry::logging). Progress and losses are about a
    /// request, so they fail with [`UsageError::NotInFlight`]. Other notifications may fail with
    /// [`UsageError::ReservedMethod`], [`UsageError::NotAnObject`] and [`UsageError::NotJson`].
    pub fn notify_session(
        &mut self,
        _now: Instant,
        notification: Notification,
    ) -> Result<(), UsageError> {
        let session = self.lifecycle.live_session(&self.context)?;
        let logs = self.context.declaration().declares(Capability::Logging);
        if let Some(message) = notification.encode_for_session(session, logs)? {
            self.context.send(None, message);
        }
        Ok(())
    }

    /// Asks a legacy client for input that belongs to no request: its roots, a form, a URL, or a
    /// message of its model. An [`InputAnswered`](crate::server::ServerEvent::InputAnswered)
    /// reports the outcome, after `timeout` at the latest.
    ///
    /// Fails with [`UsageError::Closed`], with [`UsageError::NoServerRequests`] unless the
    /// connection was opened with `initialize`, and with [`UsageError::NotInitialized`]. Fails with
    /// [`UsageError::UndeclaredByClient`], [`UsageError::NotInRevision`],
    /// [`UsageError::UnbalancedTools`], and [`UsageError::InvalidUri`] for a URL without a scheme.
    /// Fails with [`UsageError::TooManyCalls`] while `Limits::max_in_flight` requests wait for the
    /// client.
    pub fn request_input(
        &mut self,
        now: Instant,
        request: InputRequest,
        timeout: Duration,
    ) -> Result<InputId, UsageError> {
        self.request_input_for(now, None, request, timeout)
    }

    /// Asks a legacy client for input on behalf of a request in a handler. Over HTTP the request
    /// for input goes out on the stream of that request, so the client needs no GET stream. The
    /// request for input outlives that request: see [`Server::cancel_input`].
    ///
    /// Fails as [`Server::request_input`] does, and with [`UsageError::NotInFlight`].
    pub fn request_input_about(
        &mut self,
        now: Instant,
        about: ReplyId,
        request: InputRequest,
        timeout: Duration,
    ) -> Result<InputId, UsageError> {
        let serial = self.context.serial(about).filter(|serial| self.calls.is_in_handler(*serial));
        let serial = serial.ok_or(UsageError::NotInFlight)?;
        self.request_input_for(now, Some(serial), request, timeout)
    }

    fn request_input_for(
        &mut self,
        now: Instant,
        about: Option<u64>,
        request: InputRequest,
        timeout: Duration,
    ) -> Result<InputId, UsageError> {
        let Self { context, lifecycle, calls, sent_requests, .. } = self;
        let session = lifecycle.live_session(context)?;
        sent_requests.request_input(now, (context, session), (calls, about), request, timeout)
    }

    /// Withdraws a request for input: the client is sent `notifications/cancelled`, and no
    /// [`ServerEvent::InputAnswered`](crate::server::ServerEvent::InputAnswered) follows. Over HTTP
    /// the cancellation goes out on the stream of the request that the input is about, or on the
    /// GET stream once that is answered.
    ///
    /// Fails with [`UsageError::Closed`] or [`UsageError::NoServerRequests`], and with
    /// [`UsageError::NotInFlight`] if the request for input has ended, or belongs to another
    /// machine.
    ///
    /// [Specification: Cancellation](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation)
    pub fn cancel_input(&mut self, _now: Instant, input: InputId) -> Result<(), UsageError> {
        self.lifecycle.live_session(&self.context)?;
        self.sent_requests.cancel_input(&mut self.context, &self.calls, input)
    }

    /// Handles a response of the client.
    pub(in super::super) fn response(&mut self, now: Instant, response: &Response) {
        let Self { context, lifecycle, calls, sent_requests, .. } = self;
        if let Some((call, input)) = sent_requests.handle_response(context, calls, response) {
            serve_again(now, context, lifecycle, calls, call, input);
        }
    }

    pub(in super::super) fn batch(&mut self, now: Instant, batch: &Batch, path: ReplyPath) {
        let max_in_flight = self.context.limits().max_in_flight;
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
                        // In the same array, an error with this id would look like an answer to the
                        // first request.
                        if !ids.insert(request.id.clone()) {
                            let id = request.id.as_str().into();
                            self.refuse(path, None, &ProtocolError::DuplicateId { id });
                            continue;
                        }
                        // The batch was charged as a whole.
                        request.size = 0;
                        if self.is_answered_enough(path) {
                            let id = Some(request.id.clone());
                            let error = ErrorData::internal(SKIPPED);
                            self.context.send_answer(path, None, Outgoing::Error { id, error });
                            continue;
                        }
                    }
                    self.message(now, &message, MessageSource { path, ..MessageSource::default() });
                }
                Ok(Incoming::Batch(_)) => self.refuse(path, None, &ProtocolError::NotAMessage),
                Err(mut malformed) => {
                    // A second answer with this id would look like that of the other request.
                    if malformed.answerable {
                        malformed.id = malformed.id.filter(|id| ids.insert(id.clone()));
                    }
                    self.malformed(malformed, path);
                }
            }
        }
        self.context.end_call(path);
    }

    /// Returns whether the answers of a batch have reached their maximum size.
    fn is_answered_enough(&self, path: ReplyPath) -> bool {
        let max_batch_bytes = self.context.limits().max_batch_bytes;
        let answered = path.batch.and_then(|id| Some(self.context.batches()?.answered(id)));
        answered.is_some_and(|answered| answered >= max_batch_bytes)
    }
}
