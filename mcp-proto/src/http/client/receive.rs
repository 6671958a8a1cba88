//! Way of an answer in: heads, bodies, ends and failures, and the meaning of each.
//!
//! The verbs of [`Client`] in this file find the exchange and let it read. The machine of messages
//! gets what has come: [`answer::TABLE`] says what a response means. If an exchange ends without its
//! response, [`resume::TABLE`](super::resume::TABLE) says what follows.
//!
//! [Specification: Receiving Messages](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#receiving-messages)

use bytes::Bytes;

use super::answer::{self, Class, Meaning};
#[cfg(feature = "auth")]
use super::authorize::RefusalFate;
use super::call::{Call, Sent};
use super::exchange::{Exchange, Purpose};
use super::exchanges::LINGER;
use super::reading::Answer;
use super::refresh::Refresh;
use super::resume::Break;
use super::session::SessionId;
use super::{Client, ExchangeId};
use crate::client::recovery::Refusal;
use crate::client::{CallError, ClientEvent, is_modern_error, is_same_request};
use crate::error::{ErrorCode, ProtocolError};
use crate::frame::http1::StatusHead;
use crate::frame::sse;
use crate::json::Json;
use crate::message::{self, Incoming, Member, Message, Method, RequestId, Response};
use crate::time::{Duration, Instant};
use crate::version::Era;

impl Client {
    /// The head of an answer has come; interim ones (1xx) are of no interest, nor is a second one.
    pub fn handle_head(&mut self, now: Instant, exchange: ExchangeId, head: &StatusHead) {
        #[cfg(feature = "auth")]
        if self.authorization.as_mut().is_some_and(|it| it.handle_head(exchange, head)) {
            return;
        }
        let status = head.status();
        let waits = self.exchanges.get(exchange).is_some_and(|open| open.request.is_some());
        if matches!(status, 100..=199) || !waits {
            return;
        }
        if !(matches!(status, 307 | 308) && self.redirect(now, exchange, head)) {
            self.read_head(now, exchange, head);
        }
        self.pump(now);
    }

    fn read_head(&mut self, now: Instant, id: ExchangeId, head: &StatusHead) {
        let status = head.status();
        let max = self.side.limits().max_sse_event_bytes;
        #[cfg(feature = "auth")]
        let sign_in = match self.handle_refusal(now, id, head) {
            RefusalFate::Taken => return,
            RefusalFate::No(reason) => reason,
        };
        let Some(open) = self.exchanges.get_mut(id) else { return };
        open.request = None;
        if status == 404
            && self.session.has_id()
            && let Some(serial) = open.purpose.serial()
        {
            return self.session_lost(now, id, serial);
        }
        let answer = Answer::new(head, open.purpose.wanted(), max);
        #[cfg(feature = "auth")]
        let answer = answer.with_sign_in(sign_in);
        let has_events = answer.has_events();
        match &mut open.purpose {
            Purpose::Call(call) => {
                if let Some(fault) = answer.fault() {
                    call.fault = Some(fault);
                }
                if has_events {
                    call.stream.open(now);
                }
                if call.method == "initialize"
                    && let Some(id) = head.field("Mcp-Session-Id").and_then(SessionId::read)
                {
                    call.session_id = Some(id);
                }
                open.answer = Some(answer);
            }
            Purpose::Listen if has_events => {
                open.answer = Some(answer);
                if self.listener.open(now) {
                    self.side.changes_missed();
                }
            }
            Purpose::Listen => {
                self.exchanges.abort(&mut self.queue, id);
                self.listener_broke(now, Break::of(status), answer.into_error());
            }
            Purpose::Message(_) => self.delivered(now, id, answer),
            Purpose::Refresh(_) | Purpose::Rest | Purpose::Delete => open.answer = Some(answer),
        }
    }

    /// The head of the answer to a message that has no response; the rest says nothing.
    fn delivered(&mut self, now: Instant, id: ExchangeId, answer: Answer) {
        self.exchanges.set_deadline(id, now + LINGER);
        let Some(delivery) = self.exchanges.take_message(id) else { return };
        let status = answer.status();
        if Class::of(status) != Class::Success {
            self.delivery_broke(now, delivery, Break::of(status), answer.into_error());
        } else if delivery.begins() {
            self.release(now);
        }
    }

