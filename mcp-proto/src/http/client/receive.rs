//! Handling of answers: heads, bodies, ends and failures.
//!
//! These methods of [`Client`] find the exchange, and let it read the answer. Messages go to the
//! machine of messages. [`answer::TABLE`](super::answer::TABLE) defines the meaning of a response,
//! and [`resume::TABLE`](super::resume::TABLE) the next step of an exchange without a response.
//!
//! [Specification: Receiving Messages](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#receiving-messages)

use bytes::Bytes;

use super::answer::{Body, Class, Meaning};
#[cfg(feature = "auth")]
use super::authorize::RefusalResult;
use super::call::{Call, Sent};
use super::exchange::{Exchange, Purpose};
use super::exchanges::LINGER;
use super::meaning::{cancelled, classify, may_settle};
use super::reading::{Answer, WantedBody, retry_after};
use super::refresh::Refresh;
use super::resume::Break;
use super::sse2024::FirstRefusal;
use super::{Client, ExchangeId};
use crate::client::recovery::Refusal;
use crate::client::{CallError, ClientEvent, is_same_request};
use crate::error::{ErrorCode, ProtocolError};
use crate::frame::http1::StatusHead;
use crate::frame::sse;
use crate::json::Json;
use crate::message::{Incoming, Message, RequestId, Response};
use crate::time::{Duration, Instant};
use crate::version::Era;

impl Client {
    /// Handles the head of an answer. Ignores interim heads (1xx), and any later head.
    pub fn handle_head(&mut self, now: Instant, exchange: ExchangeId, head: &StatusHead) {
        #[cfg(feature = "auth")]
        if self.authorization.as_mut().is_some_and(|it| it.handle_head(exchange, head)) {
            return;
        }
        let status = head.status();
        let Some(method) = self.exchanges.waiting_method(exchange) else { return };
        if matches!(status, 100..=199) {
            return;
        }
        if !(matches!(status, 307 | 308) && self.redirect(now, exchange, head)) {
            self.requests.handle_head(method, head);
            self.read_head(now, exchange, head);
        }
        self.pump(now);
    }

    fn read_head(&mut self, now: Instant, id: ExchangeId, head: &StatusHead) {
        let status = head.status();
        let max = self.rpc.limits().max_sse_event_bytes;
        #[cfg(feature = "auth")]
        let sign_in = match self.handle_refusal(now, id, head) {
            RefusalResult::Retried => return,
            RefusalResult::Unhandled(reason) => reason,
        };
        let Some(open) = self.exchanges.get_mut(id) else { return };
        open.request = None;
        if status == 404
            && self.session.has_id()
            && let Some(serial) = open.purpose.serial()
        {
            return self.session_lost(now, id, serial);
        }
        let answer = Answer::new(head, open.purpose.body_to_read(), max);
        #[cfg(feature = "auth")]
        let answer = answer.with_sign_in(sign_in);
        let is_refusal = answer.is_refusal();
        match &mut open.purpose {
            Purpose::Call(call) => {
                if let Some(delay) = retry_after(head) {
                    self.rpc.handle_retry_after(now, &call.id, delay);
                }
                call.handle_head(now, head, &answer);
                open.answer = Some(answer);
                if is_refusal {
                    self.exchanges.set_deadline(id, now + LINGER);
                }
            }
            Purpose::Listen if answer.has_events() => {
                open.answer = Some(answer);
                if self.session_stream.open(now) {
                    self.rpc.report_missed_changes();
                }
            }
            Purpose::Listen if answer.has_reason() => {
                open.answer = Some(answer);
                self.exchanges.set_deadline(id, now + LINGER);
            }
            Purpose::Listen => {
                self.session_stream.stream().handle_head(now, head, false);
                self.exchanges.abort(&mut self.queue, id);
                self.session_stream_broke(now, Break::of(status), answer.into_error());
            }
            Purpose::HttpSseStream(_) if answer.has_events() => open.answer = Some(answer),
            Purpose::HttpSseStream(_) => self.refuse_old_stream(now, id, answer),
            Purpose::HttpSsePost(_) => self.old_posted(now, id, answer),
            Purpose::Message(_) => self.delivered(now, id, answer),
            Purpose::Refresh(_) | Purpose::Drain | Purpose::Delete => open.answer = Some(answer),
        }
    }

