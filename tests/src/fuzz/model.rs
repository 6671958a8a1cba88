//! What a server on a byte stream must do, said again and more simply.
//!
//! The model is told what went in, one line at a time, and what came out; it takes what it
//! expects out of [`Seen`], and nothing may remain. Whether a request reaches a handler it takes
//! from the machine; that it is answered exactly once, or never if it was cancelled, it knows by
//! itself.

use std::collections::BTreeMap;

use mcp_proto::frame::{Line, LineReader};
use mcp_proto::message::{self, Incoming, Message};
use mcp_proto::server::{CancelCause, Config, Outcome, Progress, ReplyId};
use mcp_proto::stdio::Connection;
use mcp_proto::{Bytes, Era, Instant, Limits, Machine, UsageError};

use super::oracle::{self, Object, Shape, Verdict};
use super::seen::{Event, Response, Seen};

/// A request that a handler holds.
struct Call {
    id: String,
    deadline: Option<Instant>,
    size: usize,
    batch: Option<usize>,
    era: Era,
    token: Option<String>,
    wants_progress: bool,
    progress: Option<f64>,
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
    /// How many errors there are beside: at least, and at most.
    errors: (usize, usize),
}

enum Life {
    Open,
    Draining(Instant),
    Closed,
}

pub(super) struct Model {
    limits: Limits,
    lines: LineReader,
    life: Life,
    calls: BTreeMap<ReplyId, Call>,
    batches: Vec<Batch>,
    batching: bool,
    dropped: u64,
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
        }
        self.close_if_drained(seen);
    }

    pub(super) fn timeout(&mut self, now: Instant, seen: &mut Seen) {
        loop {
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

    pub(super) fn respond(&mut self, about: ReplyId, outcome: &Outcome, seen: &mut Seen) {
        let Some(call) = self.calls.remove(&about) else {
            self.dropped += 1;
            return;
        };
        let completes =
            matches!(outcome, Outcome::Complete(json) if json.as_str().starts_with('{'));
        self.answered(&call, seen, |response| {
            assert_eq!(response.result.is_some(), completes);
            if let Some(result) = response.result.as_deref().and_then(Object::read) {
                let stamped = result.get("resultType").is_some();
                assert_eq!(stamped, call.era == Era::Modern, "the stamp of the other era");
            }
        });
        self.leave(call.batch, seen);
        self.close_if_drained(seen);
    }

    pub(super) fn progress(
        &mut self,
        about: ReplyId,
        progress: &Progress,
        result: &Result<(), UsageError>,
        seen: &mut Seen,
    ) {
        let expected = match (&self.life, self.calls.get_mut(&about)) {
            (Life::Closed, _) => Err(UsageError::Closed),
            (_, None) => Err(UsageError::NotInFlight),
            (_, Some(call)) => {
                let value = progress.progress;
                if value.is_finite() && call.progress.is_none_or(|before| value > before) {
                    call.progress = Some(value);
                    if call.wants_progress {
                        let message = seen.response();
                        assert_eq!(message.method.as_deref(), Some("\"notifications/progress\""));
                        let params = message.params.as_deref().and_then(Object::read);
                        let token = params.as_ref().and_then(|p| p.get("progressToken"));
                        assert!(token.is_some());
                        assert!(call.token.is_none() || token == call.token.as_deref());
                    }
                    Ok(())
                } else {
                    Err(UsageError::ProgressNotIncreasing)
                }
            }
        };
        assert_eq!(result, &expected);
    }

    /// After each step: everything that came out was expected, and the machine says so too.
    pub(super) fn settled(&self, seen: &Seen, connection: &Connection) {
        assert!(seen.lines.is_empty() && seen.events.is_empty(), "not expected: {seen:?}");
        assert!(connection.owed().eq(self.calls.keys().copied()), "what is owed");
        assert_eq!(connection.dropped_replies(), self.dropped);
        let drain = match self.life {
            Life::Draining(at) => Some(at),
            Life::Open | Life::Closed => None,
        };
        // To be woken early is no harm; to be woken late, or for nothing at all, is.
        let deadlines = self.calls.values().filter_map(|call| call.deadline).chain(drain);
        let (next, latest) = (connection.poll_timeout(), deadlines.min());
        assert!(latest.is_none_or(|latest| next.is_some_and(|next| next <= latest)));
        assert!(next.is_none() || !self.calls.is_empty() || drain.is_some());
        assert_eq!(connection.wants_read(), matches!(self.life, Life::Open));
        let bytes = self.bytes_in_flight();
        assert!(self.calls.len() <= self.limits.max_in_flight);
        assert!(self.calls.len() <= 1 || bytes <= self.limits.max_in_flight_bytes);
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
            Some(Shape::Response { .. }) => {}
            Some(Shape::Notification { method, params }) => {
                if method == "notifications/cancelled" {
                    self.cancel(params.as_deref(), sure, seen);
                }
            }
            Some(Shape::Request { id, .. }) if self.holds(&id) => self.error(batch, 1, seen),
            Some(Shape::Request { id, method, params }) => {
                let params = params.unwrap_or("{}".into());
                // The bytes of a batch are counted once, for all its requests.
                let size = if batch.is_some() { 0 } else { text.len() };
                if self.enters(&method, &params, size, seen) {
                    self.enter(now, id, &params, size, batch, seen);
                } else if let Some(waiting) = batch.and_then(|at| self.batches.get_mut(at)) {
                    waiting.ids.push(id);
                } else {
                    let mut response = seen.response();
                    if response.method.is_some() {
                        assert_eq!(method, "subscriptions/listen", "a notification");
                        response.acknowledges(&id);
                        response = seen.response();
                    }
                    assert_eq!(response.id.as_ref(), Some(&id), "the answer to another request");
                    if method == "initialize" {
                        let version = response.result.as_deref().and_then(Object::read);
                        let version = version.as_ref().and_then(|r| r.get("protocolVersion"));
                        self.batching |= version == Some("\"2025-03-26\"");
                    }
                }
            }
        }
    }

    fn accepts(&self, text: &[u8]) -> bool {
        message::parse(&Bytes::copy_from_slice(text), &self.limits).is_ok()
    }

    /// What the parser makes of a text that is hard to tell.
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
            Ok(Incoming::Message(Message::Response(_))) => Some(Shape::Response { id: None }),
            _ => None,
        }
    }

    /// Whether the next event is this request on its way to a handler.
    fn enters(&self, method: &str, params: &str, size: usize, seen: &Seen) -> bool {
        let bytes = self.bytes_in_flight() + size;
        let room = self.calls.len() < self.limits.max_in_flight
            && (self.calls.is_empty() || bytes <= self.limits.max_in_flight_bytes);
        let next = seen.events.front();
        let same = matches!(next, Some(Event::Request { params: p, .. }) if p == params);
        let handled = ["tools/call", "prompts/get", "resources/read", "completion/complete"];
        room && same && handled.contains(&method)
    }

    fn enter(
        &mut self,
        now: Instant,
        id: String,
        params: &str,
        size: usize,
        batch: Option<usize>,
        seen: &mut Seen,
    ) {
        let Some(Event::Request { about, era, wants_progress, .. }) = seen.events.pop_front()
        else {
            return;
        };
        let params = Object::read(params);
        let meta = params.as_ref().and_then(|params| Object::read(params.get("_meta")?));
        let token = meta.as_ref().and_then(|meta| meta.get("progressToken"));
        let timeout = self.limits.handler_timeout;
        let call = Call {
            id,
            deadline: Some(now + timeout).filter(|at| *at != Instant::NEVER),
            size,
            batch,
            era,
            token: token.map(str::to_owned),
            wants_progress,
            progress: None,
        };
        assert!(self.calls.insert(about, call).is_none(), "a name is used twice");
        if let Some(waiting) = batch.and_then(|at| self.batches.get_mut(at)) {
            waiting.pending += 1;
        }
    }

    fn bytes_in_flight(&self) -> usize {
        let batches = self.batches.iter().filter(|batch| batch.pending > 0);
        let calls = self.calls.values().map(|call| call.size);
        batches.map(|batch| batch.size).chain(calls).sum()
    }

    fn holds(&self, id: &str) -> bool {
        self.find(id).is_some()
    }

    fn find(&self, id: &str) -> Option<ReplyId> {
        let value = oracle::id_value(id)?;
        let same = |call: &Call| oracle::id_value(&call.id).as_ref() == Some(&value);
        self.calls.iter().find(|(_, call)| same(call)).map(|(about, _)| *about)
    }

    /// A cancellation takes effect, if what it names is in flight.
    fn cancel(&mut self, params: Option<&str>, sure: bool, seen: &mut Seen) {
        let id = params
            .and_then(Object::read)
            .and_then(|params| params.get("requestId").map(str::to_owned));
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
    fn answered(&mut self, call: &Call, seen: &mut Seen, check: impl FnOnce(&Response)) {
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
        } else if at_least > 0 || !seen.lines.is_empty() {
            self.refusal(seen);
        }
    }

    fn refusal(&self, seen: &mut Seen) {
        let response = seen.response();
        assert!(response.error.is_some());
        let id = response.id.unwrap_or_default();
        assert!(!self.holds(&id), "a refusal would settle {id}, which is in flight");
    }

    /// A batch has one less to wait for; the last sends the answers.
    fn leave(&mut self, batch: Option<usize>, seen: &mut Seen) {
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
        let mut answers: Vec<_> = answers.iter().map(|json| Response::read(json.get())).collect();
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
