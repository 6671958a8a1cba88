//! The core of a client: the calls, inputs and subscriptions of its application.
//!
//! In: calls and answers of the application; requests, results and notifications of the server; the
//! [`Conn`] with the facts about the server. Out: messages and events, in the outbox.
//!
//! | input | output |
//! |---|---|
//! | a call | a request of the era, or of none: it waits until the era is known |
//! | a result | `Response`; `Input` for each input that the server needs; the call again, for the next page or with its input |
//! | a request | `Input`, or an answer |
//! | a notification | `Progress`, `Log`, `Changed`, `Subscribed`, `ElicitationComplete`, or `Notification` |
//! | the loss of the session or of the stream | calls that may be repeated wait; the others end |

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::binding::{BindingKind, MessageSource};
use super::cache::access::CacheAccess;
use super::call::{Call, Completed, Goal, Sending, State};
use super::call_error::CallError;
use super::calls::{self, Calls};
use super::compose;
use super::config::Config;
use super::connection::Conn;
use super::event::{CallOptions, ClientEvent, SubscriptionId};
use super::inputs::{DroppedInput, Inputs};
use super::notification::Notice;
use super::outbox::Outbox;
use super::result::ResultType;
use super::subscriptions::{ResourceRequest, Subscriptions};
use crate::change::Change;
use crate::error::{ProtocolError, UsageError};
use crate::json::Json;
use crate::message::{Notification, Outgoing, Request, RequestId};
use crate::time::{Duration, Instant};
use crate::types::{LoggingLevel, SubscriptionFilter};
use crate::version::Era;

/// The application's side of a client.
#[derive(Debug)]
pub(super) struct ClientCore {
    pub(super) config: Config,
    pub(super) binding: BindingKind,
    /// The least severe log messages that the client wants; `None` if no level was set.
    pub(super) log_level: Option<LoggingLevel>,
    pub(super) calls: Calls,
    pub(super) inputs: Inputs,
    pub(super) subscriptions: Subscriptions,
    pub(super) cache: CacheAccess,
    pub(super) outbox: Outbox,
}

impl ClientCore {
    pub(super) fn new(config: Config, binding: BindingKind) -> Self {
        let cache = config.cache.as_ref().filter(|_| !config.forwards);
        Self {
            cache: CacheAccess::new(cache, binding == BindingKind::Http),
            config,
            binding,
            log_level: None,
            calls: Calls::default(),
            inputs: Inputs::default(),
            subscriptions: Subscriptions::default(),
            outbox: Outbox::default(),
        }
    }

    /// Checks that there is room for a call with these parameters.
    pub(super) fn admit(&self, conn: &Conn, params: &Json) -> Result<(), UsageError> {
        if conn.is_closed() {
            return Err(UsageError::Closed);
        }
        let may_wait = conn.era().is_none() || self.outbox.holds_calls();
        self.calls.admit(params.as_bytes().len(), may_wait, &self.config.limits)
    }

    /// Sends the requests that subscriptions need to a legacy server.
    pub(super) fn send_resource_requests(&mut self, now: Instant, conn: &mut Conn) {
        while let Some(request) = self.subscriptions.next_resource_request() {
            let params = request.params();
            let has_room = self.admit(conn, &params).is_ok();
            let ResourceRequest { subscription, uri } = request;
            let mut options = CallOptions::default();
            let (method, goal) = match subscription {
                // Without a request to unsubscribe, further notifications are simply ignored.
                _ if !has_room => {
                    self.subscriptions.answered(subscription, &uri, false, &mut self.outbox);
                    continue;
                }
                Some(_) => {
                    options.max_total = Duration::MAX;
                    ("resources/subscribe", Goal::Subscribe { subscription, uri })
                }
                None => ("resources/unsubscribe", Goal::Subscribe { subscription, uri }),
            };
            let number = self.calls.number();
            let call = Box::new(Call::new(now, number, method.into(), params, options, goal));
            self.send(now, conn, number, call);
        }
    }

