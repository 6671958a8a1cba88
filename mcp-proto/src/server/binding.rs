//! Verbs of a server that its bindings need.

use alloc::sync::Arc;

use super::calls::Calls;
use super::context::{Binding, Context};
use super::subscriptions::Subscriptions;
use super::{
    CancelCause, Config, Declaration, Life, Opening, ReplyId, Server, ServerAction, StreamId,
};
use crate::limits::Limits;
use crate::message::RequestId;
use crate::time::Instant;

impl Server {
    /// A server for one HTTP request of a modern client's.
    pub(crate) fn exchange(
        declaration: Arc<Declaration>,
        config: Arc<Config>,
        principal: Option<Arc<str>>,
    ) -> Self {
        let context = Context::new(declaration, config, Binding::Exchange, principal);
        let (opening, calls) = (Opening::Modern, Calls::with_capacity(1));
        Self { opening, calls, ..Self::with(context) }
    }

    /// A server for the HTTP requests of one legacy client. It has the settings of all of them.
    pub(crate) fn shared(
        declaration: Arc<Declaration>,
        config: Arc<Config>,
        principal: Option<Arc<str>>,
    ) -> Self {
        Self::with(Context::new(declaration, config, Binding::Session, principal))
    }

    /// What its replies have in common.
    pub(crate) fn scope(&self) -> usize {
        self.context.scope()
    }

    pub(crate) fn principal(&self) -> Option<&str> {
        self.context.principal().map(AsRef::as_ref)
    }

    /// Whether nothing is in flight, and no action is to be taken.
    pub(crate) fn is_idle(&self) -> bool {
        self.calls.len() == 0 && self.context.outbox.is_empty()
    }

    /// Gives back the memory that an idle machine does not need.
    pub(crate) fn shrink(&mut self) {
        self.context.shrink();
        self.calls.shrink();
        self.deadlines.shrink();
        self.subscriptions.shrink();
        if let Opening::Legacy(session) = &mut self.opening {
            session.shrink();
        }
    }

    /// Whether a handler owes the answer to a request.
    pub(crate) fn is_owed(&self, about: ReplyId) -> bool {
        self.context.serial(about).is_some_and(|serial| self.calls.is_in_handler(serial))
    }

    /// The id that the client has given to a request that a handler owes the answer to, for logs.
    pub fn request_id(&self, about: ReplyId) -> Option<&RequestId> {
        self.calls.get(self.context.serial(about)?).map(|call| &call.id)
    }

    /// The next action, without changes to tell of: they wait, and are told once.
    pub(crate) fn poll_queued(&mut self) -> Option<ServerAction> {
        self.context.outbox.pop()
    }

    /// The peer is gone: what is in flight is cancelled, and nothing more is sent.
    pub fn handle_disconnect(&mut self, _now: Instant) {
        if self.life == Life::Closed {
            return;
        }
        self.life = Life::Draining;
        self.context.outbox.forget_messages();
        self.subscriptions = Subscriptions::default();
        self.forget_waiting();
        self.calls.cancel_all(&mut self.context, &CancelCause::Disconnected);
        self.close_if_drained();
    }

    /// The stream that a request came in with.
    pub(crate) fn stream_of(&mut self, about: ReplyId) -> Option<StreamId> {
        let serial = self.context.serial(about)?;
        match self.calls.get_mut(serial) {
            Some(call) => call.path.stream,
            None => self.waiting(serial)?.path.stream,
        }
    }

    /// The answer to this request cannot be told to anybody any more.
    pub(crate) fn abandon(&mut self, id: &RequestId) {
        if let Some(serial) = self.calls.find(id) {
            self.stop_waiting(serial);
            self.calls.cancel(&mut self.context, serial, CancelCause::Disconnected);
        }
    }

    /// The bounds that it keeps.
    pub fn limits(&self) -> &Limits {
        self.context.limits()
    }
}
