//! Methods of a server that only its bindings need, most of them the binding to HTTP.
//!
//! The other methods of [`Server`] concern the peer. These concern the binding: the sender of a
//! request, the stream of a request, the end of the connection, and the order of actions.

use alloc::sync::Arc;

use super::calls::Calls;
use super::config::Config;
use super::context::{Context, ServerChannel};
use super::declaration::Declaration;
use super::dispatch::is_initialize;
use super::event::{CancelCause, Peer, ReplyId, ServerAction, ServerEvent, StreamId};
use super::extensions::Extensions;
use super::filter::Filter;
use super::legacy::Session;
use super::lifecycle::Lifecycle;
use super::machine::Server;
use super::subscriptions::Subscriptions;
use crate::change::{Change, List};
use crate::limits::Limits;
use crate::machine::Action;
use crate::message::{Incoming, Outgoing, RequestId};
use crate::time::Instant;
use crate::version::ProtocolVersion;

impl Server {
    /// A server for one HTTP request of a modern client.
    pub(crate) fn modern_exchange(
        declaration: Arc<Declaration>,
        config: Arc<Config>,
        principal: Option<Arc<str>>,
    ) -> Self {
        Self::for_exchange(declaration, config, principal, Lifecycle::modern())
    }

    /// A server for one HTTP request of a legacy client without a session. The request may be
    /// `initialize`; any other request is served as if `initialize` had succeeded.
    pub(crate) fn legacy_exchange(
        declaration: Arc<Declaration>,
        config: Arc<Config>,
        principal: Option<Arc<str>>,
        incoming: &Incoming,
        version: ProtocolVersion,
    ) -> Self {
        let lifecycle = if is_initialize(incoming) {
            Lifecycle::undecided()
        } else {
            Lifecycle::legacy(Session::stateless(version, principal.clone()))
        };
        Self::for_exchange(declaration, config, principal, lifecycle)
    }

    fn for_exchange(
        declaration: Arc<Declaration>,
        config: Arc<Config>,
        principal: Option<Arc<str>>,
        lifecycle: Lifecycle,
    ) -> Self {
        let context = Context::new(declaration, config, ServerChannel::Exchange, principal);
        Self::from_parts(context, lifecycle, Calls::with_capacity(1))
    }

    /// A server for all HTTP requests of one legacy session, with their shared state.
    pub(crate) fn for_session(
        declaration: Arc<Declaration>,
        config: Arc<Config>,
        principal: Option<Arc<str>>,
    ) -> Self {
        let context = Context::new(declaration, config, ServerChannel::Session, principal);
        Self::from_parts(context, Lifecycle::undecided(), Calls::default())
    }

    /// Handles a disconnect of the peer: cancels the requests in flight, and sends nothing more.
    pub fn handle_disconnect(&mut self, _now: Instant) {
        if self.lifecycle.is_closed() {
            return;
        }
        let Self { context, lifecycle, calls, sent_requests, subscriptions, .. } = self;
        lifecycle.drain(Instant::NEVER);
        context.outbox.forget_messages();
        *subscriptions = Subscriptions::default();
        sent_requests.handle_disconnect(context);
        calls.cancel_all(context, &CancelCause::Disconnected);
        self.handle_ended_calls();
    }

    /// Returns whether the client of a session has subscriptions to resources.
    pub(crate) fn has_subscriptions(&self) -> bool {
        !self.subscriptions.is_empty()
    }

    /// Returns whether a request with this id is in flight.
    pub(crate) fn has_in_flight(&self, id: &RequestId) -> bool {
        self.calls.find(id).is_some()
    }

    /// Cancels a request that the client has cancelled before, or whose answer cannot reach the
    /// client any more.
    pub(crate) fn abandon(&mut self, id: &RequestId, cause: CancelCause) {
        let Self { context, calls, sent_requests, .. } = self;
        if let Some(serial) = calls.find(id) {
            sent_requests.cancel(context, calls, serial);
            calls.cancel(context, serial, cause);
        }
        self.handle_ended_calls();
    }

    /// The next queued action. Pending changes stay pending, so that repeated changes are merged.
    pub(crate) fn poll_queued(&mut self) -> Option<ServerAction> {
        self.context.outbox.pop()
    }

