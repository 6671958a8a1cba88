//! What a legacy client is asked: input that a handler needs, and pings.
//!
//! In: a request whose handler needs input, which waits here while its client is asked; responses;
//! deadlines. Out: requests to the client; the same request again, with the answers; or an error
//! that names the input which did not come.
//!
//! | a request waits until | then |
//! |---|---|
//! | all answers are there | its handler sees it again, with an [`Input`] |
//! | an answer is an error, no object, or too long (`Limits::max_in_flight_bytes`) | -32603 |
//! | `Limits::input_timeout` | -32603 |
//! | the input ends | -32603 |
//! | the client cancels it | nothing |
//!
//! Whatever else was asked for the same request is cancelled then.
//!
//! [Specification: Elicitation](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation)

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use super::super::call::Call;
use super::super::context::Binding;
use super::super::event::{InputFailure, InputId};
use super::super::serve::{Served, not_found};
use super::super::{Input, InputRequired, Life, Opening, PingId, Reason, Server, ServerEvent};
use super::Session;
use crate::error::{ProtocolError, UsageError};
use crate::json::Json;
use crate::message::{ErrorData, Outgoing, RequestId, Response};
use crate::time::{Duration, Instant};
use crate::types::{ElicitRequestParams, InputRequest, InputRequests, InputResponses};
use crate::version::{Era, ProtocolVersion};

/// What the client of a session has been asked and has not answered.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// By the ids of the requests to the client, which are counted from 1.
    pending: BTreeMap<RequestId, Question>,
    ids: u64,
    /// The requests that wait for answers, by serial number.
    waiting: BTreeMap<u64, Waiting>,
}

#[derive(Debug)]
pub(super) enum Question {
    Ping(PingId),
    /// Input for the application, about no request.
    Session(InputId),
    Input {
        /// The request that waits for it.
        serial: u64,
        key: String,
    },
}

#[derive(Debug)]
struct Waiting {
    call: Call,
    /// The requests to the client that are not answered.
    missing: BTreeSet<RequestId>,
    responses: InputResponses,
    state: Option<String>,
}

const TOO_MUCH: &str = "is more than Limits::max_in_flight_bytes leaves room for";

impl Asked {
    /// Gives back the memory that only open questions need. (An empty map keeps a node.)
    pub(super) fn shrink(&mut self) {
        if self.pending.is_empty() {
            self.pending = BTreeMap::new();
        }
        if self.waiting.is_empty() {
            self.waiting = BTreeMap::new();
        }
    }

    /// How many questions are open.
    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Opens a question, which is made of its number; its id is that number too.
    pub(super) fn ask(&mut self, question: impl FnOnce(u64) -> Question) -> (u64, RequestId) {
        let (number, id) = self.next_id();
        self.pending.insert(id.clone(), question(number));
        (number, id)
    }

    /// Closes a question; false if it was not open.
    pub(super) fn forget(&mut self, id: &RequestId) -> bool {
        self.pending.remove(id).is_some()
    }

    fn next_id(&mut self) -> (u64, RequestId) {
        self.ids += 1;
        (self.ids, RequestId::number(i64::try_from(self.ids).unwrap_or(i64::MAX)))
    }

    /// The question that a response answers. On a byte stream some clients answer `"1"` to `1`;
    /// there are no strings among our ids that this could be mistaken for, and `"01"` is another
    /// string. Over HTTP an id is exact.
    fn take(&mut self, id: &RequestId, binding: Binding) -> Option<(RequestId, Question)> {
        if let Some(question) = self.pending.remove(id) {
            return Some((id.clone(), question));
        }
        if binding != Binding::Stream {
            return None;
        }
        let digits = id.as_str().strip_prefix('"')?.strip_suffix('"')?;
        let id = RequestId::number(digits.parse().ok()?);
        if id.as_str() != digits {
            return None;
        }
        self.pending.remove(&id).map(|question| (id, question))
    }
}

