//! State shared by the exchanges of a server: sessions of legacy clients, listeners of modern ones.
//!
//! In: visits of [`Exchange`](super::Exchange)s; changes; outcomes of requests that belong to
//! sessions; time. Out: exchanges to wake, and events. Exchanges share nothing else: of the modern
//! requests only `subscriptions/listen` uses the endpoint.
//!
//! Each server has one endpoint. The endpoint is either behind a lock, which is held for one visit
//! and never while a task waits, or inside the single event loop.
//!
//! [Specification: Streamable HTTP](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http)

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;

use super::Config;
use super::action::{EndpointAction, Queue};
use super::alarms::Alarms;
use super::listeners::Listeners;
use super::sessions::{Sessions, StreamCursor};
use crate::error::UsageError;
use crate::limits::Limits;
use crate::message::RequestId;
use crate::server::{
    Change, Declaration, InputId, List, Notification, Outcome, Reply, ReplyId, Server, SessionRef,
};
use crate::time::{Duration, Instant};
use crate::types::InputRequest;

/// State that the exchanges of a server share. `W` is the driver's handle of an exchange: a number
/// in a loop, or a waker of a task.
#[derive(Debug)]
pub struct Endpoint<W> {
    pub(super) declaration: Arc<Declaration>,
    pub(super) sessions: Sessions<W>,
    pub(super) listeners: Listeners<W>,
    pub(super) queue: Queue<W>,
    pub(super) closing: bool,
    alarms: Alarms,
}

impl<W: Clone> Endpoint<W> {
    /// Creates an endpoint without sessions. `ids` returns session ids: 128 random bits each, from
    /// a source that nobody can predict.
    pub fn new(
        declaration: Arc<Declaration>,
        config: Arc<Config>,
        ids: Box<dyn FnMut() -> [u8; 16] + Send>,
    ) -> Self {
        Self {
            declaration,
            sessions: Sessions::new(config, ids),
            listeners: Listeners::default(),
            queue: Queue::new(),
            closing: false,
            alarms: Alarms::default(),
        }
    }

    /// Replaces the declaration, and notifies clients of the lists that changed; see
    /// [`Server::declare`](crate::server::Server::declare).
    pub fn declare(&mut self, now: Instant, declaration: Arc<Declaration>) {
        let before = core::mem::replace(&mut self.declaration, declaration);
        let changed: alloc::vec::Vec<List> = self.declaration.differences(&before).collect();
        for list in &changed {
            let change = Change::ListChanged(*list);
            if self.declaration.check(&change).is_ok() {
                self.queue.extend(self.listeners.publish(&change));
            }
        }
        self.sessions.declare(now, &self.declaration, (&before, &changed), &mut self.queue);
    }

    /// Notifies all clients that have asked for this kind of change. Changes that come faster than
    /// a client reads them are merged into one notification.
    ///
    /// Fails with [`UsageError::Undeclared`] without
    /// [`Registry::list_changed`](crate::server::Registry::list_changed) or
    /// [`Registry::subscribe`](crate::server::Registry::subscribe), and with
    /// [`UsageError::Closed`] after [`Endpoint::shutdown`].
    pub fn publish(&mut self, now: Instant, change: &Change) -> Result<(), UsageError> {
        if self.closing {
            return Err(UsageError::Closed);
        }
        self.declaration.check(change)?;
        self.queue.extend(self.listeners.publish(change));
        self.sessions.publish(now, change, &mut self.queue);
        self.make_room(now);
        Ok(())
    }

    /// Notifies all clients of a change of everything that they have subscribed to and that is
    /// declared. Use this if the application has lost track of its changes. Does nothing after
    /// [`Endpoint::shutdown`].
    pub fn publish_all(&mut self, now: Instant) {
        if !self.closing {
            self.queue.extend(self.listeners.publish_all());
            self.sessions.for_each(now, Server::publish_all, &mut self.queue);
            self.make_room(now);
        }
    }

    /// Answers a request that [belongs to a session](Reply::is_shared). The answer is dropped and
    /// counted if the request was cancelled, or belongs to another endpoint.
    pub fn respond(&mut self, now: Instant, reply: Reply, outcome: Outcome) {
        self.sessions.respond(now, reply, outcome, None, &mut self.queue);
        self.make_room(now);
    }

    /// Sends a notification about a request of a session to the client; see
    /// [`Server::notify`](crate::server::Server::notify).
    pub fn notify(
        &mut self,
        now: Instant,
        about: ReplyId,
        notification: Notification,
    ) -> Result<(), UsageError> {
        let notified = self.sessions.notify(now, about, notification, &mut self.queue);
        self.make_room(now);
        notified
    }

    /// Sends a notification that belongs to no request to the client of a session, on its GET
    /// stream; see [`Server::notify_session`](crate::server::Server::notify_session). While the
    /// client has no GET stream open the notification is kept, within `Limits::max_replay_events`.
    ///
    /// Fails with [`UsageError::Closed`] if the session has ended or never existed.
    pub fn notify_session(
        &mut self,
        now: Instant,
        session: SessionRef,
        notification: Notification,
    ) -> Result<(), UsageError> {
        let notify = |server: &mut Server| server.notify_session(now, notification);
        self.sessions.in_session(now, session, &mut self.queue, notify)
    }