    /// The next message, if the next action is to send a message.
    pub(crate) fn poll_send(&mut self) -> Option<Outgoing> {
        if self.context.outbox.is_empty() && self.subscriptions.has_pending() {
            return self.subscriptions.next();
        }
        self.context.outbox.pop_message()
    }

    /// The next action, unless it is to send a message.
    pub(crate) fn poll_event(&mut self) -> Option<Action<ServerEvent>> {
        self.context.outbox.pop_event()
    }

    /// Frees the memory that an idle machine does not need.
    pub(crate) fn shrink(&mut self) {
        self.context.shrink();
        self.calls.shrink();
        self.sent_requests.shrink();
        self.subscriptions.shrink();
    }

    /// Returns whether no request is in flight, and the queue of actions is empty.
    pub(crate) fn is_idle(&self) -> bool {
        self.calls.len() == 0 && self.context.outbox.is_empty()
    }

    /// Common part of the reply ids of this machine.
    pub(crate) fn scope(&self) -> usize {
        self.context.scope()
    }

    /// Sets the typed values of the HTTP request that is handled next.
    pub(crate) fn set_extensions(&mut self, extensions: Extensions) {
        self.context.set_extensions(extensions);
    }

    pub(crate) fn principal(&self) -> Option<&str> {
        self.context.principal().map(AsRef::as_ref)
    }

    /// The limits of this server.
    pub fn limits(&self) -> &Limits {
        self.context.limits()
    }

    /// The revision with which the session was opened.
    pub(crate) fn session_version(&self) -> Option<ProtocolVersion> {
        self.lifecycle.session().map(Session::version)
    }

    /// The client of a session.
    pub(crate) fn session_client(&mut self) -> Option<&mut Arc<Peer>> {
        self.lifecycle.session_mut().map(Session::client_mut)
    }

    /// Returns whether messages are still read: neither the input has ended nor the session.
    pub(crate) fn is_open(&self) -> bool {
        self.lifecycle.is_open()
    }

    /// The bytes that a session stores: the client's description, and its subscriptions.
    pub(crate) fn session_bytes(&self) -> usize {
        let session = self.lifecycle.session();
        session.map_or(0, |session| session.bytes() + self.subscriptions.memory())
    }

    /// Returns whether the budget has room for `bytes` bytes of new work.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.context.config().has_room(bytes)
    }

    /// Filter of the subscription of a modern client, if there is one.
    pub(crate) fn filter(&self) -> Option<Filter> {
        self.subscriptions.filter()
    }

    /// Replaces the declaration without notifications, which the endpoint sends to its listeners.
    pub(crate) fn adopt(&mut self, declaration: &Arc<Declaration>) {
        self.context.declare(declaration.clone());
    }

    /// Does the same as [`Server::declare`]. `changed` are the lists that differ from those of
    /// `before`, so that they need not be compared for each of many servers.
    pub(crate) fn declare_changes(
        &mut self,
        now: Instant,
        declaration: &Arc<Declaration>,
        (before, changed): (&Arc<Declaration>, &[List]),
    ) {
        if !self.context.declares_as(before) {
            return self.declare(now, declaration.clone());
        }
        self.adopt(declaration);
        for list in changed {
            // Without `list_changed`, a list changes without a notification.
            let _ = self.publish(now, &Change::ListChanged(*list));
        }
    }

    /// Returns whether a request is in a handler, which has not answered it yet.
    pub(crate) fn is_owed(&self, about: ReplyId) -> bool {
        self.context.serial(about).is_some_and(|serial| self.calls.is_in_handler(serial))
    }

    /// The request in flight, if it is the only one and belongs to no batch.
    pub(crate) fn only_call(&self) -> Option<&RequestId> {
        self.calls.only_request()
    }

    /// The id that the client has given to a request in flight, for logs.
    pub fn request_id(&self, about: ReplyId) -> Option<&RequestId> {
        self.calls.get(self.context.serial(about)?).map(|call| &call.id)
    }

    /// The stream on which a request arrived.
    pub(crate) fn stream_of(&self, about: ReplyId) -> Option<StreamId> {
        let serial = self.context.serial(about)?;
        self.calls.get(serial).or_else(|| self.sent_requests.get(serial))?.path.stream
    }
}
