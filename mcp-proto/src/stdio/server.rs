//! The server's side of a byte stream.

use alloc::sync::Arc;

use super::{Connection, Side};
use crate::error::UsageError;
use crate::limits::Limits;
use crate::machine::Action;
use crate::message::RequestId;
use crate::message::{Incoming, Malformed, Outgoing};
use crate::server::{
    Change, Config, Declaration, InputId, Notification, Outcome, PingId, Reply, ReplyId, Server,
    ServerEvent,
};
use crate::time::{Duration, Instant};
use crate::types::InputRequest;
use crate::version::Era;

impl Connection<Server> {
    /// A server for the peer at the other end of a stream that is yet to be read.
    pub fn server(declaration: Arc<Declaration>, config: Config) -> Self {
        Self::new(Server::new(declaration, config))
    }

    /// The server is to stop: nothing more is read, the beginning of a line is dropped, and
    /// requests in flight get `Limits::drain` to be answered.
    pub fn shutdown(&mut self, now: Instant) {
        self.side.handle_eof(now);
    }

    /// Answers a request; see [`Server::respond`].
    pub fn respond(&mut self, now: Instant, reply: Reply, outcome: Outcome) {
        self.side.respond(now, reply, outcome);
    }

    /// Tells the client about a request in flight; see [`Server::notify`].
    pub fn notify(
        &mut self,
        now: Instant,
        about: ReplyId,
        notification: Notification,
    ) -> Result<(), UsageError> {
        self.side.notify(now, about, notification)
    }

    /// Tells the client of a change; see [`Server::publish`].
    pub fn publish(&mut self, now: Instant, change: &Change) -> Result<(), UsageError> {
        self.side.publish(now, change)
    }

    /// Tells the client that all it has subscribed to has changed; see [`Server::publish_all`].
    pub fn publish_all(&mut self) {
        self.side.publish_all();
    }

    /// Takes another declaration; see [`Server::declare`].
    pub fn declare(&mut self, now: Instant, declaration: Arc<Declaration>) {
        self.side.declare(now, declaration);
    }

    /// Asks a legacy client for a sign of life; see [`Server::ping`].
    pub fn ping(&mut self, now: Instant, timeout: Duration) -> Result<PingId, UsageError> {
        self.side.ping(now, timeout)
    }

    /// Sends a notification about no request; see [`Server::notify_session`].
    pub fn notify_session(
        &mut self,
        now: Instant,
        notification: Notification,
    ) -> Result<(), UsageError> {
        self.side.notify_session(now, notification)
    }

    /// Asks a legacy client for input, about no request; see [`Server::request_input`].
    pub fn request_input(
        &mut self,
        now: Instant,
        request: InputRequest,
        timeout: Duration,
    ) -> Result<InputId, UsageError> {
        self.side.request_input(now, request, timeout)
    }

    /// Withdraws a request for input; see [`Server::cancel_input`].
    pub fn cancel_input(&mut self, now: Instant, input: InputId) -> Result<(), UsageError> {
        self.side.cancel_input(now, input)
    }

    /// The bounds that it keeps.
    pub fn limits(&self) -> &Limits {
        self.side.limits()
    }

    /// The id that the client has given to a request; see [`Server::request_id`].
    pub fn request_id(&self, about: ReplyId) -> Option<&RequestId> {
        self.side.request_id(about)
    }

    /// The requests that a handler has not answered yet, oldest first.
    pub fn owed(&self) -> impl Iterator<Item = ReplyId> + '_ {
        self.side.owed()
    }

    /// How many answers were dropped because nobody waited for them.
    pub fn dropped_replies(&self) -> u64 {
        self.side.dropped_replies()
    }

    /// The era that the connection was opened in, `None` before that.
    pub fn era(&self) -> Option<Era> {
        self.side.era()
    }
}

impl Side for Server {
    type Event = ServerEvent;

    fn limits(&self) -> &Limits {
        self.limits()
    }

    fn handle_message(&mut self, now: Instant, incoming: Incoming) {
        self.handle_message(now, incoming);
    }

    fn handle_malformed(&mut self, now: Instant, malformed: Malformed) {
        self.handle_malformed(now, malformed);
    }

    fn handle_eof(&mut self, now: Instant) {
        self.handle_eof(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.handle_timeout(now);
    }

    fn poll_send(&mut self) -> Option<Outgoing> {
        self.poll_send()
    }

    fn poll_event(&mut self) -> Option<Action<ServerEvent>> {
        self.poll_event()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.poll_timeout()
    }

    fn wants_read(&self) -> bool {
        self.wants_read()
    }
}
