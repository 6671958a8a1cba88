//! From a message to the HTTP request that carries it.
//!
//! A modern request says in its headers what it says in its body: it is taken from the message and
//! not from what the client has come to since. A legacy message, but for `initialize`, says in which
//! session it belongs and which version was negotiated.
//!
//! [Specification: Sending Messages](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#sending-messages)

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::ToString;
use alloc::vec::Vec;

use bytes::Bytes;

use super::delivery::{ACCEPT_TIMEOUT, Delivery};
use super::exchange::{Asked, Exchange, Purpose, Sent, Waking};
use super::session::SessionId;
use super::tools::arguments;
use super::{Client, ExchangeId, Fields, Life, Request};
use crate::client::recovery::Refusal;
use crate::client::{CallError, version_of};
use crate::error::{EmitError, ProtocolError, UsageError};
use crate::headers;
use crate::json::{Json, Raw};
use crate::message::{self, Outgoing, RequestId};
use crate::time::Instant;
use crate::version::Era;

impl Client {
    /// Sends a message, or keeps it until the server has accepted that the session has begun.
    pub(super) fn send(&mut self, now: Instant, message: Outgoing) {
        if self.life != Life::Open {
            return;
        }
        let begins = matches!(
            &message,
            Outgoing::Notification { method, .. } if method == "notifications/initialized"
        );
        let is_request = matches!(&message, Outgoing::Request { .. });
        if !begins && !is_request && self.is_full() {
            let max_in_flight = self.limits().max_in_flight;
            return self.side.fault(ProtocolError::TooManyInFlight { max_in_flight });
        }
        if begins {
            self.hold();
        } else if let Some(held) = &mut self.session.held {
            // Nothing has been sent yet in this session that could be cancelled.
            let is_void = matches!(
                &message,
                Outgoing::Notification { method, .. } if method == "notifications/cancelled"
            );
            if !is_void {
                held.push_back(message);
            }
            return;
        }
        match message {
            Outgoing::Request { ref id, ref method, .. } => {
                let asked = Asked::new(id.clone(), method.clone());
                self.ask(now, asked, message);
            }
            Outgoing::Result { .. }
            | Outgoing::Error { .. }
            | Outgoing::Notification { .. }
            | Outgoing::Batch(_) => {
                self.deliver(now, message);
            }
        }
    }

    /// `notifications/initialized` goes out.
    pub(super) fn hold(&mut self) {
        self.session.held = Some(VecDeque::new());
        self.session.version = self.side.version();
    }

    /// `notifications/initialized` was accepted, or is not for now: what waits will be told if the
    /// session is of no use.
    pub(super) fn release(&mut self, now: Instant) {
        let Some(held) = self.session.held.take() else { return };
        // First of all: some servers ask there for what a call needs, and do not wait for a listener.
        if self.listens {
            self.listen();
        }
        for message in held {
            self.send(now, message);
        }
    }

    /// The number of messages without a response that the server has not accepted.
    pub(super) fn unaccepted(&self) -> usize {
        let is_request = |message: &&Outgoing| matches!(message, Outgoing::Request { .. });
        let held =
            self.session.held.iter().flatten().filter(|message| !is_request(message)).count();
        held.saturating_add(self.exchanges.messages())
    }

    /// Whether the server is to accept first what has no response: a server that asks and does not
    /// accept what it is answered is not answered any more.
    fn is_full(&self) -> bool {
        self.unaccepted() >= self.limits().max_in_flight
    }

    /// Sends a request.
    pub(super) fn ask(&mut self, now: Instant, mut asked: Asked, message: Outgoing) {
        let claims =
            matches!(&message, Outgoing::Request { stamp, .. } if version_of(stamp).is_some());
        let has_session = self.session.id.is_some() || self.session.version.is_some();
        if asked.method == "initialize" || claims && has_session {
            self.leave_session();
        }
        asked.serial = self.session.serial;
        if asked.method == "resources/subscribe" {
            asked.stream = self.reopening.take().unwrap_or_default();
            // The next answer is another one.
            asked.stream.forget_id();
        }
        let mut request = self.post(&message);
        if let Outgoing::Request { method, stamp, params, id } = &message
            && let Some(version) = version_of(stamp)
        {
            let standard = standard_headers(version, method, params);
            let headers =
                standard.and_then(|standard| Ok((standard, self.param_headers(method, params)?)));
            let (standard, headers) = match headers {
                Ok(headers) => headers,
                Err(error) => {
                    let error = CallError::Header(error);
                    return self.side.handle_lost(now, id, Refusal::Unavailable, error);
                }
            };
            request.fields.extend(standard);
            request.fields.extend(headers.iter().cloned());
            asked.era = Era::Modern;
            match &*asked.method {
                "subscriptions/listen" => asked.stream = self.reopening.take().unwrap_or_default(),
                "tools/call" if !asked.is_second => asked.sent = Some(Sent { message, headers }),
                _ => {}
            }
        }
        // One that has begun waits for its turn.
        let begins = asked.method == "subscriptions/listen" && !self.side.has_begun(&asked.id);
        if begins && let Some(max_streams) = self.exchanges.full_of_streams() {
            let error = CallError::Usage(UsageError::TooManyStreams { max_streams });
            return self.side.handle_lost(now, &asked.id, Refusal::Unavailable, error);
        }
        self.open(request, Purpose::Call(Box::new(asked)));
    }

