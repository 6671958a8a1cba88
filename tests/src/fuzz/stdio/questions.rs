//! Model of requests to the client. Each is answered, withdrawn or timed out, and none goes to a
//! modern client. A waiting task gets an answer in each case.

use std::collections::{BTreeMap, BTreeSet};

use mcp_proto::server::{InputId, InputRequired, PingId, ReplyId};
use mcp_proto::types::InputRequest;
use mcp_proto::{Duration, Era, Instant, UsageError};

use super::model::{Call, Life, Model};
use super::seen::{Came, Event, Seen};
use crate::fuzz::oracle::{self, Object};
use crate::fuzz::written::Written;

/// Requests to the client without an answer.
#[derive(Default)]
pub(super) struct Questions {
    open: BTreeMap<u64, Question>,
    /// The last id of a request to the client.
    last: u64,
    /// The requests that wait for answers, by what they were called in their handlers.
    pub(super) waiting: BTreeMap<ReplyId, Waiting>,
}

#[derive(Clone, Copy)]
enum Question {
    Ping(PingId, Option<Instant>),
    Input(ReplyId),
    /// About no request.
    Outside(InputId, Option<Instant>),
}

pub(super) struct Waiting {
    pub(super) call: Call,
    missing: BTreeSet<u64>,
    deadline: Option<Instant>,
}

impl Questions {
    /// A request that waits for input.
    pub(super) fn waiting(&mut self, about: ReplyId) -> Option<&mut Call> {
        self.waiting.get_mut(&about).map(|waiting| &mut waiting.call)
    }

    pub(super) fn deadlines(&self) -> impl Iterator<Item = Instant> + '_ {
        let pings = self.open.values().filter_map(|question| match question {
            Question::Ping(_, deadline) | Question::Outside(_, deadline) => *deadline,
            Question::Input(_) => None,
        });
        self.waiting.values().filter_map(|waiting| waiting.deadline).chain(pings)
    }

    /// The server asks; its ids only grow.
    fn ask(&mut self, method: &str, question: Question, seen: &mut Seen) -> u64 {
        let request = seen.response();
        assert!(request.is(method), "{:?} is no {method}", request.method);
        let id = request.id.as_deref().and_then(|id| id.parse().ok()).unwrap_or_default();
        assert!(id > self.last, "an id that is used twice, or no number");
        self.last = id;
        self.open.insert(id, question);
        id
    }

    /// Number of open requests.
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// The application asks about no request.
    pub(super) fn ask_outside(
        &mut self,
        method: &str,
        input: InputId,
        deadline: Option<Instant>,
        seen: &mut Seen,
    ) {
        self.ask(method, Question::Outside(input, deadline), seen);
    }

    /// Takes such a question out; returns what its request is called.
    pub(super) fn take_outside(&mut self, input: InputId) -> Option<u64> {
        let is_it = |question: &Question| matches!(question, Question::Outside(other, _) if *other == input);
        let id = self.open.iter().find(|(_, question)| is_it(question)).map(|(id, _)| *id)?;
        self.open.remove(&id);
        Some(id)
    }

    /// Request that a response answers: `1` and `"1"` name the same one.
    fn answered_by(&self, id: &str) -> Option<u64> {
        let digits = id.strip_prefix('"').and_then(|id| id.strip_suffix('"'));
        let number = match digits {
            Some(digits) => digits.parse::<i64>().ok()?.try_into().ok()?,
            None => oracle::id_value(id)?.parse().ok()?,
        };
        self.open.contains_key(&number).then_some(number)
    }
}

impl Model {
    pub(super) fn ping(
        &mut self,
        now: Instant,
        timeout: Duration,
        result: &Result<PingId, UsageError>,
        seen: &mut Seen,
    ) {
        match (&self.life, &self.session, result) {
            (Life::Open, Some(_), Ok(ping)) => {
                let deadline = Some(now + timeout).filter(|at| *at != Instant::NEVER);
                self.questions.ask("ping", Question::Ping(*ping, deadline), seen);
            }
            (Life::Open, _, result) => {
                assert_eq!(result, &Err(UsageError::NoServerRequests));
            }
            (_, _, result) => assert_eq!(result, &Err(UsageError::Closed)),
        }
    }

