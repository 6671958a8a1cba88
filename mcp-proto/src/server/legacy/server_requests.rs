//! Requests to a legacy client: input that a handler or the application needs, and pings.
//!
//! In: a request whose handler needs input, which waits here for the client's answers; commands of
//! the application; responses; time. Out: requests to the client; events; the request with its
//! input, once the input is complete, or an error that names the missing input.
//!
//! | a request waits until | then |
//! |---|---|
//! | all answers are there | its handler sees it again, with an [`Input`] |
//! | an answer is an error, no object, or too long (`Limits::max_in_flight_bytes`, `Limits::max_endpoint_bytes`) | -32603 |
//! | `Limits::input_timeout` | -32603 |
//! | the client's output ends (`handle_eof`) | -32603 |
//! | the client cancels it | nothing |
//!
//! When a wait ends, the unanswered requests for its input are cancelled.
//!
//! | input for the application ends by | [`InputFailure`] |
//! |---|---|
//! | a result that is an object | none: it is the answer |
//! | a result that is no object | `NotAnObject` |
//! | an error | `Refused` |
//! | its timeout; the client is sent `notifications/cancelled` | `TimedOut` |
//! | the end of the connection or of the session | `Closed` |
//! | [`ServerRequests::cancel_input`]; the client is sent `notifications/cancelled` | none: there is no event |
//!
//! [Specification: Elicitation](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation)

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use core::mem;

use super::super::call::Call;
use super::super::calls::Calls;
use super::super::context::{Context, ServerChannel};
use super::super::event::{InputFailure, InputId, PingId, ServerEvent, StreamId};
use super::super::input::{may_ask, no_more_input, too_long};
use super::super::lifecycle::Lifecycle;
use super::super::outcome::{Input, InputRequired};
use super::session::{Session, input_params};
use crate::deadlines::Deadlines;
use crate::error::{ProtocolError, UsageError};
use crate::json::Json;
use crate::message::{ErrorData, Outgoing, RequestId, Response};
use crate::time::{Duration, Instant};
use crate::types::{InputRequest, InputResponses};

/// The unanswered requests to the client.
#[derive(Debug, Default)]
pub(in super::super) struct ServerRequests {
    /// The number of requests so far. Ids are counted from 1.
    ids: u64,
    /// Most servers send no requests.
    open: Option<Box<OpenRequests>>,
}

#[derive(Debug, Default)]
struct OpenRequests {
    /// The requests by id.
    pending: BTreeMap<RequestId, PendingKind>,
    /// The requests of the client that wait for input, by serial number.
    waiting: BTreeMap<u64, Waiting>,
    deadlines: Deadlines<RequestTimer>,
}

#[derive(Debug)]
enum PendingKind {
    Ping(PingId),
    /// Input for the application, perhaps on behalf of a request, given by its serial number.
    Session {
        input: InputId,
        about: Option<u64>,
    },
    Input {
        /// The serial number of the request that waits for the input.
        serial: u64,
        key: String,
    },
}

/// A request whose handler needs input.
#[derive(Debug)]
struct Waiting {
    call: Call,
    /// The unanswered requests to the client.
    missing: BTreeSet<RequestId>,
    input: Input,
}

/// The purpose of a deadline.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum RequestTimer {
    /// The input of a waiting request, by the serial number of the request.
    Input(u64),
    Ping(PingId),
    /// Input for the application.
    Session(InputId),
}

impl OpenRequests {
    fn first_waiting(&self) -> Option<u64> {
        self.waiting.keys().next().copied()
    }
}

impl ServerRequests {
    /// Sends a ping to the client.
    pub(super) fn ping(
        &mut self,
        now: Instant,
        context: &mut Context,
        timeout: Duration,
    ) -> PingId {
        let (number, id) = self.register(|number| PendingKind::Ping(PingId(number)));
        let ping = PingId(number);
        self.open().deadlines.set(RequestTimer::Ping(ping), now + timeout);
        context.send(None, Outgoing::request(id, "ping", Json::EMPTY_OBJECT));
        ping
    }

