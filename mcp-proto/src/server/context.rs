//! Data that the parts of a server share, and its outbox.
//!
//! In: the configuration of the server; messages, answers and events from its parts. Out: the
//! configuration, and actions in the [`Outbox`]. An answer to a request of a batch waits for the
//! other answers of the batch.
//!
//! Methods that send messages or need this data take a `Context`.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::call::ReplyPath;
use super::config::Config;
use super::declaration::Declaration;
use super::event::{Peer, ReplyId, ServerAction, ServerEvent, SessionRef, StreamId};
use super::extensions::Extensions;
use super::outbox::{Outbox, fitting};
use super::sender::{LastSender, RequestSender, SenderFacts};
use crate::budget::Charge;
use crate::error::{ProtocolError, ValidationStep};
use crate::json::Json;
use crate::limits::Limits;
use crate::message::batches::Batches;
use crate::message::{ErrorData, Outgoing, Params};
use crate::version::ProtocolVersion;

/// Channel of a server's messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ServerChannel {
    /// One stream of messages.
    Stream,
    /// One HTTP request and its answer; modern, or legacy without a session.
    Exchange,
    /// Many HTTP requests of one legacy session.
    Session,
}

/// Data that the parts of a server share, and the outbox.
#[derive(Debug)]
pub(super) struct Context {
    declaration: Arc<Declaration>,
    config: Arc<Config>,
    /// Number that distinguishes the replies of this machine from those of all others.
    scope: usize,
    channel: ServerChannel,
    /// The authenticated principal of the peer.
    principal: Option<Arc<str>>,
    /// The values that came with the HTTP request that is handled.
    extensions: Extensions,
    /// The actions that the driver has not polled yet.
    pub(super) outbox: Outbox,
    /// The batches with missing answers. Usually none, so an idle session has no allocation for
    /// them.
    batches: Option<Box<Batches>>,
    /// The sender of the last modern requests of a byte stream.
    last_sender: Option<Box<LastSender>>,
}

/// The most bytes of an error that stays unchanged when the answers of its batch are too long.
const MAX_ERROR_BYTES: usize = 1024;

/// The error in place of a result that would make a batch too long.
const LEFT_OUT: &str = "the request was executed, but its result would make the answers of its \
                        batch longer than Limits::max_batch_bytes; send it alone";

impl Context {
    pub(super) fn new(
        declaration: Arc<Declaration>,
        config: Arc<Config>,
        channel: ServerChannel,
        principal: Option<Arc<str>>,
    ) -> Self {
        // The number is only compared and never shown, so no output depends on it.
        static SCOPES: AtomicUsize = AtomicUsize::new(0);
        let outbox = match channel {
            // An exchange has one request and sends few messages.
            ServerChannel::Exchange => Outbox::with_capacity(2),
            ServerChannel::Stream | ServerChannel::Session => Outbox::default(),
        };
        let extensions = Extensions::default();
        let scope = SCOPES.fetch_add(1, Ordering::Relaxed);
        Self {
            declaration,
            config,
            scope,
            channel,
            principal,
            extensions,
            outbox,
            batches: None,
            last_sender: None,
        }
    }

    pub(super) fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    /// Returns whether this is the declaration.
    pub(super) fn declares_as(&self, declaration: &Arc<Declaration>) -> bool {
        Arc::ptr_eq(&self.declaration, declaration)
    }

    /// Replaces the declaration, and returns the earlier one.
    pub(super) fn declare(&mut self, declaration: Arc<Declaration>) -> Arc<Declaration> {
        core::mem::replace(&mut self.declaration, declaration)
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.config.limits
    }

    pub(super) fn channel(&self) -> ServerChannel {
        self.channel
    }

    /// True over HTTP, false on a byte stream.
    pub(super) fn is_http(&self) -> bool {
        self.channel != ServerChannel::Stream
    }

    pub(super) fn principal(&self) -> Option<&Arc<str>> {
        self.principal.as_ref()
    }

    /// The sender of a request, from the client's description of itself.
    pub(super) fn peer(
        &self,
        version: ProtocolVersion,
        client_info: Option<Json>,
        capabilities: Json,
    ) -> Arc<Peer> {
        let principal = self.principal.as_ref();
        let facts =
            SenderFacts { principal, extensions: &self.extensions, is_http: self.is_http() };
        facts.peer(version, client_info, capabilities)
    }

    /// The values of the current HTTP request.
    pub(super) fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Sets the values of the HTTP request that is handled next.
    pub(super) fn set_extensions(&mut self, extensions: Extensions) {
        self.extensions = extensions;
    }

    /// Reads the sender of a modern request. `last` is of the requests before it, if they did not
    /// come to this machine.
    pub(super) fn read_sender(
        &mut self,
        params: &Params,
        last: Option<&mut LastSender>,
    ) -> Result<RequestSender, ProtocolError> {
        let is_http = self.is_http();
        let Self { last_sender, principal, extensions, config, .. } = self;
        let last = last.unwrap_or_else(|| last_sender.get_or_insert_default());
        let facts = SenderFacts { principal: principal.as_ref(), extensions, is_http };
        last.read(params, facts, &config.limits)
    }

    /// Common part of the reply ids of this machine.
    pub(super) fn scope(&self) -> usize {
        self.scope
    }

    /// The reply id of a request, by its serial number.
    pub(super) fn reply_id(&self, serial: u64) -> ReplyId {
        let shared = self.channel == ServerChannel::Session;
        let lone = self.channel == ServerChannel::Exchange;
        ReplyId { scope: self.scope, serial, shared, lone }
    }