impl Server {
    /// Asks a legacy client for a sign of life; a [`ServerEvent::Pong`] tells what came of it, after
    /// `timeout` at the latest.
    ///
    /// Fails with [`UsageError::NoServerRequests`] unless the connection was opened with
    /// `initialize`, and with [`UsageError::Closed`] after the end of input.
    ///
    /// [Specification: Ping](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping)
    pub fn ping(&mut self, now: Instant, timeout: Duration) -> Result<PingId, UsageError> {
        if self.life != Life::Open {
            return Err(UsageError::Closed);
        }
        let session = self.session().ok_or(UsageError::NoServerRequests)?;
        let (number, id) = session.asked.next_id();
        let ping = PingId(number);
        session.asked.pending.insert(id.clone(), Question::Ping(ping));
        self.deadlines.set(Reason::Ping(ping), now + timeout);
        self.context.send(None, Outgoing::request(id, "ping", Json::EMPTY_OBJECT));
        Ok(ping)
    }

    pub(in super::super) fn ping_timed_out(&mut self, ping: PingId) {
        if let Some(session) = self.session() {
            session.asked.pending.retain(|_, question| match question {
                Question::Ping(other) => *other != ping,
                Question::Input { .. } | Question::Session(_) => true,
            });
        }
        self.context.event(ServerEvent::Pong { ping, answered: false });
    }

    /// Asks the client for what a handler needs.
    pub(in super::super) fn bridge(
        &mut self,
        now: Instant,
        mut call: Call,
        required: InputRequired,
    ) {
        let InputRequired { requests, state } = required;
        self.calls.drop_input(&mut call);
        let kept = state.as_ref().map_or(0, String::len);
        if let Err(why) = self.may_ask(&call, &requests, kept) {
            return self.calls.fail(&mut self.context, call, None, ErrorData::internal(why));
        }
        if let Some(again) = &mut call.again {
            again.rounds += 1;
        }
        let serial = self.calls.find(&call.id).unwrap_or_default();
        self.calls.keep_input(&mut call, kept);
        let mut missing = BTreeSet::new();
        for (key, request) in requests {
            let Some(session) = self.session() else { continue };
            let (number, id) = session.asked.next_id();
            session.asked.pending.insert(id.clone(), Question::Input { serial, key });
            missing.insert(id.clone());
            let (method, params) = (request.method(), params(request, number));
            self.context.send(call.path.stream, Outgoing::request(id, method, params));
        }
        let complete = missing.is_empty();
        let waiting = Waiting { call, missing, responses: InputResponses::new(), state };
        if let Some(session) = self.session() {
            session.asked.waiting.insert(serial, waiting);
        }
        if complete {
            self.ask_again(now, serial);
        } else {
            self.deadlines.set(Reason::Input(serial), now + self.context.limits().input_timeout);
        }
    }

    /// Whether the client can be asked all that, and `kept` bytes be kept meanwhile.
    fn may_ask(&self, call: &Call, requests: &InputRequests, kept: usize) -> Result<(), String> {
        let (Opening::Legacy(session), Some(again)) = (&self.opening, &call.again) else {
            return Err("the handler said that it never asks for input".into());
        };
        let rounds = self.context.limits().max_input_rounds;
        if again.rounds >= rounds {
            return Err(alloc::format!("Limits::max_input_rounds = {rounds} are over"));
        }
        if kept > 0 && !self.calls.has_room_for_input(&self.context, kept) {
            return Err(alloc::format!("the state {TOO_MUCH}"));
        }
        if requests.is_empty() {
            return Ok(());
        }
        if self.life != Life::Open {
            return Err("the client sends nothing more, and so no input".into());
        }
        if !session.initialized {
            return Err("the client is not initialized, and cannot be asked for input".into());
        }
        for (key, request) in requests {
            if let Some(since) = since(session.version, request) {
                return Err(alloc::format!("the input `{key}` needs {since}"));
            }
        }
        Ok(())
    }