    /// A handler needs input.
    pub(super) fn ask(
        &mut self,
        now: Instant,
        mut call: Call,
        required: &InputRequired,
        seen: &mut Seen,
    ) {
        let InputRequired { requests, state, .. } = required;
        let has_kind =
            ["tools/call", "prompts/get", "resources/read"].contains(&call.method.as_str());
        let legal = has_kind && (!requests.is_empty() || state.is_some());
        if call.era == Era::Modern {
            return self.answered(&call, seen, |response| {
                let result = response.result.as_deref().and_then(Object::read);
                assert!(legal || result.is_none(), "input that cannot be asked for");
                let Some(result) = result else { return };
                assert_eq!(result.get("resultType"), Some("\"input_required\""));
                assert_eq!(result.get("inputRequests").is_some(), !requests.is_empty());
                assert_eq!(result.get("requestState").is_some(), state.is_some());
            });
        }
        call.size -= std::mem::take(&mut call.input);
        let kept = state.as_ref().map_or(0, String::len);
        let session = self.session.as_ref();
        let ready = session.is_some_and(|session| session.initialized) || requests.is_empty();
        let fits = kept == 0 || self.has_room_for_input(kept, Some(&call));
        let heard = self.is_open() || requests.is_empty();
        let may = legal && ready && fits && call.rounds < self.limits.max_input_rounds && heard;
        let plain = requests.values().all(|r| matches!(r, InputRequest::ListRoots(_)));
        let must = may && plain && session.is_some_and(|session| session.roots);
        let asks = if requests.is_empty() {
            matches!(seen.events.front(), Some(Event::Request(asked)) if asked.params == call.params)
        } else {
            seen.next().is_some_and(|message| message.method.is_some() && message.id.is_some())
        };
        assert!(may || !asks, "the client is asked what it must not be asked");
        assert!(asks || !must, "the client is not asked");
        if !asks {
            return self.fail(&call, seen);
        }
        call.rounds += 1;
        call.size += kept;
        call.input = kept;
        let deadline = Some(now + self.limits.input_timeout).filter(|at| *at != Instant::NEVER);
        let about = call.about;
        let ask = |request: &InputRequest| {
            self.questions.ask(request.method(), Question::Input(about), seen)
        };
        let missing: BTreeSet<u64> = requests.values().map(ask).collect();
        if missing.is_empty() {
            return self.ask_again(now, call, seen);
        }
        self.questions.waiting.insert(about, Waiting { call, missing, deadline });
    }

    fn is_open(&self) -> bool {
        matches!(self.life, Life::Open)
    }

    /// The handler sees its request again.
    fn ask_again(&mut self, now: Instant, mut call: Call, seen: &mut Seen) {
        let Some(Event::Request(asked)) = seen.events.pop_front() else {
            unreachable!("the handler does not see its request again")
        };
        assert!(asked.params == call.params && asked.method == call.method && asked.input);
        call.deadline = self.handler_deadline(now);
        call.about = asked.about;
        assert!(self.calls.insert(asked.about, call).is_none(), "a name is used twice");
    }

    /// The client has answered something.
    pub(super) fn response(
        &mut self,
        now: Instant,
        id: Option<&str>,
        result: Option<&str>,
        seen: &mut Seen,
    ) {
        let Some(number) = id.and_then(|id| self.questions.answered_by(id)) else { return };
        match self.questions.open.remove(&number) {
            None => {}
            Some(Question::Ping(ping, _)) => {
                assert_eq!(seen.events.pop_front(), Some(Event::Pong { ping, answered: true }));
            }
            Some(Question::Outside(input, _)) => {
                let came = match result {
                    Some(result) if result.starts_with('{') => Came::Answer,
                    Some(_) => Came::NoObject,
                    None => Came::Error,
                };
                assert_eq!(seen.events.pop_front(), Some(Event::InputAnswered { input, came }));
            }
            Some(Question::Input(about)) => {
                let result = result.filter(|result| result.starts_with('{'));
                let bytes = result.filter(|result| self.has_room_for_input(result.len(), None));
                let bytes = bytes.map(str::len);
                let Some(waiting) = self.questions.waiting.get_mut(&about) else { return };
                waiting.missing.remove(&number);
                let Some(bytes) = bytes else { return self.give_up(about, seen) };
                waiting.call.size += bytes;
                waiting.call.input += bytes;
                if waiting.missing.is_empty()
                    && let Some(waiting) = self.questions.waiting.remove(&about)
                {
                    self.ask_again(now, waiting.call, seen);
                }
            }
        }
    }

