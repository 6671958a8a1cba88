//! What an application asks of a server, and how it is sent.
//!
//! In: calls, cancellations, notifications. Out: requests, once the era is known; what an era lacks
//! is answered here.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::calls::{Call, Goal, State};
use super::compose::{self, Extras, compose};
use super::event::Listing;
use super::http::Binding;
use super::negotiation::Before;
use super::negotiation::probe::Outcome;
use super::pages::Pages;
use super::{CallError, CallId, CallOptions, Client, ClientEvent, Life, Reason};
use crate::error::{ErrorCode, UsageError};
use crate::json::Json;
use crate::json::write::List;
use crate::message::{MethodRow, Outgoing};
use crate::time::Instant;
use crate::types::{ListChangedCapability, LoggingLevel, Root};
use crate::version::Era;

impl Client {
    /// Calls a method with parameters, an object; what the era needs in `_meta` is added. What comes
    /// of it is a [`ClientEvent::Response`]. Before the era is known it waits.
    ///
    /// Fails with [`UsageError::Closed`], with [`UsageError::NotAnObject`], with
    /// [`UsageError::TooManyCalls`] at `Limits::max_in_flight`, with
    /// [`UsageError::TooManyUnsentBytes`] at `Limits::max_unsent_bytes`, and with
    /// [`UsageError::ReservedMethod`] for `initialize`, `server/discover`, `subscriptions/listen`
    /// and notifications, which are the machine's.
    pub fn call(
        &mut self,
        now: Instant,
        method: impl Into<Cow<'static, str>>,
        params: Json,
        options: CallOptions,
    ) -> Result<CallId, UsageError> {
        let method = method.into();
        if is_reserved(&method) || method.starts_with("notifications/") {
            return Err(UsageError::ReservedMethod { method: method.into_owned() });
        }
        self.start(now, method, params, options, Goal::Answer)
    }

    /// Fetches all pages of a list. The result of the [`ClientEvent::Response`] has all items in
    /// the member that a page has some in, and no cursor; the smallest `ttlMs` and the strictest
    /// `cacheScope` of the pages, if they have some; and the `_meta` of the first one. The time for a response is that of each
    /// page.
    ///
    /// Fails as [`Client::call`] does.
    pub fn list(
        &mut self,
        now: Instant,
        listing: Listing,
        options: CallOptions,
    ) -> Result<CallId, UsageError> {
        let pages = Goal::Pages(Pages::new(listing));
        self.start(now, listing.method().into(), Json::EMPTY_OBJECT, options, pages)
    }

    /// Asks the server for a sign of life: with `ping` a legacy one, with `server/discover` a
    /// modern one, which has nothing shorter. The result is of no interest.
    ///
    /// Fails as [`Client::call`] does.
    pub fn ping(&mut self, now: Instant, options: CallOptions) -> Result<CallId, UsageError> {
        self.call(now, "ping", Json::EMPTY_OBJECT, options)
    }

    /// Says which log messages are wanted: as severe as `level`, or more. A legacy server is told
    /// at once, with `logging/setLevel`; a modern one in every request from then on, and the
    /// response comes at once.
    ///
    /// Fails as [`Client::call`] does.
    pub fn set_log_level(
        &mut self,
        now: Instant,
        level: LoggingLevel,
        options: CallOptions,
    ) -> Result<CallId, UsageError> {
        let call = self.call(now, "logging/setLevel", level_params(level), options);
        if call.is_ok() {
            self.log_level = Some(level);
        }
        call
    }

    /// Sets the roots that servers are told of when they ask, and declares that there are some. A
    /// legacy server is told when they change, as far as it was told that they might.
    ///
    /// Fails with [`UsageError::Closed`], and with [`UsageError::InvalidRoot`] for a URI that does not
    /// begin with `file://`.
    pub fn set_roots(&mut self, _now: Instant, roots: Vec<Root>) -> Result<(), UsageError> {
        self.check_open()?;
        Root::check_all(&roots)?;
        if !self.inputs.set_roots(roots) {
            return Ok(());
        }
        if self.config.capabilities.roots.is_none() {
            let changes = ListChangedCapability { list_changed: true };
            self.config.capabilities.roots = Some(changes);
            self.envelop();
        }
        if let Life::Legacy(session) = &self.life
            && session.tells_roots()
        {
            let method = "notifications/roots/list_changed";
            self.outbox.send(Outgoing::notification(method, Json::EMPTY_OBJECT));
        }
        Ok(())
    }

