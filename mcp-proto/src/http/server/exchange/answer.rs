//! Answer of an exchange: its form, and the actions that send it.
//!
//! In: messages and statuses. Out: an answer in one piece, or [`ExchangeAction`]s. The first
//! message decides the form: an answer is sent in one piece, any other message begins a stream of
//! events.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use super::super::action::ExchangeAction;
use super::super::refused::{Cors, ImmediateAnswer};
use super::super::status;
use super::super::unsent::Unsent;
use crate::error::{ProtocolError, ValidationStep};
use crate::frame::http1::ResponseHead;
use crate::frame::sse;
use crate::message::{ErrorData, Outgoing, RequestId};
use crate::server::ServerEvent;
use crate::time::{Duration, Instant, millis};
use crate::version::{Era, ProtocolVersion};

/// `Retry-After` of a refusal for lack of room, in seconds.
const RETRY_AFTER: &str = "1";

/// The shortest pause between two comments that keep a stream alive.
const LEAST_PAUSE: Duration = Duration::from_millis(1);

/// The pause in place of a shorter one.
const PAUSE_INSTEAD: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Answer {
    queue: VecDeque<AnswerPart>,
    /// Answer in one piece, sent after the queue.
    whole: Option<AnswerForm>,
    form: Form,
    /// Time at which a keep-alive comment is due if nothing else is sent before.
    silent_until: Instant,
    cors: Cors,
    /// Era that decides the statuses.
    pub(super) era: Era,
    /// Session id for the head.
    pub(super) session: Option<String>,
    /// Value of `WWW-Authenticate`, if the request lacks scopes.
    pub(super) challenge: Option<Box<str>>,
    /// Id of the request that is still unanswered when the server stops.
    pub(super) waiting: Option<Box<RequestId>>,
}

/// A part of an answer that is not in one piece.
#[derive(Debug)]
enum AnswerPart {
    Action(ExchangeAction),
    /// An event of the stream.
    Event {
        /// The bytes before the event.
        before: Vec<u8>,
        id: Option<String>,
        message: Unsent,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Undecided,
    /// A stream of events; its head was sent.
    Events,
    Over,
}

/// An answer in one piece.
#[derive(Debug)]
enum AnswerForm {
    /// A refusal that is the same for every body.
    Immediate(Box<ImmediateAnswer>),
    Response {
        status: u16,
        message: Option<Unsent>,
    },
}

impl Answer {
    pub(super) fn new(silent_until: Instant, cors: Cors) -> Self {
        Self {
            queue: VecDeque::new(),
            whole: None,
            form: Form::Undecided,
            silent_until,
            cors,
            era: Era::Modern,
            session: None,
            challenge: None,
            waiting: None,
        }
    }

    /// Sends a message; an answer ends the exchange. `step` is the step at which the request
    /// failed, if it did.
    pub(super) fn send(&mut self, message: Outgoing, step: Option<ValidationStep>) {
        let status = step.map_or(200, |step| status(step, self.era));
        if message.is_answer() {
            self.finish(status, Unsent::new(message), None);
        } else {
            self.send_event(None, Unsent::encoded(&message), None);
        }
    }

    /// Refuses the request with an error in the form of this revision.
    pub(super) fn error(
        &mut self,
        version: ProtocolVersion,
        id: Option<RequestId>,
        error: &ProtocolError,
    ) {
        let status = status(error.step(), version.era());
        let error = ErrorData::in_revision(error, version);
        self.finish(status, Unsent::new(Outgoing::Error { id, error }), None);
    }

    /// Answers without reading the body.
    pub(super) fn set_immediate(&mut self, answer: Box<ImmediateAnswer>) {
        self.form = Form::Over;
        self.whole = Some(AnswerForm::Immediate(answer));
    }

    /// Answers 202: the message has no response.
    pub(super) fn accept(&mut self) {
        self.set_whole(202, None);
    }

    /// Answers 204: the request succeeded.
    pub(super) fn done(&mut self) {
        self.set_whole(204, None);
    }

    /// Sends a message that does not end the answer, as an event with the id `id`. Sends a priming
    /// event with the id `priming_id` before the first event.
    pub(super) fn send_event(
        &mut self,
        id: Option<String>,
        message: Unsent,
        priming_id: Option<&str>,
    ) {
        if self.form == Form::Over {
            return;
        }
        let before = self.open(priming_id);
        self.queue.push_back(AnswerPart::Event { before, id, message });
    }