    /// The client has answered something.
    pub(in super::super) fn response(&mut self, now: Instant, response: Response) {
        let id = response.id.as_ref();
        let binding = self.context.binding();
        let question = id.and_then(|id| self.session()?.asked.take(id, binding));
        match question {
            None => self.fault(ProtocolError::UnexpectedResponse),
            // Any answer is a sign of life.
            Some((_, Question::Ping(ping))) => {
                self.deadlines.clear(Reason::Ping(ping));
                self.context.event(ServerEvent::Pong { ping, answered: true });
            }
            Some((_, Question::Session(input))) => {
                self.session_input_answered(input, response.body);
            }
            Some((id, Question::Input { serial, key })) => match response.body {
                Ok(result) if result.raw().is_object() => {
                    self.answered(now, serial, &id, key, result.detach());
                }
                Ok(_) => self.give_up(serial, &alloc::format!("the input `{key}` is no object")),
                Err(error) => {
                    let code = error.code.0;
                    self.give_up(serial, &alloc::format!("the input `{key}` was refused ({code})"));
                }
            },
        }
        self.close_if_drained();
    }

    fn answered(&mut self, now: Instant, serial: u64, id: &RequestId, key: String, result: Json) {
        let bytes = result.as_bytes().len();
        if !self.calls.has_room_for_input(&self.context, bytes) {
            return self.give_up(serial, &alloc::format!("the input `{key}` {TOO_MUCH}"));
        }
        let Opening::Legacy(session) = &mut self.opening else { return };
        let Some(waiting) = session.asked.waiting.get_mut(&serial) else { return };
        self.calls.keep_input(&mut waiting.call, bytes);
        waiting.missing.remove(id);
        waiting.responses.insert(key, result.into());
        if waiting.missing.is_empty() {
            self.ask_again(now, serial);
        }
    }

    /// Everything is answered: the handler sees the request again, or the one that is declared in
    /// its place meanwhile.
    fn ask_again(&mut self, now: Instant, serial: u64) {
        self.deadlines.clear(Reason::Input(serial));
        let logs = self.context.declaration().capabilities.logging.is_some();
        let principal = self.context.principal().cloned();
        let Some(session) = self.session() else { return };
        let Some(waiting) = session.asked.waiting.remove(&serial) else { return };
        let Waiting { call, responses, state, .. } = waiting;
        let requester =
            session.requester(logs, Some(Box::new(Input { responses, state })), principal);
        let Some(again) = &call.again else { return };
        let (method, params) = (again.method.clone(), again.params.clone());
        match self.context.declaration().serve(Era::Legacy, &method, &params, None) {
            Ok(Served::Handler(target)) => {
                self.calls.restart(now, &mut self.context, call, target, requester);
            }
            // It has been removed.
            Ok(Served::Page(..) | Served::Result(_)) => {
                let version = self.spoken_version();
                self.calls.fail(
                    &mut self.context,
                    call,
                    None,
                    ErrorData::in_revision(&not_found(&method), version),
                );
            }
            Err(error) => {
                let version = self.spoken_version();
                self.calls.fail(
                    &mut self.context,
                    call,
                    None,
                    ErrorData::in_revision(&error, version),
                );
            }
        }
    }

    pub(in super::super) fn input_timed_out(&mut self, serial: u64) {
        self.give_up(serial, "the client took longer than Limits::input_timeout to give input");
    }

    /// The client sends nothing more, so that no input will come, and no sign of life.
    pub(in super::super) fn end_waiting(&mut self) {
        let Some(session) = self.session() else { return };
        let waiting: Vec<u64> = session.asked.waiting.keys().copied().collect();
        for serial in waiting {
            self.give_up(serial, "the client sends nothing more, and so no input");
        }
        let pending = self.session().map(|session| mem::take(&mut session.asked.pending));
        for question in pending.unwrap_or_default().into_values() {
            self.end_question(&question);
        }
    }

