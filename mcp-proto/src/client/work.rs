//! Work of a client: what its application asks, and is asked, until it ends.
//!
//! In: calls and answers of the application; requests, results and notifications of the server; the
//! [`Life`] that says which server that is. Out: messages and events, in the outbox.
//!
//! | input | output |
//! |---|---|
//! | a call | a request of the era, or of none: it waits until the era is known |
//! | a result | `Response`; `Input` for each input that the server needs; the call again, for the next page or with its input |
//! | a request | `Input`, or an answer |
//! | a notification | `Progress`, `Log`, `Changed`, `Subscribed`, `ElicitationComplete`, or `Notification` |
//! | the loss of the session or of the stream | calls that may be repeated wait; the others end |

use alloc::vec::Vec;

use super::binding::{MessageSource, TransportKind};
use super::call::{Call, Completed, Goal, State};
use super::call_error::CallError;
use super::calls::{self, Calls};
use super::compose;
use super::config::Config;
use super::event::{CallOptions, ClientEvent, SubscriptionId};
use super::inputs::{DroppedInput, Inputs};
use super::life::Life;
use super::notification::Notice;
use super::outbox::Outbox;
use super::result::ResultType;
use super::subscriptions::{Ask, Subscriptions};
use crate::change::Change;
use crate::error::{ProtocolError, UsageError};
use crate::json::Json;
use crate::message::{Notification, Outgoing, Request, RequestId};
use crate::time::{Duration, Instant};
use crate::types::{LoggingLevel, SubscriptionFilter};
use crate::version::Era;

/// The application's side of a client.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) config: Config,
    pub(super) binding: TransportKind,
    /// The least severe log messages that are wanted; none said yet if `None`.
    pub(super) log_level: Option<LoggingLevel>,
    pub(super) calls: Calls,
    pub(super) inputs: Inputs,
    pub(super) subscriptions: Subscriptions,
    pub(super) outbox: Outbox,
}

/// The end of an attempt to send a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sending {
    /// It is in flight.
    Sent,
    /// It needs no request, or waits for room.
    Settled,
    /// It waits for a connection.
    Unconnected,
    /// It waits for a server that has shown its era: it must not be sent twice.
    Unproven,
}

impl Work {
    pub(super) fn new(config: Config, binding: TransportKind) -> Self {
        Self {
            config,
            binding,
            log_level: None,
            calls: Calls::default(),
            inputs: Inputs::default(),
            subscriptions: Subscriptions::default(),
            outbox: Outbox::default(),
        }
    }

    /// Whether there is room for a call with these parameters.
    pub(super) fn admit(&self, life: &Life, params: &Json) -> Result<(), UsageError> {
        if life.is_closed() {
            return Err(UsageError::Closed);
        }
        let may_wait = life.era().is_none() || self.outbox.holds();
        self.calls.admit(params.as_bytes().len(), may_wait, &self.config.limits)
    }

    /// Asks a legacy server for what the subscriptions need.
    pub(super) fn send_asks(&mut self, now: Instant, life: &mut Life) {
        while let Some(ask) = self.subscriptions.next_ask() {
            let params = ask.params();
            let has_room = self.admit(life, &params).is_ok();
            let Ask { subscription, uri } = ask;
            let mut options = CallOptions::default();
            let (method, goal) = match subscription {
                Some(id) if !has_room => {
                    self.subscriptions.answered(id, &uri, false, &mut self.outbox);
                    continue;
                }
                Some(subscription) => {
                    options.max_total = Duration::MAX;
                    ("resources/subscribe", Goal::Subscribe { subscription, uri })
                }
                // Its notifications go nowhere.
                None if !has_room => continue,
                None => ("resources/unsubscribe", Goal::Nobody),
            };
            let number = self.calls.number();
            let call = Call::new(now, number, method.into(), params, options, goal);
            self.send(now, life, number, call);
        }
    }

