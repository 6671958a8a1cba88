//! What is out, and what comes back.
//!
//! In: heads, bodies, ends and failures of answers. Out: messages for the machine of messages, and what
//! `answer::TABLE` and `resume::TABLE` make of answers that bring none.
//!
//! [Specification: Receiving Messages](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#receiving-messages)

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::answer::{self, Class, Meaning};
use super::refresh::{Refresh, Sent};
use super::resume::{self, Break, MAX_TRIES, Stream, Then};
use super::session::is_id;
use super::{Client, ExchangeId, Reason, Request};
use crate::challenge::Unauthorized;
use crate::client::{CallError, ClientEvent, is_modern_error, is_same_request};
use crate::error::{ErrorCode, ProtocolError};
use crate::frame::http1::StatusHead;
use crate::frame::sse::{self, EventReader};
use crate::http::media;
use crate::message::{self, Incoming, Message, RequestId, Response};
use crate::time::{Duration, Instant};
use crate::version::Era;

/// How long an answer may go on after the response.
const LINGER: Duration = Duration::from_secs(1);

/// How often a request is redirected.
const MAX_REDIRECTS: u8 = 5;

/// The longest event id that is given back.
const MAX_EVENT_ID: usize = 1024;

/// A request that is out, and its answer.
#[derive(Debug)]
pub(super) struct Exchange {
    /// Until the head of the answer has come.
    request: Option<Request>,
    redirects: u8,
    pub(super) purpose: Purpose,
    answer: Option<Answer>,
}

/// What a request is for.
#[derive(Debug)]
pub(super) enum Purpose {
    /// A JSON-RPC request, or the rest of the answer to it.
    Call(Box<Asked>),
    /// The tools of a server that has refused the headers of a call.
    Refresh(Box<Refresh>),
    /// A JSON-RPC notification or response. The one that begins a session has others wait.
    Message { begins: bool, serial: u64 },
    /// What a legacy server says by itself.
    Listen { stream: Streaming, serial: u64 },
    /// The end of a session.
    Delete,
}

/// A JSON-RPC request.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) id: RequestId,
    pub(super) method: Cow<'static, str>,
    pub(super) era: Era,
    /// The session that it belongs to.
    pub(super) serial: u64,
    pub(super) stream: Streaming,
    /// The call of a tool of a modern server, as it was sent the first time.
    pub(super) sent: Option<Sent>,
    /// Whether its headers were refused before.
    pub(super) is_second: bool,
    /// What was wrong with what has come.
    pub(super) fault: Option<ProtocolError>,
}

/// How far a stream of events has come, over all that it was read from.
#[derive(Debug, Default)]
pub(super) struct Streaming {
    /// The last id.
    last: Option<Bytes>,
    pub(super) retry: Option<Duration>,
    /// How often it was opened again in vain.
    pub(super) tries: u32,
    /// Whether it was ever open.
    was_open: bool,
}

/// What has come of an answer.
#[derive(Debug)]
struct Answer {
    status: u16,
    /// What the answer to `initialize` calls the session.
    session_id: Option<String>,
    unauthorized: Option<Unauthorized>,
    reading: Reading,
}

#[derive(Debug)]
enum Reading {
    /// A message.
    Text(Vec<u8>),
    /// A message that is too long.
    TooLong,
    Events(Box<EventReader>),
    /// Nothing that matters.
    Nothing,
}

impl Exchange {
    pub(super) fn new(request: Request, purpose: Purpose) -> Self {
        Self { request: Some(request), redirects: 0, purpose, answer: None }
    }
}

impl Purpose {
    /// Whether it is the request with this id.
    pub(super) fn asks(&self, id: &RequestId) -> bool {
        match self {
            Self::Call(asked) => asked.id == *id,
            Self::Refresh(refresh) => refresh.asked.id == *id,
            Self::Message { .. } | Self::Listen { .. } | Self::Delete => false,
        }
    }