    /// Sends a request of the binding's own to a modern server.
    pub(super) fn request(&mut self, message: &Outgoing, purpose: Purpose) -> Option<ExchangeId> {
        let mut request = self.post(message);
        if let Outgoing::Request { method, stamp, params, .. } = message {
            request.fields.extend(standard_headers(version_of(stamp)?, method, params).ok()?);
        }
        Some(self.open(request, purpose))
    }

    /// The headers that repeat arguments, as far as the tool's schema is known.
    pub(super) fn param_headers(&self, method: &str, params: &Json) -> Result<Fields, EmitError> {
        if method != "tools/call" {
            return Ok(Vec::new());
        }
        let tool = params.raw().member("name").and_then(Raw::string);
        let Some(plan) = tool.and_then(|tool| self.tools.plan(&tool)) else {
            return Ok(Vec::new());
        };
        let arguments = arguments(params);
        let headers = plan.emit(&arguments)?;
        let owned = |text: &str| Cow::Owned(text.to_owned());
        Ok(headers.into_iter().map(|(name, value)| (owned(name), owned(&value))).collect())
    }

    /// A POST, without the headers that repeat what a modern request says.
    pub(super) fn post(&self, message: &Outgoing) -> Request {
        let mut body = Vec::with_capacity(message.size_hint());
        message.write(&mut body);
        let mut request = self.post_body(body.into());
        request.is_idempotent = is_idempotent(message);
        if let Outgoing::Notification { method, .. } = message
            && let Some(version) = self.side.version().filter(|it| it.era() == Era::Modern)
        {
            request.fields.push((headers::PROTOCOL_VERSION.into(), version.as_str().into()));
            if let Some(method) = super::action::is_value(method).then(|| method.to_string()) {
                request.fields.push((headers::METHOD.into(), method.into()));
            }
        }
        request
    }

    /// A POST of a body that was sent before.
    pub(super) fn post_body(&self, body: Bytes) -> Request {
        let mut request = self.bare("POST", body);
        let accept = "application/json, text/event-stream";
        request.fields.push(("Content-Type".into(), "application/json".into()));
        request.fields.push(("Accept".into(), accept.into()));
        request
    }

    /// A GET of a stream of events, from behind an event; in a session that has not begun perhaps.
    pub(super) fn get(&self, last_id: Option<&str>, session_id: Option<&SessionId>) -> Request {
        let mut request = self.bare("GET", Bytes::new());
        if let Some(SessionId(id)) = session_id {
            request.fields.push(("Mcp-Session-Id".into(), id.clone().into()));
        }
        if let Some(id) = last_id {
            request.fields.push(("Last-Event-ID".into(), id.to_owned().into()));
        }
        request.fields.push(("Accept".into(), "text/event-stream".into()));
        request
    }

    /// A request with the fields of the application, and with what belongs to a legacy session if
    /// there is one.
    pub(super) fn bare(&self, method: &'static str, body: Bytes) -> Request {
        let mut fields = self.fields.clone();
        if let Some(version) = self.session.version {
            fields.push((headers::PROTOCOL_VERSION.into(), version.as_str().into()));
        }
        if let Some(SessionId(id)) = &self.session.id {
            fields.push(("Mcp-Session-Id".into(), id.clone().into()));
        }
        // Without the field a server may choose any coding.
        fields.push(("Accept-Encoding".into(), "identity".into()));
        let target = self.url.target().to_owned();
        Request { method, target, fields, body, is_idempotent: true }
    }