    /// Sends a call under this number.
    pub(super) fn send(
        &mut self,
        now: Instant,
        life: &mut Life,
        number: u64,
        mut call: Call,
    ) -> Sending {
        let Some(era) = life.era() else {
            // The next page, or the input, of a call whose server is asked for its versions again.
            if call.is_sent() {
                call.state = State::Waiting;
            }
            call.rest();
            self.calls.insert(number, call);
            return Sending::Unconnected;
        };
        if self.outbox.holds() {
            self.calls.hold(now, number, call);
            self.outbox.look_soon(now);
            return Sending::Settled;
        }
        if let Goal::Notification = call.goal {
            if era == Era::Legacy || call.method != "notifications/roots/list_changed" {
                let Call { method, params, .. } = call;
                self.outbox.send(Outgoing::Notification { method, params });
            }
            return Sending::Settled;
        }
        if call.method == "logging/setLevel" && (era == Era::Modern || life.lacks_logging()) {
            if era == Era::Legacy {
                self.outbox.fault(ProtocolError::LoggingNotDeclared);
            }
            self.finish(now, life, call, Ok(Json::EMPTY_OBJECT));
            return Sending::Settled;
        }
        if let Goal::Listen { subscription } = call.goal {
            self.subscriptions.reopen(subscription);
            if let Some(session) = life.legacy() {
                let has = &session.server().capabilities;
                self.subscriptions.begin_legacy(subscription, has, &mut self.outbox);
                self.send_asks(now, life);
                return Sending::Settled;
            }
        }
        // Over HTTP each request says its version in a header, and a refusal has a status.
        let is_unproven = self.binding == TransportKind::Stream && life.is_unconfirmed();
        if is_unproven && !call.is_idempotent() {
            call.wait();
            self.calls.insert(number, call);
            return Sending::Unproven;
        }
        let envelope = life.modern().map(|modern| &modern.envelope);
        self.outbox.send(call.request(number, era, envelope, self.log_level));
        call.sent(now, era, self.inputs.rests(call.id));
        self.calls.insert(number, call);
        Sending::Sent
    }

    /// The stream of a request is of no interest any more.
    pub(super) fn abort(&mut self, number: u64) {
        if self.binding == TransportKind::Http {
            self.outbox.abort(compose::id(number));
        }
    }

    /// The response to a call is not wanted any more.
    pub(super) fn stop(&mut self, now: Instant, life: &mut Life, number: u64, error: CallError) {
        let max_in_flight = self.config.limits.max_in_flight;
        let Some(call) = self.calls.abandon(number, max_in_flight) else { return };
        if call.is_sent() {
            self.abort(number);
            // Over HTTP the end of its stream tells a modern server.
            if life.understands() && (self.binding == TransportKind::Stream || life.is_legacy()) {
                self.outbox.send(Outgoing::cancelled(&compose::id(number)));
            }
        }
        self.finish(now, life, call, Err(error));
    }

    /// A call fails, if it is not over.
    pub(super) fn fail(&mut self, now: Instant, life: &mut Life, number: u64, error: CallError) {
        if let Some(call) = self.calls.remove(number) {
            self.finish(now, life, call, Err(error));
        }
    }

    /// A call that was taken out is over.
    pub(super) fn finish(
        &mut self,
        now: Instant,
        life: &mut Life,
        call: Call,
        result: Result<Json, CallError>,
    ) {
        let id = call.id;
        // Over HTTP a legacy server cannot say that it needs no input any more: the stream of the
        // call is closed.
        if matches!(call.state, State::AwaitingInput(_)) || result.is_err() {
            while let Some(dropped) = self.inputs.drop_of_call(id) {
                self.drop_input(life, dropped);
            }
        }
        match call.goal {
            Goal::Answer | Goal::Pages(_) => {
                self.outbox.event(ClientEvent::Response { call: id, result });
            }
            Goal::Listen { subscription, .. } => {
                self.subscriptions.end(subscription, result.map(|_| ()), &mut self.outbox);
            }
            Goal::Subscribe { subscription, uri } => {
                let is_told = result.is_ok();
                self.subscriptions.answered(subscription, &uri, is_told, &mut self.outbox);
                self.send_asks(now, life);
            }
            Goal::Nobody | Goal::Notification => {}
        }
    }