    /// The legacy session that it belongs to.
    fn serial(&self) -> Option<u64> {
        match self {
            Self::Call(asked) if asked.era == Era::Legacy && asked.method != "initialize" => {
                Some(asked.serial)
            }
            // Before it was open, there may just be no such stream.
            Self::Listen { stream, serial } if stream.was_open => Some(*serial),
            Self::Message { serial, .. } => Some(*serial),
            Self::Call(_) | Self::Refresh(_) | Self::Listen { .. } | Self::Delete => None,
        }
    }

    fn stream(&mut self) -> Option<&mut Streaming> {
        match self {
            Self::Call(asked) => Some(&mut asked.stream),
            Self::Listen { stream, .. } => Some(stream),
            Self::Refresh(_) | Self::Message { .. } | Self::Delete => None,
        }
    }
}

impl Asked {
    pub(super) fn new(id: RequestId, method: Cow<'static, str>) -> Self {
        let (era, stream) = (Era::Legacy, Streaming::default());
        Self { id, method, era, serial: 0, stream, sent: None, is_second: false, fault: None }
    }
}

impl Streaming {
    /// The id to resume from.
    pub(super) fn last_id(&self) -> Option<&str> {
        let id = self.last.as_ref().filter(|id| !id.is_empty() && id.len() <= MAX_EVENT_ID)?;
        core::str::from_utf8(id).ok().filter(|id| super::action::is_value(id))
    }

    /// How long to wait before it is opened again.
    fn delay(&self, random: u8) -> Duration {
        resume::delay(self.tries, self.retry, random)
    }

    /// Takes note of an event; whether it has data.
    fn see(&mut self, event: &sse::Event) -> bool {
        if !event.data.is_empty() || event.id != self.last {
            self.tries = 0;
        }
        // It is kept for long, and what it is a slice of is not.
        if event.id != self.last {
            self.last = event.id.as_ref().map(|id| Bytes::copy_from_slice(id));
        }
        !event.data.is_empty()
    }
}

impl Client {
    /// The head of an answer has come; interim ones (1xx) are of no interest.
    pub fn handle_head(&mut self, now: Instant, exchange: ExchangeId, head: &StatusHead) {
        let status = head.status();
        if matches!(status, 307 | 308) && self.redirect(exchange, head) {
            return;
        }
        let has_session = self.session.id.is_some();
        let Some(open) = self.exchanges.get_mut(&exchange) else { return };
        open.request = None;
        if status == 404
            && has_session
            && let Some(serial) = open.purpose.serial()
        {
            self.expire_session(now, serial);
            return self.pump(now);
        }
        let content_type = head.field("Content-Type").unwrap_or_default();
        let is_success = Class::of(status) == Class::Success;
        let has_events = is_success && media::is(content_type, media::EVENTS);
        let reading = match &open.purpose {
            Purpose::Call(_) | Purpose::Listen { .. } if has_events => {
                let max = self.side.limits().max_sse_event_bytes;
                Reading::Events(Box::new(EventReader::new(max)))
            }
            Purpose::Call(_) | Purpose::Refresh(_) => Reading::Text(Vec::new()),
            Purpose::Message { .. } | Purpose::Listen { .. } | Purpose::Delete => Reading::Nothing,
        };
        let challenges = head.all("WWW-Authenticate");
        let unauthorized =
            matches!(status, 401 | 403).then(|| Unauthorized::new(status, challenges));
        let session_id = head.field("Mcp-Session-Id").filter(|id| is_id(id));
        let session_id = session_id.and_then(|id| core::str::from_utf8(id).ok()).map(Into::into);
        open.answer = Some(Answer { status, session_id, unauthorized, reading });
        let proves = match &mut open.purpose {
            Purpose::Call(asked) => is_success && asked.method != "initialize",
            Purpose::Listen { stream, .. } => {
                stream.was_open |= has_events;
                has_events
            }
            Purpose::Refresh(_) | Purpose::Message { .. } | Purpose::Delete => false,
        };
        if proves {
            self.prove_session();
        }
        self.head_is_enough(now, exchange, status);
        self.pump(now);
    }