    /// Asks the client for input for the application, perhaps on behalf of a request in a handler.
    pub(super) fn request_input(
        &mut self,
        now: Instant,
        (context, session): (&mut Context, &Session),
        (calls, about): (&Calls, Option<u64>),
        request: InputRequest,
        timeout: Duration,
    ) -> Result<InputId, UsageError> {
        session.check(&request)?;
        let max_in_flight = context.limits().max_in_flight;
        if self.open().pending.len() >= max_in_flight {
            return Err(UsageError::TooManyCalls { max_in_flight });
        }
        let scope = context.scope();
        let session_input =
            |number| PendingKind::Session { input: InputId { scope, number }, about };
        let (number, id) = self.register(session_input);
        let input = InputId { scope, number };
        self.open().deadlines.set(RequestTimer::Session(input), now + timeout);
        let method = request.method_name();
        let message = Outgoing::request(id, method, input_params(request, number));
        context.send(self.stream_of(calls, about), message);
        Ok(input)
    }

    /// Cancels a request for input for the application.
    pub(super) fn cancel_input(
        &mut self,
        context: &mut Context,
        calls: &Calls,
        input: InputId,
    ) -> Result<(), UsageError> {
        if input.scope != context.scope() || !self.withdraw(context, calls, input) {
            return Err(UsageError::NotInFlight);
        }
        self.open().deadlines.clear(RequestTimer::Session(input));
        Ok(())
    }

    /// Tells the client that no answer to a request for input is expected. Returns false if none
    /// was.
    fn withdraw(&mut self, context: &mut Context, calls: &Calls, input: InputId) -> bool {
        let id = request_id(input.number);
        let Some(PendingKind::Session { about, .. }) = self.open().pending.remove(&id) else {
            return false;
        };
        context.send(self.stream_of(calls, about), Outgoing::cancelled(&id, None));
        true
    }

    /// The stream of a request that is not answered yet.
    fn stream_of(&self, calls: &Calls, serial: Option<u64>) -> Option<StreamId> {
        let serial = serial?;
        calls.get(serial).or_else(|| self.get(serial))?.path.stream
    }

    /// Asks the client for the input that a handler needs; the request waits meanwhile. Returns the
    /// request if its input is already complete, because nothing had to be asked.
    pub(in super::super) fn start_round(
        &mut self,
        now: Instant,
        context: &mut Context,
        calls: &mut Calls,
        lifecycle: &Lifecycle,
        mut call: Call,
        required: InputRequired,
    ) -> Option<(Call, Input)> {
        let InputRequired { requests, state } = required;
        calls.release_input(&mut call);
        let kept = state.as_ref().map_or(0, String::len);
        if let Err(why) = may_ask(context, calls, lifecycle, &call, &requests, kept) {
            calls.fail(context, call, None, ErrorData::internal(why));
            return None;
        }
        if let Some(retry) = &mut call.retry {
            retry.rounds += 1;
        }
        let serial = calls.find(&call.id).unwrap_or_default();
        calls.charge_input(context, &mut call, kept);
        let mut missing = BTreeSet::new();
        for (key, request) in requests {
            let (number, id) = self.register(|_| PendingKind::Input { serial, key });
            missing.insert(id.clone());
            let message =
                Outgoing::request(id, request.method_name(), input_params(request, number));
            context.send(call.path.stream, message);
        }
        let input = Input { responses: InputResponses::new(), state };
        if missing.is_empty() {
            return Some((call, input));
        }
        self.open().waiting.insert(serial, Waiting { call, missing, input });
        self.open()
            .deadlines
            .set(RequestTimer::Input(serial), now + context.limits().input_timeout);
        None
    }

