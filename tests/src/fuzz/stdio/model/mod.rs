//! Model of a server on a byte stream, simpler than the server.
//!
//! The model is told what went in, one line at a time, and what came out; it takes what it
//! expects out of [`Seen`], and nothing may remain. Whether a request reaches a handler it takes
//! from the machine; that it is answered exactly once, or never if it was cancelled, it knows by
//! itself.

mod commands;

use std::collections::BTreeMap;

use mcp_proto::frame::{Line, LineReader};
use mcp_proto::message::{self, Incoming, Message};
use mcp_proto::server::{CancelCause, Config, ReplyId, Server};
use mcp_proto::stdio::Connection;
use mcp_proto::types::LoggingLevel;
use mcp_proto::{Binding, Bytes, Era, Instant, Limits, Machine};

use super::listeners::Listeners;
use super::questions::Questions;
use super::seen::{Event, Seen};
use crate::fuzz::oracle::{self, Object, Shape, Verdict};
use crate::fuzz::written::Written;

/// A request that a handler holds.
pub(super) struct Call {
    pub(super) about: ReplyId,
    id: String,
    pub(super) method: String,
    pub(super) params: String,
    pub(super) deadline: Option<Instant>,
    /// The bytes of its message, and of its input.
    pub(super) size: usize,
    pub(super) input: usize,
    /// Number of rounds of input.
    pub(super) rounds: usize,
    pub(super) batch: Option<usize>,
    pub(super) era: Era,
    log_level: Option<LoggingLevel>,
    token: Option<String>,
    wants_progress: bool,
    progress: Option<f64>,
}

impl Call {
    /// Returns whether this is its id.
    fn is(&self, id: &str) -> bool {
        same_id(&self.id, id)
    }
}

/// Returns whether two ids mean the same.
pub(super) fn same_id(one: &str, other: &str) -> bool {
    let value = oracle::id_value(one);
    value.is_some() && value == oracle::id_value(other)
}

/// A batch whose answer has not gone out.
#[derive(Default)]
struct Batch {
    /// Its bytes, which are in flight until the answer goes out.
    size: usize,
    /// Its messages, each of which may have an answer that waits.
    messages: usize,
    pending: usize,
    /// The ids that must be answered.
    ids: Vec<String>,
    /// Number of errors without an id: at least, and at most.
    errors: (usize, usize),
}

pub(super) enum Life {
    Open,
    Draining(Instant),
    Closed,
}

pub(super) struct Model {
    pub(super) limits: Limits,
    lines: LineReader,
    pub(super) life: Life,
    pub(super) calls: BTreeMap<ReplyId, Call>,
    batches: Vec<Batch>,
    batching: bool,
    pub(super) session: Option<Session>,
    pub(super) questions: Questions,
    listeners: Listeners,
    dropped: u64,
}

/// Session that `initialize` established.
pub(super) struct Session {
    pub(super) initialized: bool,
    /// True if the client can be asked for its roots.
    pub(super) roots: bool,
    /// `None` if it is not known.
    pub(super) level: Option<LoggingLevel>,
}