    /// One of those that are due is over; which of them is first is the machine's choice.
    pub(super) fn questions_time_out(&mut self, now: Instant, seen: &mut Seen) -> bool {
        let is_due = |deadline: Option<Instant>| deadline.is_some_and(|at| at <= now);
        let withdrawn = seen.next().as_ref().and_then(withdrawn);
        let due = self.questions.waiting.iter().find(|(_, waiting)| {
            is_due(waiting.deadline) && withdrawn.is_some_and(|id| waiting.missing.contains(&id))
        });
        if let Some((about, _)) = due {
            self.give_up(*about, seen);
            return true;
        }
        if let Some(Event::InputAnswered { input, came: Came::TimedOut }) = seen.events.front()
            && let Some(id) = withdrawn
            && let Some(Question::Outside(asked, deadline)) = self.questions.open.get(&id)
            && (asked, is_due(*deadline)) == (input, true)
        {
            self.questions.open.remove(&id);
            seen.events.pop_front();
            seen.lines.pop_front();
            return true;
        }
        let next = match seen.events.front() {
            Some(Event::Pong { ping, answered: false }) => Some(*ping),
            _ => None,
        };
        let due = self.questions.open.iter().find(|(_, question)| {
            matches!(question, Question::Ping(ping, at) if is_due(*at) && Some(*ping) == next)
        });
        let Some(id) = due.map(|(id, _)| *id) else { return false };
        self.questions.open.remove(&id);
        seen.events.pop_front();
        true
    }

    /// The input ends, and with it all questions.
    pub(super) fn end_questions(&mut self, seen: &mut Seen) {
        while let Some(about) = self.questions.waiting.keys().next().copied() {
            self.give_up(about, seen);
        }
        loop {
            let before = self.questions.open.len();
            match seen.events.front() {
                Some(Event::Pong { ping, answered: false }) => {
                    let of = |q: &Question| matches!(q, Question::Ping(other, _) if other == ping);
                    self.questions.open.retain(|_, question| !of(question));
                }
                Some(Event::InputAnswered { input, came: Came::Closed }) => {
                    self.questions.take_outside(*input);
                }
                _ => break,
            }
            assert_eq!(self.questions.open.len() + 1, before, "the end of nothing");
            seen.events.pop_front();
        }
        assert!(self.questions.open.is_empty(), "questions without an end");
    }

    /// A request that waits for input will get none.
    fn give_up(&mut self, about: ReplyId, seen: &mut Seen) {
        if let Some(call) = self.withdraw(about, seen) {
            self.fail(&call, seen);
        }
    }

    fn fail(&mut self, call: &Call, seen: &mut Seen) {
        self.answered(call, seen, |response| {
            assert!(response.error.is_some(), "there is no input");
        });
        self.leave(call.batch, seen);
    }

    /// The client is told to forget what it was asked for a request.
    pub(super) fn withdraw(&mut self, about: ReplyId, seen: &mut Seen) -> Option<Call> {
        let Waiting { call, mut missing, .. } = self.questions.waiting.remove(&about)?;
        while !missing.is_empty() {
            let id = withdrawn(&seen.response()).unwrap_or_default();
            assert!(missing.remove(&id), "{id} was not asked for this request");
            self.questions.open.remove(&id);
        }
        Some(call)
    }
}

/// The request to the client that a message withdraws.
pub(super) fn withdrawn(message: &Written) -> Option<u64> {
    let id = message.param("requestId").filter(|_| message.is("notifications/cancelled"))?;
    id.parse().ok()
}
