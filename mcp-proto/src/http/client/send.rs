//! From a message to the HTTP request that carries it.
//!
//! A modern request says in its headers what it says in its body: it is taken from the message and
//! not from what the client has come to since. A legacy message, but for `initialize`, says in which
//! session it belongs and which version was negotiated.
//!
//! [Specification: Sending Messages](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#sending-messages)

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

use bytes::Bytes;

use super::delivery::Delivery;
use super::exchange::{Asked, Exchange, Purpose, Sleeper, Waking};
use super::refresh::Sent;
use super::session::SessionId;
use super::tools::arguments;
use super::{Action, Client, ExchangeId, Fields, Life, Reason, Request};
use crate::client::recovery::Refusal;
use crate::client::{CallError, version_of};
use crate::error::{EmitError, ProtocolError, UsageError};
use crate::headers;
use crate::json::{Json, Raw};
use crate::message::{self, Outgoing, RequestId};
use crate::time::{Duration, Instant};
use crate::version::Era;

/// How long a server may take to accept what has no response.
pub(super) const ACCEPT_TIMEOUT: Duration = Duration::from_secs(60);

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

    /// Whether the server is to accept first what has no response: a server that asks and does not
    /// accept what it is answered is not answered any more.
    pub(super) fn is_full(&self) -> bool {
        let is_message = |open: &&Exchange| matches!(open.purpose, Purpose::Message(_));
        let is_request = |message: &&Outgoing| matches!(message, Outgoing::Request { .. });
        let held =
            self.session.held.iter().flatten().filter(|message| !is_request(message)).count();
        let out = self.exchanges.values().filter(is_message).count();
        let is_message = |sleeper: &&Sleeper| matches!(sleeper.waking, Waking::Message(_));
        let asleep = self.sleeping.values().filter(is_message).count();
        out.saturating_add(held).saturating_add(asleep) >= self.limits().max_in_flight
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
        // One that was open before waits for its turn.
        let subscribes = asked.method == "subscriptions/listen" && !asked.stream.was_open;
        if subscribes && self.connections.is_full_of_streams() {
            let max_streams = self.connections.max_streams();
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
        let id = ExchangeId(self.serial());
        if self.connections.begin(id, purpose.share()) {
            self.queue.push_back(Action::Open { exchange: id, request: request.clone() });
        } else if let Purpose::Call(asked) = &purpose {
            // Its time begins when it is sent.
            self.side.rest_request(&asked.id);
        }
        self.exchanges.insert(id, Exchange::new(request, purpose));
        id
    }

    /// Opens the exchanges that have waited for a connection, as far as there are some.
    pub(super) fn open_waiting(&mut self, now: Instant) {
        while let Some(id) = self.connections.next() {
            let Some(Exchange { request: Some(request), purpose, .. }) = self.exchanges.get(&id)
            else {
                continue;
            };
            match purpose {
                Purpose::Call(asked) => self.side.restart_request(now, &asked.id),
                Purpose::Message(_) => {
                    self.deadlines.set(Reason::Exchange(id), now + ACCEPT_TIMEOUT);
                }
                Purpose::Refresh(_) | Purpose::Listen | Purpose::Rest | Purpose::Delete => {}
            }
            self.queue.push_back(Action::Open { exchange: id, request: request.clone() });
        }
    }

    /// The response to a request is of no interest any more.
    pub(super) fn abort_request(&mut self, wanted: &RequestId) {
        if let Some(held) = &mut self.session.held {
            held.retain(|message| !matches!(message, Outgoing::Request { id, .. } if id == wanted));
        }
        let mut all = self.exchanges.iter();
        if let Some(id) = all.find(|(_, it)| it.purpose.asks(wanted)).map(|(id, _)| *id) {
            self.abort(id);
        }
        let mut all = self.sleeping.iter();
        let asks = |sleeper: &Sleeper| match &sleeper.waking {
            Waking::Call(asked) => asked.id == *wanted,
            Waking::Message(_) => false,
        };
        if let Some(key) = all.find(|(_, sleeper)| asks(sleeper)).map(|(key, _)| *key) {
            self.sleeping.remove(&key);
            self.deadlines.clear(Reason::Sleeping(key));
        }
    }

    /// Nothing that is out is of interest any more; returns the messages that were not delivered.
    pub(super) fn abort_all(&mut self) -> Vec<Delivery> {
        let mut undelivered = Vec::new();
        while let Some((id, _)) = self.exchanges.first_key_value() {
            let id = *id;
            if let Some(Purpose::Message(delivery)) = self.abort(id).map(|it| it.purpose) {
                undelivered.push(*delivery);
            }
        }
        while let Some((key, sleeper)) = self.sleeping.pop_first() {
            self.deadlines.clear(Reason::Sleeping(key));
            if let Waking::Message(delivery) = sleeper.waking {
                undelivered.push(*delivery);
            }
        }
        self.forget_listener();
        self.session.held = None;
        undelivered
    }

    pub(super) fn abort(&mut self, id: ExchangeId) -> Option<Exchange> {
        let is_open = self.connections.is_open(id);
        let exchange = self.remove(id)?;
        if is_open && !exchange.has_ended {
            self.queue.push_back(Action::Abort { exchange: id });
        }
        Some(exchange)
    }

    pub(super) fn remove(&mut self, id: ExchangeId) -> Option<Exchange> {
        self.deadlines.clear(Reason::Exchange(id));
        self.connections.end(id);
        self.exchanges.remove(&id)
    }

    /// An exchange is attempted again after a while.
    pub(super) fn sleep(&mut self, at: Instant, sleeper: Sleeper) {
        let key = self.serial();
        self.deadlines.set(Reason::Sleeping(key), at);
        self.sleeping.insert(key, sleeper);
    }

    /// An exchange is attempted again.
    pub(super) fn wake(&mut self, now: Instant, key: u64) {
        let asked = match self.sleeping.remove(&key).map(|sleeper| sleeper.waking) {
            Some(Waking::Call(asked)) => asked,
            Some(Waking::Message(delivery)) => return self.deliver_again(now, delivery),
            None => return,
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
        let waiting = self.sleeping.iter().filter(|(_, sleeper)| sleeper.is_unauthorized);
        let waiting: Vec<u64> = waiting.map(|(key, _)| *key).collect();
        for key in waiting {
            self.deadlines.clear(Reason::Sleeping(key));
            self.wake(now, key);
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