    /// Handles a response of the client. Returns the request whose input is now complete.
    pub(super) fn handle_response(
        &mut self,
        context: &mut Context,
        calls: &mut Calls,
        response: &Response,
    ) -> Option<(Call, Input)> {
        let pending = response.id.as_ref().and_then(|id| self.take(id, context.channel()));
        match (pending, &response.body) {
            (None, _) => {
                context.event(ServerEvent::PeerFault(ProtocolError::UnexpectedResponse));
            }
            // Any answer proves that the client is alive.
            (Some((_, PendingKind::Ping(ping))), _) => self.end_ping(context, ping, true),
            (Some((_, PendingKind::Session { input, .. })), body) => {
                let answer = match body {
                    Ok(result) if result.raw().is_object() => Ok(result.detach()),
                    Ok(_) => Err(InputFailure::NotAnObject),
                    Err(error) => Err(InputFailure::Refused(error.clone())),
                };
                self.end_input(context, input, answer);
            }
            (Some((id, PendingKind::Input { serial, key })), Ok(result))
                if result.raw().is_object() =>
            {
                let bytes = result.as_bytes().len();
                if let Some(limit) = calls.limit_of_input(context, bytes) {
                    let why = too_long(&alloc::format!("input `{key}`"), limit);
                    self.fail_waiting(context, calls, serial, &why);
                    return None;
                }
                let waiting = self.open().waiting.get_mut(&serial)?;
                calls.charge_input(context, &mut waiting.call, bytes);
                waiting.missing.remove(&id);
                waiting.input.responses.insert(key, result.detach().into());
                return if waiting.missing.is_empty() { self.complete(serial) } else { None };
            }
            (Some((_, PendingKind::Input { serial, key })), body) => {
                let why = match body {
                    Ok(_) => alloc::format!("the input `{key}` is no object"),
                    Err(error) => {
                        alloc::format!("the input `{key}` was refused ({})", error.code.0)
                    }
                };
                self.fail_waiting(context, calls, serial, &why);
            }
        }
        None
    }

    /// Handles the deadline that has passed first.
    pub(in super::super) fn handle_timeout(
        &mut self,
        now: Instant,
        context: &mut Context,
        calls: &mut Calls,
    ) {
        match self.open().deadlines.expire(now) {
            Some(RequestTimer::Input(serial)) => {
                let why = "the client took longer than Limits::input_timeout to give input";
                self.fail_waiting(context, calls, serial, why);
            }
            Some(RequestTimer::Ping(ping)) => {
                self.open().pending.remove(&request_id(ping.0));
                self.end_ping(context, ping, false);
            }
            Some(RequestTimer::Session(input)) => {
                self.withdraw(context, calls, input);
                self.end_input(context, input, Err(InputFailure::TimedOut));
            }
            None => {}
        }
    }

    pub(in super::super) fn next_deadline(&self) -> Option<Instant> {
        self.open.as_ref()?.deadlines.next()
    }

    /// Handles the end of the client's output: no input and no pong can arrive any more.
    pub(in super::super) fn handle_eof(&mut self, context: &mut Context, calls: &mut Calls) {
        while let Some(serial) = self.open.as_ref().and_then(|open| open.first_waiting()) {
            let why = no_more_input(context);
            self.fail_waiting(context, calls, serial, why);
        }
        self.end_requests(context);
    }

    /// Handles a disconnect of the client: drops the requests that wait for its input.
    pub(in super::super) fn handle_disconnect(&mut self, context: &mut Context) {
        let Some(open) = &mut self.open else { return };
        open.deadlines = Deadlines::new();
        open.waiting.clear();
        self.end_requests(context);
    }

    /// Handles a client's cancellation of a request that waits for input.
    pub(in super::super) fn cancel(
        &mut self,
        context: &mut Context,
        calls: &mut Calls,
        serial: u64,
    ) {
        if let Some(call) = self.remove_waiting(context, serial) {
            calls.settle(&call);
            context.end_without_answer(call.path);
        }
    }

    /// A request that waits for input.
    pub(in super::super) fn get(&self, serial: u64) -> Option<&Call> {
        self.open.as_ref()?.waiting.get(&serial).map(|waiting| &waiting.call)
    }