    /// Some answers have said all with their head.
    fn head_is_enough(&mut self, now: Instant, id: ExchangeId, status: u16) {
        let Some(open) = self.exchanges.get(&id) else { return };
        match &open.purpose {
            Purpose::Message { begins, .. } => {
                let begins = *begins;
                self.deadlines.set(Reason::Exchange(id), now + LINGER);
                if Class::of(status) != Class::Success {
                    self.side.handle_fault(ProtocolError::NotAccepted { status });
                }
                if begins {
                    self.release(now);
                }
            }
            Purpose::Listen { .. }
                if !matches!(&open.answer, Some(Answer { reading: Reading::Events(_), .. })) =>
            {
                let broke = match Class::of(status) {
                    Class::Success => Break::NoEvents,
                    Class::ServerError => Break::Unavailable,
                    Class::Redirection | Class::Unauthorized | Class::ClientError => Break::Refused,
                };
                if let Some(exchange) = self.abort(id) {
                    self.broken(now, exchange, broke, CallError::Http { status });
                }
            }
            Purpose::Listen { .. } | Purpose::Call(_) | Purpose::Refresh(_) | Purpose::Delete => {}
        }
    }

    /// Sends a request once more, to where the server says, if that is of the same origin.
    fn redirect(&mut self, id: ExchangeId, head: &StatusHead) -> bool {
        let location = head.field("Location").and_then(|to| core::str::from_utf8(to).ok());
        let url = location.and_then(|to| self.url.join(to).ok());
        let Some(url) = url.filter(|url| url.same_origin(&self.url)) else { return false };
        let may = |open: &Exchange| open.redirects < MAX_REDIRECTS && open.request.is_some();
        if !self.exchanges.get(&id).is_some_and(may) {
            return false;
        }
        // The deadline, if there is one, goes on.
        let due = self.deadlines.due(Reason::Exchange(id));
        let Some(Exchange { request: Some(request), redirects, purpose, .. }) = self.abort(id)
        else {
            return false;
        };
        let request = Request { target: url.target().into(), ..request };
        if head.status() == 308 {
            self.url = url;
        }
        let again = self.open(request, purpose);
        if let Some(open) = self.exchanges.get_mut(&again) {
            open.redirects = redirects + 1;
        }
        if let Some(due) = due {
            self.deadlines.set(Reason::Exchange(again), due);
        }
        true
    }

