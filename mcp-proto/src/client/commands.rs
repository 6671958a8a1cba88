//! Methods that the application calls, and sending of calls.
//!
//! In: calls, cancellations, notifications, subscriptions, inputs. Out: the messages and events of
//! [`ClientCore`].
//!
//! [`ClientCore`]: super::client_core::ClientCore

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;

use super::binding::BindingKind;
use super::call::{Call, Goal, Resumption, Sending, State};
use super::connection::Conn;
use super::event::{InputReply, Listing, SubscriptionId};
use super::inputs::Requester;
use super::legacy::{self, Session};
use super::negotiation::probe::ProbeOutcome;
use super::pages::Pages;
use super::{CallError, CallId, CallOptions, Client, ClientEvent};
use crate::error::UsageError;
use crate::json::Json;
use crate::json::write;
use crate::message::{ErrorData, MethodRow, Outgoing};
use crate::time::{Duration, Instant};
use crate::types::{ListChangedCapability, LoggingLevel, Root, SubscriptionFilter};

impl Client {
    /// Calls a method with parameters, an object; the members of `_meta` that the era requires are
    /// added. A [`ClientEvent::Response`] reports the outcome. The call waits until the era is
    /// known. `logging/setLevel` is the same as [`Client::set_log_level`].
    ///
    /// Fails with [`UsageError::Closed`], with [`UsageError::NotAnObject`], with
    /// [`UsageError::TooManyCalls`] at `Limits::max_in_flight`, and with
    /// [`UsageError::TooManyUnsentBytes`] at `Limits::max_unsent_bytes`. Fails with
    /// [`UsageError::ReservedMethod`] for methods that the machine itself sends: `initialize`,
    /// `server/discover`, `subscriptions/listen` and notifications.
    pub fn call(
        &mut self,
        now: Instant,
        method: impl Into<Cow<'static, str>>,
        params: Json,
        options: CallOptions,
    ) -> Result<CallId, UsageError> {
        let method = method.into();
        let is_forwarded = self.core.config.forwards && method != "initialize";
        if is_reserved(&method) && !is_forwarded || method.starts_with("notifications/") {
            return Err(UsageError::ReservedMethod { method: method.into_owned() });
        }
        // A client that forwards has the levels of several clients.
        let level = level_of(&method, &params).filter(|_| !self.core.config.forwards);
        let call = self.start(now, method, params, options, Goal::Answer { takes_task: false })?;
        self.core.log_level = level.or(self.core.log_level);
        Ok(call)
    }

    /// Fetches all pages of a list. The result of the [`ClientEvent::Response`] has the items of
    /// all pages in the list's member, and no cursor. The result also has the smallest `ttlMs` and
    /// the strictest `cacheScope` of the pages, if they have some, and the `_meta` of the first
    /// page. The timeout applies to each page.
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

    /// Checks that the server is alive: with `ping` for a legacy server, with `server/discover` for
    /// a modern server, which has no shorter request. The result has no meaning.
    ///
    /// Fails as [`Client::call`] does.
    pub fn ping(&mut self, now: Instant, options: CallOptions) -> Result<CallId, UsageError> {
        self.call(now, "ping", Json::EMPTY_OBJECT, options)
    }

    /// Sets the least severe log messages that the client wants. A legacy server gets the level at
    /// once, with `logging/setLevel`. A modern server gets the level in every later request, and
    /// the call has its response at once. A legacy server that does not declare `logging` gets
    /// nothing. The response then follows at once, after a
    /// [`PeerFault`](super::ClientEvent::PeerFault) with
    /// [`LoggingNotDeclared`](crate::ProtocolError::LoggingNotDeclared).
    ///
    /// Fails as [`Client::call`] does.
    pub fn set_log_level(
        &mut self,
        now: Instant,
        level: LoggingLevel,
        options: CallOptions,
    ) -> Result<CallId, UsageError> {
        let call = self.call(
            now,
            "logging/setLevel",
            write::text_object("level", level.as_str()),
            options,
        );
        if call.is_ok() {
            self.core.log_level = Some(level);
        }
        call
    }

