//! The bridge machine: the clients' messages, and their effects upstream.
//!
//! | part | owns | deadlines |
//! |---|---|---|
//! | `Upstream` | what is known of the server | |
//! | `UpstreamCalls` | the calls that are not answered, and what waits for each | |
//! | `ClientInputs` | requests to legacy clients, and rounds of modern servers | |
//! | `SessionOpenings` | requests that wait until legacy clients have opened their sessions | `Limits::input_timeout` |
//! | `ParamHeaders` | the tools whose calls have headers to check | |
//! | `WrappedTools` | the tools whose structured content is wrapped for legacy clients | |
//! | `Parked` | calls that wait for the retry of a modern client | `Limits::input_timeout` |
//! | `LegacyClients` | levels and subscriptions of legacy clients | the next request of a subscription that has ended |
//! | `KeptTasks` | how long a modern server keeps tasks | their TTL, at most a day |
//! | `ModernListeners` | subscriptions of modern clients at a legacy server | |
//! | `OwnCalls` | the bridge's own requests about resources of a legacy server | |
//! | `MissedResources` | resources to report after a gap | the next piece |
//!
//! In: requests, notifications and answers of clients. Out: actions, and calls of the [`Client`],
//! which each method takes as an argument. `events` has the other direction.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use super::action::{BridgeAction, ClientRequest, Config, Ticket};
use super::calls::{CallPurpose, ClientRef, UpstreamCall, UpstreamCalls, no_timeout};
use super::inputs::{ClientInputs, InputRecipient};
use super::kept_tasks::KeptTasks;
use super::listeners::ModernListeners;
use super::missed_resources::MissedResources;
use super::openings::SessionOpenings;
use super::own_calls::OwnCalls;
use super::param_headers::ParamHeaders;
use super::parked::Parked;
use super::sessions::LegacyClients;
use super::table::{BridgeMessage, BridgeStep, decide, translate};
use super::translate::WrappedTools;
use super::upstream::Upstream;
use crate::client::{CallOptions, Client};
use crate::error::ErrorCode;
use crate::json::Json;
use crate::message::{ErrorData, Method, MethodRow};
use crate::server::{InputFailure, Outcome, ReplyId, SessionRef};
use crate::time::Instant;
use crate::version::Era;

/// A bridge between clients and one server. See the [module](super).
#[derive(Debug)]
pub struct Bridge {
    pub(super) config: Config,
    pub(super) upstream: Upstream,
    /// The requests that arrived before the server was known.
    pub(super) waiting: VecDeque<ClientRequest>,
    pub(super) calls: UpstreamCalls,
    pub(super) inputs: ClientInputs,
    pub(super) openings: SessionOpenings,
    pub(super) parked: Parked,
    pub(super) sessions: LegacyClients,
    pub(super) listeners: ModernListeners,
    pub(super) own: OwnCalls,
    pub(super) missed: MissedResources,
    pub(super) wrapped: WrappedTools,
    pub(super) param_headers: ParamHeaders,
    tasks: KeptTasks,
    pub(super) actions: VecDeque<BridgeAction>,
    /// The time of the last input.
    pub(super) now: Instant,
}

