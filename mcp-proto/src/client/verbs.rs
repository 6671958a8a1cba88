//! Verbs of the application, and the way of a call out.
//!
//! In: calls, cancellations, notifications, subscriptions, inputs. Out: what [`Work`] makes of them
//! with the server that there is.
//!
//! [`Work`]: super::work::Work

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::binding::TransportKind;
use super::call::{Call, Goal, Resumption, State};
use super::event::{InputReply, Listing, SubscriptionId};
use super::inputs::Requester;
use super::legacy::{self, Session};
use super::life::Life;
use super::negotiation::probe::Outcome;
use super::pages::Pages;
use super::work::Sending;
use super::{CallError, CallId, CallOptions, Client, ClientEvent};
use crate::error::UsageError;
use crate::json::Json;
use crate::json::write::List;
use crate::message::{ErrorData, MethodRow, Outgoing};
use crate::time::{Duration, Instant};
use crate::types::{ListChangedCapability, LoggingLevel, Root, SubscriptionFilter};

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
        let is_forwarded = self.work.config.forwards && method != "initialize";
        if is_reserved(&method) && !is_forwarded || method.starts_with("notifications/") {
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
    /// response comes at once. A legacy server that does not declare `logging` is sent nothing: the
    /// response comes at once, and a [`PeerFault`](super::ClientEvent::PeerFault) with
    /// [`LoggingNotDeclared`](crate::ProtocolError::LoggingNotDeclared).
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
            self.work.log_level = Some(level);
        }
        call
    }

    /// Sets the roots that servers are told of when they ask, and declares that there are some. A
    /// legacy server is told when they change, as far as it was told that they might.
    ///
    /// Fails with [`UsageError::Closed`], and with [`UsageError::InvalidRoot`] for a URI that does not
    /// begin with `file://`.
    pub fn set_roots(&mut self, _now: Instant, roots: Vec<Root>) -> Result<(), UsageError> {
        if self.life.is_closed() {
            return Err(UsageError::Closed);
        }
        Root::check_all(&roots)?;
        if !self.work.inputs.set_roots(roots) {
            return Ok(());
        }
        let declared = &mut self.work.config.capabilities.roots;
        if declared.is_none() {
            *declared = Some(ListChangedCapability { list_changed: true });
            self.rebuild_envelope();
        }
        if self.life.legacy().is_some_and(Session::tells_roots) {
            let method = "notifications/roots/list_changed";
            self.work.outbox.send(Outgoing::notification(method, Json::EMPTY_OBJECT));
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
        if self.work.binding == TransportKind::Http {
            self.work.outbox.admit(self.work.config.limits.max_in_flight)?;
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
        let number = self.work.calls.find(call).ok_or(UsageError::NotInFlight)?;
        self.work.stop(now, &mut self.life, number, CallError::Cancelled);
        Ok(())
    }

    /// Wants to be told when something changes. What the server honours of it is told by
    /// [`ClientEvent::Subscribed`], and each change by [`ClientEvent::Changed`], until
    /// [`ClientEvent::SubscriptionEnded`]. The server has as long to begin as to answer a call.
    /// Before the era is known it waits.
    ///
    /// Fails with [`UsageError::Closed`], and with [`UsageError::TooManyCalls`] at
    /// `Limits::max_in_flight`.
    pub fn subscribe(
        &mut self,
        now: Instant,
        filter: SubscriptionFilter,
    ) -> Result<SubscriptionId, UsageError> {
        let subscription = self.work.subscriptions.add(filter);
        match self.start_listening(now, subscription) {
            Ok(_) => Ok(subscription),
            Err(error) => {
                self.work.subscriptions.withdraw(subscription);
                Err(error)
            }
        }
    }

    /// Does not want to be told any more: [`ClientEvent::SubscriptionEnded`] comes at once, with
    /// [`CallError::Cancelled`].
    ///
    /// Fails with [`UsageError::NotInFlight`] if it has ended.
    pub fn unsubscribe(
        &mut self,
        now: Instant,
        subscription: SubscriptionId,
    ) -> Result<(), UsageError> {
        let work = &mut self.work;
        let told = work.subscriptions.remove(subscription).ok_or(UsageError::NotInFlight)?;
        if let Some(number) = work.calls.find_listen(subscription) {
            work.stop(now, &mut self.life, number, CallError::Cancelled);
        }
        if self.life.is_legacy() {
            for uri in told {
                work.subscriptions.unsubscribe(&uri);
            }
            work.send_asks(now, &mut self.life);
        }
        let cause = Err(CallError::Cancelled);
        work.outbox.event(ClientEvent::SubscriptionEnded { subscription, cause });
        Ok(())
    }

    /// Gives what a server needs: the result of its request. An error goes to a legacy server as
    /// it is; a modern one cannot be told, and the call ends with [`CallError::InputRefused`].
    /// What is not wanted any more is dropped.
    #[expect(clippy::needless_pass_by_value, reason = "the right to answer is used up")]
    pub fn answer(&mut self, now: Instant, reply: InputReply, answer: Result<Json, ErrorData>) {
        let work = &mut self.work;
        let Some(requester) = work.inputs.take(reply.id) else { return };
        let answer = match answer {
            Ok(result) if !result.raw().is_object() => {
                Err(ErrorData::internal("the client's result is no JSON object"))
            }
            answer => answer,
        };
        match requester {
            Requester::Request { id, batch, .. } => {
                if work.binding == TransportKind::Http {
                    work.inputs.record_answer(id.clone(), reply.id);
                }
                if let Life::Legacy(session) = &mut self.life {
                    session.respond(batch, legacy::answer(id, answer), &mut work.outbox);
                }
                work.calls.resume(now, &work.inputs);
            }
            Requester::Call { call, key } => {
                let Some(number) = work.calls.find(call) else { return };
                let Some(mut call) = work.calls.remove(number) else { return };
                match answer.map(|answer| call.give(key, answer)) {
                    Ok(true) => self.send_anew(now, call),
                    Ok(false) => work.calls.insert(number, call),
                    Err(error) => {
                        let error = CallError::InputRefused(error);
                        work.finish(now, &mut self.life, call, Err(error));
                    }
                }
            }
        }
    }

    pub(super) fn start(
        &mut self,
        now: Instant,
        method: Cow<'static, str>,
        params: Json,
        options: CallOptions,
        goal: Goal,
    ) -> Result<CallId, UsageError> {
        if self.life.is_closed() {
            return Err(UsageError::Closed);
        }
        if !params.raw().is_object() {
            return Err(UsageError::NotAnObject { name: method.into_owned() });
        }
        self.work.admit(&self.life, &params)?;
        let number = self.work.calls.number();
        let call = Call::new(now, number, method, params, options, goal);
        let id = call.id;
        self.send_call(now, number, call);
        Ok(id)
    }

    fn start_listening(
        &mut self,
        now: Instant,
        subscription: SubscriptionId,
    ) -> Result<CallId, UsageError> {
        let params = self.work.subscriptions.listen_params(subscription);
        let options = CallOptions::default().max_total(Duration::MAX);
        let goal = Goal::Listen { subscription };
        self.start(now, "subscriptions/listen".into(), params, options, goal)
    }

    /// Wants to be told as before.
    pub(super) fn listen(&mut self, now: Instant, subscription: SubscriptionId) {
        if let Err(error) = self.start_listening(now, subscription) {
            let cause = Err(CallError::Usage(error));
            self.work.subscriptions.end(subscription, cause, &mut self.work.outbox);
        }
    }

    /// Sends what waits for the era to be known, and again what a server of the other era has seen.
    /// A server that serves without a handshake has `begun` with what it was sent.
    pub(super) fn send_waiting(&mut self, now: Instant, begun: bool) {
        let Some(era) = self.era() else { return };
        let numbers = self.work.calls.numbers_of(|_| true);
        self.restore_log_level(now);
        for number in numbers {
            let Some(mut call) = self.work.calls.remove(number) else { continue };
            match call.resumption(era, begun) {
                Resumption::Send => self.send_call(now, number, call),
                Resumption::SendAnew => {
                    call.state = State::Waiting;
                    self.send_anew(now, call);
                }
                Resumption::Recall => {
                    self.work.calls.ignore(number);
                    self.work.abort(number);
                    call.state = State::Waiting;
                    self.send_anew(now, call);
                }
                Resumption::Stay => self.work.calls.insert(number, call),
                Resumption::Fail(error) => self.work.finish(now, &mut self.life, call, Err(error)),
            }
        }
    }

    /// Sends what is held, as far as there is room.
    pub(super) fn send_held(&mut self, now: Instant) {
        if self.era().is_none() {
            return;
        }
        for number in self.work.calls.numbers_of(Call::is_held) {
            if self.work.outbox.holds() {
                return self.work.outbox.look_later(now);
            }
            if let Some(call) = self.work.calls.remove(number) {
                self.send_call(now, number, call);
            }
        }
    }

    /// Sends a call under a number that the server has not seen.
    pub(super) fn send_anew(&mut self, now: Instant, call: Call) {
        let number = self.work.calls.number();
        self.send_call(now, number, call);
    }

    fn send_call(&mut self, now: Instant, number: u64, call: Call) {
        match self.work.send(now, &mut self.life, number, call) {
            Sending::Sent => self.start_confirmation_timer(now),
            Sending::Settled => {}
            // It wants a connection, if there is none.
            Sending::Unconnected => self.call_unconnected(now),
            Sending::Unproven => self.decide(now, Outcome::NotIdempotent),
        }
    }

    /// A legacy server does not know yet which log messages are wanted.
    fn restore_log_level(&mut self, now: Instant) {
        let Some(session) = self.life.legacy() else { return };
        let is_told = self.work.calls.any(|call| call.method == "logging/setLevel");
        let Some(level) = self.work.log_level.filter(|_| !is_told) else { return };
        if session.server().capabilities.logging.is_some() {
            let method = "logging/setLevel".into();
            let params = level_params(level);
            // If there is no room for it, there are others that matter more.
            let _ = self.start(now, method, params, CallOptions::default(), Goal::Nobody);
        }
    }
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
