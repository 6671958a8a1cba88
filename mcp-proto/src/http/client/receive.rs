//! What comes back: heads, bodies, ends and failures of answers.
//!
//! In: those. Out: texts that are to be messages; requests that are sent once more, to where a server
//! says; what has ended.
//!
//! [Specification: Receiving Messages](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#receiving-messages)

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::answer::Class;
use super::exchange::{Answer, Exchange, Purpose, Reading};
use super::resume::Break;
use super::session::{SessionId, is_id};
use super::{Client, ExchangeId, Request};
use crate::challenge::Unauthorized;
use crate::client::CallError;
use crate::client::recovery::Refusal;
use crate::error::ProtocolError;
use crate::frame::http1::StatusHead;
use crate::frame::sse::{self, EventReader};
use crate::http::media;
use crate::time::{Duration, Instant};

/// How long an answer may go on after the response.
pub(super) const LINGER: Duration = Duration::from_secs(1);

/// How often a request is redirected.
const MAX_REDIRECTS: u8 = 5;

impl Client {
    /// The head of an answer has come; interim ones (1xx) are of no interest, nor is a second one.
    pub fn handle_head(&mut self, now: Instant, exchange: ExchangeId, head: &StatusHead) {
        let status = head.status();
        let waits = self.exchanges.get(exchange).is_some_and(|open| open.request.is_some());
        if matches!(status, 100..=199) || !waits {
            return;
        }
        if matches!(status, 307 | 308) && self.redirect(exchange, head) {
            return self.pump(now);
        }
        let has_session = self.session.id.is_some();
        let Some(open) = self.exchanges.get_mut(exchange) else { return };
        open.request = None;
        if status == 404
            && has_session
            && let Some(serial) = open.purpose.serial()
        {
            self.session_lost(now, exchange, serial);
            return self.pump(now);
        }
        let content_type = head.field("Content-Type").unwrap_or_default();
        let is_success = Class::of(status) == Class::Success;
        let encoding = encoding(head);
        let has_events = is_success && encoding.is_none() && media::is(content_type, media::EVENTS);
        let reading = match &open.purpose {
            Purpose::Call(_) | Purpose::Refresh(_) | Purpose::Listen if has_events => {
                let max = self.side.limits().max_sse_event_bytes;
                Reading::Events(Box::new(EventReader::new(max)))
            }
            Purpose::Call(_) | Purpose::Refresh(_) if encoding.is_some() => Reading::Nothing,
            Purpose::Call(_) | Purpose::Refresh(_) => Reading::Text(Vec::new()),
            Purpose::Message(_) | Purpose::Listen | Purpose::Rest | Purpose::Delete => {
                Reading::Nothing
            }
        };
        let challenges = head.all("WWW-Authenticate");
        let unauthorized =
            matches!(status, 401 | 403).then(|| Unauthorized::new(status, challenges));
        let session_id = head.field("Mcp-Session-Id").filter(|id| is_id(id));
        let session_id =
            session_id.and_then(|id| core::str::from_utf8(id).ok()).map(|id| SessionId(id.into()));
        if let (Purpose::Call(asked), Some(encoding)) = (&mut open.purpose, encoding) {
            asked.fault = Some(ProtocolError::ContentEncoding { encoding });
        }
        open.answer = Some(Answer { status, unauthorized, reading });
        if let Purpose::Call(asked) = &mut open.purpose
            && asked.method == "initialize"
            && session_id.is_some()
        {
            asked.session_id = session_id;
        }
        let listens = has_events && matches!(open.purpose, Purpose::Listen);
        if has_events && let Purpose::Call(asked) = &mut open.purpose {
            asked.stream.open(now);
        }
        if listens {
            self.listener_opened(now, exchange);
        }
        self.head_is_enough(now, exchange, status);
        self.pump(now);
    }

    /// Some answers have said all with their head.
    fn head_is_enough(&mut self, now: Instant, id: ExchangeId, status: u16) {
        let Some(open) = self.exchanges.get_mut(id) else { return };
        match &open.purpose {
            Purpose::Message(_) => self.delivered(now, id, status),
            Purpose::Listen
                if !matches!(&open.answer, Some(Answer { reading: Reading::Events(_), .. })) =>
            {
                if let Some(Exchange { answer: Some(answer), .. }) = self.abort(id) {
                    let error = answer
                        .unauthorized
                        .map_or(CallError::Http { status }, CallError::Unauthorized);
                    self.listener_broke(now, Break::of(status), error);
                }
            }
            Purpose::Listen
            | Purpose::Call(_)
            | Purpose::Refresh(_)
            | Purpose::Rest
            | Purpose::Delete => {}
        }
    }

    /// The head of the answer to a message that has no response; the rest says nothing.
    fn delivered(&mut self, now: Instant, id: ExchangeId, status: u16) {
        self.exchanges.set_deadline(id, now + LINGER);
        let Some(delivery) = self.exchanges.take_message(id) else { return };
        if Class::of(status) != Class::Success {
            let answer = self.exchanges.get_mut(id).and_then(|open| open.answer.as_mut());
            let unauthorized = answer.and_then(|answer| answer.unauthorized.take());
            let error = unauthorized.map_or(CallError::Http { status }, CallError::Unauthorized);
            self.delivery_broke(now, Box::new(delivery), Break::of(status), error);
        } else if delivery.begins() {
            self.release(now);
        }
    }