    pub(in super::super) fn get_mut(&mut self, serial: u64) -> Option<&mut Call> {
        self.open.as_mut()?.waiting.get_mut(&serial).map(|waiting| &mut waiting.call)
    }

    /// Frees memory, if no request to the client is open.
    pub(in super::super) fn shrink(&mut self) {
        let has_none = |open: &OpenRequests| open.pending.is_empty() && open.waiting.is_empty();
        if self.open.as_deref().is_some_and(has_none) {
            self.open = None;
        }
    }

    fn open(&mut self) -> &mut OpenRequests {
        self.open.get_or_insert_default()
    }

    /// Registers a request to the client. Its number is also its id; `kind` gets the number.
    fn register(&mut self, kind: impl FnOnce(u64) -> PendingKind) -> (u64, RequestId) {
        self.ids += 1;
        let id = request_id(self.ids);
        let kind = kind(self.ids);
        self.open().pending.insert(id.clone(), kind);
        (self.ids, id)
    }

    /// Removes the request that a response answers. On a byte stream some clients answer `"1"` to
    /// `1`. The server's ids are never strings, so this is unambiguous, and `"01"` still differs.
    /// Over HTTP an id must match exactly.
    fn take(&mut self, id: &RequestId, channel: ServerChannel) -> Option<(RequestId, PendingKind)> {
        if let Some(kind) = self.open().pending.remove(id) {
            return Some((id.clone(), kind));
        }
        if channel != ServerChannel::Stream {
            return None;
        }
        let digits = id.as_str().strip_prefix('"')?.strip_suffix('"')?;
        let id = RequestId::number(digits.parse().ok()?);
        if id.as_str() != digits {
            return None;
        }
        self.open().pending.remove(&id).map(|kind| (id, kind))
    }

    /// Removes a waiting request whose input is complete.
    fn complete(&mut self, serial: u64) -> Option<(Call, Input)> {
        self.open().deadlines.clear(RequestTimer::Input(serial));
        self.open().waiting.remove(&serial).map(|waiting| (waiting.call, waiting.input))
    }

    /// Fails a request that waits for input.
    fn fail_waiting(&mut self, context: &mut Context, calls: &mut Calls, serial: u64, why: &str) {
        if let Some(call) = self.remove_waiting(context, serial) {
            calls.fail(context, call, None, ErrorData::internal(String::from(why)));
        }
    }

    /// Removes a request that waits for input, and cancels its requests to the client.
    fn remove_waiting(&mut self, context: &mut Context, serial: u64) -> Option<Call> {
        let open = self.open.as_mut()?;
        open.deadlines.clear(RequestTimer::Input(serial));
        let Waiting { call, missing, .. } = open.waiting.remove(&serial)?;
        for id in missing {
            if open.pending.remove(&id).is_some() {
                context.send(call.path.stream, Outgoing::cancelled(&id, None));
            }
        }
        Some(call)
    }

    /// Ends all requests to the client without answers. The caller has ended those that wait for
    /// input.
    fn end_requests(&mut self, context: &mut Context) {
        let pending = self.open.as_mut().map(|open| mem::take(&mut open.pending));
        for kind in pending.unwrap_or_default().into_values() {
            match kind {
                PendingKind::Ping(ping) => self.end_ping(context, ping, false),
                PendingKind::Session { input, .. } => {
                    self.end_input(context, input, Err(InputFailure::Closed));
                }
                PendingKind::Input { .. } => {}
            }
        }
    }

    fn end_ping(&mut self, context: &mut Context, ping: PingId, answered: bool) {
        self.open().deadlines.clear(RequestTimer::Ping(ping));
        context.event(ServerEvent::Pong { ping, answered });
    }

    fn end_input(
        &mut self,
        context: &mut Context,
        input: InputId,
        answer: Result<Json, InputFailure>,
    ) {
        self.open().deadlines.clear(RequestTimer::Session(input));
        context.event(ServerEvent::InputAnswered { input, answer });
    }
}

fn request_id(number: u64) -> RequestId {
    RequestId::number(i64::try_from(number).unwrap_or(i64::MAX))
}