    /// The client is gone, and with it what waits for its input.
    pub(in super::super) fn forget_waiting(&mut self) {
        let Some(session) = self.session() else { return };
        let Asked { pending, waiting, .. } = mem::take(&mut session.asked);
        for (serial, waiting) in waiting {
            self.deadlines.clear(Reason::Input(serial));
            self.calls.settle(&waiting.call);
        }
        for question in pending.into_values() {
            self.end_question(&question);
        }
    }

    /// No answer will come. What a request waits for ends with the request.
    fn end_question(&mut self, question: &Question) {
        match question {
            Question::Ping(ping) => {
                self.deadlines.clear(Reason::Ping(*ping));
                self.context.event(ServerEvent::Pong { ping: *ping, answered: false });
            }
            Question::Session(input) => self.end_session_input(*input, InputFailure::Closed),
            Question::Input { .. } => {}
        }
    }

    /// Answers a request that waits for input with an error.
    fn give_up(&mut self, serial: u64, why: &str) {
        if let Some(call) = self.withdraw(serial) {
            self.calls.fail(&mut self.context, call, None, ErrorData::internal(String::from(why)));
        }
    }

    /// The client cancelled a request that waits for input.
    pub(in super::super) fn stop_waiting(&mut self, serial: u64) {
        if let Some(call) = self.withdraw(serial) {
            self.calls.settle(&call);
            self.context.leave_unanswered(call.path);
        }
    }

    /// Takes a request that waits for input out, and tells the client to forget what it was asked.
    fn withdraw(&mut self, serial: u64) -> Option<Call> {
        self.deadlines.clear(Reason::Input(serial));
        let asked = &mut self.session()?.asked;
        let Waiting { call, missing, .. } = asked.waiting.remove(&serial)?;
        let open = missing.into_iter().filter(|id| asked.pending.remove(id).is_some());
        let open: Vec<RequestId> = open.collect();
        for id in open {
            self.context.send(call.path.stream, Outgoing::cancelled(&id));
        }
        Some(call)
    }

    /// A request that waits for input.
    pub(in super::super) fn waiting(&mut self, serial: u64) -> Option<&mut Call> {
        self.session()?.asked.waiting.get_mut(&serial).map(|waiting| &mut waiting.call)
    }

    fn session(&mut self) -> Option<&mut Session> {
        match &mut self.opening {
            Opening::Legacy(session) => Some(session),
            Opening::Undecided | Opening::Modern => None,
        }
    }
}

/// The first revision that has what is asked, if this one has not.
pub(super) fn since(version: ProtocolVersion, request: &InputRequest) -> Option<ProtocolVersion> {
    use ProtocolVersion::{V2025_06_18, V2025_11_25};
    let since: &[ProtocolVersion] = match request {
        InputRequest::Elicit(ElicitRequestParams::Url(_)) => &[V2025_11_25],
        InputRequest::CreateMessage(params) if params.needs_tools() => &[V2025_11_25],
        InputRequest::Elicit(ElicitRequestParams::Form(_)) => &[V2025_06_18, V2025_11_25],
        InputRequest::CreateMessage(_) | InputRequest::ListRoots(_) => return None,
    };
    if since.contains(&version) { None } else { since.first().copied() }
}

/// The parameters of the legacy request. One for a URL needs a name, which no other request of
/// the session has.
pub(super) fn params(request: InputRequest, number: u64) -> Json {
    let params = match request {
        InputRequest::Elicit(ElicitRequestParams::Url(mut url)) => {
            url.elicitation_id.get_or_insert_with(|| alloc::format!("elicitation-{number}"));
            Json::encode(&url)
        }
        InputRequest::Elicit(params) => Json::encode(&params),
        InputRequest::CreateMessage(params) => Json::encode(&params),
        InputRequest::ListRoots(params) => Json::encode(&params),
    };
    params.unwrap_or(Json::EMPTY_OBJECT)
}
