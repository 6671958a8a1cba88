//! The answer of an exchange: its form, and what of it is to be taken.
//!
//! In: what there is to say. Out: an answer in one piece, or [`ExchangeAction`]s. The form follows
//! from what is said first.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::super::action::ExchangeAction;
use super::super::refused::{Cors, Refused};
use super::super::sessions::text;
use super::super::status;
use crate::error::{ProtocolError, ValidationStep};
use crate::frame::http1::ResponseHead;
use crate::frame::sse;
use crate::message::{ErrorData, Outgoing, RequestId};
use crate::server::ServerEvent;
use crate::time::{Duration, Instant};
use crate::version::{Era, ProtocolVersion};

/// `Retry-After` of an answer that refuses a client for lack of room, in seconds.
const RETRY_AFTER: &str = "1";

#[derive(Debug)]
pub(super) struct Answer {
    queue: VecDeque<ExchangeAction>,
    /// All that the client is told, behind what is queued.
    whole: Option<AnswerForm>,
    form: Form,
    /// When it has been silent for too long.
    silent_until: Instant,
    cors: Cors,
    /// The era that the statuses are of.
    pub(super) era: Era,
    /// A session that its head names.
    pub(super) session: Option<String>,
    /// The value of `WWW-Authenticate`, of a request that is refused for want of scopes.
    pub(super) challenge: Option<Box<str>>,
    /// The request that there may be no time for, once the server is to stop.
    pub(super) waiting: Option<Box<RequestId>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Undecided,
    /// A stream of events, whose head is sent.
    Events,
    Over,
}

