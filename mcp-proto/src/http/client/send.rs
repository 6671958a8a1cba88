//! Way of a message out: from the machine of messages to an exchange, and again if that breaks.
//!
//! The verbs of [`Client`] in this file take a message to the session, which may hold it, to
//! [`Requests`](super::requests::Requests), and to the exchanges.
//!
//! [Specification: Sending Messages](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#sending-messages)

use alloc::boxed::Box;

#[cfg(feature = "auth")]
use super::attempt::Attempt;
use super::call::{Call, Sent};
use super::delivery::{Broken, Delivery};
use super::exchange::Purpose;
use super::listener::Listener;
use super::refresh::{Refresh, Refreshed};
use super::requests::{name_notification, name_request};
use super::resume::{self, Break, Kind, Then};
use super::{Client, ExchangeId, Request};
use crate::client::recovery::Refusal;
use crate::client::{CallError, ClientEvent, SubscriptionId, version_of};
use crate::error::{ProtocolError, UsageError};
use crate::json::Json;
use crate::message::{Incoming, Message, Outgoing, RequestId};
use crate::time::Instant;
use crate::version::Era;

impl Client {
    /// Sends a message, or keeps it until the server has accepted that the session has begun.
    pub(super) fn send(&mut self, now: Instant, message: Outgoing) {
        if self.is_closing {
            return;
        }
        let begins = matches!(
            &message,
            Outgoing::Notification { method, .. } if method == "notifications/initialized"
        );
        let is_request = matches!(&message, Outgoing::Request { .. });
        // A server that asks and does not accept the answers gets no more of them.
        if !begins && !is_request && self.unaccepted() >= self.limits().max_in_flight {
            let max_in_flight = self.limits().max_in_flight;
            return self.side.fault(ProtocolError::TooManyInFlight { max_in_flight });
        }
        if begins {
            self.session.start(self.side.version());
            return self.deliver(now, message);
        }
        let Some(message) = self.session.hold(message) else { return };
        match &message {
            Outgoing::Request { id, method, .. } => {
                let call = Call::new(id.clone(), method.clone());
                self.call(now, call, message);
            }
            Outgoing::Result { .. }
            | Outgoing::Error { .. }
            | Outgoing::Notification { .. }
            | Outgoing::Batch(_) => self.deliver(now, message),
        }
    }

    /// `notifications/initialized` was accepted, or is not for now: what waits will be told if the
    /// session is of no use.
    pub(super) fn release(&mut self, now: Instant) {
        let Some(held) = self.session.open() else { return };
        // First of all: some servers ask there for what a call needs, and do not wait for a listener.
        if self.listens {
            self.listener = Listener::default();
            self.listen(now);
        }
        for message in held {
            self.send(now, message);
        }
    }

    /// The number of messages without a response that the server has not accepted.
    pub(super) fn unaccepted(&self) -> usize {
        self.session.unaccepted().saturating_add(self.exchanges.messages())
    }

    /// Sends a request.
    fn call(&mut self, now: Instant, mut call: Call, message: Outgoing) {
        let Outgoing::Request { id, method, stamp, params } = &message else { return };
        let version = version_of(stamp);
        if method == "initialize" || version.is_some() && self.session.is_some() {
            self.leave_session();
        }
        call.serial = self.session.serial();
        if method == "resources/subscribe" {
            call.stream = self.reopening.take().unwrap_or_default();
            // The next answer is another one.
            call.stream.forget_id();
        }
        let mut request = self.requests.post(&self.session, &message);
        if let Some(version) = version {
            let named = name_request(&mut request.fields, version, method, params);
            let headers = match named.and_then(|()| self.tools.headers(method, params)) {
                Ok(headers) => headers,
                Err(error) => {
                    let error = CallError::Header(error);
                    return self.side.handle_lost(now, id, Refusal::Unavailable, error);
                }
            };
            request.fields.extend(headers.iter().cloned());
            call.era = Era::Modern;
            match &*call.method {
                "subscriptions/listen" => call.stream = self.reopening.take().unwrap_or_default(),
                "tools/call" if !call.is_second => call.sent = Some(Sent { message, headers }),
                _ => {}
            }
        }
        // One that has begun waits for its turn.
        let begins = call.method == "subscriptions/listen" && !self.side.has_begun(&call.id);
        if begins && let Some(max_streams) = self.exchanges.full_of_streams() {
            let error = CallError::Usage(UsageError::TooManyStreams { max_streams });
            return self.side.handle_lost(now, &call.id, Refusal::Unavailable, error);
        }
        self.open(now, request, Purpose::Call(Box::new(call)));
    }