    /// Sends the last message: in one piece if it is the only one.
    pub(super) fn finish(&mut self, status: u16, message: Unsent, id: Option<String>) {
        match self.form {
            Form::Over => {}
            Form::Events => {
                self.send_event(id, message, None);
                self.end();
            }
            Form::Undecided => self.set_whole(status, Some(message)),
        }
    }

    /// Begins a stream of events before the first message.
    pub(super) fn stream(&mut self, priming_id: Option<&str>) {
        let data = self.open(priming_id);
        if !data.is_empty() {
            self.push(ExchangeAction::Data(data.into()));
        }
    }

    /// Ends the stream, and asks the client to reconnect after this time.
    pub(super) fn retry(&mut self, after: Duration, priming_id: Option<&str>) {
        let mut data = self.open(priming_id);
        sse::retry(millis(after), &mut data);
        self.push(ExchangeAction::Data(data.into()));
        self.end();
    }

    /// Ends the answer. Without any message the answer is 202.
    pub(super) fn end(&mut self) {
        match self.form {
            Form::Undecided => self.accept(),
            Form::Events => {
                self.form = Form::Over;
                self.push(ExchangeAction::End);
            }
            Form::Over => {}
        }
    }

    /// Ends the answer because the server stops: with an error if nothing was sent; otherwise the
    /// stream ends early. If a handler may have the request, which `has_begun` says, the status is
    /// not 503, upon which proxies send a request again.
    pub(super) fn give_up(&mut self, has_begun: bool) {
        if self.form != Form::Undecided {
            return self.end();
        }
        let Some(id) = self.waiting.take() else {
            return self.set_whole(if has_begun { 500 } else { 503 }, None);
        };
        let version = match self.era {
            Era::Legacy => ProtocolVersion::LATEST_LEGACY,
            Era::Modern => ProtocolVersion::LATEST_MODERN,
        };
        let error = if has_begun { ProtocolError::CutOff } else { ProtocolError::ShuttingDown };
        self.error(version, Some(*id), &error);
    }

    /// Drops the answer because the client is gone; keeps its events.
    pub(super) fn close(&mut self) {
        self.queue.retain(|action| matches!(action, AnswerPart::Action(ExchangeAction::Event(_))));
        self.whole = None;
        self.form = Form::Over;
    }

    /// Sends a comment if nothing was sent for the time `pause`.
    pub(super) fn keep_alive(&mut self, now: Instant, pause: Duration, priming_id: Option<&str>) {
        if self.form == Form::Over || now < self.silent_until {
            return;
        }
        // Without a pause the driver would send nothing but comments.
        let pause = if pause < LEAST_PAUSE { PAUSE_INSTEAD } else { pause };
        self.silent_until = now + pause;
        // A client that does not read gets no keep-alive comments.
        if self.is_empty() {
            let mut data = self.open(priming_id);
            sse::comment(&mut data);
            self.push(ExchangeAction::Data(data.into()));
        }
    }

    pub(super) fn event(&mut self, event: ServerEvent) {
        self.push(ExchangeAction::Event(event));
    }

    /// Takes the next action before an answer in one piece, if there is one.
    pub(super) fn pop(&mut self) -> Option<ExchangeAction> {
        Some(match self.queue.pop_front()? {
            AnswerPart::Action(action) => action,
            AnswerPart::Event { before: mut data, id, message } => {
                sse::message(id.as_deref(), &message.into_text(), &mut data);
                ExchangeAction::Data(data.into())
            }
        })
    }

    /// Takes the body of an answer in one piece with the status 200 and no field but its type, if
    /// the queue is empty.
    pub(super) fn take_json(&mut self) -> Option<Unsent> {
        let is_plain = self.queue.is_empty()
            && self.session.is_none()
            && self.challenge.is_none()
            && self.cors.is_none();
        let is_json = |whole: &mut AnswerForm| {
            matches!(whole, AnswerForm::Response { status: 200, message: Some(_) })
        };
        match self.whole.take_if(|whole| is_plain && is_json(whole))? {
            AnswerForm::Response { message, .. } => message,
            AnswerForm::Immediate(_) => None,
        }
    }