    /// Sends a call under this number.
    pub(super) fn send(
        &mut self,
        now: Instant,
        conn: &mut Conn,
        number: u64,
        mut call: Box<Call>,
    ) -> Sending {
        let Some(era) = conn.era() else {
            // The era is negotiated again; until the result is known, the next page or the input
            // waits.
            if call.is_sent() {
                call.state = State::Waiting;
            }
            call.pause_timeout();
            self.calls.insert(number, call);
            return Sending::Unconnected;
        };
        if self.outbox.holds_calls() {
            self.calls.hold(now, number, call);
            self.outbox.check_soon(now);
            return Sending::Settled;
        }
        if let Goal::Notification = call.goal {
            if era == Era::Legacy || call.method != "notifications/roots/list_changed" {
                let Call { method, params, .. } = *call;
                self.outbox.send(Outgoing::Notification { method, params });
            }
            return Sending::Settled;
        }
        if call.method == "logging/setLevel" && (era == Era::Modern || conn.lacks_logging()) {
            if era == Era::Legacy {
                self.outbox.fault(ProtocolError::LoggingNotDeclared);
            }
            self.finish(now, conn, call, Ok(Json::EMPTY_OBJECT));
            return Sending::Settled;
        }
        if let Goal::Listen { subscription } = call.goal {
            self.subscriptions.reopen(subscription);
            if let Some(session) = conn.legacy() {
                let has = &session.server().capabilities;
                self.subscriptions.begin_legacy(subscription, has, &mut self.outbox);
                self.send_resource_requests(now, conn);
                return Sending::Settled;
            }
        }
        // Over HTTP each request names its version in a header, and a refusal has a status.
        let is_unproven = self.binding == BindingKind::Stream && conn.is_unconfirmed();
        if is_unproven && !call.is_idempotent() {
            call.wait();
            self.calls.insert(number, call);
            return Sending::Unproven;
        }
        let envelope = conn.modern().map(|modern| &modern.envelope);
        self.outbox.send(call.request(number, era, envelope, &self.config, self.log_level));
        call.sent(now, era, self.inputs.awaits_legacy_input(call.id));
        self.calls.insert(number, call);
        Sending::Sent
    }

    /// Aborts the stream of a request, which is no longer needed.
    pub(super) fn abort(&mut self, number: u64) {
        if self.binding == BindingKind::Http {
            self.outbox.abort(compose::id(number));
        }
    }

    /// Removes a call; if it was sent, cancels its request, perhaps with a reason.
    pub(super) fn withdraw(
        &mut self,
        conn: &Conn,
        (number, reason): (u64, Option<&str>),
    ) -> Option<Box<Call>> {
        let call = self.calls.abandon(number, self.config.limits.max_in_flight)?;
        if let State::Sent { era, .. } = call.state {
            self.abort(number);
            // Over HTTP the end of the request's stream cancels the call at a modern server.
            let cancels = self.binding == BindingKind::Stream || era == Era::Legacy;
            if conn.understands() && cancels && !call.is_queued() {
                self.outbox.send(Outgoing::cancelled(&compose::id(number), reason));
            }
        }
        Some(call)
    }

    /// Fails a call, unless it is over.
    pub(super) fn fail(&mut self, now: Instant, conn: &mut Conn, number: u64, error: CallError) {
        if let Some(call) = self.calls.remove(number) {
            self.finish(now, conn, call, Err(error));
        }
    }

    /// Reports the outcome of a call that was removed.
    pub(super) fn finish(
        &mut self,
        now: Instant,
        conn: &mut Conn,
        mut call: Box<Call>,
        result: Result<Json, CallError>,
    ) {
        let id = call.id;
        let ticket = call.ticket.take();
        let result = result.map_err(|error| call.failure(error)).or_else(|error| {
            self.cache.fail(now, call.cacheable(), ticket, error, &self.config.limits)
        });
        // Over HTTP a legacy server cannot cancel its request for input any more: the stream of the
        // call is closed.
        if matches!(call.state, State::AwaitingInput(_)) || result.is_err() {
            while let Some(dropped) = self.inputs.drop_of_call(id) {
                self.drop_input(conn, dropped);
            }
        }
        match call.goal {
            Goal::Answer { .. } | Goal::Pages(_) | Goal::Task(_) => {
                self.outbox.event(ClientEvent::Response { call: id, result });
            }
            Goal::Listen { subscription, .. } => {
                self.subscriptions.end(subscription, result.map(|_| ()), &mut self.outbox);
            }
            Goal::Subscribe { subscription, uri } => {
                let is_accepted = result.is_ok();
                self.subscriptions.answered(subscription, &uri, is_accepted, &mut self.outbox);
                self.send_resource_requests(now, conn);
            }
            Goal::Notification => self.outbox.unsent_notification(&call.method, result.err()),
            Goal::Nobody => {}
        }
    }