    /// Sends a message that has no response.
    fn deliver(&mut self, now: Instant, message: Outgoing) {
        let mut request = self.requests.post(&self.session, &message);
        if let Outgoing::Notification { method, .. } = &message
            && let Some(version) = self.side.version().filter(|it| it.era() == Era::Modern)
        {
            name_notification(&mut request.fields, version, method);
        }
        let body = request.body.clone();
        let serial = self.session.serial();
        let delivery = Delivery::new(now, message, body, self.side.answered_inputs(), serial);
        self.open(now, request, Purpose::Message(Box::new(delivery)));
    }

    /// Sends the GET of the session.
    pub(super) fn listen(&mut self, now: Instant) {
        let request = self.requests.get(&self.session, None, self.listener.begin());
        self.open(now, request, Purpose::Listen);
    }

    /// Opens an exchange, or has it wait for a connection.
    pub(super) fn open(&mut self, now: Instant, request: Request, purpose: Purpose) {
        #[cfg(feature = "auth")]
        if self.authorization.is_some() {
            return self.begin_authorized(now, request, purpose, Attempt::default());
        }
        let id = self.exchanges.begin(now, &mut self.queue, request, purpose);
        self.rest_while_waiting(id);
    }

    /// The time of a call begins when it is sent.
    pub(super) fn rest_while_waiting(&mut self, id: ExchangeId) {
        if !self.exchanges.is_open(id)
            && let Some(call) = self.exchanges.get(id).and_then(|open| open.purpose.call())
        {
            self.side.rest_request(&call.id);
        }
    }

    /// Opens the exchanges that have waited for a connection, as far as there are some.
    pub(super) fn open_waiting(&mut self, now: Instant) {
        while let Some(purpose) = self.exchanges.open_waiting(now, &mut self.queue) {
            if let Some(call) = purpose.call() {
                self.side.restart_request(now, &call.id);
            }
        }
    }

    /// The response to a request is of no interest any more.
    pub(super) fn abort_request(&mut self, id: &RequestId) {
        self.session.withdraw(id);
        self.exchanges.abort_where(&mut self.queue, |purpose| purpose.asks(id));
    }

    /// It is time to send a message again, or to open the stream of a call again.
    pub(super) fn attempt_again(&mut self, now: Instant, purpose: Purpose) {
        match purpose {
            Purpose::Message(delivery) => {
                let request = self.requests.post_body(&self.session, delivery.body());
                self.open(now, request, Purpose::Message(delivery));
            }
            Purpose::Call(call) if !self.side.awaits(&call.id) => {}
            Purpose::Call(call)
                if matches!(&*call.method, "subscriptions/listen" | "resources/subscribe") =>
            {
                self.reopening = Some(call.stream);
                self.side.listen_again(now, &call.id);
                self.pump(now);
                // Unless it has not been sent.
                self.reopening = None;
            }
            Purpose::Call(call) => {
                let id = call.session_id.as_ref();
                let last = call.stream.last_id();
                let request = self.requests.get(&self.session, id, last);
                self.open(now, request, Purpose::Call(call));
            }
            Purpose::Refresh(_) | Purpose::Listen | Purpose::Rest | Purpose::Delete => {}
        }
    }

    /// The application has other credentials perhaps: streams that wait for some need not wait for
    /// their time.
    pub(super) fn authorize_streams(&mut self, now: Instant) {
        for key in self.exchanges.unauthorized() {
            if let Some(purpose) = self.exchanges.wake(key) {
                self.attempt_again(now, purpose);
            }
        }
        if self.listener.is_unauthorized() {
            self.listen(now);
        }
    }