    /// Sets the roots for servers that ask for them, and declares the capability. A legacy server
    /// is notified of changes, if its session was opened with that capability.
    ///
    /// Fails with [`UsageError::Closed`], and with [`UsageError::InvalidRoot`]; see
    /// [`Root::check_all`].
    pub fn set_roots(&mut self, _now: Instant, roots: Vec<Root>) -> Result<(), UsageError> {
        if self.conn.is_closed() {
            return Err(UsageError::Closed);
        }
        Root::check_all(&roots)?;
        if !self.core.inputs.set_roots(roots) {
            return Ok(());
        }
        let declared = &mut self.core.config.capabilities.roots;
        if declared.is_none() {
            *declared = Some(ListChangedCapability { list_changed: true });
            self.rebuild_envelope();
        }
        if self.conn.legacy().is_some_and(Session::tells_roots) {
            let method = "notifications/roots/list_changed";
            self.core.outbox.send(Outgoing::notification(method, Json::EMPTY_OBJECT));
        }
        Ok(())
    }

    /// Sends a notification, such as that of an extension. Its parameters are an object. The
    /// notification waits until the era is known. `notifications/roots/list_changed` is only sent
    /// to legacy servers.
    ///
    /// Fails as [`Client::call`] does; reserved are `notifications/initialized`,
    /// `notifications/cancelled`, and all methods that do not begin with `notifications/`. Over
    /// HTTP also fails with [`UsageError::TooManyCalls`] while `Limits::max_in_flight` messages
    /// wait to be accepted by the server.
    pub fn notify(
        &mut self,
        now: Instant,
        method: impl Into<Cow<'static, str>>,
        params: Json,
    ) -> Result<(), UsageError> {
        let method = method.into();
        if is_reserved(&method) || !method.starts_with("notifications/") {
            return Err(UsageError::ReservedMethod { method: method.into_owned() });
        }
        let is_http = self.core.binding == BindingKind::Http;
        if is_http {
            self.core.outbox.check_unaccepted(self.core.config.limits.max_in_flight)?;
        }
        self.start(now, method, params, CallOptions::default(), Goal::Notification)?;
        if is_http {
            self.core.outbox.count_unaccepted();
        }
        Ok(())
    }

    /// Sets the user or the tenant for whom the client sends requests, for its cache; see
    /// [`CacheConfig::principal`](super::CacheConfig::principal). Private results of other
    /// principals are not used any more.
    pub fn set_principal(&mut self, principal: Option<&str>) {
        self.core.cache.set_principal(principal.map(Into::into));
    }

    /// Cancels a call. Its response follows at once, with [`CallError::Cancelled`], and the server
    /// is notified. If the server has made a task of the call, the task is cancelled.
    ///
    /// Fails with [`UsageError::NotInFlight`] if the call has had its response.
    pub fn cancel(&mut self, now: Instant, call: CallId) -> Result<(), UsageError> {
        self.cancel_because(now, call, None)
    }

    /// Cancels a call as [`Client::cancel`] does. The notification to the server has the reason,
    /// for its log, of which 1,000 characters are sent. Over HTTP a modern server gets no
    /// notification.
    pub fn cancel_because(
        &mut self,
        now: Instant,
        call: CallId,
        reason: Option<&str>,
    ) -> Result<(), UsageError> {
        let number = self.core.calls.find(call).ok_or(UsageError::NotInFlight)?;
        self.stop_because(now, (number, reason), CallError::Cancelled);
        Ok(())
    }

    /// Subscribes to changes. [`ClientEvent::Subscribed`] reports the part that the server honours,
    /// and [`ClientEvent::Changed`] each change, until [`ClientEvent::SubscriptionEnded`]. The
    /// server must acknowledge the subscription within the default timeout of a call. Over HTTP the
    /// time starts again with each attempt after a stream that broke. The subscription waits until
    /// the era is known.
    ///
    /// Fails with [`UsageError::Closed`], with [`UsageError::TooManyCalls`] at
    /// `Limits::max_in_flight`, and with [`UsageError::TooManyUnsentBytes`] at
    /// `Limits::max_unsent_bytes`.
    pub fn subscribe(
        &mut self,
        now: Instant,
        filter: SubscriptionFilter,
    ) -> Result<SubscriptionId, UsageError> {
        let subscription = self.core.subscriptions.add(filter);
        match self.start_listening(now, subscription) {
            Ok(_) => Ok(subscription),
            Err(error) => {
                self.core.subscriptions.withdraw(subscription);
                Err(error)
            }
        }
    }

