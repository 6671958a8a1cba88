//! The upstream part of the bridge: events of its server, and their effects downstream.
//!
//! In: events of the client. Out: actions, and calls that the bridge makes itself.

use alloc::string::String;

use super::action::BridgeAction;
use super::calls::{CallPurpose, UpstreamCall, uri_of};
use super::inputs::{RoundError, RoundRequest};
use super::machine::Bridge;
use super::missed_resources::MissedResources;
use super::param_headers::ParamHeaders;
use super::parked::{LateResponse, Parked, PendingInput};
use super::rounds;
use super::subscriptions::refused;
use super::table::{BridgeMessage, BridgeStep, decide};
use super::translate;
use crate::client::{CallError, CallId, Client, ClientEvent, Input};
use crate::error::ProtocolError;
use crate::json::Json;
use crate::limits::Limits;
use crate::message::{ErrorData, Method, MethodRow};
use crate::server::{Notification, Outcome, ReplyId, SessionRef, missing_capability};
use crate::time::Instant;
use crate::types::InputRequest;
use crate::version::{Era, ProtocolVersion};

/// The error for a legacy server that asks for input while several calls are in flight.
const UNNAMED: &str = "the bridge cannot tell which client this is for: the request names no call, \
                       and several are in flight; send one call at a time, or let each client have \
                       a legacy session or a stream of its own";

/// The error for a client whose server asks for what the client's revision does not define.
const BLOCK_LISTS: &str = "the server asks the client's model with lists of content blocks, which \
                           exist since revision 2025-11-25";

impl Bridge {
    /// Handles an event of the client. The caller must also handle events of the connection itself,
    /// such as [`ClientEvent::Reopen`].
    pub fn handle_client_event(&mut self, now: Instant, event: ClientEvent, client: &mut Client) {
        self.now = now;
        #[expect(clippy::wildcard_enum_match_arm, reason = "all others concern the connection")]
        match event {
            ClientEvent::Connected(server) => {
                let era = server.era();
                // Another server may have other tools.
                self.param_headers = ParamHeaders::default();
                self.missed = MissedResources::default();
                self.upstream.connect(*server);
                self.subscribe_again(era, client);
                for request in core::mem::take(&mut self.waiting) {
                    self.request(request, era, client);
                }
            }
            ClientEvent::Response { call, result } => {
                self.response(call, result, client);
                // The response may have made room.
                self.send_own(client);
            }
            ClientEvent::Input(input) => self.input(*input, client),
            ClientEvent::InputCancelled { input } => {
                self.parked.withdraw(input);
                let ticket = self.inputs.withdraw(input);
                self.withdraw(ticket);
            }
            ClientEvent::ChangesMissed => self.report_everything(),
            ClientEvent::NoStream { .. } => self.lose_stream(client),
            ClientEvent::Disconnected(_) => self.keep_subscriptions(client),
            ClientEvent::Forwarded { call, method, params } => {
                self.notification(call, method, params, client);
            }
            ClientEvent::Closed(error) => {
                let error = self.upstream.close(error.as_ref());
                for request in core::mem::take(&mut self.waiting) {
                    self.fail(request.about, error.clone());
                }
                for (about, tickets) in self.inputs.end_rounds() {
                    self.withdraw(tickets);
                    self.fail(about, error.clone());
                }
                self.end_listeners();
                self.openings.drop_requests();
                self.sessions.stop_retries();
                // Only the sessions go on, at the next connection.
                self.param_headers = ParamHeaders::default();
                self.missed = MissedResources::default();
                self.parked = Parked::default();
            }
            _ => {}
        }
    }