/// An answer in one piece.
#[derive(Debug)]
enum AnswerForm {
    /// To a head that no body could mend.
    Refused(Box<Refused>),
    Said {
        status: u16,
        body: Option<Bytes>,
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

    /// Says a message; one that answers ends the answer. `step` is where the request failed, if it
    /// did.
    pub(super) fn say(&mut self, message: &Outgoing, step: Option<ValidationStep>) {
        let status = step.map_or(200, |step| status(step, self.era));
        let text = text(message);
        if message.is_answer() {
            self.finish(status, text, None);
        } else {
            self.tell(None, &text, None);
        }
    }

    /// Refuses the request with an error, as a client of this revision gets it.
    pub(super) fn error(
        &mut self,
        version: ProtocolVersion,
        id: Option<RequestId>,
        error: &ProtocolError,
    ) {
        let status = status(error.step(), version.era());
        let error = ErrorData::in_revision(error, version);
        self.finish(status, text(&Outgoing::Error { id, error }), None);
    }

    /// Answers without looking at the body.
    pub(super) fn refuse(&mut self, refused: Box<Refused>) {
        self.form = Form::Over;
        self.whole = Some(AnswerForm::Refused(refused));
    }

    /// 202: there is nothing to answer.
    pub(super) fn accept(&mut self) {
        self.say_all(202, None);
    }

    /// 204: done.
    pub(super) fn done(&mut self) {
        self.say_all(204, None);
    }

    /// Says something that does not end the answer, as an event with the id `id`. `priming_id` goes
    /// first if it is the first.
    pub(super) fn tell(&mut self, id: Option<&str>, text: &[u8], priming_id: Option<&str>) {
        if self.form == Form::Over {
            return;
        }
        let mut data = self.open(priming_id);
        sse::message(id, text, &mut data);
        self.queue.push_back(ExchangeAction::Data(data.into()));
    }

    /// Says the last thing, as a whole if it is the first.
    pub(super) fn finish(&mut self, status: u16, text: Bytes, id: Option<&str>) {
        match self.form {
            Form::Over => {}
            Form::Events => {
                self.tell(id, &text, None);
                self.end();
            }
            Form::Undecided => self.say_all(status, Some(text)),
        }
    }

    /// Begins a stream of events, though there is nothing to say yet.
    pub(super) fn stream(&mut self, priming_id: Option<&str>) {
        let data = self.open(priming_id);
        if !data.is_empty() {
            self.queue.push_back(ExchangeAction::Data(data.into()));
        }
    }

    /// Tells the client to come back.
    pub(super) fn retry(&mut self, after: Duration, priming_id: Option<&str>) {
        let mut data = self.open(priming_id);
        sse::retry(u64::try_from(after.as_millis()).unwrap_or(u64::MAX), &mut data);
        self.queue.push_back(ExchangeAction::Data(data.into()));
        self.end();
    }

    /// All is said; if nothing was, there is no answer to give.
    pub(super) fn end(&mut self) {
        match self.form {
            Form::Undecided => self.accept(),
            Form::Events => {
                self.form = Form::Over;
                self.queue.push_back(ExchangeAction::End);
            }
            Form::Over => {}
        }
    }

    /// There is no time left for an answer.
    pub(super) fn give_up(&mut self) {
        if self.form == Form::Undecided {
            if let Some(id) = self.waiting.take() {
                let version = match self.era {
                    Era::Legacy => ProtocolVersion::LATEST_LEGACY,
                    Era::Modern => ProtocolVersion::LATEST_MODERN,
                };
                return self.error(version, Some(*id), &ProtocolError::ShuttingDown);
            }
            return self.say_all(503, None);
        }
        self.end();
    }

    /// Nobody is there to be answered.
    pub(super) fn close(&mut self) {
        self.queue.retain(|action| matches!(action, ExchangeAction::Event(_)));
        self.whole = None;
        self.form = Form::Over;
    }

    /// Shows that it is alive, if it has been silent for too long.
    pub(super) fn keep_alive(&mut self, now: Instant, pause: Duration, priming_id: Option<&str>) {
        if self.form == Form::Over || now < self.silent_until {
            return;
        }
        self.silent_until = now + pause;
        // Who does not take what was said is not told that there is nothing to say.
        if self.is_empty() {
            let mut data = self.open(priming_id);
            sse::comment(&mut data);
            self.queue.push_back(ExchangeAction::Data(data.into()));
        }
    }

    pub(super) fn event(&mut self, event: ServerEvent) {
        self.queue.push_back(ExchangeAction::Event(event));
    }

    /// What is to be taken before an answer in one piece, if there is one.
    pub(super) fn pop(&mut self) -> Option<ExchangeAction> {
        self.queue.pop_front()
    }

    /// The answer in one piece, if nothing is to be taken before.
    pub(super) fn take_whole(&mut self) -> Option<(ResponseHead, Option<Bytes>)> {
        if !self.queue.is_empty() {
            return None;
        }
        let (mut head, body) = match self.whole.take()? {
            AnswerForm::Said { status, body } => (ResponseHead::new(status), body),
            AnswerForm::Refused(refused) => {
                let Refused { mut head, error, body, version, cors } = *refused;
                cors.add_to(&mut head);
                if body.is_some() {
                    return Some((head, body));
                }
                let error = error.map(|error| ErrorData::in_revision(&error, version));
                let error = error.map(|error| Outgoing::Error { id: None, error });
                (head, error.as_ref().map(text))
            }
        };
        if let Some(body) = &body {
            head.length = Some(body.len() as u64);
            head.fields.push(("Content-Type", JSON.into()));
        }
        if let Some(challenge) = self.challenge.take() {
            head.fields.push(("WWW-Authenticate", String::from(challenge).into()));
        }
        if head.status == 503 {
            head.fields.push(("Retry-After", RETRY_AFTER.into()));
        }
        if body.is_some()
            && let Some(session) = self.session.take()
        {
            head.fields.push(("Mcp-Session-Id", session.into()));
        }
        self.cors.add_to(&mut head);
        Some((head, body))
    }

    /// The same, one action after the other.
    pub(super) fn pop_whole(&mut self) -> Option<ExchangeAction> {
        let (head, body) = self.take_whole()?;
        self.queue.extend(body.map(ExchangeAction::Data));
        self.queue.push_back(ExchangeAction::End);
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

    /// Sends the head of a stream, if it was not sent. Returns what is to go before the first
    /// event.
    fn open(&mut self, priming_id: Option<&str>) -> Vec<u8> {
        let mut data = Vec::with_capacity(256);
        if self.form == Form::Undecided {
            self.form = Form::Events;
            let mut head = ResponseHead::new(200);
            head.length = None;
            head.fields.push(("Content-Type", "text/event-stream".into()));
            head.fields.push(("Cache-Control", "no-store".into()));
            head.fields.push(("X-Accel-Buffering", "no".into()));
            if let Some(session) = self.session.take() {
                head.fields.push(("Mcp-Session-Id", session.into()));
            }
            self.cors.add_to(&mut head);
            self.queue.push_back(ExchangeAction::Head(head));
            if let Some(id) = priming_id {
                sse::priming(id, &mut data);
            }
        }
        data
    }

    /// Says all at once.
    fn say_all(&mut self, status: u16, body: Option<Bytes>) {
        self.form = Form::Over;
        self.whole = Some(AnswerForm::Said { status, body });
    }
}

const JSON: &str = "application/json";