    /// Some of the body of an answer has come.
    pub fn handle_body(&mut self, now: Instant, exchange: ExchangeId, data: Bytes) {
        let max = self.limits().max_line_bytes;
        let Some(open) = self.exchanges.get_mut(&exchange) else { return };
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
            let Some(open) = self.exchanges.get_mut(&id) else { return };
            let Some(Answer { reading: Reading::Events(events), .. }) = &mut open.answer else {
                return;
            };
            let Some(incoming) = events.poll() else { return };
            let stream = open.purpose.stream();
            match incoming {
                sse::Incoming::Event(event) => {
                    let has_data = stream.is_none_or(|stream| stream.see(&event));
                    if has_data && event.name == b"message"[..] {
                        self.read(now, id, &event.data);
                        // What comes of it may be that the exchange is over.
                        self.pump(now);
                    }
                }
                sse::Incoming::Retry(millis) => {
                    if let Some(stream) = stream {
                        stream.retry = Some(Duration::from_millis(millis));
                    }
                }
                sse::Incoming::TooLong => {
                    self.side.handle_fault(ProtocolError::EventTooLong { max_sse_event_bytes });
                }
            }
        }
    }

    /// The answer is complete.
    pub fn handle_end(&mut self, now: Instant, exchange: ExchangeId) {
        let text = match self.exchanges.get_mut(&exchange).map(|open| &mut open.answer) {
            Some(Some(Answer { reading: Reading::Text(text), .. })) => core::mem::take(text),
            Some(_) => Vec::new(),
            None => return,
        };
        if !text.trim_ascii().is_empty() {
            self.read(now, exchange, &text.into());
        }
        if let Some(exchange) = self.remove(exchange) {
            self.ended(now, exchange);
        }
        self.pump(now);
    }

    /// There is no connection, or it broke before the end of the answer, for this reason.
    pub fn handle_failure(&mut self, now: Instant, exchange: ExchangeId, reason: &str) {
        if let Some(exchange) = self.remove(exchange) {
            self.broken(now, exchange, Break::Cut, CallError::Connection(reason.into()));
        }
        self.pump(now);
    }

    /// An exchange has had its time.
    pub(super) fn exchange_is_over(&mut self, now: Instant, id: ExchangeId) {
        if let Some(exchange) = self.abort(id) {
            let error = CallError::Connection("no answer in time".into());
            self.broken(now, exchange, Break::Cut, error);
        }
    }

    /// An answer has ended.
    fn ended(&mut self, now: Instant, exchange: Exchange) {
        let Some(Answer { status, unauthorized, reading, .. }) = exchange.answer else {
            let error = CallError::Connection("the answer has no head".into());
            return self.broken(now, exchange, Break::Cut, error);
        };
        let fault = match &exchange.purpose {
            Purpose::Call(asked) => asked.fault.clone(),
            Purpose::Refresh(_)
            | Purpose::Message { .. }
            | Purpose::Listen { .. }
            | Purpose::Delete => None,
        };
        let error = match (&reading, unauthorized, fault) {
            (Reading::TooLong, ..) => {
                let max_line_bytes = self.limits().max_line_bytes;
                CallError::Protocol(ProtocolError::LineTooLong { max_line_bytes })
            }
            (_, Some(unauthorized), _) => CallError::Unauthorized(unauthorized),
            (_, None, Some(fault)) if Class::of(status) == Class::Success => {
                CallError::Protocol(fault)
            }
            (_, None, _) => CallError::Http { status },
        };
        let broke = match (&reading, Class::of(status)) {
            (Reading::Events(_), _) => Break::Ended,
            (_, Class::Success) => Break::NoEvents,
            (_, Class::ServerError) => Break::Unavailable,
            (_, Class::Redirection | Class::Unauthorized | Class::ClientError) => Break::Refused,
        };
        let exchange = Exchange { answer: None, ..exchange };
        self.broken(now, exchange, broke, error);
    }

    /// An exchange is over; if it owes a response, something must come of that.
    fn broken(&mut self, now: Instant, exchange: Exchange, broke: Break, error: CallError) {
        match exchange.purpose {
            Purpose::Call(asked) if !self.side.awaits(&asked.id) => {}
            Purpose::Call(asked) => {
                let is_resumable = asked.era == Era::Legacy && asked.stream.last_id().is_some();
                let stream = match &*asked.method {
                    "subscriptions/listen" => Stream::Subscription,
                    _ if is_resumable => Stream::Resumable,
                    _ => Stream::Call,
                };
                let then = resume::judge(stream, broke, asked.stream.tries < MAX_TRIES);
                match then.map(|row| row.then) {
                    Some(Then::Resume | Then::Reopen) => {
                        let at = now + asked.stream.delay(self.jitter());
                        self.sleep(at, Purpose::Call(asked));
                    }
                    Some(Then::Fail | Then::Stop) | None => {
                        self.side.handle_lost(now, &asked.id, error);
                    }
                }
            }
            Purpose::Refresh(refresh) => self.refreshed(now, *refresh),
            Purpose::Listen { stream, serial } => {
                let is = if stream.was_open { Stream::Listening } else { Stream::Opening };
                let then = resume::judge(is, broke, stream.tries < MAX_TRIES);
                if then.is_some_and(|row| row.then == Then::Resume) {
                    let at = now + stream.delay(self.jitter());
                    self.sleep(at, Purpose::Listen { stream, serial });
                }
            }
            Purpose::Message { begins: true, .. } => self.release(now),
            Purpose::Message { begins: false, .. } => {}
            Purpose::Delete => self.closed(),
        }
    }

    /// A text that is to be a message has come.
    fn read(&mut self, now: Instant, id: ExchangeId, text: &Bytes) {
        let parsed = message::parse(text, self.limits());
        let Some(open) = self.exchanges.get_mut(&id) else { return };
        let status = open.answer.as_ref().map_or(0, |answer| answer.status);
        match (parsed, &mut open.purpose) {
            (Ok(Incoming::Message(Message::Response(response))), Purpose::Call(asked))
                if is_answer(&response, &asked.id, status) =>
            {
                self.respond(now, id, response);
            }
            (Ok(Incoming::Message(Message::Response(response))), Purpose::Refresh(refresh))
                if is_answer(&response, &refresh.id, status) =>
            {
                self.listed(now, id, &response);
            }
            (Ok(incoming), Purpose::Call(asked)) => {
                let origin = self.side.origin(Some(&asked.id), status);
                self.side.handle_message_of(now, incoming, origin);
            }
            (Ok(incoming), _) => {
                let origin = self.side.origin(None, status);
                self.side.handle_message_of(now, incoming, origin);
            }
            (Err(malformed), purpose) => {
                if let Purpose::Call(asked) = purpose {
                    asked.fault = Some(malformed.error.clone());
                }
                // What comes with an error need not be a message.
                if Class::of(status) == Class::Success {
                    self.side.handle_malformed(now, malformed);
                }
            }
        }
    }

    /// The response that an exchange is for has come.
    fn respond(&mut self, now: Instant, id: ExchangeId, mut response: Response) {
        let Some(Exchange { purpose: Purpose::Call(asked), answer: Some(answer), .. }) =
            self.exchanges.get_mut(&id)
        else {
            return;
        };
        let status = answer.status;
        let what =
            if self.side.is_probe(&asked.id) { answer::Asked::Era } else { answer::Asked::Call };
        let body = match &response.body {
            Ok(_) => answer::Body::Result,
            Err(error) if is_modern_error(error.code) => answer::Body::ModernError,
            Err(_) => answer::Body::Error,
        };
        let row = answer::judge(what, Class::of(status), body);
        match (row.map(|row| row.meaning), &response.body) {
            (Some(Meaning::Body), _) => {}
            (Some(Meaning::Unauthorized), body) => {
                // The end of the answer says so; the error may say why.
                if let (Err(error), Some(unauthorized)) = (body, &mut answer.unauthorized) {
                    unauthorized.message = Some(error.message.clone().into_owned());
                }
                return;
            }
            (Some(Meaning::Unavailable), Err(error)) => {
                let (error, status) = (error.clone(), Some(status));
                let asked = asked.id.clone();
                return self.side.handle_lost(now, &asked, CallError::Error { error, status });
            }
            // The end of the answer says so.
            (Some(Meaning::Unavailable | Meaning::Status) | None, _) => return,
        }
        // An error without an id is about the request that it answers.
        response.id = Some(asked.id.clone());
        let asked_id = asked.id.clone();
        self.deadlines.set(Reason::Exchange(id), now + LINGER);
        match (&*asked.method, &mut response.body) {
            ("initialize", Ok(_)) => self.session.id = answer.session_id.take(),
            ("tools/list", Ok(page)) if asked.era == Era::Modern => {
                let (kept, rejected) = self.tools.read(page);
                *page = kept;
                for (tool, reason) in rejected {
                    self.side.tell(ClientEvent::ToolRejected { tool, reason });
                }
            }
            ("tools/call", Err(error)) if error.code == ErrorCode::HEADER_MISMATCH => {
                if let Some(call) = asked.sent.take() {
                    return self.refresh(now, id, call, (response, status));
                }
            }
            _ => {}
        }
        let origin = self.side.origin(Some(&asked_id), status);
        self.side.handle_message_of(now, Incoming::Message(Message::Response(response)), origin);
    }
}

/// Whether a response is the one to the request with this id. An error without an id is, and so is one
/// with whatever id that comes with an HTTP error: some servers make one up if they refuse a request
/// before they have read it.
fn is_answer(response: &Response, id: &RequestId, status: u16) -> bool {
    let refuses = response.body.is_err() && Class::of(status) != Class::Success;
    match &response.id {
        Some(answered) => refuses || is_same_request(answered, id),
        None => response.body.is_err(),
    }
}