    /// Ends a subscription: [`ClientEvent::SubscriptionEnded`] follows at once, with
    /// [`CallError::Cancelled`].
    ///
    /// Fails with [`UsageError::NotInFlight`] if the subscription has ended.
    pub fn unsubscribe(
        &mut self,
        now: Instant,
        subscription: SubscriptionId,
    ) -> Result<(), UsageError> {
        let uris = self.core.subscriptions.remove(subscription).ok_or(UsageError::NotInFlight)?;
        if let Some(number) = self.core.calls.find_listen(subscription) {
            self.end_call(now, (number, None), CallError::Cancelled);
        }
        let core = &mut self.core;
        if self.conn.is_legacy() {
            for uri in uris {
                core.subscriptions.unsubscribe(&uri);
            }
            core.send_resource_requests(now, &mut self.conn);
        }
        let cause = Err(CallError::Cancelled);
        core.outbox.event(ClientEvent::SubscriptionEnded { subscription, cause });
        Ok(())
    }

    /// Answers a request of the server with its result, or with an error. A legacy server gets the
    /// error unchanged. A modern server cannot get an error, so the call ends with
    /// [`CallError::InputRefused`]. An answer that is no longer needed is dropped.
    #[expect(clippy::needless_pass_by_value, reason = "the right to answer is used up")]
    pub fn answer(&mut self, now: Instant, reply: InputReply, answer: Result<Json, ErrorData>) {
        let core = &mut self.core;
        let Some(requester) = core.inputs.take(reply.id) else { return };
        let answer = match answer {
            Ok(result) if !result.raw().is_object() => {
                Err(ErrorData::internal("the client's result is no JSON object"))
            }
            answer => answer,
        };
        match requester {
            Requester::Request { id, batch, .. } => {
                if core.binding == BindingKind::Http {
                    core.inputs.record_answer(id.clone(), reply.id);
                }
                if let Conn::Legacy(session) = &mut self.conn {
                    session.respond(batch, legacy::answer(id, answer), &mut core.outbox);
                }
                core.calls.resume(now, &core.inputs);
            }
            Requester::Call { call, key } => {
                let Some(number) = core.calls.find(call) else { return };
                if core.calls.get(number).is_some_and(|call| call.following().is_some()) {
                    let answer = answer.map_err(CallError::InputRefused);
                    return self.task_given(now, number, key, answer);
                }
                let Some(mut call) = core.calls.remove(number) else { return };
                match answer.map(|answer| call.give(key, answer)) {
                    Ok(true) => self.send_anew(now, call),
                    Ok(false) => core.calls.insert(number, call),
                    Err(error) => {
                        let error = CallError::InputRefused(error);
                        core.finish(now, &mut self.conn, call, Err(error));
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
        if self.conn.is_closed() {
            return Err(UsageError::Closed);
        }
        if !params.raw().is_object() {
            return Err(UsageError::NotAnObject { name: method.into_owned() });
        }
        self.core.admit(&self.conn, &params)?;
        let number = self.core.calls.number();
        let call = Box::new(Call::new(now, number, method, params, options, goal));
        let id = call.id;
        self.send_call(now, number, call);
        Ok(id)
    }

    fn start_listening(
        &mut self,
        now: Instant,
        subscription: SubscriptionId,
    ) -> Result<CallId, UsageError> {
        let params = self.core.subscriptions.listen_params(subscription);
        let options = CallOptions::default().max_total(Duration::MAX);
        let goal = Goal::Listen { subscription };
        self.start(now, "subscriptions/listen".into(), params, options, goal)
    }

    /// Requests a subscription again, unless the subscription has ended.
    pub(super) fn listen(&mut self, now: Instant, subscription: SubscriptionId) {
        if !self.core.subscriptions.contains(subscription) {
            return;
        }
        if let Err(error) = self.start_listening(now, subscription) {
            let cause = Err(CallError::Usage(error));
            self.core.subscriptions.end(subscription, cause, &mut self.core.outbox);
        }
    }

    /// Sends the calls that waited for the era, and repeats the calls that a server of the other
    /// era has received. `begun` is true if the server serves without a handshake, and so may
    /// already execute these requests.
    pub(super) fn send_waiting(&mut self, now: Instant, begun: bool) {
        let Some(era) = self.era() else { return };
        let numbers = self.core.calls.numbers_of(|_| true);
        self.restore_log_level(now);
        for number in numbers {
            // The client may have been suspended past the deadline of the call.
            if self.core.calls.get(number).is_some_and(|call| call.waits() && call.due <= now) {
                self.expire_call(now, number);
                continue;
            }
            let Some(mut call) = self.core.calls.remove(number) else { continue };
            match call.resumption(era, begun) {
                Resumption::Send => self.send_call(now, number, call),
                Resumption::SendWithNewId => {
                    call.state = State::Waiting;
                    self.send_anew(now, call);
                }
                Resumption::ReplaceInFlight => {
                    self.core.calls.ignore(number, self.core.config.limits.max_in_flight);
                    self.core.abort(number);
                    call.state = State::Waiting;
                    self.send_anew(now, call);
                }
                Resumption::Keep => self.core.calls.insert(number, call),
                Resumption::Fail(error) => self.core.finish(now, &mut self.conn, call, Err(error)),
            }
        }
    }

    /// Sends held calls while there is room.
    pub(super) fn send_held(&mut self, now: Instant) {
        if self.era().is_none() {
            return;
        }
        for number in self.core.calls.numbers_of(Call::is_held) {
            if self.core.outbox.holds_calls() {
                return self.core.outbox.check_later(now);
            }
            if let Some(call) = self.core.calls.remove(number) {
                self.send_call(now, number, call);
            }
        }
    }

    /// Sends a call under an unused number.
    pub(super) fn send_anew(&mut self, now: Instant, call: Box<Call>) {
        let number = self.core.calls.number();
        self.send_call(now, number, call);
    }

    fn send_call(&mut self, now: Instant, number: u64, mut call: Box<Call>) {
        if self.conn.is_legacy()
            && let Err(error) = legacy::adapt(&mut call)
        {
            return self.core.finish(now, &mut self.conn, call, Err(CallError::Usage(error)));
        }
        if self.core.cache.is_enabled()
            && let Some(result) = self.find_result(now, &mut call)
        {
            return self.core.finish(now, &mut self.conn, call, Ok(result));
        }
        match self.core.send(now, &mut self.conn, number, call) {
            Sending::Sent => self.start_confirmation_timer(now),
            Sending::Settled => {}
            // A waiting call needs a connection; begins an attempt if there is none.
            Sending::Unconnected => self.call_unconnected(now),
            Sending::Unproven => self.decide(now, ProbeOutcome::NotIdempotent),
        }
    }

    /// The result of a call that is about to be sent, from the cache. If the cache has no result,
    /// the call gets the ticket of its request.
    fn find_result(&mut self, now: Instant, call: &mut Call) -> Option<Json> {
        call.ticket = None;
        let variant = self.conn.modern()?.envelope.members();
        let core = &mut self.core;
        let request = call.cacheable()?;
        if call.may_be_found()
            && let Some(found) = core.cache.find(now, &variant, request, &core.config.limits)
        {
            return Some(found);
        }
        call.ticket = core.cache.ticket(now, &variant, request);
        None
    }

    /// Sends the log level to a new legacy session, unless a call that sets the level is pending.
    fn restore_log_level(&mut self, now: Instant) {
        let Some(session) = self.conn.legacy() else { return };
        let is_pending = self.core.calls.any(|call| call.method == "logging/setLevel");
        let Some(level) = self.core.log_level.filter(|_| !is_pending) else { return };
        if session.server().capabilities.logging.is_some() {
            let method = "logging/setLevel".into();
            let params = write::text_object("level", level.as_str());
            // If there is no room for this request, other requests matter more.
            let _ = self.start(now, method, params, CallOptions::default(), Goal::Nobody);
        }
    }
}

/// The level that a call sets, if it sets one.
fn level_of(method: &str, params: &Json) -> Option<LoggingLevel> {
    if method != "logging/setLevel" {
        return None;
    }
    serde_json::from_slice(params.raw().member("level")?.0).ok()
}

fn is_reserved(method: &str) -> bool {
    MethodRow::named(method).is_some_and(MethodRow::is_reserved_to_clients)
}