    fn response(&mut self, id: CallId, result: Result<Json, CallError>, client: &mut Client) {
        if let Some(call) = self.own.take(id) {
            return self.handle_own_answer(call, &result);
        }
        // The call may have been cancelled.
        let Some(call) = self.calls.remove(id) else { return };
        self.end_input_requests(id, "the request has been answered", client);
        let up = self.upstream.era(client).unwrap_or(call.caller.era);
        let response = result.map_err(response_error);
        match call.purpose.clone() {
            CallPurpose::Answer(about) => {
                self.handle_answer(about, (id, call, up), response, client);
            }
            CallPurpose::Parked => {
                self.park_response((id, call), response, client);
            }
            CallPurpose::Handshake(about) => match response {
                Ok(result) => {
                    let result = translate::initialized(&result);
                    let result = translate::for_client(&call.caller, result);
                    self.respond(about, Outcome::Complete(result));
                }
                Err(error) => self.deliver(about, &call, up, Err(error)),
            },
            CallPurpose::Subscription { about: Some(about), uri } => {
                self.leave_listen(call.caller.session, &uri);
                let error = response.err().unwrap_or_else(|| refused(&uri));
                self.deliver(about, &call, up, Err(error));
            }
            CallPurpose::Listener { listener, uri } => {
                self.listeners.handle_answer(listener, &uri, response.is_ok());
                self.acknowledge(listener);
            }
            // The server may end a subscription, and the client may request it again.
            CallPurpose::Subscription { about: None, .. } | CallPurpose::Lists { .. } => {
                self.end_listen(call.caller.session, &call.purpose);
            }
            CallPurpose::Nobody => {}
        }
    }

    /// Handles the response to the call of a request.
    fn handle_answer(
        &mut self,
        about: ReplyId,
        (id, call, up): (CallId, UpstreamCall, Era),
        response: Result<Json, ErrorData>,
        client: &mut Client,
    ) {
        let requests =
            decide(call.caller.era, up, BridgeMessage::InputRequired) == BridgeStep::RequestInput;
        if let Ok(result) = &response
            && requests
            && translate::is_of_type(result, "input_required")
        {
            return self.request_input(about, call, result, client);
        }
        if call.method == Method::Subscribe {
            self.end_subscribe(&call, response.is_ok());
        }
        let response = response.and_then(|result| rounds::declared(&call, up, result));
        if let Some((call, response)) = self.park_response((id, call), response, client) {
            self.deliver(about, &call, up, response);
        }
    }

    /// Keeps the response of a parked call; returns the response of any other call. Answers the
    /// server's requests for input, which are no longer needed.
    fn park_response(
        &mut self,
        (id, call): (CallId, UpstreamCall),
        response: Result<Json, ErrorData>,
        client: &mut Client,
    ) -> Option<LateResponse> {
        let (late, unanswered) = self.parked.respond(id, call, response, &self.config);
        for input in unanswered {
            self.leave_input(input, "the request has been answered", client);
        }
        late
    }

    /// Handles a modern server's request for input of a legacy client.
    fn request_input(
        &mut self,
        about: ReplyId,
        mut call: UpstreamCall,
        result: &Json,
        client: &mut Client,
    ) {
        if !call.method.row().is_some_and(MethodRow::may_require_input) {
            let why = "the server asks for input that a request of this method cannot have";
            return self.fail(about, ErrorData::internal(why));
        }
        call.rounds += 1;
        let limits = &self.config.limits;
        let Limits { max_input_rounds, max_in_flight, .. } = *limits;
        if call.rounds > max_input_rounds {
            let why = alloc::format!("Limits::max_input_rounds = {max_input_rounds} are over");
            return self.fail(about, ErrorData::internal(why));
        }
        let (session, has_block_lists) = (call.caller.session, call.caller.has_block_lists);
        let requests = match self.inputs.begin(about, call, result, &self.config) {
            Ok(requests) => requests,
            Err(RoundError::Unreadable) => {
                let why = "the server has asked for input in a way that cannot be read";
                return self.fail(about, ErrorData::internal(why));
            }
            Err(RoundError::TooMany) => {
                let why = alloc::format!(
                    "the server asks for more inputs than Limits::max_in_flight = {max_in_flight}"
                );
                return self.fail(about, ErrorData::internal(why));
            }
            Err(RoundError::TooMuch(error)) => return self.fail(about, error.describe(limits)),
        };
        let has_lists = |it: &RoundRequest| translate::has_block_lists(&it.method, &it.params);
        if !has_block_lists && requests.iter().any(has_lists) {
            self.inputs.end_round(about);
            return self.fail(about, ErrorData::internal(BLOCK_LISTS));
        }
        for request in requests {
            let (ticket, method) = (request.ticket, request.method);
            let params = match &*method {
                "sampling/createMessage" => translate::sampling(&request.params),
                _ => translate::elicitation(Era::Legacy, &method, &request.params, ticket.0),
            };
            let request = InputRequest::Forwarded { method: method.into(), params };
            let about = Some(about);
            self.actions.push_back(BridgeAction::RequestInput { session, about, request, ticket });
        }
        // The round may contain only a state, without requests.
        self.end_round(about, client);
    }

