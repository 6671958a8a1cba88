//! What an application wants.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::Client;
use super::action::set_field;
use crate::client::{
    self, CallId, CallOptions, Decision, InputReply, Listing, ServerInfo, SubscriptionId, Verdict,
};
use crate::error::UsageError;
use crate::json::Json;
use crate::message::ErrorData;
use crate::time::Instant;
use crate::types::{ClientCapabilities, LoggingLevel, Root, SubscriptionFilter};

impl Client {
    /// Asks the server what it is; what was asked before follows.
    pub fn handle_opened(&mut self, now: Instant) {
        self.tell(now, |side| side.handle_opened(now));
    }

    /// Gives every request from now on a field; see [`Config::field`](super::Config::field). A client
    /// that is unconnected tries again at once, since the field may be the token that it lacked, and
    /// so it does with streams and answers that the server has refused with 401 or 403.
    pub fn set_field(&mut self, now: Instant, name: &str, value: &str) -> Result<(), UsageError> {
        set_field(&mut self.fields, name, value)?;
        self.authorize_streams(now);
        self.tell(now, |side| side.retry_at_once(now));
        Ok(())
    }

    /// Calls a method; see [`client::Client::call`].
    pub fn call(
        &mut self,
        now: Instant,
        method: impl Into<Cow<'static, str>>,
        params: Json,
        options: CallOptions,
    ) -> Result<CallId, UsageError> {
        self.tell(now, |side| side.call(now, method, params, options))
    }

    /// Fetches a whole list; see [`client::Client::list`].
    pub fn list(
        &mut self,
        now: Instant,
        listing: Listing,
        options: CallOptions,
    ) -> Result<CallId, UsageError> {
        self.tell(now, |side| side.list(now, listing, options))
    }

    /// Asks for a sign of life; see [`client::Client::ping`].
    pub fn ping(&mut self, now: Instant, options: CallOptions) -> Result<CallId, UsageError> {
        self.tell(now, |side| side.ping(now, options))
    }

    /// Says which log messages are wanted; see [`client::Client::set_log_level`].
    pub fn set_log_level(
        &mut self,
        now: Instant,
        level: LoggingLevel,
        options: CallOptions,
    ) -> Result<CallId, UsageError> {
        self.tell(now, |side| side.set_log_level(now, level, options))
    }

    /// Does not want the response to a call any more; see [`client::Client::cancel`].
    pub fn cancel(&mut self, now: Instant, call: CallId) -> Result<(), UsageError> {
        self.tell(now, |side| side.cancel(now, call))
    }

    /// Gives what the server needs; see [`client::Client::answer`].
    pub fn answer(&mut self, now: Instant, reply: InputReply, answer: Result<Json, ErrorData>) {
        let input = reply.id();
        self.answering = self.side.request_of(input).map(|request| (request, input));
        self.tell(now, |side| side.answer(now, reply, answer));
        self.answering = None;
    }

    /// Wants to be told when something changes; see [`client::Client::subscribe`].
    pub fn subscribe(
        &mut self,
        now: Instant,
        filter: SubscriptionFilter,
    ) -> Result<SubscriptionId, UsageError> {
        self.tell(now, |side| side.subscribe(now, filter))
    }

    /// Does not want to be told any more; see [`client::Client::unsubscribe`].
    pub fn unsubscribe(
        &mut self,
        now: Instant,
        subscription: SubscriptionId,
    ) -> Result<(), UsageError> {
        self.tell(now, |side| side.unsubscribe(now, subscription))
    }

    /// Sends a notification; see [`client::Client::notify`]. As many as `Limits::max_in_flight` may
    /// wait to be accepted; another one fails with [`UsageError::TooManyCalls`].
    pub fn notify(
        &mut self,
        now: Instant,
        method: impl Into<Cow<'static, str>>,
        params: Json,
    ) -> Result<(), UsageError> {
        if self.is_full() {
            let max_in_flight = self.limits().max_in_flight;
            return Err(UsageError::TooManyCalls { max_in_flight });
        }
        self.tell(now, |side| side.notify(now, method, params))
    }

    /// Sets the roots; see [`client::Client::set_roots`].
    pub fn set_roots(&mut self, now: Instant, roots: Vec<Root>) -> Result<(), UsageError> {
        self.tell(now, |side| side.set_roots(now, roots))
    }

    /// Says what the client supports; see [`client::Client::set_capabilities`].
    pub fn set_capabilities(&mut self, capabilities: ClientCapabilities) {
        self.side.set_capabilities(capabilities);
    }

    /// The application is done; see [`client::Client::close`].
    pub fn close(&mut self, now: Instant) {
        self.tell(now, |side| side.close(now));
    }

    /// The server, once the era is known.
    pub fn server_info(&self) -> Option<&ServerInfo> {
        self.side.server()
    }

    /// What has been found out about the server, to be stored; once it is known.
    pub fn verdict(&self) -> Option<Verdict> {
        self.side.verdict()
    }

    /// How the negotiation went; see [`client::Client::decisions`].
    pub fn decisions(&self) -> &[Decision] {
        self.side.decisions()
    }

    /// Tells the machine, and has HTTP carry what comes of it.
    fn tell<T>(&mut self, now: Instant, tell: impl FnOnce(&mut client::Client) -> T) -> T {
        let done = tell(&mut self.side);
        self.pump(now);
        done
    }
}