    /// Sends a request once more, to where the server says, if that is of the same origin.
    fn redirect(&mut self, now: Instant, id: ExchangeId, head: &StatusHead) -> bool {
        let moved = self.exchanges.get(id).and_then(|open| open.moved.as_ref());
        let url = self.requests.redirected(moved, head.field("Location"));
        let Some(url) = url else { return false };
        // What is permanent behind a detour is not where the server is.
        let is_moved = head.status() == 308 && moved.is_none();
        let again = self.exchanges.redirect(now, &mut self.queue, id, url.clone(), is_moved);
        let Some(again) = again else { return false };
        self.rest_while_waiting(again);
        if is_moved {
            self.requests.set_url(url);
        }
        true
    }

    /// Some of the body of an answer has come.
    pub fn handle_body(&mut self, now: Instant, exchange: ExchangeId, data: Bytes) {
        #[cfg(feature = "auth")]
        if self.authorization.as_mut().is_some_and(|it| it.handle_body(exchange, &data)) {
            return;
        }
        let max = self.limits().max_line_bytes;
        let Some(open) = self.exchanges.get_mut(exchange) else { return };
        let Some(answer) = &mut open.answer else { return };
        answer.push(data, max);
        if answer.has_events() {
            self.read_events(now, exchange);
        }
        self.pump(now);
    }