    /// The serial number of a request, unless the request belongs to another machine.
    pub(super) fn serial(&self, about: ReplyId) -> Option<u64> {
        (about.scope == self.scope).then_some(about.serial)
    }

    /// Sends a message that is not an answer.
    pub(super) fn send(&mut self, stream: Option<StreamId>, message: Outgoing) {
        self.outbox.send(&self.config, message, stream, None);
    }

    pub(super) fn event(&mut self, event: ServerEvent) {
        self.outbox.push(ServerAction::Event(event));
    }

    /// Closes the connection; nothing follows.
    pub(super) fn close(&mut self) {
        if let (Some(handler), ServerChannel::Stream | ServerChannel::Session) =
            (self.declaration.forward, self.channel)
        {
            self.event(ServerEvent::SessionEnded { session: SessionRef(self.scope), handler });
        }
        self.event(ServerEvent::Closed);
        self.outbox.push(ServerAction::Close);
    }

    /// Sends an answer, or keeps it until its batch is complete. `step` is the step at which the
    /// request failed, if any. A result that does not fit becomes an error.
    pub(super) fn send_answer(
        &mut self,
        path: ReplyPath,
        step: Option<ValidationStep>,
        answer: Outgoing,
    ) {
        let answer = match (path.batch, &mut self.batches) {
            (Some(id), Some(batches)) => {
                let all = batches.answered(id).saturating_add(answer.size_hint());
                let is_long = all > self.config.limits.max_batch_bytes;
                batches.push(
                    id,
                    if is_long { left_out(answer) } else { fitting(&self.config, answer) },
                )
            }
            (None, _) | (_, None) => Some(answer),
        };
        if let Some(message) = answer {
            self.outbox.send(&self.config, message, path.stream, step);
        }
    }

    /// Sends the answer to a request that [entered a handler](Self::begin_call), and ends the call.
    pub(super) fn end_with_answer(
        &mut self,
        path: ReplyPath,
        step: Option<ValidationStep>,
        answer: Outgoing,
    ) {
        self.send_answer(path, step, answer);
        self.end_call(path);
    }

    /// Ends a subscription that [entered a handler](Self::begin_call) with its answer. A byte
    /// stream goes on, so its client is sent `notifications/cancelled` as well.
    pub(super) fn end_subscription(&mut self, path: ReplyPath, result: Outgoing) {
        let is_stream = self.channel == ServerChannel::Stream;
        let cancelled = match &result {
            Outgoing::Result { id, .. } if is_stream => Some(Outgoing::cancelled(id, None)),
            Outgoing::Result { .. }
            | Outgoing::Error { .. }
            | Outgoing::Request { .. }
            | Outgoing::Notification { .. }
            | Outgoing::Batch(_) => None,
        };
        self.end_with_answer(path, None, result);
        if let Some(cancelled) = cancelled {
            self.send(None, cancelled);
        }
    }

    /// Begins a batch of `size` bytes. [`Self::end_call`] is called once the batch was read.
    pub(super) fn begin_batch(&mut self, size: usize, messages: usize, charge: Charge) -> u64 {
        self.batches.get_or_insert_default().begin(size, messages, Some(charge))
    }

    /// The batches with missing answers.
    pub(super) fn batches(&self) -> Option<&Batches> {
        self.batches.as_deref()
    }

    /// Records that a request has entered a handler; its batch waits for the answer.
    pub(super) fn begin_call(&mut self, path: ReplyPath) {
        if let (Some(id), Some(batches)) = (path.batch, &mut self.batches) {
            batches.enter(id);
        }
    }

    /// Records that a request of a batch is settled, or that the batch was read. After the last of
    /// these calls, sends the answers.
    pub(super) fn end_call(&mut self, path: ReplyPath) {
        let answers = path.batch.and_then(|id| self.batches.as_mut()?.leave(id));
        let Some(answers) = answers else { return };
        match path.stream {
            Some(stream) if answers.is_empty() => {
                self.outbox.push(ServerAction::Unanswered(stream));
            }
            None if answers.is_empty() => {}
            stream => self.send(stream, Outgoing::Batch(answers)),
        }
    }

    /// Ends a request without an answer, unless other requests of its batch have answers.
    pub(super) fn end_without_answer(&mut self, path: ReplyPath) {
        match (path.batch, path.stream) {
            (Some(_), _) => self.end_call(path),
            (None, Some(stream)) => self.outbox.push(ServerAction::Unanswered(stream)),
            (None, None) => {}
        }
    }

    /// Frees the memory that an idle machine does not need.
    pub(super) fn shrink(&mut self) {
        self.outbox.shrink();
        if self.batches().is_some_and(|batches| batches.messages() == 0) {
            self.batches = None;
        }
    }
}

/// Replaces a result by the error `LEFT_OUT`, and shortens a long error. Other messages stay
/// unchanged.
fn left_out(answer: Outgoing) -> Outgoing {
    match answer {
        Outgoing::Result { id, .. } => {
            Outgoing::Error { id: Some(id), error: ErrorData::internal(LEFT_OUT) }
        }
        Outgoing::Error { id, error } if error.bytes() > MAX_ERROR_BYTES => {
            Outgoing::Error { id, error: error.shortened() }
        }
        other @ (Outgoing::Error { .. }
        | Outgoing::Notification { .. }
        | Outgoing::Request { .. }
        | Outgoing::Batch(_)) => other,
    }
}