    /// The exchange of a call is over without the response.
    pub(super) fn call_broke(
        &mut self,
        now: Instant,
        mut call: Box<Call>,
        broke: Break,
        refusal: Refusal,
        error: CallError,
    ) {
        let is_resumed = call.is_resumed();
        let kind = match &*call.method {
            "subscriptions/listen" if call.stream.was_open => Kind::Subscription,
            "subscriptions/listen" => Kind::Subscribing,
            "resources/subscribe" if self.side.subscribes(&call.id) => Kind::Subscribing,
            _ if call.era == Era::Legacy && is_resumed => Kind::Resumable,
            _ => Kind::Call,
        };
        match resume::TABLE.find((kind, broke, true)).map(|row| row.then) {
            Some(Then::Resume | Then::Reopen) => {
                let delay = call.stream.backoff.fail(now, self.jitter());
                if kind != Kind::Resumable {
                    self.side.rest_request(&call.id);
                }
                self.exchanges.sleep(now + delay, Purpose::Call(call), false);
            }
            Some(Then::Authorize) => {
                let delay = call.stream.backoff.fail_for_long(self.jitter());
                self.report_unauthorized(self.side.subscription_of(&call.id), error);
                self.exchanges.sleep(now + delay, Purpose::Call(call), true);
            }
            _ => {
                // What was refused is the resumption; the request itself has been accepted.
                let refusal = if is_resumed { Refusal::Unavailable } else { refusal };
                self.side.handle_lost(now, &call.id, refusal, error);
            }
        }
    }

    /// The server has not accepted a message.
    pub(super) fn delivery_broke(
        &mut self,
        now: Instant,
        mut delivery: Box<Delivery>,
        broke: Break,
        error: CallError,
    ) {
        let broken = delivery.fail(now, broke, self.jitter());
        // What waits for it finds out whether the session is of use.
        let is_again = matches!(broken, Broken::Again(_));
        let releases = delivery.begins() && (!is_again || delivery.is_late(now));
        match broken {
            Broken::Again(delay) => {
                self.exchanges.sleep(now + delay, Purpose::Message(delivery), false);
            }
            Broken::Unauthorized(delay) => {
                self.report_unauthorized(None, error);
                self.exchanges.sleep(now + delay, Purpose::Message(delivery), true);
            }
            Broken::Undelivered => self.report_undelivered(*delivery, error),
        }
        if releases {
            self.release(now);
        }
    }

    /// The GET of the session is over.
    pub(super) fn listener_broke(&mut self, now: Instant, broke: Break, error: CallError) {
        let random = self.jitter();
        let has_session = self.session.has_id();
        match self.listener.fail(now, broke, &error, has_session, random) {
            Then::Check => self.side.check_session(now),
            Then::Lose if !self.is_closing => {
                self.leave_session();
                self.side.handle_session_lost(now);
            }
            Then::Authorize => self.report_unauthorized(None, error),
            Then::Stop => {
                self.side.event(ClientEvent::NoStream { error: error.clone() });
                self.side.handle_no_stream(now, error);
            }
            Then::Resume
            | Then::Restart
            | Then::Reopen
            | Then::Resend
            | Then::Lose
            | Then::Fail => {}
        }
    }

    /// The server wants to know who asks, and not for a call that could fail with that.
    fn report_unauthorized(&mut self, subscription: Option<SubscriptionId>, error: CallError) {
        if let CallError::Unauthorized(unauthorized) = error {
            self.side.event(ClientEvent::Unauthorized { subscription, unauthorized });
        }
    }

    /// Asks for a page of the tools that a refused call needs.
    pub(super) fn list_tools(&mut self, now: Instant, mut refresh: Refresh, params: Json) {
        let Some(stamp) = self.side.stamp() else { return self.refreshed(now, refresh) };
        let message = refresh.list(self.exchanges.serial(), stamp, params);
        let mut request = self.requests.post(&self.session, &message);
        let Outgoing::Request { method, stamp, params, .. } = &message else { return };
        let named = version_of(stamp)
            .map(|version| name_request(&mut request.fields, version, method, params));
        if let Some(Ok(())) = named {
            self.open(now, request, Purpose::Refresh(Box::new(refresh)));
        }
    }

    /// All that can be known of the tool's schema is known.
    pub(super) fn refreshed(&mut self, now: Instant, refresh: Refresh) {
        let id = refresh.call().clone();
        if !self.side.awaits(&id) {
            return;
        }
        match refresh.finish(&self.tools) {
            Refreshed::Invalid(error) => {
                let error = CallError::Header(error);
                self.side.handle_lost(now, &id, Refusal::Unavailable, error);
            }
            Refreshed::Same(response, status) => {
                let origin = self.side.origin(Some(&id), status, false);
                let incoming = Incoming::Message(Message::Response(response));
                self.side.handle_message_of(now, incoming, origin);
            }
            Refreshed::Again(call, message) => self.call(now, *call, message),
        }
    }
}