    /// Sends a notification, such as one of an extension, with parameters, an object. Before the
    /// era is known it waits. `notifications/roots/list_changed` goes to legacy servers alone.
    ///
    /// Fails as [`Client::call`] does; the machine's are `notifications/initialized` and
    /// `notifications/cancelled`.
    pub fn notify(
        &mut self,
        now: Instant,
        method: impl Into<Cow<'static, str>>,
        params: Json,
    ) -> Result<(), UsageError> {
        if self.binding == Binding::Http {
            self.outbox.admit(self.config.limits.max_in_flight)?;
        }
        let method = method.into();
        if is_reserved(&method) || !method.starts_with("notifications/") {
            return Err(UsageError::ReservedMethod { method: method.into_owned() });
        }
        let options = CallOptions::default();
        self.start(now, method, params, options, Goal::Notification).map(|_| ())
    }

    /// Does not want the response to a call any more: it has one at once,
    /// [`CallError::Cancelled`], and the server is told.
    ///
    /// Fails with [`UsageError::NotInFlight`] if it has had one.
    pub fn cancel(&mut self, now: Instant, call: CallId) -> Result<(), UsageError> {
        let number = self.calls.find(call).ok_or(UsageError::NotInFlight)?;
        self.stop_call(now, number, CallError::Cancelled);
        Ok(())
    }

    pub(super) fn start(
        &mut self,
        now: Instant,
        method: Cow<'static, str>,
        params: Json,
        options: CallOptions,
        goal: Goal,
    ) -> Result<CallId, UsageError> {
        self.check_open()?;
        if !params.raw().is_object() {
            return Err(UsageError::NotAnObject { name: method.into_owned() });
        }
        let may_wait = self.era().is_none() || self.outbox.holds();
        self.calls.admit(params.as_bytes().len(), may_wait, &self.config.limits)?;
        let number = self.calls.number();
        let id = CallId(number);
        let ends = now + options.max_total;
        let state = State::Waiting;
        let rounds = 0;
        let progress = None;
        let call = Call {
            id,
            method,
            params,
            options,
            goal,
            state,
            due: ends,
            ends,
            refusals: 0,
            rounds,
            progress,
        };
        self.send_call(now, number, call);
        Ok(id)
    }

    /// Sends what waits for the era to be known, and again what a server of the other era has seen.
    /// A server that serves without a handshake has `begun` with what it was sent.
    pub(super) fn send_waiting(&mut self, now: Instant, begun: bool) {
        let Some(era) = self.era() else { return };
        let numbers: Vec<u64> = self.calls.numbers_of(|_| true).collect();
        self.restore_log_level(now);
        for number in numbers {
            let Some(mut call) = self.calls.remove(number) else { continue };
            match core::mem::replace(&mut call.state, State::Waiting) {
                State::Waiting => self.send_call(now, number, call),
                State::Asking(asking) if asking.missing.is_empty() && era == Era::Modern => {
                    call.state = State::Asking(asking);
                    self.send_call(now, number, call);
                }
                // Its handler has begun, at a server that is another one by now.
                State::Asking(_) if era == Era::Legacy && !call.is_idempotent() => {
                    self.finish(now, call, Err(CallError::Interrupted));
                }
                State::Asking(asking) if asking.missing.is_empty() => self.send_anew(now, call),
                // The same server would refuse it again.
                State::Parked { error, refused_as: Era::Modern }
                    if era == Era::Modern && !is_version_error(&error) =>
                {
                    self.finish(now, call, Err(error));
                }
                State::Sent { .. } if era == Era::Legacy && !begun && call.is_idempotent() => {
                    self.calls.ignore(number);
                    self.abort(number);
                    self.send_anew(now, call);
                }
                State::Parked { .. } => self.send_anew(now, call),
                state @ (State::Sent { .. } | State::Asking(_)) => {
                    call.state = state;
                    self.calls.insert(number, call);
                }
            }
        }
    }

