//! What a server's messages travel on, and what its binding to HTTP needs of it.

use alloc::sync::Arc;

use super::calls::{Calls, ReplyPath};
use super::outbox::Outbox;
use super::subscriptions::Subscriptions;
use super::{
    CancelCause, Config, Declaration, Life, Opening, ReplyId, Server, ServerAction, StreamId,
};
use crate::limits::Limits;
use crate::message::RequestId;
use crate::time::Instant;

/// What a server's messages travel on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Binding {
    /// One stream of them.
    Stream,
    /// One HTTP request and its answer; modern.
    Exchange,
    /// Many of those; legacy.
    Session,
}

impl Server {
    /// A server for one HTTP request of a modern client's.
    pub(crate) fn exchange(
        declaration: Arc<Declaration>,
        config: Arc<Config>,
        principal: Option<Arc<str>>,
    ) -> Self {
        let server = Self::with(declaration, config);
        // It has one request, and says few things.
        let (calls, outbox) = (Calls::with_capacity(1), Outbox::with_capacity(2));
        let (opening, binding) = (Opening::Modern, Binding::Exchange);
        Self { opening, binding, principal, calls, outbox, ..server }
    }

    /// A server for the HTTP requests of one legacy client. It has the settings of all of them.
    pub(crate) fn shared(
        declaration: Arc<Declaration>,
        config: Arc<Config>,
        principal: Option<Arc<str>>,
    ) -> Self {
        Self { binding: Binding::Session, principal, ..Self::with(declaration, config) }
    }

    /// What its replies have in common.
    pub(crate) fn scope(&self) -> usize {
        self.scope
    }

    pub(crate) fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    /// Whether nothing is in flight, and no action is to be taken.
    pub(crate) fn is_idle(&self) -> bool {
        self.calls.len() == 0 && self.outbox.is_empty()
    }

    /// Gives back the memory that an idle machine does not need.
    pub(crate) fn shrink(&mut self) {
        self.outbox.shrink();
        self.calls.shrink();
        self.deadlines.shrink();
        self.subscriptions.shrink();
        if let Opening::Legacy(session) = &mut self.opening {
            session.shrink();
        }
    }

    /// Whether a handler owes the answer to a request.
    pub(crate) fn is_owed(&self, about: ReplyId) -> bool {
        about.scope == self.scope && self.calls.is_in_handler(about.serial)
    }

    /// The id that the client has given to a request that a handler owes the answer to, for logs.
    pub fn request_id(&self, about: ReplyId) -> Option<&RequestId> {
        let call = self.calls.get(about.serial).filter(|_| about.scope == self.scope)?;
        Some(&call.id)
    }

    /// The next action, without changes to tell of: they wait, and are told once.
    pub(crate) fn poll_queued(&mut self) -> Option<ServerAction> {
        self.outbox.pop()
    }

    /// The peer is gone: what is in flight is cancelled, and nothing more is sent.
    pub fn handle_disconnect(&mut self, _now: Instant) {
        if self.life == Life::Closed {
            return;
        }
        self.life = Life::Draining;
        self.outbox.forget_messages();
        self.subscriptions = Subscriptions::default();
        self.forget_waiting();
        while let Some(serial) = self.calls.oldest() {
            self.cancel(serial, CancelCause::Disconnected);
        }
        self.close_if_drained();
    }

    /// The stream that a request came in with.
    pub(crate) fn stream_of(&mut self, about: ReplyId) -> Option<StreamId> {
        if about.scope != self.scope {
            return None;
        }
        match self.calls.get_mut(about.serial) {
            Some(call) => call.path.stream,
            None => self.waiting(about.serial)?.path.stream,
        }
    }

    /// The answer to this request cannot be told to anybody any more.
    pub(crate) fn abandon(&mut self, id: &RequestId) {
        if let Some(serial) = self.calls.find(id) {
            self.stop_waiting(serial);
            self.cancel(serial, CancelCause::Disconnected);
        }
    }

    /// The bounds that it keeps.
    pub fn limits(&self) -> &Limits {
        &self.config.limits
    }

    /// Nothing answers a request that is over, unless others of its batch have answers.
    pub(super) fn leave_unanswered(&mut self, path: ReplyPath) {
        match (path.batch, path.stream) {
            (Some(_), _) => self.leave(path),
            (None, Some(stream)) => self.outbox.push(ServerAction::Unanswered(stream)),
            (None, None) => {}
        }
    }
}