    /// An input is not wanted any more.
    pub(super) fn drop_input(&mut self, life: &mut Life, dropped: DroppedInput) {
        let DroppedInput { id, batch } = dropped;
        life.leave_batch(batch, &mut self.outbox);
        self.outbox.event(ClientEvent::InputCancelled { input: id });
    }

    /// A request of the server; a modern one has none.
    pub(super) fn request(&mut self, life: &mut Life, request: Request, origin: MessageSource) {
        let Life::Legacy(session) = life else {
            let method = request.method.name().into();
            return self.outbox.fault(ProtocolError::UnexpectedRequest { method });
        };
        let Self { config, inputs, outbox, .. } = self;
        if session.handle_request(request, origin, config, inputs, outbox) {
            self.calls.rest(&self.inputs);
        }
    }

    /// The result of a call; returns a call that is to be sent again, for the next page or with its
    /// input.
    pub(super) fn answered(
        &mut self,
        now: Instant,
        life: &mut Life,
        number: u64,
        kind: ResultType,
        result: Json,
    ) -> Option<Call> {
        let mut call = self.calls.remove(number)?;
        let error = match kind {
            _ if !result.raw().is_object() => {
                ProtocolError::InvalidResult { expected: "an object" }
            }
            ResultType::Complete | ResultType::Untyped => {
                match call.complete(result, &self.config.limits) {
                    Completed::NextPage => return Some(call),
                    Completed::Over(result) => self.finish(now, life, call, result),
                }
                return None;
            }
            ResultType::InputRequired => {
                match self.inputs.require(&call, &result, &self.config, &mut self.outbox) {
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
        self.finish(now, life, call, Err(CallError::Protocol(error)));
        None
    }

    /// A notification of the server; returns whether a call has got further.
    pub(super) fn notification(
        &mut self,
        now: Instant,
        life: &mut Life,
        notification: &Notification,
    ) -> bool {
        let is_proper = match Notice::read(notification) {
            Some(Notice::Progress(params)) => {
                let told = self.calls.progressed(now, params, &self.inputs);
                if let Ok(Some((call, progress))) = told {
                    self.outbox.event(ClientEvent::Progress { call, progress });
                    return true;
                }
                told.is_ok()
            }
            Some(Notice::Changed { change, listen }) => {
                self.changed(life, change, listen).is_some()
            }
            Some(Notice::Acknowledged { listen, honoured }) => {
                self.acknowledged(listen, honoured).is_some()
            }
            Some(Notice::Cancelled(id)) => {
                self.cancelled(now, life, &id);
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

    fn changed(&mut self, life: &Life, change: Change, listen: Option<u64>) -> Option<()> {
        if life.is_legacy() {
            self.subscriptions.changed_legacy(&change, &mut self.outbox);
            return Some(());
        }
        // "The server MUST NOT send notification types the client has not explicitly requested", and
        // the id of the subscription is what says where each belongs.
        let listen = listen?;
        // What was under way when the subscription was ended is of no interest.
        if self.calls.is_abandoned(listen) {
            return Some(());
        }
        let subscription = self.calls.subscription(listen)?;
        self.subscriptions.changed_modern(subscription, change, &mut self.outbox)
    }

    /// The server has acknowledged the subscription that the request with this number is.
    fn acknowledged(&mut self, listen: u64, honoured: Option<SubscriptionFilter>) -> Option<()> {
        if self.calls.is_abandoned(listen) {
            return Some(());
        }
        let honoured = honoured?;
        let subscription = self.calls.subscription(listen)?;
        if let Some(call) = self.calls.get_mut(listen) {
            call.options.timeout = Duration::MAX;
            call.rest();
        }
        self.subscriptions.honoured(subscription, honoured, &mut self.outbox);
        Some(())
    }

    fn cancelled(&mut self, now: Instant, life: &mut Life, id: &RequestId) {
        if let Some(dropped) = self.inputs.drop_request(id) {
            self.drop_input(life, dropped);
            self.calls.resume(now, &self.inputs);
        }
        // A modern server ends a subscription so, on a byte stream, after its result or without.
        let is_listen = |it: &u64| self.calls.get(*it).is_some_and(Call::is_subscription);
        let listen = calls::number(id).filter(is_listen);
        if let Some(call) = listen.and_then(|number| self.calls.remove(number)) {
            self.finish(now, life, call, Ok(Json::constant(r#"{"resultType":"complete"}"#)));
        }
    }

    /// Calls that were sent on a stream that has ended: idempotent ones wait to be sent again if the
    /// next server is of the other era, and no others are sent again.
    pub(super) fn recall(&mut self, now: Instant, life: &mut Life) {
        for number in self.calls.numbers_of(Call::is_sent) {
            match self.calls.get_mut(number) {
                Some(call) if call.is_idempotent() => {
                    call.park(CallError::Closed, life.before().era());
                }
                _ => self.fail(now, life, number, CallError::Interrupted),
            }
        }
    }

    /// A session is over. Calls in flight are repeated if they are idempotent; others fail, since the
    /// server may have executed them. Returns the subscriptions that are to be asked for again.
    pub(super) fn leave_session(&mut self, now: Instant, life: &mut Life) -> Vec<SubscriptionId> {
        self.inputs.end(&mut self.outbox);
        let subscriptions = self.subscriptions.forget_session();
        for number in self.calls.numbers_of(Call::is_sent) {
            self.abort(number);
            let Some(call) = self.calls.remove(number) else { continue };
            // Subscriptions are asked for again; nobody waits for the others.
            if !matches!(call.goal, Goal::Answer | Goal::Pages(_)) {
                continue;
            }
            if call.is_idempotent() {
                self.calls.wait(call);
            } else {
                self.finish(now, life, call, Err(CallError::SessionExpired));
            }
        }
        subscriptions
    }

    /// A byte stream has ended, or could not be opened. Subscriptions wait; other calls fail, unless
    /// they were never sent. Returns the subscriptions that are to be asked for again.
    pub(super) fn leave_stream(
        &mut self,
        now: Instant,
        life: &mut Life,
        era: Era,
    ) -> Vec<SubscriptionId> {
        let is_legacy = era == Era::Legacy;
        let subscriptions =
            if is_legacy { self.subscriptions.forget_session() } else { Vec::new() };
        self.inputs.end(&mut self.outbox);
        for number in self.calls.numbers_of(|call| !matches!(call.state, State::Waiting)) {
            let Some(mut call) = self.calls.remove(number) else { continue };
            if let Goal::Listen { .. } = call.goal {
                call.begin_anew();
                self.calls.wait(call);
            } else {
                let error = call.interruption(CallError::Closed);
                self.finish(now, life, call, Err(error));
            }
        }
        subscriptions
    }

    /// Returns whether a request outlives the attempts that fail: that of a subscription that has
    /// begun. One that the server has never honoured fails like a call.
    pub(super) fn lives_on(&self, call: &Call) -> bool {
        call.listens().is_some_and(|id| self.subscriptions.has_begun(id))
    }

    /// Every call, input and subscription ends, for this reason.
    pub(super) fn end(&mut self, now: Instant, life: &mut Life, cause: &CallError) {
        self.inputs.end(&mut self.outbox);
        self.subscriptions.end_all(cause, &mut self.outbox);
        for number in self.calls.numbers_of(|_| true) {
            if let Some(call) = self.calls.remove(number) {
                let error = call.interruption(cause.clone());
                self.finish(now, life, call, Err(error));
            }
        }
        // Nothing is due any more.
        self.calls.expire(now);
    }
}