    /// Handles a legacy server's request for input of a client.
    fn input(&mut self, input: Input, client: &mut Client) {
        let Input { reply, call, request, .. } = input;
        let found = match call {
            // The call may have ended.
            Some(call) => self.calls.get(call).map(|_| (call, true)),
            None => self.calls.of_one_client(UpstreamCall::may_ask),
        };
        let found = found.and_then(|(id, is_sure)| Some((id, self.calls.get(id)?, is_sure)));
        let (session, call) = match found {
            Some((id, UpstreamCall { caller, .. }, is_sure)) if caller.era == Era::Modern => {
                let Some(error) = input_refusal(&caller.capabilities, &request) else {
                    let any_call_of = Some(caller.session).filter(|_| !is_sure);
                    let input = PendingInput { reply, request, any_call_of };
                    return self.require_input(id, input, client);
                };
                let error = ErrorData::in_revision(&error, ProtocolVersion::LATEST_LEGACY);
                return client.answer(self.now, reply, Err(error));
            }
            Some((id, call, is_sure)) => {
                (call.caller.session, Some((id, call)).filter(|_| is_sure))
            }
            None => {
                let Some(session) = self.only_client_of(call) else {
                    return client.answer(self.now, reply, Err(ErrorData::internal(UNNAMED)));
                };
                (session, None)
            }
        };
        let about = call.and_then(|(_, call)| call.purpose.about());
        let ends_with = call.map(|(id, _)| id).filter(|_| ends_with_call(&request));
        let ticket = self.inputs.ask(reply, ends_with);
        let request = BridgeAction::RequestInput { session, about, request, ticket };
        let until = self.now + self.config.limits.input_timeout;
        self.actions.extend(self.openings.admit((session, ticket), until, request));
    }

    /// Handles a request for input whose call has ended. If the request may be about another call
    /// of the same client, this call asks for the input. Otherwise the server gets an error.
    pub(super) fn leave_input(
        &mut self,
        input: PendingInput,
        why: &'static str,
        client: &mut Client,
    ) {
        let other = input.any_call_of.and_then(|session| {
            self.calls.of_one_client(|call| {
                call.may_ask()
                    && call.caller.session == session
                    && missing_capability(&call.caller.capabilities, &input.request).is_none()
            })
        });
        match other {
            Some((call, _)) => self.require_input(call, input, client),
            None => client.answer(self.now, input.reply, Err(ErrorData::internal(why))),
        }
    }

    /// Ends the requests to a legacy client that belong to a call: cancels them at the client, and
    /// answers the server.
    pub(super) fn end_input_requests(
        &mut self,
        call: CallId,
        why: &'static str,
        client: &mut Client,
    ) {
        for (ticket, reply) in self.inputs.end_call(call) {
            self.withdraw([ticket]);
            client.answer(self.now, reply, Err(ErrorData::internal(why)));
        }
    }

    /// The client that a message is about which names no pending call: the only client. A call that
    /// has ended may have been one of an earlier client.
    fn only_client_of(&self, ended: Option<CallId>) -> Option<SessionRef> {
        self.only_client().filter(|session| ended.is_none() || self.calls.are_all_of(*session))
    }

    /// The only session, if no client without a session has requests in flight.
    fn only_client(&self) -> Option<SessionRef> {
        let is_other = |call: &UpstreamCall| call.caller.era == Era::Modern || call.caller.is_lone;
        self.sessions.only().filter(|_| self.calls.find(is_other).is_empty())
    }

