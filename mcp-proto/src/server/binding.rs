//! Verbs of a server that its binding to HTTP needs, beside those that a byte stream has.
//!
//! They stand apart from the others of [`Server`] because the binding, and not the peer, is who they
//! are about: whose request it is, which stream it came in with, whether anybody is there.

use alloc::sync::Arc;

use super::calls::Calls;
use super::config::Config;
use super::context::{Context, ServerChannel};
use super::declaration::Declaration;
use super::event::{CancelCause, ReplyId, ServerAction, StreamId};
use super::extensions::Extensions;
use super::legacy::Session;
use super::lifecycle::Lifecycle;
use super::machine::Server;
use super::subscriptions::{Filter, Subscriptions};
use crate::limits::Limits;
use crate::message::{Incoming, Message, Method, RequestId};
use crate::time::Instant;
use crate::version::ProtocolVersion;

impl Server {
    /// A server for one HTTP request of a modern client's.
    pub(crate) fn exchange(
        declaration: Arc<Declaration>,
        config: Arc<Config>,
        principal: Option<Arc<str>>,
    ) -> Self {
        Self::alone(declaration, config, principal, Lifecycle::modern())
    }

    /// A server for one HTTP request of a legacy client without a session: it may open with
    /// `initialize`, or counts as having done so.
    pub(crate) fn stateless(
        declaration: Arc<Declaration>,
        config: Arc<Config>,
        principal: Option<Arc<str>>,
        incoming: &Incoming,
        version: ProtocolVersion,
    ) -> Self {
        let opens = matches!(
            incoming,
            Incoming::Message(Message::Request(request)) if matches!(request.method, Method::Initialize)
        );
        let lifecycle = if opens {
            Lifecycle::undecided()
        } else {
            Lifecycle::legacy(Session::stateless(version))
        };
        Self::alone(declaration, config, principal, lifecycle)
    }

    fn alone(
        declaration: Arc<Declaration>,
        config: Arc<Config>,
        principal: Option<Arc<str>>,
        lifecycle: Lifecycle,
    ) -> Self {
        let context = Context::new(declaration, config, ServerChannel::Exchange, principal);
        Self::with(context, lifecycle, Calls::with_capacity(1))
    }

    /// A server for the HTTP requests of one legacy client. It has the settings of all of them.
    pub(crate) fn shared(
        declaration: Arc<Declaration>,
        config: Arc<Config>,
        principal: Option<Arc<str>>,
    ) -> Self {
        let context = Context::new(declaration, config, ServerChannel::Session, principal);
        Self::with(context, Lifecycle::undecided(), Calls::default())
    }

    /// The peer is gone: what is in flight is cancelled, and nothing more is sent.
    pub fn handle_disconnect(&mut self, _now: Instant) {
        if self.lifecycle.is_closed() {
            return;
        }
        let Self { context, lifecycle, calls, to_client, subscriptions, .. } = self;
        lifecycle.drain(Instant::NEVER);
        context.outbox.forget_messages();
        *subscriptions = Subscriptions::default();
        to_client.handle_disconnect(context, calls);
        calls.cancel_all(context, &CancelCause::Disconnected);
        self.close_if_drained();
    }

    /// The answer to this request cannot be told to anybody any more.
    pub(crate) fn abandon(&mut self, id: &RequestId) {
        let Self { context, calls, to_client, .. } = self;
        if let Some(serial) = calls.find(id) {
            to_client.cancel(context, calls, serial);
            calls.cancel(context, serial, CancelCause::Disconnected);
        }
    }

    /// The next action, without changes to tell of: they wait, and are told once.
    pub(crate) fn poll_queued(&mut self) -> Option<ServerAction> {
        self.context.outbox.pop()
    }

    /// Gives back the memory that an idle machine does not need.
    pub(crate) fn shrink(&mut self) {
        self.context.shrink();
        self.calls.shrink();
        self.to_client.shrink();
        self.subscriptions.shrink();
    }

    /// Returns whether nothing is in flight, and no action is to be taken.
    pub(crate) fn is_idle(&self) -> bool {
        self.calls.len() == 0 && self.context.outbox.is_empty()
    }

    /// What its replies have in common.
    pub(crate) fn scope(&self) -> usize {
        self.context.scope()
    }

    /// Sets the values that came with the HTTP request that is handled next.
    pub(crate) fn set_extensions(&mut self, extensions: Extensions) {
        self.context.set_extensions(extensions);
    }

    pub(crate) fn principal(&self) -> Option<&str> {
        self.context.principal().map(AsRef::as_ref)
    }

    /// The bounds that it keeps.
    pub fn limits(&self) -> &Limits {
        self.context.limits()
    }

    /// The revision that the session was opened with.
    pub(crate) fn session_version(&self) -> Option<ProtocolVersion> {
        self.lifecycle.session().map(Session::version)
    }

    /// The bytes of what a session knows of its client, and of the URIs that it subscribed to.
    pub(crate) fn session_bytes(&self) -> usize {
        let session = self.lifecycle.session();
        session.map_or(0, |session| session.bytes() + self.subscriptions.bytes())
    }

    /// Filter of the subscription of a modern client, if there is one.
    pub(crate) fn filter(&self) -> Option<Filter> {
        self.subscriptions.filter()
    }

    /// Returns whether a handler owes the answer to a request.
    pub(crate) fn is_owed(&self, about: ReplyId) -> bool {
        self.context.serial(about).is_some_and(|serial| self.calls.is_in_handler(serial))
    }

    /// The request that a handler has to answer, if there is one, and no batch waits for it.
    pub(crate) fn only_call(&self) -> Option<&RequestId> {
        self.calls.only()
    }

    /// The id that the client has given to a request that a handler owes the answer to, for logs.
    pub fn request_id(&self, about: ReplyId) -> Option<&RequestId> {
        self.calls.get(self.context.serial(about)?).map(|call| &call.id)
    }

    /// The stream that a request came in with.
    pub(crate) fn stream_of(&self, about: ReplyId) -> Option<StreamId> {
        let serial = self.context.serial(about)?;
        self.calls.get(serial).or_else(|| self.to_client.get(serial))?.path.stream
    }
}
