//! The client's side of a byte stream.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::{Connection, Side};
use crate::client::{
    CallId, CallOptions, Client, ClientEvent, Config, Decision, InputReply, Listing, ServerInfo,
    SubscriptionId, Verdict,
};
use crate::error::UsageError;
use crate::frame::LineReader;
use crate::json::Json;
use crate::limits::Limits;
use crate::machine::Action;
use crate::message::{ErrorData, Incoming, Malformed, Outgoing};
use crate::time::Instant;
use crate::types::{ClientCapabilities, LoggingLevel, Root, SubscriptionFilter};

impl Connection<Client> {
    /// A client of a server that is yet to be started: [`Connection::handle_opened`] comes first.
    pub fn client(config: Config) -> Self {
        Self::new(Client::new(config))
    }

    /// The server is there, for the first time or after [`ClientEvent::Reopen`]; see
    /// [`Client::handle_opened`]. What came over a stream before is forgotten.
    pub fn handle_opened(&mut self, now: Instant) {
        self.lines = LineReader::new(self.side.limits().max_line_bytes);
        self.side.handle_opened(now);
    }

    /// The server does not read, and enough waits to be written; see [`Client::handle_blocked`].
    pub fn handle_blocked(&mut self) {
        self.side.handle_blocked();
    }

    /// There is room for more output; see [`Client::handle_unblocked`].
    pub fn handle_unblocked(&mut self, now: Instant) {
        self.side.handle_unblocked(now);
    }

    /// Whether the server does not read; see [`Client::is_blocked`].
    pub fn is_blocked(&self) -> bool {
        self.side.is_blocked()
    }

    /// Calls a method; see [`Client::call`].
    pub fn call(
        &mut self,
        now: Instant,
        method: impl Into<Cow<'static, str>>,
        params: Json,
        options: CallOptions,
    ) -> Result<CallId, UsageError> {
        self.side.call(now, method, params, options)
    }

    /// Fetches a whole list; see [`Client::list`].
    pub fn list(
        &mut self,
        now: Instant,
        listing: Listing,
        options: CallOptions,
    ) -> Result<CallId, UsageError> {
        self.side.list(now, listing, options)
    }

    /// Asks for a sign of life; see [`Client::ping`].
    pub fn ping(&mut self, now: Instant, options: CallOptions) -> Result<CallId, UsageError> {
        self.side.ping(now, options)
    }

    /// Says which log messages are wanted; see [`Client::set_log_level`].
    pub fn set_log_level(
        &mut self,
        now: Instant,
        level: LoggingLevel,
        options: CallOptions,
    ) -> Result<CallId, UsageError> {
        self.side.set_log_level(now, level, options)
    }

    /// Does not want the response to a call any more; see [`Client::cancel`].
    pub fn cancel(&mut self, now: Instant, call: CallId) -> Result<(), UsageError> {
        self.side.cancel(now, call)
    }

    /// Gives what the server needs; see [`Client::answer`].
    pub fn answer(&mut self, now: Instant, reply: InputReply, answer: Result<Json, ErrorData>) {
        self.side.answer(now, reply, answer);
    }

    /// Wants to be told when something changes; see [`Client::subscribe`].
    pub fn subscribe(
        &mut self,
        now: Instant,
        filter: SubscriptionFilter,
    ) -> Result<SubscriptionId, UsageError> {
        self.side.subscribe(now, filter)
    }

    /// Does not want to be told any more; see [`Client::unsubscribe`].
    pub fn unsubscribe(
        &mut self,
        now: Instant,
        subscription: SubscriptionId,
    ) -> Result<(), UsageError> {
        self.side.unsubscribe(now, subscription)
    }

    /// Sends a notification; see [`Client::notify`].
    pub fn notify(
        &mut self,
        now: Instant,
        method: impl Into<Cow<'static, str>>,
        params: Json,
    ) -> Result<(), UsageError> {
        self.side.notify(now, method, params)
    }

    /// Sets the roots; see [`Client::set_roots`].
    pub fn set_roots(&mut self, now: Instant, roots: Vec<Root>) -> Result<(), UsageError> {
        self.side.set_roots(now, roots)
    }

    /// Says what the client supports; see [`Client::set_capabilities`].
    pub fn set_capabilities(&mut self, capabilities: ClientCapabilities) {
        self.side.set_capabilities(capabilities);
    }

    /// The application is done; see [`Client::close`].
    pub fn close(&mut self, now: Instant) {
        self.side.close(now);
    }

    /// How many bytes of answers to the server have been transmitted in all; it wraps around. What
    /// is asked of a server is bounded by the application; what it is answered is not.
    pub fn answered_bytes(&self) -> usize {
        self.answered
    }

    /// The server, once the era is known.
    pub fn server_info(&self) -> Option<&ServerInfo> {
        self.side.server()
    }

    /// What has been found out about the server, to be stored; once it is known.
    pub fn verdict(&self) -> Option<Verdict> {
        self.side.verdict()
    }

    /// How the negotiation went; see [`Client::decisions`].
    pub fn decisions(&self) -> &[Decision] {
        self.side.decisions()
    }
}

impl Side for Client {
    type Event = ClientEvent;

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

    fn poll_event(&mut self) -> Option<Action<ClientEvent>> {
        self.poll_event()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.poll_timeout()
    }

    fn wants_read(&self) -> bool {
        self.wants_read()
    }
}