    fn notification(
        &mut self,
        call: Option<CallId>,
        method: String,
        params: Json,
        client: &mut Client,
    ) {
        let up = self.upstream.era(client).unwrap_or(Era::Legacy);
        let message = BridgeMessage::of_server(&method);
        let known = call.and_then(|call| self.calls.get(call).map(|it| (call, it)));
        match (message, known) {
            (BridgeMessage::Changed, _) if up == Era::Legacy => self.changed(&method, &params),
            (_, Some((call, forwarded))) => {
                let (purpose, session) = (forwarded.purpose.clone(), forwarded.caller.session);
                let listens = forwarded.method == Method::Listen;
                let then = decide(forwarded.caller.era, up, message);
                match (purpose, then) {
                    (_, BridgeStep::Drop) => {}
                    (CallPurpose::Subscription { about, uri }, BridgeStep::Answer) => {
                        self.handle_acknowledged(call, (about, uri), &params, client);
                    }
                    (CallPurpose::Lists { .. }, BridgeStep::Answer) => {
                        self.handle_lists_acknowledged((call, session), &params, client);
                    }
                    (CallPurpose::Subscription { .. }, BridgeStep::Translate) => {
                        let params = translate::without_subscription(&params);
                        self.notify_session(session, method, params);
                    }
                    (CallPurpose::Lists { .. }, BridgeStep::Translate) => {
                        self.changed(&method, &translate::without_subscription(&params));
                    }
                    (CallPurpose::Answer(about), _)
                        if listens && message == BridgeMessage::Acknowledged =>
                    {
                        let missed = self.missed_changes(call, &params, client);
                        self.notify(about, method, params);
                        for (method, params) in missed {
                            self.notify(about, method, params);
                        }
                    }
                    (CallPurpose::Answer(about), _) => self.forward(call, about, method, params),
                    _ => {}
                }
            }
            // The call of the notification has ended. It may have been of another client.
            (_, None) if call.is_some() && self.only_client_of(call).is_none() => {}
            (BridgeMessage::Report, None) => self.report(method, params),
            (_, None) => self.changed(&method, &params),
        }
    }

    /// Forwards a notification about a call to its client, unless it is progress that must not be
    /// forwarded.
    fn forward(&mut self, call: CallId, about: ReplyId, method: String, params: Json) {
        if method != "notifications/progress" || self.calls.advance(call, &params) {
            self.notify(about, method, params);
        }
    }

    /// Sends a log message that names no request to its client, if only one client is possible.
    fn report(&mut self, method: String, params: Json) {
        if let Some(session) = self.only_client() {
            self.notify_session(session, method, params);
        } else if let Some((call, _)) = self.calls.of_one_client(UpstreamCall::may_log)
            && let Some(about) = self.calls.get(call).and_then(|call| call.purpose.about())
        {
            self.notify(about, method, params);
        }
    }

    /// Forwards to all clients of the connection a notification of a legacy server that belongs to
    /// no request, or a changed list of a modern server.
    pub(super) fn changed(&mut self, method: &str, params: &Json) {
        let updated = (method == "notifications/resources/updated")
            .then(|| uri_of(params).unwrap_or_default());
        for about in self.listeners.of(method, updated.as_deref()) {
            self.notify(about, method.into(), params.clone());
        }
        for session in self.sessions.of(updated.as_deref(), !self.listeners.is_empty()) {
            self.notify_session(session, method.into(), params.clone());
        }
    }

    pub(super) fn notify(&mut self, about: ReplyId, method: String, params: Json) {
        let notification = Notification::Forwarded { method, params };
        self.actions.push_back(BridgeAction::Notify { about, notification });
    }

    pub(super) fn notify_session(&mut self, session: SessionRef, method: String, params: Json) {
        let notification = Notification::Forwarded { method, params };
        self.actions.push_back(BridgeAction::NotifySession { session, notification });
    }
}

/// The error for a client whose call has no result.
fn response_error(error: CallError) -> ErrorData {
    if let CallError::Error { error, .. } = error {
        return error;
    }
    ErrorData::internal(if let CallError::Http { status } = error {
        alloc::format!("the server's answer with HTTP status {status} has no response")
    } else {
        alloc::format!("the server has not answered: {error}")
    })
}

/// The error of a legacy server's request that a modern client cannot get: its capabilities lack
/// what the request needs, or no result may ask for such input.
fn input_refusal(capabilities: &Json, request: &InputRequest) -> Option<ProtocolError> {
    let inputs = [Method::Elicit, Method::CreateMessage, Method::ListRoots];
    if !inputs.iter().any(|input| input.name() == request.method()) {
        return Some(ProtocolError::MethodNotFound { method: request.method().into() });
    }
    let capability = missing_capability(capabilities, request)?;
    Some(ProtocolError::UndeclaredInput { capability })
}

/// Returns whether a request for input ends with its call. A server may list roots at any time, for
/// example after `notifications/roots/list_changed`.
fn ends_with_call(request: &InputRequest) -> bool {
    request.method_name() != "roots/list"
}