    /// Handles the head of the answer to a message that has no response. The body is ignored.
    fn delivered(&mut self, now: Instant, id: ExchangeId, answer: Answer) {
        self.exchanges.set_deadline(id, now + LINGER);
        let Some(delivery) = self.exchanges.take_message(id) else { return };
        let status = answer.status();
        if Class::of(status) != Class::Success {
            self.delivery_broke(now, delivery, Break::of(status), answer.into_error());
        } else if delivery.is_initialized() {
            self.send_held_messages(now);
        }
    }

    /// Sends a request again to the location that the server names, if it has the same origin.
    fn redirect(&mut self, now: Instant, id: ExchangeId, head: &StatusHead) -> bool {
        #[cfg(feature = "auth")]
        self.handle_nonce(head);
        let Some(open) = self.exchanges.get(id) else { return false };
        let moved = open.attempt.moved.as_ref();
        let method = open.request.as_ref().map_or("POST", |request| request.method);
        let url = self.requests.redirected(moved, method, head.field("Location"));
        let Some(url) = url else { return false };
        // A permanent redirection after a temporary one does not move the server.
        let is_moved = head.status() == 308 && moved.is_none();
        let taken = self.exchanges.take_redirected(&mut self.queue, id, &url, is_moved);
        let Some((request, purpose, attempt, due)) = taken else { return false };
        if is_moved {
            self.requests.set_url(method, url);
        }
        let again = self.open_attempt(now, request, purpose, attempt);
        if let Some(due) = due {
            self.exchanges.restore_deadline(again, due);
        }
        true
    }