    /// Sends what is held, as far as there is room.
    pub(super) fn send_held(&mut self, now: Instant) {
        if self.era().is_none() {
            return;
        }
        for number in self.calls.held() {
            if self.outbox.holds() {
                return self.outbox.look_later(now);
            }
            if let Some(call) = self.calls.remove(number) {
                self.send_call(now, number, call);
            }
        }
    }

    /// Sends a call under a number that the server has not seen.
    pub(super) fn send_anew(&mut self, now: Instant, call: Call) {
        let number = self.calls.number();
        self.send_call(now, number, call);
    }

    pub(super) fn send_call(&mut self, now: Instant, number: u64, mut call: Call) {
        let Some(era) = self.era() else {
            // The next page, or the input, of a call whose server is asked for its versions again.
            if let State::Sent { .. } = call.state {
                call.state = State::Waiting;
            }
            call.rest();
            self.calls.insert(number, call);
            // It wants a connection, if there is none.
            return self.call_unconnected(now);
        };
        if self.outbox.holds() {
            self.calls.hold(now, number, call);
            return self.outbox.look_soon(now);
        }
        let lacks = |method: &str| era == Era::Modern && call.method == method;
        if let Goal::Notification = call.goal {
            if !lacks("notifications/roots/list_changed") {
                self.outbox
                    .send(Outgoing::Notification { method: call.method, params: call.params });
            }
            return;
        }
        if lacks("logging/setLevel") {
            return self.finish(now, call, Ok(Json::EMPTY_OBJECT));
        }
        if let Goal::Listen { subscription } = call.goal {
            self.subscriptions.reopen(subscription);
            if era == Era::Legacy {
                return self.subscribe_legacy(now, subscription);
            }
        }
        if self.is_unproven() && !call.is_idempotent() {
            // Whatever comes of it, it must not be sent twice: the server is asked what it is first.
            call.wait();
            self.calls.insert(number, call);
            return self.judge(now, Outcome::NotIdempotent);
        }
        let (method, params) = match era {
            Era::Modern if call.method == "ping" => ("server/discover".into(), Json::EMPTY_OBJECT),
            Era::Modern | Era::Legacy => (call.method.clone(), call.params.clone()),
        };
        let params = match &call.state {
            State::Asking(asking) => compose::with_input(&params, asking),
            State::Waiting | State::Sent { .. } | State::Parked { .. } => params,
        };
        let envelope = match &self.life {
            Life::Modern(modern) => Some(&modern.envelope),
            Life::Legacy(_)
            | Life::Unopened
            | Life::Negotiating(_)
            | Life::Reopening { .. }
            | Life::Unconnected(_)
            | Life::Closed => None,
        };
        let log_level = call.options.log_level.or(self.log_level).filter(|_| era == Era::Modern);
        let trace = call.options.trace.as_deref();
        let extras = Extras { token: call.options.progress.then_some(number), log_level, trace };
        let (stamp, params) = compose(envelope, extras, &params);
        self.outbox.send(Outgoing::Request { id: compose::id(number), method, stamp, params });
        call.state = State::Sent { era };
        call.progress = None;
        if self.inputs.rests(call.id) {
            call.rest();
        } else {
            call.restart(now);
        }
        self.calls.insert(number, call);
        self.doubt(now);
    }

    /// A server that gets further has more time to show that it is modern.
    pub(super) fn doubt_anew(&mut self, now: Instant) {
        if self.is_in_doubt() && self.binding == Binding::Stream {
            self.deadlines.set(Reason::Negotiation, now + self.config.probe_timeout);
        }
    }