    /// Reports an input that is no longer needed.
    pub(super) fn drop_input(&mut self, conn: &mut Conn, dropped: DroppedInput) {
        conn.leave_batch(dropped.batch, &mut self.outbox);
        self.outbox.event(ClientEvent::InputCancelled { input: dropped.id });
    }

    /// Handles a request of the server; modern servers send none.
    pub(super) fn request(&mut self, conn: &mut Conn, request: Request, origin: MessageSource) {
        let Conn::Legacy(session) = conn else {
            let method = request.method.name().into();
            return self.outbox.fault(ProtocolError::UnexpectedRequest { method });
        };
        let Self { config, inputs, outbox, .. } = self;
        if session.handle_request(request, origin, config, inputs, outbox) {
            self.calls.pause_timeouts(&self.inputs);
        }
    }

    /// Handles the result of a call; returns the call to send it again, for a page or with input.
    pub(super) fn answered(
        &mut self,
        now: Instant,
        conn: &mut Conn,
        number: u64,
        kind: ResultType,
        result: Json,
    ) -> Option<Box<Call>> {
        let mut call = self.calls.remove(number)?;
        self.cache.put(now, call.ticket.take(), &result);
        let error = match kind {
            _ if !result.raw().is_object() => {
                ProtocolError::InvalidResult { expected: "an object" }
            }
            ResultType::Complete | ResultType::Untyped => {
                match call.complete(result, &self.config.limits) {
                    Completed::NextPage => return Some(call),
                    Completed::Over(result) => self.finish(now, conn, call, result),
                }
                return None;
            }
            ResultType::InputRequired => {
                match self.inputs.require_inputs(&call, &result, &self.config, &mut self.outbox) {
                    Ok(asking) => {
                        if call.ask(asking) {
                            return Some(call);
                        }
                        self.calls.insert(number, call);
                        return None;
                    }
                    Err(error) => error,
                }
            }
            ResultType::Unknown(name) => ProtocolError::UnknownResultType { name },
        };
        self.finish(now, conn, call, Err(CallError::Protocol(error)));
        None
    }

    /// Handles a notification of the server; returns whether a call has progressed.
    pub(super) fn notification(
        &mut self,
        now: Instant,
        conn: &mut Conn,
        notification: &Notification,
    ) -> bool {
        let is_proper = match Notice::read(notification) {
            Some(Notice::Progress(params)) => {
                let progress = self.calls.progressed(now, params, &self.inputs);
                if let Ok(Some((call, progress))) = progress {
                    self.outbox.event(ClientEvent::Progress { call, progress });
                    return true;
                }
                progress.is_ok()
            }
            Some(Notice::Changed { change, listen }) => {
                self.changed(conn, change, listen).is_some()
            }
            Some(Notice::Acknowledged { listen, honoured }) => {
                self.acknowledged(listen, honoured).is_some()
            }
            Some(Notice::Cancelled(id)) => {
                self.cancelled(now, conn, &id);
                true
            }
            Some(Notice::Event(event)) => {
                self.outbox.event(event);
                true
            }
            None => false,
        };
        if !is_proper {
            let method = notification.method.name().into();
            self.outbox.fault(ProtocolError::InvalidNotification { method });
        }
        false
    }

    fn changed(&mut self, conn: &Conn, change: Change, listen: Option<u64>) -> Option<()> {
        // The cache may have results of a modern server before this one, or of other clients.
        self.cache.handle_change(&change);
        if conn.is_legacy() {
            self.subscriptions.changed_legacy(&change, &mut self.outbox);
            return Some(());
        }
        // "The server MUST NOT send notification types the client has not explicitly requested",
        // and each names its subscription by id.
        let listen = listen?;
        // Notifications that arrive after the end are ignored.
        if self.calls.is_abandoned(listen) {
            return Some(());
        }
        let subscription = self.calls.subscription(listen)?;
        self.subscriptions.changed_modern(subscription, change, &mut self.outbox)
    }