    /// Handles a piece of the body of an answer.
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
            self.pump(now);
        }
    }

    fn read_events(&mut self, now: Instant, id: ExchangeId) {
        let max_sse_event_bytes = self.limits().max_sse_event_bytes;
        loop {
            let Some(open) = self.exchanges.get_mut(id) else { return };
            let Some(incoming) = open.answer.as_mut().and_then(Answer::poll_event) else { return };
            let stream = open.purpose.stream(self.session_stream.stream());
            match incoming {
                sse::Incoming::Event(event) => {
                    if let Some(stream) = stream {
                        stream.record_event(&event);
                    }
                    let is_message = event.name == b"message"[..];
                    if event.data.is_empty() {
                        continue;
                    }
                    if self.is_of_endpoint(id, &event) {
                        self.read_endpoint(now, id, &event);
                        self.pump(now);
                    } else if is_message {
                        self.read(now, id, &event.data);
                        // The actions may have ended the exchange.
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
                        call.skip_event(fault.clone());
                    }
                    self.rpc.fault(fault);
                    self.skip_first_event(now, id);
                }
            }
        }
    }

    /// Handles the end of an answer.
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
        let has_message = open.purpose.body_to_read() == WantedBody::Message;
        // The text of a proxy or of an HTTP stack is not a message.
        let first = text.trim_ascii().first();
        let is_json = matches!(first, Some(b'{' | b'['));
        if has_message && (is_json || first.is_some() && Class::of(status) == Class::Success) {
            self.read(now, exchange, &text);
        }
        if let Some(Exchange { purpose, answer, .. }) = self.exchanges.end(exchange) {
            self.finish(now, purpose, answer, &text);
        }
        self.pump(now);
    }

    /// Handles a connection that failed, or that broke before the end of the answer.
    pub fn handle_failure(&mut self, now: Instant, exchange: ExchangeId, reason: &str) {
        #[cfg(feature = "auth")]
        if self.authorization.as_mut().is_some_and(|it| it.handle_end(now, exchange, false)) {
            return self.pump(now);
        }
        if let Some(exchange) = self.exchanges.end(exchange) {
            self.fail(now, exchange.purpose, exchange.answer, reason);
        }
        self.pump(now);
    }

    /// Ends an exchange whose time is over.
    pub(super) fn exchange_is_over(&mut self, now: Instant, id: ExchangeId) {
        if let Some(exchange) = self.exchanges.abort(&mut self.queue, id) {
            self.fail(now, exchange.purpose, exchange.answer, "no answer in time");
        }
    }

    /// Ends an exchange whose answer is incomplete. The head and text of a 401 or 403 are enough.
    fn fail(&mut self, now: Instant, purpose: Purpose, answer: Option<Answer>, reason: &str) {
        if let Some(mut answer) = answer.filter(Answer::is_refusal) {
            let text = answer.take_text();
            return self.finish(now, purpose, Some(answer), &text);
        }
        let error = CallError::Connection(reason.into());
        self.end_without_response(now, purpose, Break::Cut, Refusal::Unavailable, error);
    }

    /// Handles the text of a message.
    fn read(&mut self, now: Instant, id: ExchangeId, text: &Bytes) {
        let parsed = self.reader.read(text, self.rpc.limits());
        let Some(open) = self.exchanges.get_mut(id) else { return };
        let status = open.answer.as_ref().map_or(0, Answer::status);
        let is_success = Class::of(status) == Class::Success;
        let is_answer = |response: &Response, id: &RequestId| match &response.id {
            Some(answered) if is_same_request(answered, id) => true,
            // Some servers refuse a request under another id.
            Some(answered) => !is_success && response.body.is_err() && !self.rpc.awaits(answered),
            // An error without an id belongs to the request of this exchange.
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
                self.rpc.fault(ProtocolError::UnexpectedResponse);
            }
            (Ok(incoming), purpose) => {
                let call = purpose.call();
                let is_resumed = call.is_some_and(Call::is_resumed);
                let may_settle = may_settle(&incoming);
                let cancelled = cancelled(&incoming);
                // A message in the response to `initialize` is about no call.
                let call = call.filter(|call| call.method != "initialize").map(|call| &call.id);
                let origin = self.rpc.origin(call, status, is_resumed);
                self.rpc.handle_message_of(now, incoming, origin);
                if let Some(id) = cancelled {
                    // The server no longer needs the answer to its request.
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
                self.rpc.handle_malformed(now, malformed);
                self.leave_settled(now);
            }
        }
    }

    /// Sets a deadline for answers whose requests were settled elsewhere, for example by a batch.
    fn leave_settled(&mut self, now: Instant) {
        let is_settled =
            |purpose: &Purpose| purpose.request().is_some_and(|id| !self.rpc.awaits(id));
        self.exchanges.set_deadline_where(now + LINGER, is_settled);
    }

    /// Handles the response that an exchange waits for.
    fn respond(&mut self, now: Instant, id: ExchangeId, mut response: Response) {
        let open = self.exchanges.get_mut(id);
        let Some(Exchange { purpose: Purpose::Call(call), answer: Some(answer), .. }) = open else {
            return;
        };
        let status = answer.status();
        let origin = self.rpc.origin(Some(&call.id), status, call.is_resumed());
        if !self.rpc.awaits(&call.id) {
            let incoming = Incoming::Message(Message::Response(response));
            return self.rpc.handle_message_of(now, incoming, origin);
        }
        if call.outlives(status, response.body.is_err()) {
            return;
        }
        let (meaning, row) = classify(&self.rpc, call, status, Body::of(&response));
        match (meaning, &response.body) {
            (Meaning::Body, _) => {}
            (Meaning::HttpSseTransport, _) => {
                let refusal = FirstRefusal::Response(response, status);
                let aborted = self.exchanges.abort(&mut self.queue, id);
                let Some(Exchange { purpose: Purpose::Call(call), .. }) = aborted else { return };
                return self.fall_back(now, *call, row, refusal);
            }
            // The refusal is reported at the end of the answer; the error may give the reason.
            (Meaning::Unauthorized, Err(error)) => return answer.explain(&error.message),
            (Meaning::Unavailable, Err(error)) => {
                let error = CallError::Error { error: error.clone(), status: Some(status) };
                let id = call.id.clone();
                return self.rpc.handle_lost(now, &id, Refusal::Unavailable, error);
            }
            // The status is reported at the end of the answer.
            (Meaning::Unauthorized | Meaning::Unavailable | Meaning::Status, _) => return,
        }
        response.id = Some(call.id.clone());
        match (&*call.method, &mut response.body) {
            ("initialize", Ok(_)) => self.session.set_id(call.session_id.take()),
            ("tools/list", Ok(page)) if call.era == Era::Modern => {
                let (kept, rejected) = self.tools.read(page, self.rpc.limits().max_list_bytes);
                *page = kept;
                for (tool, reason) in rejected {
                    self.rpc.event(ClientEvent::ToolRejected { tool, reason });
                }
            }
            // A tool's handler may use this code too, but then the status of the answer is 2xx.
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
        self.rpc.handle_message_of(now, Incoming::Message(Message::Response(response)), origin);
    }

    /// Handles refused headers of a call: lists the tools, whose schemas show the right headers.
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

    /// Handles a page of tools for a refused call, or an error instead of the page.
    fn listed(&mut self, now: Instant, id: ExchangeId, response: &Response) {
        let aborted = self.exchanges.abort(&mut self.queue, id);
        let Some(Exchange { purpose: Purpose::Refresh(mut refresh), .. }) = aborted else { return };
        let next = response.body.as_ref().ok().and_then(|page| {
            // Rejected tools are reported to callers that list the tools themselves.
            let _ = self.tools.read(page, self.rpc.limits().max_list_bytes);
            refresh.next(page, self.rpc.limits().max_pages)
        });
        match next {
            Some(params) => self.list_tools(now, *refresh, params),
            None => self.refreshed(now, *refresh),
        }
    }

    /// Handles the end of an answer.
    fn finish(&mut self, now: Instant, purpose: Purpose, answer: Option<Answer>, text: &[u8]) {
        let Some(answer) = answer else {
            return self.fail(now, purpose, None, "the answer has no head");
        };
        let fault = purpose.call().and_then(|call| call.fault.clone());
        let max_line_bytes = self.limits().max_line_bytes;
        let status = answer.status();
        let (broke, refusal, error) = answer.into_break(fault, text, max_line_bytes);
        if let Purpose::Call(call) = &purpose {
            let (meaning, row) = classify(&self.rpc, call, status, Body::Nothing);
            if meaning == Meaning::HttpSseTransport
                && let Purpose::Call(call) = purpose
            {
                return self.fall_back(now, *call, row, FirstRefusal::Status(refusal, error));
            }
        }
        self.end_without_response(now, purpose, broke, refusal, error);
    }

    /// Ends an exchange; handles a missing response.
    pub(super) fn end_without_response(
        &mut self,
        now: Instant,
        purpose: Purpose,
        broke: Break,
        refusal: Refusal,
        error: CallError,
    ) {
        match purpose {
            Purpose::Call(call) if !self.rpc.awaits(&call.id) => {}
            Purpose::Call(call) => self.call_broke(now, call, broke, refusal, error),
            Purpose::Refresh(refresh) => self.refreshed(now, *refresh),
            Purpose::Listen => self.session_stream_broke(now, broke, error),
            Purpose::Message(delivery) => self.delivery_broke(now, delivery, broke, error),
            Purpose::HttpSseStream(initialize) => self.old_stream_broke(now, &initialize, error),
            Purpose::HttpSsePost(id) => self.old_post_broke(now, &id, error),
            Purpose::Drain => {}
            Purpose::Delete => self.closed(now),
        }
    }
}