    fn read_events(&mut self, now: Instant, id: ExchangeId) {
        let max_sse_event_bytes = self.limits().max_sse_event_bytes;
        loop {
            let Some(open) = self.exchanges.get_mut(id) else { return };
            let Some(incoming) = open.answer.as_mut().and_then(Answer::poll_event) else { return };
            let stream = match &mut open.purpose {
                Purpose::Call(call) => Some(&mut call.stream),
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
                    if let Purpose::Call(call) = &mut open.purpose {
                        call.fault = Some(fault.clone());
                    }
                    self.side.fault(fault);
                }
            }
        }
    }

    /// The answer is complete.
    pub fn handle_end(&mut self, now: Instant, exchange: ExchangeId) {
        #[cfg(feature = "auth")]
        if self.authorization.as_mut().is_some_and(|it| it.handle_end(now, exchange, true)) {
            return self.pump(now);
        }
        let Some(open) = self.exchanges.get_mut(exchange) else { return };
        open.has_ended = true;
        let (text, status) = match &mut open.answer {
            Some(answer) => (answer.take_text(), answer.status()),
            None => (Bytes::new(), 0),
        };
        // What a proxy says, or an HTTP stack, is no message.
        let is_message = match text.trim_ascii().first() {
            Some(first) => matches!(first, b'{' | b'[') || Class::of(status) == Class::Success,
            None => false,
        };
        if is_message {
            self.read(now, exchange, &text);
        }
        if let Some(Exchange { purpose, answer, .. }) = self.exchanges.end(exchange) {
            self.ended(now, purpose, answer, &text);
        }
        self.pump(now);
    }

    /// There is no connection, or it broke before the end of the answer, for this reason.
    pub fn handle_failure(&mut self, now: Instant, exchange: ExchangeId, reason: &str) {
        #[cfg(feature = "auth")]
        if self.authorization.as_mut().is_some_and(|it| it.handle_end(now, exchange, false)) {
            return self.pump(now);
        }
        if let Some(exchange) = self.exchanges.end(exchange) {
            self.cut(now, exchange.purpose, reason);
        }
        self.pump(now);
    }

    /// An exchange has had its time.
    pub(super) fn exchange_is_over(&mut self, now: Instant, id: ExchangeId) {
        if let Some(exchange) = self.exchanges.abort(&mut self.queue, id) {
            self.cut(now, exchange.purpose, "no answer in time");
        }
    }

    fn cut(&mut self, now: Instant, purpose: Purpose, reason: &str) {
        let error = CallError::Connection(reason.into());
        self.broken(now, purpose, Break::Cut, Refusal::Unavailable, error);
    }

    /// A text that is to be a message has come.
    fn read(&mut self, now: Instant, id: ExchangeId, text: &Bytes) {
        let parsed = message::parse(text, self.limits());
        let Some(open) = self.exchanges.get_mut(id) else { return };
        let status = open.answer.as_ref().map_or(0, Answer::status);
        let is_success = Class::of(status) == Class::Success;
        let is_answer = |response: &Response, id: &RequestId| match &response.id {
            Some(answered) if is_same_request(answered, id) => true,
            // Some servers refuse with an id of their own.
            Some(answered) => !is_success && response.body.is_err() && !self.side.awaits(answered),
            // An error without one is about the request that it answers.
            None => response.body.is_err(),
        };
        match (parsed, &mut open.purpose) {
            (Ok(Incoming::Message(Message::Response(response))), Purpose::Call(call))
                if is_answer(&response, &call.id) =>
            {
                self.respond(now, id, response);
            }
            (Ok(Incoming::Message(Message::Response(response))), Purpose::Refresh(refresh))
                if is_answer(&response, refresh.id()) =>
            {
                self.listed(now, id, &response);
            }
            (Ok(Incoming::Message(Message::Response(response))), Purpose::Call(call))
                if response.id.is_some() && (call.era == Era::Modern || !is_success) =>
            {
                self.side.fault(ProtocolError::UnexpectedResponse);
            }
            (Ok(incoming), purpose) => {
                let call = purpose.call();
                let is_resumed = call.is_some_and(Call::is_resumed);
                let may_settle = may_settle(&incoming);
                let cancelled = cancelled(&incoming);
                let origin = self.side.origin(call.map(|call| &call.id), status, is_resumed);
                self.side.handle_message_of(now, incoming, origin);
                if let Some(id) = cancelled {
                    // The server does not want the answer to its request any more.
                    self.exchanges.abort_where(&mut self.queue, |purpose| purpose.answers(&id));
                }
                if may_settle {
                    self.leave_settled(now);
                }
            }
            (Err(mut malformed), purpose) => {
                if let Purpose::Call(call) = purpose {
                    call.fault = Some(malformed.error.clone());
                    if call.era == Era::Modern {
                        malformed.id = malformed.id.filter(|id| is_same_request(id, &call.id));
                    }
                }
                self.side.handle_malformed(now, malformed);
                self.leave_settled(now);
            }
        }
    }

    /// Answers that nobody waits for any more, because what they are for has been settled
    /// elsewhere: in a batch, on another stream, or by a notification.
    fn leave_settled(&mut self, now: Instant) {
        let is_settled = |purpose: &Purpose| matches!(purpose, Purpose::Call(call) if !self.side.awaits(&call.id));
        self.exchanges.set_deadline_where(now + LINGER, is_settled);
    }

    /// The response that an exchange is for has come.
    fn respond(&mut self, now: Instant, id: ExchangeId, mut response: Response) {
        let Some(Exchange { purpose: Purpose::Call(call), answer: Some(answer), .. }) =
            self.exchanges.get_mut(id)
        else {
            return;
        };
        let status = answer.status();
        let origin = self.side.origin(Some(&call.id), status, call.is_resumed());
        if !self.side.awaits(&call.id) {
            let incoming = Incoming::Message(Message::Response(response));
            return self.side.handle_message_of(now, incoming, origin);
        }
        if call.outlives(status, response.body.is_err()) {
            return;
        }
        let asked =
            if self.side.is_probe(&call.id) { answer::Asked::Era } else { answer::Asked::Call };
        let row = answer::TABLE.find((asked, Class::of(status), body(&response)));
        match (row.map(|row| row.then), &response.body) {
            (Some(Meaning::Body), _) => {}
            // The end of the answer says so; the error may say why.
            (Some(Meaning::Unauthorized), Err(error)) => return answer.explain(&error.message),
            (Some(Meaning::Unavailable), Err(error)) => {
                let error = CallError::Error { error: error.clone(), status: Some(status) };
                let id = call.id.clone();
                return self.side.handle_lost(now, &id, Refusal::Unavailable, error);
            }
            // The end of the answer says so.
            (Some(Meaning::Unauthorized | Meaning::Unavailable | Meaning::Status) | None, _) => {
                return;
            }
        }
        response.id = Some(call.id.clone());
        match (&*call.method, &mut response.body) {
            ("initialize", Ok(_)) => self.session.set_id(call.session_id.take()),
            ("tools/list", Ok(page)) if call.era == Era::Modern => {
                let (kept, rejected) = self.tools.read(page, self.side.limits().max_list_bytes);
                *page = kept;
                for (tool, reason) in rejected {
                    self.side.event(ClientEvent::ToolRejected { tool, reason });
                }
            }
            // A handler may have answered with this code, and then with a status of 2xx.
            ("tools/call", Err(error))
                if error.code == ErrorCode::HEADER_MISMATCH
                    && Class::of(status) != Class::Success =>
            {
                if let Some(sent) = call.sent.take() {
                    return self.refresh(now, id, sent, response, status);
                }
            }
            _ => {}
        }
        self.exchanges.set_deadline(id, now + LINGER);
        self.side.handle_message_of(now, Incoming::Message(Message::Response(response)), origin);
    }

    /// The headers of a call were refused: the list of tools says which ones it needs.
    fn refresh(
        &mut self,
        now: Instant,
        id: ExchangeId,
        sent: Sent,
        response: Response,
        status: u16,
    ) {
        let aborted = self.exchanges.abort(&mut self.queue, id);
        if let Some(Exchange { purpose: Purpose::Call(call), .. }) = aborted {
            let refresh = Refresh::new(call, sent, response, status);
            self.list_tools(now, refresh, Json::EMPTY_OBJECT);
        }
    }

    /// A page of the tools that a refused call needs has come, or an error in its place.
    fn listed(&mut self, now: Instant, id: ExchangeId, response: &Response) {
        let aborted = self.exchanges.abort(&mut self.queue, id);
        let Some(Exchange { purpose: Purpose::Refresh(mut refresh), .. }) = aborted else { return };
        let next = response.body.as_ref().ok().and_then(|page| {
            // Whoever lists the tools is told of those that are left out.
            let _ = self.tools.read(page, self.side.limits().max_list_bytes);
            refresh.next(page, self.side.limits().max_pages)
        });
        match next {
            Some(params) => self.list_tools(now, *refresh, params),
            None => self.refreshed(now, *refresh),
        }
    }

    /// An answer has ended.
    fn ended(&mut self, now: Instant, purpose: Purpose, answer: Option<Answer>, text: &[u8]) {
        let Some(answer) = answer else { return self.cut(now, purpose, "the answer has no head") };
        let fault = purpose.call().and_then(|call| call.fault.clone());
        let max_line_bytes = self.limits().max_line_bytes;
        let (broke, refusal, error) = answer.into_break(fault, text, max_line_bytes);
        self.broken(now, purpose, broke, refusal, error);
    }

    /// An exchange is over; if it owes a response, something must come of that.
    pub(super) fn broken(
        &mut self,
        now: Instant,
        purpose: Purpose,
        broke: Break,
        refusal: Refusal,
        error: CallError,
    ) {
        match purpose {
            Purpose::Call(call) if !self.side.awaits(&call.id) => {}
            Purpose::Call(call) => self.call_broke(now, call, broke, refusal, error),
            Purpose::Refresh(refresh) => self.refreshed(now, *refresh),
            Purpose::Listen => self.listener_broke(now, broke, error),
            Purpose::Message(delivery) => self.delivery_broke(now, delivery, broke, error),
            Purpose::Rest => {}
            Purpose::Delete => self.closed(),
        }
    }
}

/// Returns whether something else than the answer that it came on may be over for it.
fn may_settle(incoming: &Incoming) -> bool {
    match incoming {
        Incoming::Message(Message::Response(_)) | Incoming::Batch(_) => true,
        Incoming::Message(Message::Notification(it)) => matches!(it.method, Method::Cancelled),
        Incoming::Message(Message::Request(_)) => false,
    }
}

/// The request of the server that a message cancels.
fn cancelled(incoming: &Incoming) -> Option<RequestId> {
    match incoming {
        Incoming::Message(Message::Notification(it)) if matches!(it.method, Method::Cancelled) => {
            it.params.raw(Member::RequestId).and_then(RequestId::from_raw)
        }
        Incoming::Message(_) | Incoming::Batch(_) => None,
    }
}

fn body(response: &Response) -> answer::Body {
    match &response.body {
        Ok(_) => answer::Body::Result,
        Err(error) if is_modern_error(error.code) => answer::Body::ModernError,
        Err(_) => answer::Body::Error,
    }
}
