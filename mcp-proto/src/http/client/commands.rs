//! What an application wants.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::Client;
use super::action::set_field;
use crate::client::{
    CallId, CallOptions, Decision, InputReply, Listing, ServerInfo, SubscriptionId, Verdict,
};
use crate::error::UsageError;
use crate::json::Json;
use crate::message::ErrorData;
use crate::time::Instant;
use crate::types::{ClientCapabilities, LoggingLevel, Root, SubscriptionFilter};

impl Client {
    /// Asks the server what it is; what was asked before follows.
    pub fn handle_opened(&mut self, now: Instant) {
        self.side.handle_opened(now);
        self.pump(now);
    }

    /// Gives every request from now on a field; see [`Config::field`](super::Config::field).
    pub fn set_field(&mut self, name: &str, value: &str) -> Result<(), UsageError> {
        set_field(&mut self.fields, name, value)
    }

    /// Calls a method; see [`Client::call`].
    pub fn call(
        &mut self,
        now: Instant,
        method: impl Into<Cow<'static, str>>,
        params: Json,
        options: CallOptions,
    ) -> Result<CallId, UsageError> {
        let done = self.side.call(now, method, params, options);
        self.pump(now);
        done
    }

    /// Fetches a whole list; see [`Client::list`].
    pub fn list(
        &mut self,
        now: Instant,
        listing: Listing,
        options: CallOptions,
    ) -> Result<CallId, UsageError> {
        let done = self.side.list(now, listing, options);
        self.pump(now);
        done
    }

    /// Asks for a sign of life; see [`Client::ping`].
    pub fn ping(&mut self, now: Instant, options: CallOptions) -> Result<CallId, UsageError> {
        let done = self.side.ping(now, options);
        self.pump(now);
        done
    }

    /// Says which log messages are wanted; see [`Client::set_log_level`].
    pub fn set_log_level(
        &mut self,
        now: Instant,
        level: LoggingLevel,
        options: CallOptions,
    ) -> Result<CallId, UsageError> {
        let done = self.side.set_log_level(now, level, options);
        self.pump(now);
        done
    }

    /// Does not want the response to a call any more; see [`Client::cancel`].
    pub fn cancel(&mut self, now: Instant, call: CallId) -> Result<(), UsageError> {
        let done = self.side.cancel(now, call);
        self.pump(now);
        done
    }

    /// Gives what the server needs; see [`Client::answer`].
    pub fn answer(&mut self, now: Instant, reply: InputReply, answer: Result<Json, ErrorData>) {
        self.side.answer(now, reply, answer);
        self.pump(now);
    }

    /// Wants to be told when something changes; see [`Client::subscribe`].
    pub fn subscribe(
        &mut self,
        now: Instant,
        filter: SubscriptionFilter,
    ) -> Result<SubscriptionId, UsageError> {
        let done = self.side.subscribe(now, filter);
        self.pump(now);
        done
    }

    /// Does not want to be told any more; see [`Client::unsubscribe`].
    pub fn unsubscribe(
        &mut self,
        now: Instant,
        subscription: SubscriptionId,
    ) -> Result<(), UsageError> {
        let done = self.side.unsubscribe(now, subscription);
        self.pump(now);
        done
    }

    /// Sends a notification; see [`Client::notify`]. As many as `Limits::max_in_flight` may be waiting
    /// to be accepted; another one fails with [`UsageError::TooManyCalls`].
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
        let done = self.side.notify(now, method, params);
        self.pump(now);
        done
    }

    /// Sets the roots; see [`Client::set_roots`].
    pub fn set_roots(&mut self, now: Instant, roots: Vec<Root>) -> Result<(), UsageError> {
        let done = self.side.set_roots(now, roots);
        self.pump(now);
        done
    }

    /// Says what the client supports; see [`Client::set_capabilities`].
    pub fn set_capabilities(&mut self, capabilities: ClientCapabilities) {
        self.side.set_capabilities(capabilities);
    }

    /// The application is done; see [`Client::close`].
    pub fn close(&mut self, now: Instant) {
        self.side.close(now);
        self.pump(now);
    }

    /// The server, once the era is known.
    pub fn server_info(&self) -> Option<&ServerInfo> {
        self.side.server()
    }

    /// What has been found out about the server, to be stored; once it is known.
    pub fn verdict(&self) -> Option<Verdict> {
        self.side.verdict()
    }

    /// How the negotiation went; see
    /// [`client::Client::decisions`](crate::client::Client::decisions).
    pub fn decisions(&self) -> &[Decision] {
        self.side.decisions()
    }
}