impl Model {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            limits: config.limits.clone(),
            lines: LineReader::new(config.limits.max_line_bytes),
            life: Life::Open,
            calls: BTreeMap::new(),
            batches: Vec::new(),
            batching: false,
            session: None,
            questions: Questions::default(),
            listeners: Listeners::default(),
            dropped: 0,
        }
    }

    /// The client wrote a piece with one newline at most.
    pub(super) fn bytes(&mut self, now: Instant, piece: Bytes, seen: &mut Seen) {
        self.lines.push(piece);
        while let Some(line) = self.lines.next_line() {
            self.line(now, &line, seen);
        }
    }

    pub(super) fn eof(&mut self, now: Instant, seen: &mut Seen) {
        if let Some(line) = self.lines.finish() {
            self.line(now, &line, seen);
        }
        if let Life::Open = self.life {
            self.life = Life::Draining(now + self.limits.drain);
            self.listeners.tell(seen);
            self.listeners.end(seen);
            self.end_questions(seen);
        }
        self.close_if_drained(seen);
    }

    pub(super) fn timeout(&mut self, now: Instant, seen: &mut Seen) {
        loop {
            if self.questions_time_out(now, seen) {
                continue;
            }
            let calls = self.calls.iter();
            let due = calls.filter_map(|(id, call)| Some((call.deadline?, *id))).min();
            let due = due.filter(|(at, _)| *at <= now);
            let drained = matches!(self.life, Life::Draining(at) if at <= now);
            // Where both are due, which of them is first is the machine's choice.
            let first = match seen.events.front() {
                Some(Event::Cancelled { cause, .. }) => cause.clone(),
                _ => CancelCause::Closed,
            };
            match due {
                _ if drained && (due.is_none() || first == CancelCause::Closed) => {
                    for about in self.calls.keys().copied().collect::<Vec<_>>() {
                        self.cancelled(about, &CancelCause::Closed, seen);
                    }
                }
                Some((_, about)) => {
                    if let Some(call) = self.cancelled(about, &CancelCause::TimedOut, seen) {
                        self.answered(&call, seen, |response| {
                            assert!(response.error.is_some(), "the handler has not answered");
                        });
                        self.leave(call.batch, seen);
                    }
                }
                None => return,
            }
            self.close_if_drained(seen);
        }
    }

    /// After each step: everything that came out was expected, and the machine says so too.
    pub(super) fn settled(&mut self, seen: &mut Seen, connection: &Connection<Server>) {
        self.listeners.tell(seen);
        assert!(seen.lines.is_empty() && seen.events.is_empty(), "not expected: {seen:?}");
        assert!(connection.machine().owed().eq(self.calls.keys().copied()), "what is owed");
        assert_eq!(connection.machine().dropped_replies(), self.dropped);
        let drain = match self.life {
            Life::Draining(at) => Some(at),
            Life::Open | Life::Closed => None,
        };
        // To be woken early is no harm; to be woken late, or for nothing at all, is.
        let deadlines = self.calls.values().filter_map(|call| call.deadline).chain(drain);
        let deadlines = deadlines.chain(self.questions.deadlines());
        let (next, latest) = (connection.poll_timeout(), deadlines.min());
        assert!(latest.is_none_or(|latest| next.is_some_and(|next| next <= latest)));
        let waits = drain.is_some() || self.questions.deadlines().next().is_some();
        assert!(next.is_none() || !self.calls.is_empty() || waits);
        assert_eq!(connection.wants_read(), matches!(self.life, Life::Open));
        let bytes = self.bytes_in_flight();
        let requests = self.calls.len() + self.questions.waiting.len();
        assert!(requests <= self.limits.max_in_flight);
        assert!(requests <= 1 || bytes <= self.limits.max_in_flight_bytes);
    }

    fn line(&mut self, now: Instant, line: &Line, seen: &mut Seen) {
        let Life::Open = self.life else { return };
        match line {
            Line::TooLong(beginning) => {
                // It may have been a response, which has no answer.
                let text = String::from_utf8_lossy(beginning);
                let answers = ["result", "error", "\\"].iter().any(|part| text.contains(part));
                self.error(None, usize::from(!answers), seen);
            }
            Line::Complete(text) => {
                let verdict = oracle::judge(text, &self.limits);
                if let Verdict::Array(texts) = &verdict {
                    return self.array(now, text.len(), texts, seen);
                }
                self.element(now, text, verdict, None, seen);
            }
        }
    }

    fn array(&mut self, now: Instant, size: usize, texts: &[String], seen: &mut Seen) {
        let open = self.batches.iter().filter(|batch| batch.pending > 0);
        let messages = texts.len() + open.map(|batch| batch.messages).sum::<usize>();
        if !self.batching || texts.is_empty() || messages > self.limits.max_in_flight {
            let response = seen.response();
            return assert!(response.error.is_some() && response.id.is_none());
        }
        let batch = self.batches.len();
        let messages = texts.len();
        self.batches.push(Batch { size, messages, pending: 1, ..Batch::default() });
        for text in texts {
            let text = text.as_bytes();
            let verdict = oracle::judge(text, &self.limits);
            if let Verdict::Array(_) = verdict {
                self.error(Some(batch), 1, seen);
            } else {
                self.element(now, text, verdict, Some(batch), seen);
            }
        }
        self.leave(Some(batch), seen);
    }

    /// One message, by itself or in a batch.
    fn element(
        &mut self,
        now: Instant,
        text: &[u8],
        verdict: Verdict,
        batch: Option<usize>,
        seen: &mut Seen,
    ) {
        let (shape, sure) = match verdict {
            Verdict::Valid(shape) => (Some(shape), true),
            Verdict::Either(shape) => (Some(shape).filter(|_| self.accepts(text)), false),
            Verdict::Array(_) | Verdict::Invalid | Verdict::Unknown => (self.reading(text), false),
        };
        match shape {
            None => self.error(batch, 0, seen),
            Some(Shape::Response { id, result }) => {
                self.response(now, id.as_deref(), result.as_deref(), seen);
            }
            Some(Shape::Notification { method, params }) => {
                self.notification(&method, params.as_deref(), sure, seen);
            }
            Some(Shape::Request { id, .. }) if self.holds(&id) || self.repeats(batch, &id) => {
                self.error(batch, 1, seen);
            }
            Some(Shape::Request { id, method, params }) => {
                let params = params.unwrap_or("{}".into());
                // The bytes of a batch are counted once, for all its requests.
                let size = if batch.is_some() { 0 } else { text.len() };
                if self.enters(&method, &params, size, seen) {
                    self.enter(now, id, &method, &params, size, batch, seen);
                } else if let Some(waiting) = batch.and_then(|at| self.batches.get_mut(at)) {
                    waiting.ids.push(id);
                    self.served(&method, &params, None);
                } else if method == "subscriptions/listen" && self.session.is_none() {
                    self.listeners.listen(&id, &params, &self.limits, seen);
                } else {
                    let response = seen.response();
                    assert_eq!(response.id.as_ref(), Some(&id), "the answer to another request");
                    match response.result {
                        Some(result) => self.served(&method, &params, Some(&result)),
                        None => self.refused(&id, size, response.error.as_deref()),
                    }
                }
            }
        }
    }

    fn notification(&mut self, method: &str, params: Option<&str>, sure: bool, seen: &mut Seen) {
        let Life::Open = self.life else { return };
        if method == "notifications/cancelled" {
            self.cancel(params, sure, seen);
        } else if method == "notifications/x" {
            // Before a connection is opened it is dropped.
            let event = Event::Notification {
                method: method.to_owned(),
                params: params.unwrap_or("{}").to_owned(),
            };
            if seen.events.front() == Some(&event) {
                seen.events.pop_front();
            } else {
                assert!(self.session.is_none(), "a notification is lost");
            }
        } else if method == "notifications/initialized"
            && let Some(session) = &mut self.session
        {
            session.initialized = true;
            self.listeners.start_session();
        }
    }

    /// The machine has refused a request; if for want of room, there is none.
    fn refused(&self, id: &str, size: usize, error: Option<&str>) {
        assert!(error.is_some(), "no answer to {id}");
        let wants_room = error.is_some_and(|error| error.contains("Limits::max_in_flight"));
        assert!(!wants_room || !self.admits(size), "refused, and there is room for {id}");
    }

    /// The machine has answered a request by itself: with this, or `None` if that is not known yet.
    fn served(&mut self, method: &str, params: &str, result: Option<&str>) {
        let param = |key: &str| Object::read_spelled(params, |p| p.get(key).map(str::to_owned));
        match (method, &mut self.session) {
            ("initialize", session) => {
                let Some(result) = result.and_then(Object::read) else { return };
                self.batching |= result.get("protocolVersion") == Some("\"2025-03-26\"");
                let capabilities = param("capabilities").unwrap_or_default();
                let capabilities = Object::read(&capabilities);
                let roots = capabilities
                    .filter(|all| !all.repeats(&["roots"]))
                    .is_some_and(|all| all.get("roots").is_some_and(|r| r.starts_with('{')));
                let level = Some(LoggingLevel::Debug);
                *session = Some(Session { initialized: false, roots, level });
                self.listeners.open_session();
            }
            ("logging/setLevel", Some(session)) => {
                let level = param("level").and_then(|level| oracle::string(&level));
                let level = level.and_then(|level| LoggingLevel::from_name(&level));
                session.level = level.filter(|_| result.is_some());
            }
            ("resources/subscribe" | "resources/unsubscribe", Some(_)) => {
                let uri = param("uri").and_then(|uri| oracle::string(&uri));
                if let Some(uri) = uri {
                    let subscribes = method == "resources/subscribe";
                    self.listeners.subscribe(uri, subscribes, result.is_some());
                }
            }
            _ => {}
        }
    }

    fn accepts(&self, text: &[u8]) -> bool {
        message::parse(&Bytes::copy_from_slice(text), &self.limits).is_ok()
    }

    /// Reading of an ambiguous text, by the parser itself.
    fn reading(&self, text: &[u8]) -> Option<Shape> {
        match message::parse(&Bytes::copy_from_slice(text), &self.limits) {
            Ok(Incoming::Message(Message::Request(request))) => Some(Shape::Request {
                id: request.id.as_str().into(),
                method: request.method.name().into(),
                params: Some(request.params.json().as_str().into()),
            }),
            Ok(Incoming::Message(Message::Notification(notification))) => {
                Some(Shape::Notification {
                    method: notification.method.name().into(),
                    params: Some(notification.params.json().as_str().into()),
                })
            }
            Ok(Incoming::Message(Message::Response(response))) => Some(Shape::Response {
                id: response.id.map(|id| id.as_str().into()),
                result: response.body.ok().map(|result| result.as_str().into()),
            }),
            _ => None,
        }
    }

    /// Returns whether the next event is this request on its way to a handler.
    fn enters(&self, method: &str, params: &str, size: usize, seen: &Seen) -> bool {
        let next = seen.events.front();
        let same = matches!(next, Some(Event::Request(asked))
            if asked.method == method && asked.params == params);
        self.admits(size) && same
    }

    /// Returns whether another request of so many bytes may be in flight.
    fn admits(&self, size: usize) -> bool {
        let requests = self.calls.len() + self.questions.waiting.len();
        requests < self.limits.max_in_flight && (requests == 0 || self.has_room(size))
    }

    #[expect(clippy::too_many_arguments, reason = "it is all that is known of a request")]
    fn enter(
        &mut self,
        now: Instant,
        id: String,
        method: &str,
        text: &str,
        size: usize,
        batch: Option<usize>,
        seen: &mut Seen,
    ) {
        let Some(Event::Request(asked)) = seen.events.pop_front() else { return };
        let params = Object::read(text);
        let meta = params.as_ref().and_then(|params| Object::read(params.get("_meta")?));
        let token = meta.as_ref().and_then(|meta| meta.get("progressToken"));
        let call = Call {
            about: asked.about,
            id,
            method: method.to_owned(),
            params: text.to_owned(),
            deadline: self.handler_deadline(now),
            size,
            input: 0,
            rounds: 0,
            batch,
            era: asked.era,
            log_level: asked.log_level,
            token: token.map(str::to_owned),
            wants_progress: asked.wants_progress,
            progress: None,
        };
        assert!(asked.era == Era::Modern || !asked.input, "input that nobody asked for");
        assert!(self.calls.insert(asked.about, call).is_none(), "a name is used twice");
        if let Some(waiting) = batch.and_then(|at| self.batches.get_mut(at)) {
            waiting.pending += 1;
        }
    }

    pub(super) fn handler_deadline(&self, now: Instant) -> Option<Instant> {
        Some(now + self.limits.handler_timeout).filter(|at| *at != Instant::NEVER)
    }

    fn bytes_in_flight(&self) -> usize {
        let batches = self.batches.iter().filter(|batch| batch.pending > 0);
        let waiting = self.questions.waiting.values().map(|waiting| &waiting.call);
        let calls = self.calls.values().chain(waiting).map(|call| call.size);
        batches.map(|batch| batch.size).chain(calls).sum()
    }

    /// Returns whether so many bytes more may be in flight.
    fn has_room(&self, bytes: usize) -> bool {
        self.bytes_in_flight() + bytes <= self.limits.max_in_flight_bytes
    }

    /// The same for input; a request that is in flight alone is not counted against its own. One
    /// that was taken out is in flight all the same.
    pub(super) fn has_room_for_input(&self, bytes: usize, taken: Option<&Call>) -> bool {
        let waiting = self.questions.waiting.values().map(|waiting| &waiting.call);
        let calls = self.calls.values().chain(waiting).chain(taken);
        let (count, input) =
            calls.fold((0, 0), |(count, input), call| (count + 1, input + call.input));
        let size = taken.map_or(0, |call| call.size);
        if count > 1 {
            self.has_room(size + bytes)
        } else {
            input + bytes <= self.limits.max_in_flight_bytes
        }
    }

    fn holds(&self, id: &str) -> bool {
        self.find(id).is_some() || self.find_waiting(id).is_some() || self.listeners.has(id)
    }

    /// Returns whether an element of the batch before this one has its id.
    fn repeats(&self, batch: Option<usize>, id: &str) -> bool {
        let batch = batch.and_then(|at| self.batches.get(at));
        batch.is_some_and(|batch| batch.ids.iter().any(|other| same_id(other, id)))
    }

    fn find(&self, id: &str) -> Option<ReplyId> {
        self.calls.iter().find(|(_, call)| call.is(id)).map(|(about, _)| *about)
    }

    fn find_waiting(&self, id: &str) -> Option<ReplyId> {
        let mut waiting = self.questions.waiting.iter();
        waiting.find(|(_, waiting)| waiting.call.is(id)).map(|(about, _)| *about)
    }

    /// A cancellation takes effect, if what it names is in flight.
    fn cancel(&mut self, params: Option<&str>, sure: bool, seen: &mut Seen) {
        let id = params.and_then(|params| {
            Object::read_spelled(params, |params| params.get("requestId").map(str::to_owned))
        });
        let named = id.as_deref().and_then(|id| self.find(id));
        let next = match seen.events.front() {
            Some(Event::Cancelled { about, cause: CancelCause::Client(_) }) => Some(*about),
            _ => None,
        };
        assert!(!sure || named.is_none() || named == next, "{id:?} is in flight, not cancelled");
        if let Some(about) = next.filter(|about| !sure || Some(*about) == named) {
            seen.events.pop_front();
            if let Some(call) = self.calls.remove(&about) {
                self.leave(call.batch, seen);
            }
        } else if let Some(id) = id {
            if let Some(about) = self.find_waiting(&id)
                && let Some(call) = self.withdraw(about, seen)
            {
                self.leave(call.batch, seen);
            }
            self.listeners.stop(&id);
        }
    }

    /// The application is told that a request is void.
    fn cancelled(&mut self, about: ReplyId, cause: &CancelCause, seen: &mut Seen) -> Option<Call> {
        let event = Event::Cancelled { about, cause: cause.clone() };
        assert_eq!(seen.events.pop_front(), Some(event));
        let call = self.calls.remove(&about)?;
        if *cause == CancelCause::Closed {
            self.leave(call.batch, seen);
            return None;
        }
        Some(call)
    }

    /// The response to a call goes out, or into its batch.
    pub(super) fn answered(&mut self, call: &Call, seen: &mut Seen, check: impl FnOnce(&Written)) {
        if let Some(waiting) = call.batch.and_then(|at| self.batches.get_mut(at)) {
            return waiting.ids.push(call.id.clone());
        }
        let response = seen.response();
        assert_eq!(response.id.as_ref(), Some(&call.id), "the answer to another request");
        check(&response);
    }

    /// Something that is no message, or no request of its own: an error, or if it asked for
    /// nothing (`at_least` 0) perhaps none.
    fn error(&mut self, batch: Option<usize>, at_least: usize, seen: &mut Seen) {
        if let Some(waiting) = batch.and_then(|at| self.batches.get_mut(at)) {
            waiting.errors.0 += at_least;
            waiting.errors.1 += 1;
        } else if at_least > 0 || seen.next().is_some_and(|next| self.refuses(&next)) {
            self.refusal(seen);
        }
    }

    /// Returns whether a message is an error, and not about a request in flight.
    fn refuses(&self, message: &Written) -> bool {
        message.error.is_some() && !message.id.as_ref().is_some_and(|id| self.holds(id))
    }

    fn refusal(&self, seen: &mut Seen) {
        let response = seen.response();
        assert!(response.error.is_some());
        let id = response.id.unwrap_or_default();
        assert!(!self.holds(&id), "a refusal would settle {id}, which is in flight");
    }

    /// A batch has one less to wait for; the last sends the answers.
    pub(super) fn leave(&mut self, batch: Option<usize>, seen: &mut Seen) {
        let Some(waiting) = batch.and_then(|at| self.batches.get_mut(at)) else { return };
        waiting.pending -= 1;
        if waiting.pending > 0 {
            return;
        }
        let Batch { mut ids, errors, .. } = std::mem::take(waiting);
        let least = ids.len() + errors.0;
        if least == 0 && (errors.1 == 0 || seen.lines.is_empty()) {
            return;
        }
        let line = seen.lines.pop_front().unwrap_or_default();
        let answers: Vec<&serde_json::value::RawValue> =
            serde_json::from_str(&line).unwrap_or_default();
        assert!(answers.len() >= least.max(1), "a batch without all its answers: {line}");
        assert!(answers.len() <= ids.len() + errors.1, "a batch with too many answers: {line}");
        let mut answers: Vec<_> = answers.iter().map(|json| Written::read(json.get())).collect();
        // An error may be a refusal that names the id of another element; it is matched last.
        answers.sort_by_key(|response| response.error.is_some());
        for response in answers {
            assert!(response.method.is_none());
            if let Some(at) = ids.iter().position(|id| response.id.as_ref() == Some(id)) {
                ids.swap_remove(at);
            } else {
                assert!(response.error.is_some(), "an answer to nothing: {line}");
            }
        }
        assert!(ids.is_empty(), "not answered in the batch: {ids:?}");
    }

    fn close_if_drained(&mut self, seen: &mut Seen) {
        if matches!(self.life, Life::Draining(_)) && self.calls.is_empty() {
            self.life = Life::Closed;
            assert_eq!(seen.events.pop_front(), Some(Event::Closed));
            assert!(seen.closed, "drained, and not closed");
        }
    }
}