    /// Asks the client of a session for input that belongs to no request, on its GET stream; see
    /// [`Server::request_input`](crate::server::Server::request_input).
    ///
    /// Fails with [`UsageError::Closed`] if the session has ended or never existed.
    pub fn request_input(
        &mut self,
        now: Instant,
        session: SessionRef,
        request: InputRequest,
        timeout: Duration,
    ) -> Result<InputId, UsageError> {
        let ask = |server: &mut Server| server.request_input(now, request, timeout);
        self.sessions.in_session(now, session, &mut self.queue, ask)
    }

    /// Asks the client of a session for input that a request needs, on the stream of that request;
    /// see [`Server::request_input_about`](crate::server::Server::request_input_about).
    ///
    /// Fails with [`UsageError::Closed`] if the session has ended or never existed.
    pub fn request_input_about(
        &mut self,
        now: Instant,
        about: ReplyId,
        request: InputRequest,
        timeout: Duration,
    ) -> Result<InputId, UsageError> {
        let ask = |server: &mut Server| server.request_input_about(now, about, request, timeout);
        self.sessions.in_session(now, about.session(), &mut self.queue, ask)
    }

    /// Withdraws a request for input; see
    /// [`Server::cancel_input`](crate::server::Server::cancel_input).
    pub fn cancel_input(&mut self, now: Instant, input: InputId) -> Result<(), UsageError> {
        let cancel = |server: &mut Server| server.cancel_input(now, input);
        self.sessions.in_session(now, input.session(), &mut self.queue, cancel)
    }

    /// Ends the one of these sessions that is idle and was used least recently, such as one whose
    /// client has left without a DELETE. Returns the session; one that has ended before is the
    /// first choice. A session with a request in flight, with an open stream, or with an answer
    /// that was not sent and is kept is not idle.
    pub fn end_idle_session(
        &mut self,
        now: Instant,
        sessions: &[SessionRef],
    ) -> Option<SessionRef> {
        self.sessions.end_idle(now, sessions, &mut self.queue)
    }

    /// The limits that apply to the sessions of this endpoint.
    pub fn limits(&self) -> &Limits {
        self.sessions.limits()
    }

    /// Closes the stream on which a client waits for the answer to this request, so that a slow
    /// answer keeps no connection open. The client reconnects after `Limits::retry`. The streams of
    /// clients before 2025-11-25 stay open, since these clients do not support polling.
    ///
    /// Fails with [`UsageError::NotInFlight`].
    pub fn close_stream(&mut self, _now: Instant, about: ReplyId) -> Result<(), UsageError> {
        self.sessions.close_stream(about, &mut self.queue)
    }

    /// Starts the shutdown of the server. Streams that belong to no request end, and subscriptions
    /// end with their result. Requests of sessions get `Limits::drain`. Later requests are refused.
    pub fn shutdown(&mut self, now: Instant) {
        if !self.closing {
            self.closing = true;
            self.queue.extend(self.listeners.end());
            self.sessions.shutdown(now, &mut self.queue);
        }
    }

    /// Handles the deadlines that are due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.sessions.handle_timeout(now, &mut self.queue);
        self.make_room(now);
    }

    /// The next action.
    pub fn poll_action(&mut self) -> Option<EndpointAction<W>> {
        self.queue.pop_front()
    }

    /// Returns whether a request that [belongs to a session](Reply::is_shared) still waits for its
    /// handler: it is neither answered nor cancelled.
    pub fn is_owed(&self, about: ReplyId) -> bool {
        self.sessions.is_owed(about)
    }

    /// Removes and returns all queued actions.
    pub fn take_actions(&mut self) -> VecDeque<EndpointAction<W>> {
        if self.queue.is_empty() { VecDeque::new() } else { core::mem::take(&mut self.queue) }
    }

    /// The id that the client of a session has given to a request; see
    /// [`Server::request_id`](crate::server::Server::request_id).
    pub fn request_id(&self, about: ReplyId) -> Option<&RequestId> {
        self.sessions.request_id(about)
    }

    /// Drops events that are kept for resumption, the oldest first, until the endpoint's memory
    /// fits into `Limits::max_endpoint_bytes`. Reports requests that were refused for lack of room.
    pub(super) fn make_room(&mut self, now: Instant) {
        self.sessions.make_room(now, &mut self.queue);
        let refusals = self.sessions.take_refusals();
        if refusals > 0 {
            let event = self.alarms.reached_times(now, "max_endpoint_bytes", refusals);
            self.queue.extend(event.map(EndpointAction::Event));
        }
    }

    /// Detaches a reader from a stream of a session.
    pub(super) fn leave(&mut self, now: Instant, place: &StreamCursor, has_received_all: bool) {
        self.sessions.leave(now, place, has_received_all, &mut self.queue);
    }

    /// Latest time for the next call of [`Endpoint::handle_timeout`]; `None` without a deadline.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.sessions.poll_timeout()
    }

    /// Number of open sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Number of exchanges that listen to changes.
    pub fn listeners(&self) -> usize {
        self.listeners.len()
    }

    /// Number of answers that were dropped because no request was waiting for them.
    pub fn dropped_replies(&self) -> u64 {
        self.sessions.dropped_replies()
    }
}