    /// Sends a request once more, to where the server says, if that is of the same origin.
    fn redirect(&mut self, id: ExchangeId, head: &StatusHead) -> bool {
        let location = head.field("Location").and_then(|to| core::str::from_utf8(to).ok());
        let from = self.exchanges.get(id).and_then(|open| open.moved.as_ref());
        let url = location.and_then(|to| from.unwrap_or(&self.url).join(to).ok());
        let Some(url) = url.filter(|url| url.same_origin(&self.url)) else { return false };
        let may = |open: &Exchange| open.redirects < MAX_REDIRECTS && open.request.is_some();
        if !self.exchanges.get(id).is_some_and(may) {
            return false;
        }
        // The deadline, if there is one, goes on.
        let due = self.exchanges.deadline(id);
        let Some(Exchange { request: Some(request), redirects, moved, purpose, .. }) =
            self.abort(id)
        else {
            return false;
        };
        let request = Request { target: url.target().into(), ..request };
        let again = self.open(request, purpose);
        // What is permanent behind a detour is not where the server is.
        let is_moved = head.status() == 308 && moved.is_none();
        if is_moved {
            self.url = url.clone();
        }
        if let Some(open) = self.exchanges.get_mut(again) {
            open.redirects = redirects + 1;
            open.moved = (!is_moved).then_some(url);
        }
        if let Some(due) = due {
            self.exchanges.set_deadline(again, due);
        }
        true
    }

    /// Some of the body of an answer has come.
    pub fn handle_body(&mut self, now: Instant, exchange: ExchangeId, data: Bytes) {
        let max = self.limits().max_line_bytes;
        let Some(open) = self.exchanges.get_mut(exchange) else { return };
        let Some(answer) = &mut open.answer else { return };
        match &mut answer.reading {
            Reading::Text(text) if text.len().saturating_add(data.len()) > max => {
                answer.reading = Reading::TooLong;
            }
            Reading::Text(text) => text.extend_from_slice(&data),
            Reading::Events(events) => {
                events.push(data);
                self.read_events(now, exchange);
            }
            Reading::TooLong | Reading::Nothing => {}
        }
        self.pump(now);
    }

    fn read_events(&mut self, now: Instant, id: ExchangeId) {
        loop {
            let max_sse_event_bytes = self.limits().max_sse_event_bytes;
            let Some(open) = self.exchanges.get_mut(id) else { return };
            let Some(Answer { reading: Reading::Events(events), .. }) = &mut open.answer else {
                return;
            };
            let Some(incoming) = events.poll() else { return };
            let stream = match &mut open.purpose {
                Purpose::Call(asked) => Some(&mut asked.stream),
                Purpose::Listen => Some(self.listener.stream()),
                Purpose::Refresh(_) | Purpose::Message(_) | Purpose::Rest | Purpose::Delete => None,
            };
            match incoming {
                sse::Incoming::Event(event) => {
                    if let Some(stream) = stream {
                        stream.see(&event);
                    }
                    if !event.data.is_empty() && event.name == b"message"[..] {
                        self.read(now, id, &event.data);
                        // What comes of it may be that the exchange is over.
                        self.pump(now);
                    }
                }
                sse::Incoming::Retry(millis) => {
                    if let Some(stream) = stream {
                        stream.set_retry(Duration::from_millis(millis));
                    }
                }
                sse::Incoming::TooLong => {
                    let fault = ProtocolError::EventTooLong { max_sse_event_bytes };
                    if let Purpose::Call(asked) = &mut open.purpose {
                        asked.fault = Some(fault.clone());
                    }
                    self.side.fault(fault);
                }
            }
        }
    }

    /// The answer is complete.
    pub fn handle_end(&mut self, now: Instant, exchange: ExchangeId) {
        let open = self.exchanges.get_mut(exchange).map(|open| {
            open.has_ended = true;
            &mut open.answer
        });
        let (text, status) = match open {
            Some(Some(Answer { reading: Reading::Text(text), status, .. })) => {
                (core::mem::take(text), *status)
            }
            Some(_) => (Vec::new(), 0),
            None => return,
        };
        let text = Bytes::from(text);
        // What a proxy says, or an HTTP stack, is no message.
        let is_message = match text.trim_ascii().first() {
            Some(first) => matches!(first, b'{' | b'[') || Class::of(status) == Class::Success,
            None => false,
        };
        if is_message {
            self.read(now, exchange, &text);
        }
        if let Some(exchange) = self.exchanges.end(exchange) {
            self.ended(now, exchange, &text);
        }
        self.pump(now);
    }

    /// There is no connection, or it broke before the end of the answer, for this reason.
    pub fn handle_failure(&mut self, now: Instant, exchange: ExchangeId, reason: &str) {
        if let Some(exchange) = self.exchanges.end(exchange) {
            let error = CallError::Connection(reason.into());
            self.broken(now, exchange, Break::Cut, Refusal::Unavailable, error);
        }
        self.pump(now);
    }

    /// An exchange has had its time.
    pub(super) fn exchange_is_over(&mut self, now: Instant, id: ExchangeId) {
        if let Some(exchange) = self.abort(id) {
            let error = CallError::Connection("no answer in time".into());
            self.broken(now, exchange, Break::Cut, Refusal::Unavailable, error);
        }
    }
}

/// The content coding of an answer, if it has one: a client asks for `identity` alone.
fn encoding(head: &StatusHead) -> Option<String> {
    let coding = head.field("Content-Encoding")?.trim_ascii();
    let is_plain = coding.is_empty() || coding.eq_ignore_ascii_case(b"identity");
    (!is_plain).then(|| String::from_utf8_lossy(coding).chars().take(100).collect())
}