    /// Has a request sent.
    pub(super) fn open(&mut self, request: Request, purpose: Purpose) -> ExchangeId {
        let id = self.exchanges.begin(&mut self.queue, request, purpose);
        if !self.exchanges.is_open(id)
            && let Some(Exchange { purpose: Purpose::Call(asked), .. }) = self.exchanges.get(id)
        {
            // Its time begins when it is sent.
            self.side.rest_request(&asked.id);
        }
        id
    }

    /// Opens the exchanges that have waited for a connection, as far as there are some.
    pub(super) fn open_waiting(&mut self, now: Instant) {
        while let Some(purpose) = self.exchanges.open_waiting(now, &mut self.queue) {
            if let Purpose::Call(asked) = purpose {
                self.side.restart_request(now, &asked.id);
            }
        }
    }

    /// Ends an exchange whose answer is of no interest any more.
    pub(super) fn abort(&mut self, id: ExchangeId) -> Option<Exchange> {
        self.exchanges.abort(&mut self.queue, id)
    }

    /// The response to a request is of no interest any more.
    pub(super) fn abort_request(&mut self, wanted: &RequestId) {
        if let Some(held) = &mut self.session.held {
            held.retain(|message| !matches!(message, Outgoing::Request { id, .. } if id == wanted));
        }
        self.exchanges.abort_where(&mut self.queue, |purpose| purpose.asks(wanted));
        self.exchanges.wake_where(|sleeper| sleeper.waking.asks(wanted));
    }

    /// Sends a message that has no response.
    fn deliver(&mut self, now: Instant, message: Outgoing) {
        let request = self.post(&message);
        let (body, serial) = (request.body.clone(), self.session.serial);
        let delivery = Delivery::new(now, message, body, self.side.answered_inputs(), serial);
        self.send_delivery(now, request, Box::new(delivery));
    }

    fn send_delivery(&mut self, now: Instant, request: Request, delivery: Box<Delivery>) {
        let exchange = self.open(request, Purpose::Message(delivery));
        // Otherwise its time begins when it has a connection.
        if self.exchanges.is_open(exchange) {
            self.exchanges.set_deadline(exchange, now + ACCEPT_TIMEOUT);
        }
    }

    /// The server does not want the answer to a request any more.
    pub(super) fn cancel_delivery(&mut self, id: &RequestId) {
        self.exchanges.abort_where(&mut self.queue, |purpose| purpose.answers(id));
        self.exchanges.wake_where(|sleeper| sleeper.waking.answers(id));
    }

    /// It is time to send a message again, or to open the stream of a call again.
    pub(super) fn attempt_again(&mut self, now: Instant, waking: Waking) {
        let asked = match waking {
            Waking::Call(asked) => asked,
            Waking::Message(delivery) => {
                let request = self.post_body(delivery.body());
                return self.send_delivery(now, request, delivery);
            }
        };
        if !self.side.awaits(&asked.id) {
            return;
        }
        if matches!(&*asked.method, "subscriptions/listen" | "resources/subscribe") {
            self.reopening = Some(asked.stream);
            self.side.listen_again(now, &asked.id);
            self.pump(now);
            // Unless it has not been sent.
            self.reopening = None;
        } else {
            let request = self.get(asked.stream.last_id(), asked.session_id.as_ref());
            self.open(request, Purpose::Call(asked));
        }
    }

    /// The application has other credentials perhaps: streams that wait for some need not wait for
    /// their time.
    pub(super) fn authorize_streams(&mut self, now: Instant) {
        for key in self.exchanges.asleep_where(|sleeper| sleeper.is_unauthorized) {
            if let Some(waking) = self.exchanges.wake(key) {
                self.attempt_again(now, waking);
            }
        }
        self.authorize_listener();
    }
}

/// Whether a message has the same effect if the server sees it twice.
fn is_idempotent(message: &Outgoing) -> bool {
    match message {
        Outgoing::Request { method, .. } | Outgoing::Notification { method, .. } => {
            message::is_idempotent(method)
        }
        // A server waits for it once.
        Outgoing::Result { .. } | Outgoing::Error { .. } => true,
        Outgoing::Batch(_) => false,
    }
}

/// The headers that repeat what every modern request says.
fn standard_headers(version: &str, method: &str, params: &Json) -> Result<Fields, EmitError> {
    let headers = headers::standard(version, method, params)?;
    Ok(headers.map(|(name, value)| (name.into(), value.into_owned().into())).collect())
}