    /// Handles the acknowledgement of the subscription with this request number.
    fn acknowledged(&mut self, listen: u64, honoured: Option<SubscriptionFilter>) -> Option<()> {
        if self.calls.is_abandoned(listen) {
            return Some(());
        }
        let honoured = honoured?;
        let subscription = self.calls.subscription(listen)?;
        if let Some(call) = self.calls.get_mut(listen) {
            call.options.timeout = Duration::MAX;
            call.pause_timeout();
        }
        let unreported = self.subscriptions.honoured(subscription, honoured, &mut self.outbox);
        for change in &unreported {
            self.cache.handle_change(change);
        }
        Some(())
    }

    fn cancelled(&mut self, now: Instant, conn: &mut Conn, id: &RequestId) {
        if let Some(dropped) = self.inputs.drop_request(id) {
            self.drop_input(conn, dropped);
            self.calls.resume(now, &self.inputs);
        }
        // On a byte stream a modern server ends a subscription like this, with or without a result.
        let is_listen = |it: &u64| self.calls.get(*it).is_some_and(Call::is_subscription);
        let listen = calls::number(id).filter(is_listen);
        if let Some(call) = listen.and_then(|number| self.calls.remove(number)) {
            self.finish(now, conn, call, Ok(Json::constant(r#"{"resultType":"complete"}"#)));
        }
    }

    /// Recalls the calls that were sent on a stream that has ended. Idempotent calls wait to be
    /// sent again if the next server is of the other era. Other calls fail.
    pub(super) fn recall(&mut self, now: Instant, conn: &mut Conn) {
        for number in self.calls.numbers_of(Call::is_sent) {
            match self.calls.get_mut(number) {
                Some(call) if call.is_idempotent() => {
                    call.park(CallError::Closed, conn.before().era());
                }
                _ => self.fail(now, conn, number, CallError::Interrupted),
            }
        }
    }

    /// Ends a session. Its idempotent calls are repeated; others fail, since the server may have
    /// executed them. Returns the subscriptions that must be requested again.
    pub(super) fn leave_session(&mut self, now: Instant, conn: &mut Conn) -> Vec<SubscriptionId> {
        self.inputs.end(&mut self.outbox);
        let subscriptions = self.subscriptions.forget_session();
        self.calls.restart_pages();
        for number in self.calls.of_session() {
            self.abort(number);
            let Some(call) = self.calls.remove(number) else { continue };
            // Subscriptions are requested again; other requests have no recipient.
            if !matches!(call.goal, Goal::Answer { .. } | Goal::Pages(_) | Goal::Task(_)) {
                continue;
            }
            if call.is_queued() || call.is_idempotent() {
                self.calls.wait(call);
            } else {
                self.finish(now, conn, call, Err(CallError::SessionExpired));
            }
        }
        subscriptions
    }

    /// Handles the end of a byte stream, or a failure to open it. Subscriptions wait; other calls
    /// fail, unless they were never sent. Returns the subscriptions that must be requested again.
    pub(super) fn leave_stream(
        &mut self,
        now: Instant,
        conn: &mut Conn,
        era: Era,
    ) -> Vec<SubscriptionId> {
        let subscriptions =
            if era == Era::Legacy { self.subscriptions.forget_session() } else { Vec::new() };
        self.calls.restart_pages();
        self.inputs.end(&mut self.outbox);
        for number in self.calls.numbers_of(|call| !matches!(call.state, State::Waiting)) {
            let Some(mut call) = self.calls.remove(number) else { continue };
            if let Goal::Listen { .. } = call.goal {
                call.begin_anew();
                self.calls.wait(call);
            } else {
                let error = call.interruption(CallError::Closed);
                self.finish(now, conn, call, Err(error));
            }
        }
        subscriptions
    }

    /// Ends every call, input and subscription with this cause.
    pub(super) fn end(&mut self, now: Instant, conn: &mut Conn, cause: &CallError) {
        self.inputs.end(&mut self.outbox);
        self.subscriptions.end_all(cause, &mut self.outbox);
        for number in self.calls.numbers_of(|_| true) {
            let Some(call) = self.calls.remove(number) else { continue };
            let error = call.interruption(cause.clone());
            self.finish(now, conn, call, Err(error));
        }
        // No call is due any more.
        self.calls.expire(now);
    }
}