    /// Takes the answer in one piece, if the queue is empty.
    pub(super) fn take_whole(&mut self) -> Option<(ResponseHead, Option<Unsent>)> {
        if !self.queue.is_empty() {
            return None;
        }
        let (mut head, message) = match self.whole.take()? {
            AnswerForm::Response { status, message } => (ResponseHead::new(status), message),
            AnswerForm::Immediate(answer) => {
                let ImmediateAnswer { mut head, error, body, version, cors } = *answer;
                cors.add_to(&mut head);
                if body.is_some() {
                    return Some((head, body.map(Unsent::Text)));
                }
                let error = error.map(|error| ErrorData::in_revision(&error, version));
                let error = error.map(|error| Outgoing::Error { id: None, error });
                (head, error.map(Unsent::new))
            }
        };
        if let Some(message) = &message {
            head.length = Some(message.len() as u64);
            head.push("Content-Type", JSON);
        }
        if let Some(challenge) = self.challenge.take() {
            head.push("WWW-Authenticate", String::from(challenge));
        }
        // The response of a route may have the field.
        let is_retry = |name: &str| name.eq_ignore_ascii_case("Retry-After");
        if head.status == 503 && !head.fields().iter().any(|(name, _)| is_retry(name)) {
            head.push("Retry-After", RETRY_AFTER);
        }
        // Only a result of `initialize` opens a session.
        if message.as_ref().is_some_and(|message| !message.is_error())
            && let Some(session) = self.session.take()
        {
            head.push("Mcp-Session-Id", session);
        }
        self.cors.add_to(&mut head);
        Some((head, message))
    }

    /// Takes the answer in one piece as actions, one after the other.
    pub(super) fn pop_whole(&mut self) -> Option<ExchangeAction> {
        let (head, message) = self.take_whole()?;
        if let Some(message) = message {
            self.push(ExchangeAction::Data(message.into_text()));
        }
        self.push(ExchangeAction::End);
        Some(ExchangeAction::Head(head))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.whole.is_none()
    }

    pub(super) fn is_over(&self) -> bool {
        self.form == Form::Over
    }

    pub(super) fn is_undecided(&self) -> bool {
        self.form == Form::Undecided
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        (self.form != Form::Over && self.silent_until != Instant::NEVER)
            .then_some(self.silent_until)
    }

    /// Sends the head of a stream, unless it was sent. Returns the bytes that precede the first
    /// event.
    fn open(&mut self, priming_id: Option<&str>) -> Vec<u8> {
        let mut data = Vec::with_capacity(256);
        if self.form == Form::Undecided {
            self.form = Form::Events;
            let mut head = ResponseHead::new(200);
            head.length = None;
            head.push("Content-Type", "text/event-stream");
            head.push("Cache-Control", "no-store");
            head.push("X-Accel-Buffering", "no");
            if let Some(session) = self.session.take() {
                head.push("Mcp-Session-Id", session);
            }
            self.cors.add_to(&mut head);
            self.push(ExchangeAction::Head(head));
            if let Some(id) = priming_id {
                sse::priming(id, &mut data);
            }
        }
        data
    }

    /// Answers in one piece.
    fn set_whole(&mut self, status: u16, message: Option<Unsent>) {
        self.form = Form::Over;
        self.whole = Some(AnswerForm::Response { status, message });
    }

    fn push(&mut self, action: ExchangeAction) {
        self.queue.push_back(AnswerPart::Action(action));
    }
}

const JSON: &str = "application/json";

#[cfg(test)]
mod tests {
    use super::super::super::RouteResponse;
    use super::*;

    #[test]
    fn response_of_a_route_has_its_own_fields_only() {
        for body in ["", "busy"] {
            let route = RouteResponse::new(503).field("retry-after", "30");
            let route = if body.is_empty() { route } else { route.body("text/plain", body) };
            let mut answer = Answer::new(Instant::NEVER, Cors::default());
            answer.set_immediate(ImmediateAnswer::route(route));
            let (head, _) = answer.take_whole().unwrap();
            let is_it = |(name, _): &&(&str, _)| name.eq_ignore_ascii_case("retry-after");
            let values: Vec<_> = head.fields().iter().filter(is_it).map(|(_, it)| &**it).collect();
            assert_eq!(values, ["30"], "{body}");
        }
    }
}
