//! Sending of messages: from the machine of messages to an exchange, and again if the exchange
//! breaks.
//!
//! The methods of [`Client`] in this file pass a message to the session, which may queue the
//! message, then to [`Requests`](super::requests::Requests), and to the exchanges.
//!
//! [Specification: Sending Messages](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#sending-messages)

use alloc::boxed::Box;

use super::attempt::Attempt;
use super::call::{Call, Sent};
use super::delivery::{self, Delivery, NextDelivery};
use super::exchange::{Exchange, Purpose};
use super::reading::Answer;
use super::refresh::{Refresh, Refreshed};
use super::requests::{name_notification, name_request};
use super::resume::{self, Break, Kind, Resumption};
use super::session_stream::SessionStream;
use super::sse2024::PendingInitialize;
use super::{Client, ExchangeId, Fields, Request};
use crate::client::recovery::Refusal;
use crate::client::{CallError, ClientEvent, ConnectError, SubscriptionId, version_of};
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
        // A server that sends requests and does not accept the answers gets no more answers.
        if !begins && !is_request && self.unaccepted() >= self.limits().max_in_flight {
            let max_in_flight = self.limits().max_in_flight;
            self.rpc.fault(ProtocolError::TooManyInFlight { max_in_flight });
            let message = delivery::undelivered(message, self.rpc.answered_inputs());
            if delivery::is_of_application(&message) {
                let error = CallError::Usage(UsageError::TooManyCalls { max_in_flight });
                self.report_undelivered(message, error);
            }
            return;
        }
        if begins {
            self.session.start(self.rpc.version());
            return self.deliver(now, message);
        }
        let Some(message) = self.session.hold(message) else { return };
        match &message {
            Outgoing::Request { id, method, stamp, .. } if self.goes_by_sse(method, stamp) => {
                self.post(now, id.clone(), &message);
            }
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

    /// Sends the messages that waited for `notifications/initialized`. If the session is unusable
    /// after all, each of these messages fails by itself.
    pub(super) fn send_held_messages(&mut self, now: Instant) {
        let Some(held) = self.session.open() else { return };
        // The GET is sent first: on its stream some servers send requests that a call depends on,
        // even if the stream is not open yet.
        if self.listens && !self.sse.is_open() {
            self.session_stream = SessionStream::default();
            self.listen(now);
        }
        for message in held {
            // A fault of the server may have settled a request before it was sent.
            let is_settled =
                matches!(&message, Outgoing::Request { id, .. } if !self.rpc.awaits(id));
            if !is_settled {
                self.send(now, message);
            }
        }
    }

    /// The number of messages without a response that the server has not accepted.
    pub(super) fn unaccepted(&self) -> usize {
        self.session.unaccepted().saturating_add(self.exchanges.messages())
    }

    pub(super) fn call(&mut self, now: Instant, mut call: Call, message: Outgoing) {
        let Outgoing::Request { id, method, stamp, params } = &message else { return };
        let version = version_of(stamp);
        if method == "initialize"
            || version.is_some() && (self.session.is_some() || self.sse.is_open())
        {
            self.leave_session();
        }
        if method == "initialize" && self.sse.take_expected() {
            let id = id.clone();
            return self.open_old_stream(now, id, PendingInitialize { message, refusal: None });
        }
        // A subscription that a server has honoured waits for a connection; any other fails.
        let begins = call.method == "subscriptions/listen" && !self.rpc.has_begun(&call.id);
        if begins && let Some(max_streams) = self.exchanges.full_of_streams() {
            let error = CallError::Usage(UsageError::TooManyStreams { max_streams });
            return self.rpc.handle_lost(now, &call.id, Refusal::Unavailable, error);
        }
        call.serial = self.session.serial();
        if method == "resources/subscribe" {
            call.stream = self.reopening.take().unwrap_or_default();
            // The next answer is a new stream.
            call.stream.clear_id();
        }
        let mut request = self.requests.post(&self.session, &message);
        if let Some(version) = version {
            let named = name_request(&mut request.fields, version, method, params);
            let headers = match named.and_then(|()| self.tools.headers(method, params)) {
                Ok(headers) => headers,
                Err(error) => {
                    let error = CallError::Header(error);
                    return self.rpc.handle_lost(now, id, Refusal::Unavailable, error);
                }
            };
            request.fields.extend(headers.iter().cloned());
            call.era = Era::Modern;
            match &*call.method {
                "subscriptions/listen" => {
                    call.stream = self.reopening.take().unwrap_or_default();
                    call.must_begin = call.stream.was_open || !self.rpc.has_timeout(&call.id);
                    if call.stream.was_open {
                        return self.open(now, request, Purpose::Call(Box::new(call)));
                    }
                }
                "tools/call" if !call.is_second => call.sent = Some(Sent { message, headers }),
                _ => {}
            }
        } else if call.method == "initialize" {
            call.sent = Some(Sent { message, headers: Fields::new() });
        }
        self.open(now, request, Purpose::Call(Box::new(call)));
    }

    /// Handles the deadline of an exchange. That of a subscription ends with the head of its
    /// stream.
    pub(super) fn handle_expired(&mut self, now: Instant, id: ExchangeId) {
        let is_stream = self.exchanges.get(id).is_some_and(|open| {
            let is_awaited =
                |call: &Call| call.method == "subscriptions/listen" && self.rpc.awaits(&call.id);
            open.purpose.call().is_some_and(is_awaited)
                && open.answer.as_ref().is_some_and(Answer::has_events)
        });
        if !is_stream {
            self.exchange_is_over(now, id);
        }
    }

    /// Sends a message that has no response.
    fn deliver(&mut self, now: Instant, message: Outgoing) {
        let mut request = self.requests.post(&self.session, &message);
        if let Outgoing::Notification { method, .. } = &message
            && let Some(version) = self.rpc.version().filter(|it| it.era() == Era::Modern)
        {
            name_notification(&mut request.fields, version, method);
        }
        let body = request.body.clone();
        let serial = self.session.serial();
        let delivery = Delivery::new(now, message, body, self.rpc.answered_inputs(), serial);
        self.open(now, request, Purpose::Message(Box::new(delivery)));
    }

    /// Sends the GET of the session.
    pub(super) fn listen(&mut self, now: Instant) {
        let request = self.requests.get(&self.session, None, self.session_stream.begin());
        self.open(now, request, Purpose::Listen);
    }

    /// Opens an exchange, or queues it for a connection.
    pub(super) fn open(&mut self, now: Instant, request: Request, purpose: Purpose) {
        self.open_attempt(now, request, purpose, Attempt::default());
    }

    /// Opens an exchange for another attempt of a request, with the credentials that it needs.
    pub(super) fn open_attempt(
        &mut self,
        now: Instant,
        request: Request,
        purpose: Purpose,
        attempt: Attempt,
    ) -> ExchangeId {
        #[cfg(feature = "auth")]
        if self.authorization.is_some() {
            return self.begin_authorized(now, request, purpose, attempt);
        }
        self.begin(now, request, purpose, attempt)
    }

    pub(super) fn begin(
        &mut self,
        now: Instant,
        request: Request,
        purpose: Purpose,
        attempt: Attempt,
    ) -> ExchangeId {
        let id = self.exchanges.begin(now, &mut self.queue, request, purpose, attempt);
        self.pause_while_queued(id);
        id
    }

    /// Pauses the timeout of a call until the call is sent.
    pub(super) fn pause_while_queued(&mut self, id: ExchangeId) {
        if !self.exchanges.is_open(id)
            && let Some(purpose) = self.exchanges.get(id).map(|open| &open.purpose)
            && let Some(id) = purpose.paused_request()
        {
            self.rpc.pause_timeout(id, !purpose.is_resumed());
        }
    }

    /// Opens waiting exchanges while connections are free.
    pub(super) fn open_waiting(&mut self, now: Instant) {
        loop {
            #[cfg(feature = "auth")]
            if self.renew_waiting(now) {
                continue;
            }
            let Some(purpose) = self.exchanges.open_waiting(now, &mut self.queue) else { return };
            if let Some(id) = purpose.paused_request() {
                self.rpc.restart_request(now, id);
            }
        }
    }

    /// Aborts the request with this id, whose response is no longer needed.
    pub(super) fn abort_request(&mut self, id: &RequestId) {
        self.session.withdraw(id);
        self.exchanges.abort_where(&mut self.queue, |purpose| purpose.is_for(id));
    }

    /// Sends a message again, or reopens the stream of a call.
    pub(super) fn attempt_again(&mut self, now: Instant, purpose: Purpose) {
        match purpose {
            Purpose::Message(delivery) => {
                let request = self.requests.post_body(&self.session, delivery.body());
                self.open(now, request, Purpose::Message(delivery));
            }
            Purpose::Call(call) if !self.rpc.awaits(&call.id) => {}
            Purpose::Call(call)
                if matches!(&*call.method, "subscriptions/listen" | "resources/subscribe") =>
            {
                self.reopening = Some(call.stream);
                self.rpc.listen_again(now, &call.id);
                self.pump(now);
                // The position is still set if the subscription was not sent.
                self.reopening = None;
            }
            Purpose::Call(call) => {
                let id = call.session_id.as_ref();
                let last = call.stream.last_id();
                let request = self.requests.get(&self.session, id, last);
                self.open(now, request, Purpose::Call(call));
            }
            Purpose::Refresh(_)
            | Purpose::Listen
            | Purpose::HttpSseStream(_)
            | Purpose::HttpSsePost(_)
            | Purpose::Drain
            | Purpose::Delete => {}
        }
    }

    /// Wakes streams that wait for other credentials, since the application may have set some.
    pub(super) fn authorize_streams(&mut self, now: Instant) {
        for key in self.exchanges.unauthorized() {
            if let Some(purpose) = self.exchanges.wake(key) {
                self.attempt_again(now, purpose);
            }
        }
        if self.session_stream.is_unauthorized() {
            self.listen(now);
        }
    }

    /// Handles a connection that failed before any byte of the request was written. Unlike after
    /// [`handle_failure`](Self::handle_failure), the server has certainly not executed the request.
    pub fn handle_unsent(&mut self, now: Instant, exchange: ExchangeId, reason: &str) {
        let open = self.exchanges.get(exchange);
        if open.and_then(|open| open.purpose.request()).is_none() {
            return self.handle_failure(now, exchange, reason);
        }
        if let Some(Exchange { purpose, .. }) = self.exchanges.end(exchange) {
            let error = CallError::Connect(ConnectError::Connection(reason.into()));
            self.end_without_response(now, purpose, Break::Cut, Refusal::Unavailable, error);
        }
        self.pump(now);
    }

    /// Handles a call whose exchange ended without the response.
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
            "resources/subscribe" if self.rpc.subscribes(&call.id) => Kind::Subscribing,
            _ if call.may_resume(broke) => Kind::Resumable,
            _ => Kind::Call,
        };
        match resume::TABLE.find((kind, broke, true)).map(|row| row.then) {
            Some(Resumption::Resume | Resumption::Reopen) => {
                let delay = call.stream.backoff.fail(now, self.jitter());
                if kind != Kind::Resumable {
                    self.rpc.pause_timeout(&call.id, false);
                }
                self.exchanges.sleep(now + delay, Purpose::Call(call), false);
            }
            Some(Resumption::Authorize) => {
                let delay = call.stream.backoff.fail_with_longest_delay(self.jitter());
                self.report_unauthorized(self.rpc.subscription_of(&call.id), error);
                self.exchanges.sleep(now + delay, Purpose::Call(call), true);
            }
            _ => {
                // The server has refused the resumption only; it had accepted the request itself.
                let (refusal, error) = if is_resumed {
                    (Refusal::Unavailable, error.of_accepted_call())
                } else {
                    (refusal, error)
                };
                self.rpc.handle_lost(now, &call.id, refusal, error);
            }
        }
    }

    /// Handles a message that the server has not accepted.
    pub(super) fn delivery_broke(
        &mut self,
        now: Instant,
        mut delivery: Box<Delivery>,
        broke: Break,
        error: CallError,
    ) {
        let next = delivery.fail(now, broke, self.jitter());
        // The waiting messages are sent even so: their outcome shows whether the session is usable.
        let is_again = matches!(next, NextDelivery::Again(_));
        let sends_held_messages = delivery.is_initialized() && (!is_again || delivery.is_late(now));
        match next {
            NextDelivery::Again(delay) => {
                self.exchanges.sleep(now + delay, Purpose::Message(delivery), false);
            }
            NextDelivery::Unauthorized(delay) => {
                self.report_unauthorized(None, error);
                self.exchanges.sleep(now + delay, Purpose::Message(delivery), true);
            }
            NextDelivery::Undelivered => {
                self.report_undelivered(delivery.into_undelivered(), error);
            }
        }
        if sends_held_messages {
            self.send_held_messages(now);
        }
    }

    /// Handles the end of the session's GET.
    pub(super) fn session_stream_broke(&mut self, now: Instant, broke: Break, error: CallError) {
        let random = self.jitter();
        let has_session = self.session.has_id();
        match self.session_stream.fail(now, broke, &error, has_session, random) {
            Resumption::Check => self.rpc.check_session(now),
            Resumption::Lose if !self.is_closing => {
                self.leave_session();
                self.rpc.handle_session_lost(now);
            }
            Resumption::Authorize => self.report_unauthorized(None, error),
            Resumption::Stop => {
                self.rpc.event(ClientEvent::NoStream { error: error.clone() });
                self.rpc.handle_no_stream(now, error);
            }
            Resumption::Resume
            | Resumption::Restart
            | Resumption::Reopen
            | Resumption::Resend
            | Resumption::Lose
            | Resumption::Fail => {}
        }
    }

    /// Reports that the server requires authentication, outside of a call that could fail with this
    /// error.
    fn report_unauthorized(&mut self, subscription: Option<SubscriptionId>, error: CallError) {
        if let CallError::Unauthorized(unauthorized) = error {
            self.rpc.event(ClientEvent::Unauthorized { subscription, unauthorized });
        }
    }

    /// Requests a page of the tools that a refused call needs.
    pub(super) fn list_tools(&mut self, now: Instant, mut refresh: Refresh, params: Json) {
        let Some(stamp) = self.rpc.stamp() else { return self.refreshed(now, refresh) };
        let message = refresh.list(self.exchanges.serial(), stamp, params);
        let mut request = self.requests.post(&self.session, &message);
        let Outgoing::Request { method, stamp, params, .. } = &message else { return };
        let named = version_of(stamp)
            .map(|version| name_request(&mut request.fields, version, method, params));
        if let Some(Ok(())) = named {
            self.open(now, request, Purpose::Refresh(Box::new(refresh)));
        }
    }

    /// Sends the refused call again if its headers differ now; otherwise delivers the refusal.
    pub(super) fn refreshed(&mut self, now: Instant, refresh: Refresh) {
        let id = refresh.call().clone();
        if !self.rpc.awaits(&id) {
            return;
        }
        match refresh.finish(&self.tools, self.rpc.stamp().is_some()) {
            Refreshed::Invalid(error) => {
                let error = CallError::Header(error);
                self.rpc.handle_lost(now, &id, Refusal::Unavailable, error);
            }
            Refreshed::Same(response, status) => {
                let origin = self.rpc.origin(Some(&id), status, false);
                let incoming = Incoming::Message(Message::Response(response));
                self.rpc.handle_message_of(now, incoming, origin);
            }
            Refreshed::Again(call, message) => {
                // A cached list would replace the new schemas at its next use.
                self.rpc.drop_cached_tools();
                self.call(now, *call, message);
            }
        }
    }
}