    /// A server that was modern once has time to show that it is. Over HTTP its answer shows it, and
    /// silence shows nothing.
    fn doubt(&mut self, now: Instant) {
        if let Life::Modern(modern) = &self.life
            && !modern.confirmed
            && self.binding == Binding::Stream
            && !self.deadlines.has(Reason::Negotiation)
        {
            self.deadlines.set(Reason::Negotiation, now + self.config.probe_timeout);
        }
    }

    /// Whether a stored verdict is all that is known of the server at the other end of a stream. Over
    /// HTTP each request says its version in a header, and a refusal has a status.
    fn is_unproven(&self) -> bool {
        self.binding == Binding::Stream
            && matches!(&self.life, Life::Modern(modern) if !modern.confirmed)
    }

    /// Whether something was asked on the strength of a stored verdict, and nothing has shown yet
    /// that it is right.
    pub(super) fn is_in_doubt(&self) -> bool {
        matches!(&self.life, Life::Modern(modern) if !modern.confirmed)
            && self.calls.numbers_of(Call::is_sent).next().is_some()
    }

    /// A legacy server does not know yet which log messages are wanted.
    fn restore_log_level(&mut self, now: Instant) {
        let Life::Legacy(session) = &self.life else { return };
        let waits = |call: &Call| call.method == "logging/setLevel";
        let is_told = self.calls.numbers_of(waits).next().is_some();
        let Some(level) = self.log_level.filter(|_| !is_told) else { return };
        if session.server().capabilities.logging.is_some() {
            let method = "logging/setLevel".into();
            let params = level_params(level);
            // If there is no room for it, there are others that matter more.
            let _ = self.start(now, method, params, CallOptions::default(), Goal::Nobody);
        }
    }

    /// The response to a call is not wanted any more.
    pub(super) fn stop_call(&mut self, now: Instant, number: u64, error: CallError) {
        let Some(call) = self.calls.abandon(number, self.config.limits.max_in_flight) else {
            return;
        };
        // A server that turns out to be a legacy one has not understood the call either.
        let understood = match &self.life {
            Life::Negotiating(negotiating) => matches!(negotiating.before(), Before::Here(_)),
            Life::Modern(_) | Life::Legacy(_) => true,
            Life::Unopened | Life::Reopening { .. } | Life::Unconnected(_) | Life::Closed => false,
        };
        if call.is_sent() {
            self.abort(number);
            if understood && self.notifies_of_cancellation() {
                self.outbox.send(Outgoing::cancelled(&compose::id(number)));
            }
        }
        self.finish(now, call, Err(error));
    }

    /// A call that was taken out is over.
    pub(super) fn finish(&mut self, now: Instant, call: Call, result: Result<Json, CallError>) {
        let id = call.id;
        // Over HTTP a legacy server cannot say that it needs no input any more: the stream of the
        // call is closed.
        if matches!(call.state, State::Asking(_)) || result.is_err() {
            while let Some(dropped) = self.inputs.drop_of_call(id) {
                self.drop_input(dropped);
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
                self.subscribed_legacy(now, subscription, &uri, result.is_ok());
            }
            Goal::Nobody | Goal::Notification => {}
        }
    }

    /// No call will have a response.
    pub(super) fn end_calls(&mut self, now: Instant, cause: &CallError) {
        let numbers: Vec<u64> = self.calls.numbers_of(|_| true).collect();
        for number in numbers {
            if let Some(call) = self.calls.remove(number) {
                let error = call.interruption(cause.clone());
                self.finish(now, call, Err(error));
            }
        }
        // Nothing is due any more.
        self.calls.expire(now);
    }
}

fn is_version_error(error: &CallError) -> bool {
    matches!(error, CallError::Error { error, .. } if error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION)
}

/// The parameters of `logging/setLevel`.
fn level_params(level: LoggingLevel) -> Json {
    let mut params = Vec::new();
    let mut object = List::object(&mut params);
    object.text("level", level.as_str());
    object.end();
    Json::trusted(params)
}

fn is_reserved(method: &str) -> bool {
    MethodRow::named(method).is_some_and(MethodRow::is_reserved_to_clients)
}