impl Bridge {
    /// A bridge whose server is not known yet.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            upstream: Upstream::default(),
            waiting: VecDeque::new(),
            calls: UpstreamCalls::default(),
            inputs: ClientInputs::default(),
            openings: SessionOpenings::default(),
            parked: Parked::default(),
            sessions: LegacyClients::default(),
            listeners: ModernListeners::default(),
            own: OwnCalls::default(),
            missed: MissedResources::default(),
            wrapped: WrappedTools::default(),
            param_headers: ParamHeaders::default(),
            tasks: KeptTasks::default(),
            actions: VecDeque::new(),
            now: Instant::ZERO,
        }
    }

    /// Takes over the legacy clients with these sessions from an earlier bridge, whose client is
    /// closed. When the client of this bridge connects, their subscriptions are renewed, and they
    /// are notified of changes that they may have missed.
    pub fn take_over(&mut self, earlier: &mut Self, sessions: &[SessionRef]) {
        self.sessions.take_over(&mut earlier.sessions, sessions);
        self.openings.take_over(&mut earlier.openings, sessions);
        self.wrapped = core::mem::take(&mut earlier.wrapped);
    }

    /// Handles a request of a client.
    pub fn handle_request(&mut self, now: Instant, request: ClientRequest, client: &mut Client) {
        self.now = now;
        if let Some(error) = self.upstream.closed() {
            let error = error.clone();
            return self.fail(request.about, error);
        }
        match self.upstream.era(client) {
            Some(up) => self.request(request, up, client),
            None if self.waiting.len() < self.config.limits.max_in_flight => {
                self.waiting.push_back(request);
            }
            None => {
                let max = self.config.limits.max_in_flight;
                let why =
                    alloc::format!("Limits::max_in_flight = {max} requests wait for the server");
                self.fail(request.about, ErrorData::internal(why));
            }
        }
    }

    /// Handles a notification of a client.
    pub fn handle_notification(
        &mut self,
        now: Instant,
        (session, era): (SessionRef, Era),
        method: &Method,
        params: Json,
        client: &mut Client,
    ) {
        self.now = now;
        if *method == Method::Initialized {
            self.release_inputs(session);
        }
        // Before the era of the server is known, it counts as that of the client.
        let up = self.upstream.era(client).unwrap_or(era);
        let then = decide(era, up, BridgeMessage::of_client(method));
        if then == BridgeStep::Pass {
            // If the server cannot be notified now, the notification is dropped.
            let _ = client.notify(now, String::from(method.name()), params);
        } else if then == BridgeStep::Listen {
            self.listen_to_lists(session, false, client);
        }
    }

    /// Handles a legacy client's answer to a request for input.
    pub fn handle_input_answered(
        &mut self,
        now: Instant,
        ticket: Ticket,
        answer: Result<Json, InputFailure>,
        client: &mut Client,
    ) {
        self.now = now;
        let answer = answer.map_err(|failure| {
            if let InputFailure::Refused(error) = failure {
                return error;
            }
            ErrorData::internal(alloc::format!("{failure}"))
        });
        match self.inputs.take(ticket) {
            Some(InputRecipient::Server { reply, .. }) => client.answer(now, reply, answer),
            Some(InputRecipient::Round { about, key }) => {
                let limits = &self.config.limits;
                let given = match answer {
                    Ok(answer) => self
                        .inputs
                        .give(about, key, answer, limits)
                        .map_err(|error| error.describe(limits)),
                    // The error goes to the client that has refused, or could not be asked.
                    Err(error) => {
                        let why = alloc::format!("the input `{key}` was refused: {error}");
                        Err(ErrorData::internal(why))
                    }
                };
                match given {
                    Ok(()) => self.end_round(about, client),
                    Err(error) => {
                        let Some((_, tickets)) = self.inputs.end_round(about) else { return };
                        self.withdraw(tickets);
                        self.fail(about, error);
                    }
                }
            }
            None => {}
        }
    }

    /// Handles the end of a legacy client's session: its subscriptions end. The caller
    /// cancels its requests.
    pub fn handle_session_ended(&mut self, now: Instant, session: SessionRef, client: &mut Client) {
        self.now = now;
        self.waiting.retain(|request| request.about.session() != session);
        self.release_inputs(session);
        let uris: Vec<String> = self.sessions.close(session).collect();
        self.unsubscribe(&uris, client);
        let is_last = self.sessions.is_empty();
        for call in self.calls.find(|call| call.ends_with(session, is_last)) {
            self.cancel(call, client);
        }
    }

    /// Handles the deadlines that are due at `now`.
    pub fn handle_timeout(&mut self, now: Instant, client: &mut Client) {
        self.now = now;
        for call in self.parked.expired(now) {
            self.cancel(call, client);
        }
        self.expire_openings(client);
        self.retry_listens(client);
        self.report_missed();
        self.tasks.expire(now);
    }

    /// The latest time for the next call of [`Bridge::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Instant> {
        let Self { parked, openings, sessions, missed, tasks, .. } = self;
        let inputs = parked.next_deadline().into_iter().chain(openings.next_deadline());
        inputs.chain(sessions.next_retry()).chain(missed.due()).chain(tasks.until()).min()
    }

    /// Returns whether the bridge expects a client to return with input, or is about to subscribe
    /// again.
    pub fn is_waiting(&self) -> bool {
        self.parked.next_deadline().is_some() || self.sessions.next_retry().is_some()
    }

    /// Returns whether a modern server has made tasks for modern clients that have not expired. A
    /// task counts for a day at most, also if it has no TTL.
    pub fn has_tasks(&self) -> bool {
        self.tasks.until().is_some()
    }

    /// The next action. Poll the actions after all events of the client are handled, so that
    /// all requests for input of a server go out in one `input_required` result.
    pub fn poll_action(&mut self) -> Option<BridgeAction> {
        if self.actions.is_empty() {
            self.park();
        }
        self.actions.pop_front()
    }

    /// Handles a request by the table.
    pub(super) fn request(&mut self, request: ClientRequest, up: Era, client: &mut Client) {
        let about = request.about;
        let caller = ClientRef::of(&request);
        self.open_session(&caller, &request.method);
        match decide(caller.era, up, BridgeMessage::of_request(&request.method)) {
            BridgeStep::Answer => {
                let initialized = self.upstream.initialized();
                let result = match caller.era {
                    Era::Legacy => super::translate::for_client(&caller, initialized),
                    Era::Modern => super::translate::discovered(&initialized),
                };
                self.respond(about, Outcome::Complete(result));
            }
            BridgeStep::Discover => {
                let method = Method::Discover;
                let purpose = CallPurpose::Handshake(about);
                self.call(caller, (method, Json::EMPTY_OBJECT), no_timeout(), purpose, client);
            }
            BridgeStep::Keep => self.respond(about, Outcome::Complete(Json::EMPTY_OBJECT)),
            BridgeStep::Listen => self.subscribe(request, caller, client),
            BridgeStep::Subscribe => self.listen((about, &request.params), &caller, client),
            BridgeStep::Refuse => {
                let (method, down) = (request.method.name(), caller.era);
                let why = alloc::format!(
                    "the bridge does not forward `{method}` of a {down} client to a {up} server"
                );
                self.fail(about, ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why));
            }
            BridgeStep::Pass
            | BridgeStep::Translate
            | BridgeStep::RequireInput
            | BridgeStep::RequestInput
            | BridgeStep::Drop => {
                self.pass(request, caller, up, client);
            }
        }
    }

    fn pass(&mut self, request: ClientRequest, caller: ClientRef, up: Era, client: &mut Client) {
        let ClientRequest { about, method, params, wants_progress, log_level, peer } = request;
        // Legacy clients send no such headers.
        if caller.era == Era::Modern
            && let Some(error) = self.param_headers.check(&method, &params, peer.head())
        {
            return self.fail(about, error);
        }
        let mut options = no_timeout();
        options.progress = wants_progress;
        options.log_level = log_level.filter(|_| up == Era::Modern);
        if up == Era::Legacy {
            if caller.era == Era::Modern && self.retry(about, (&caller, &method, &params), client) {
                return;
            }
            if let Some(error) = self.before_pass((&caller, &method, &params), client) {
                return self.respond(about, error);
            }
            if let Some(level) = log_level.filter(|_| caller.era == Era::Modern) {
                self.send_level(level, client);
            }
        }
        self.call(caller, (method, params), options, CallPurpose::Answer(about), client);
    }

    /// Calls the server. If that fails, the request is answered with an error. Subscriptions leave
    /// a quarter of `Limits::max_in_flight` to other calls.
    pub(super) fn call(
        &mut self,
        caller: ClientRef,
        (method, params): (Method, Json),
        options: CallOptions,
        purpose: CallPurpose,
        client: &mut Client,
    ) {
        let max = self.config.limits.max_in_flight;
        let may_call = self.calls.may_call(&method, &purpose, max);
        let name = method.to_name();
        let may_ask = method.row().is_some_and(MethodRow::may_require_input);
        // Within the modern era, input passes unchanged.
        let is_modern = caller.era == Era::Modern && self.upstream.era(client) == Some(Era::Modern);
        let is_kept = may_ask && !is_modern || method == Method::Subscribe;
        // A parked call outlives its request, whose buffer must not be kept.
        let params = if is_kept { params.detach() } else { params };
        let kept = if is_kept { params.clone() } else { Json::EMPTY_OBJECT };
        let call = UpstreamCall {
            caller,
            method,
            params: kept,
            rounds: 0,
            progress: None,
            options: options.clone(),
            purpose,
            acknowledged: None,
        };
        if !may_call {
            let why = "subscriptions use three quarters of Limits::max_in_flight";
            return self.leave_call(&call, alloc::format!("{why} = {max}"));
        }
        match client.call(self.now, name, params, options) {
            Ok(id) => self.calls.insert(id, call),
            Err(error) => self.leave_call(&call, alloc::format!("{error}")),
        }
    }

    /// Handles a call that cannot be made.
    fn leave_call(&mut self, call: &UpstreamCall, error: String) {
        self.forget(&call.caller, &call.purpose);
        self.leave_pending_resource(call);
        self.end_listen(call.caller.session, &call.purpose);
        if let Some(about) = call.purpose.about() {
            self.fail(about, ErrorData::internal(error));
        }
    }

    /// Answers a request with the server's answer.
    pub(super) fn deliver(
        &mut self,
        about: ReplyId,
        call: &UpstreamCall,
        up: Era,
        response: Result<Json, ErrorData>,
    ) {
        let down = call.caller.era;
        if let Ok(page) = &response
            && call.method == Method::ListTools
        {
            self.param_headers.read(page, self.config.limits.max_list_bytes);
        }
        if let Ok(result) = &response
            && (down, up) == (Era::Modern, Era::Modern)
            && call.method == Method::CallTool
        {
            self.tasks.read(self.now, result);
        }
        let outcome = match response {
            Ok(result) if decide(down, up, BridgeMessage::Result) == BridgeStep::Translate => {
                let Self { wrapped, upstream, .. } = self;
                let signed = (&result, upstream.server_info());
                Outcome::Complete(wrapped.result(down, call, signed))
            }
            Ok(result) => Outcome::Complete(result),
            Err(error) => Outcome::Error(translate(down, up, &call.method, error)),
        };
        self.respond(about, outcome);
    }

    pub(super) fn respond(&mut self, about: ReplyId, outcome: Outcome) {
        self.actions.push_back(BridgeAction::Respond { about, outcome });
    }

    pub(super) fn fail(&mut self, about: ReplyId, error: ErrorData) {
        self.respond(about, Outcome::Error(error));
    }
}
