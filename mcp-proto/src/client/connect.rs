//! Changes of the [`Conn`], as `probe::TABLE` and `recovery::TABLE` define them.
//!
//! In: the opening, the outcomes of `server/discover` and `initialize`, refused requests, lost
//! sessions, the end of a stream. Out: these requests, and a client that is connected as modern or
//! as legacy, or is unconnected. During a negotiation calls wait, and the server's messages are
//! queued.
//!
//! [Specification: Versioning](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#protocol-version-negotiation)

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::binding::{BindingKind, MessageSource};
use super::call::{Call, Goal, State};
use super::compose::Envelope;
use super::connect_error::ConnectError;
use super::connection::{Conn, Modern};
use super::event::SubscriptionId;
use super::legacy;
use super::negotiation::probe::{self, Move, ProbeOutcome, Step};
use super::negotiation::{
    Decision, Negotiating, Negotiation, PriorServer, ProbeResult, ServerInfo, Verdict,
};
use super::recovery::{self, Known, Reaction, Recovery, Refusal, Repeats};
use super::unconnected::{Restart, Unconnected};
use super::{CallError, Client, ClientEvent, ClientTimer};
use crate::json::Json;
use crate::message::Outgoing;
use crate::time::Instant;
use crate::version::{Era, ProtocolVersion};

impl Client {
    /// Begins a negotiation at `step`, on a newly opened stream.
    pub(super) fn start_negotiation(&mut self, now: Instant, step: Step) {
        match (step, self.core.config.verdict.clone()) {
            (Step::Unconfirmed, Some(verdict)) => self.connect_modern(now, verdict, None, false),
            (Step::Unconfirmed, None) => self.send_step_request(now, Step::Probe),
            _ => self.send_step_request(now, step),
        }
    }

    /// Begins a negotiation at `step` after an earlier connection, which `before` describes.
    pub(super) fn renegotiate(&mut self, now: Instant, step: Step, before: PriorServer) {
        self.send_step_request(now, step);
        if let Some(negotiating) = self.conn.negotiating_mut() {
            negotiating.set_before(before);
        }
    }

    /// Handles a result with a `resultType`, which shows that the server is modern.
    pub(super) fn handle_modern_evidence(&mut self, now: Instant) {
        let found = match self.conn.step() {
            Some(Step::Unconfirmed) => ProbeResult::default(),
            // The server was slow, and will not accept the `initialize` in flight.
            Some(Step::Silent | Step::Held) => {
                let stored = self.core.config.verdict.clone();
                let Some(verdict) = stored.filter(|it| it.era() == Era::Modern) else { return };
                let version = Some(verdict.version);
                let discover = verdict.discover;
                ProbeResult { version, discover, ..ProbeResult::default() }
            }
            Some(_) | None => return,
        };
        self.decide_with(now, ProbeOutcome::Modern, found);
    }

    /// Handles a result without a `resultType`, which a legacy server may have sent.
    pub(super) fn handle_missing_result_type(&mut self, now: Instant) {
        self.decide(now, ProbeOutcome::Untyped);
        if let Some(negotiating) = self.conn.negotiating_mut() {
            negotiating.set_has_answered_call();
        }
    }

    /// Sends the request of `step`.
    fn send_step_request(&mut self, now: Instant, step: Step) {
        let mut negotiating =
            self.conn.take_negotiating().unwrap_or_else(|| Negotiating::new(step));
        let number = self.core.calls.number();
        let (request, timeout) =
            negotiating.request(step, number, &self.core.config, self.core.binding);
        self.deadlines.set(ClientTimer::Negotiation, now + timeout);
        self.conn = Conn::Negotiating(negotiating);
        self.core.outbox.send(request);
    }

    /// Handles the timeout of the request in flight.
    pub(super) fn handle_probe_timeout(&mut self, now: Instant) {
        match self.core.binding {
            BindingKind::Http => self.decide(now, ProbeOutcome::NoAnswer),
            BindingKind::Stream => self.decide(now, ProbeOutcome::Silence),
        }
    }

    /// Decides about the outcome of the request in flight.
    pub(super) fn decide(&mut self, now: Instant, outcome: ProbeOutcome) {
        self.decide_with(now, outcome, ProbeResult::default());
    }

    pub(super) fn decide_with(&mut self, now: Instant, outcome: ProbeOutcome, found: ProbeResult) {
        let Some(step) = self.conn.step() else { return };
        let falls_back = self.core.config.negotiation == Negotiation::Auto;
        let Some(row) = probe::TABLE.find((step, falls_back, outcome)) else { return };
        if let Some(decision) = Decision::new(now, step, outcome, row) {
            self.decisions.push(decision, found.error_to_show());
        }
        let before = self.conn.before();
        match row.then {
            Move::Stay | Move::HttpSseTransport => {}
            Move::Send(step) => self.send_step_request(now, step),
            Move::Await(step) => {
                if let Some(negotiating) = self.conn.negotiating_mut() {
                    negotiating.wait_at(step);
                }
            }
            Move::Reopen(step) => self.reopen(now, step, before),
            Move::Fail(failure) => {
                self.end_negotiation(now, before.era(), found.into_error(failure));
            }
            Move::Modern => self.found_modern(now, found),
            Move::UseHeld => {
                let held = self.conn.negotiating_mut().and_then(Negotiating::take_held);
                if let Some(held) = held {
                    self.found_modern(now, held);
                }
            }
            Move::Legacy => {
                if let Some(server) = found.server {
                    self.connect_legacy(now, server);
                }
            }
        }
    }

    /// Aborts the request in flight, which is no longer needed.
    pub(super) fn abort_probe(&mut self) {
        if let (Some(negotiating), BindingKind::Http) = (self.conn.negotiating(), self.core.binding)
        {
            negotiating.in_flight().for_each(|request| self.core.outbox.abort(request));
        }
    }

    /// Requests that the stream is opened again.
    fn reopen(&mut self, now: Instant, step: Step, before: PriorServer) {
        self.deadlines.clear(ClientTimer::Negotiation);
        self.core.recall(now, &mut self.conn);
        self.conn = Conn::Reopening { step, before };
        self.core.outbox.event(ClientEvent::Reopen);
    }

    fn found_modern(&mut self, now: Instant, found: ProbeResult) {
        if let Conn::Modern(modern) = &mut self.conn {
            modern.confirmed = true;
            self.reconnect_rate.connected(now);
            self.deadlines.clear(ClientTimer::Negotiation);
            return;
        }
        let chosen = self.core.config.negotiation;
        let version = found.version.unwrap_or_else(|| chosen.modern_version());
        let verdict = Verdict { discover: found.discover, ..Verdict::new(version) };
        self.connect_modern(now, verdict, found.server, true);
    }

    /// Connects to a modern server; `server` has further facts about the server.
    fn connect_modern(
        &mut self,
        now: Instant,
        verdict: Verdict,
        server: Option<ServerInfo>,
        confirmed: bool,
    ) {
        let version = verdict.version;
        let server =
            server.unwrap_or_else(|| ServerInfo::discovered(version, verdict.discover.as_ref()));
        let envelope = Envelope::new(version, &self.core.config);
        let negotiating = self.conn.take_negotiating();
        if let Some(number) = negotiating.as_ref().and_then(Negotiating::initialize_in_flight) {
            self.core.calls.ignore(number, self.core.config.limits.max_in_flight);
            self.core.abort(number);
        }
        let modern = Modern { server: server.clone(), verdict, envelope, confirmed };
        self.connected(now, Conn::Modern(modern), server, negotiating);
    }

    fn connect_legacy(&mut self, now: Instant, server: ServerInfo) {
        let negotiating = self.conn.take_negotiating();
        let initialized = Outgoing::notification("notifications/initialized", Json::EMPTY_OBJECT);
        self.core.outbox.send(initialized);
        let tells_roots = negotiating.as_ref().is_some_and(Negotiating::tells_roots);
        let session = legacy::Session::new(server.clone(), tells_roots);
        self.connected(now, Conn::Legacy(session), server, negotiating);
    }

    fn connected(
        &mut self,
        now: Instant,
        conn: Conn,
        server: ServerInfo,
        negotiating: Option<Negotiating>,
    ) {
        self.deadlines.clear(ClientTimer::Negotiation);
        // Without a confirmation a stored verdict is not yet a connection.
        if !conn.is_unconfirmed() {
            self.reconnect_rate.connected(now);
        }
        self.conn = conn;
        self.core.outbox.event(ClientEvent::Connected(Box::new(server)));
        self.send_waiting(now, negotiating.as_ref().is_some_and(Negotiating::has_answered_call));
        for message in negotiating.into_iter().flat_map(Negotiating::into_early_messages) {
            self.message(now, message, MessageSource::default());
        }
    }

    /// Rebuilds the envelope after a change of the capabilities.
    pub(super) fn rebuild_envelope(&mut self) {
        if let Conn::Modern(modern) = &mut self.conn {
            modern.envelope = Envelope::new(modern.server.version, &self.core.config);
        }
    }

    /// Gives a server that shows progress more time to confirm that it is modern.
    pub(super) fn restart_confirmation_timer(&mut self, now: Instant) {
        if self.is_in_doubt() && self.core.binding == BindingKind::Stream {
            self.deadlines.set(ClientTimer::Negotiation, now + self.core.config.probe_timeout);
        }
    }

    /// Starts the timer within which a server must confirm a stored modern verdict. Over HTTP there
    /// is no timer: an answer confirms the era, and silence has no meaning.
    pub(super) fn start_confirmation_timer(&mut self, now: Instant) {
        if self.conn.is_unconfirmed()
            && self.core.binding == BindingKind::Stream
            && !self.deadlines.has(ClientTimer::Negotiation)
        {
            self.deadlines.set(ClientTimer::Negotiation, now + self.core.config.probe_timeout);
        }
    }

    /// Returns whether a request was sent because of a stored verdict that no answer has confirmed
    /// yet.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.conn.is_unconfirmed() && self.core.calls.any(Call::is_sent)
    }

    /// Handles a call that the server has refused.
    pub(super) fn refuse_call(
        &mut self,
        now: Instant,
        number: u64,
        refusal: Refusal,
        error: CallError,
    ) {
        let Some(call) = self.core.calls.get(number) else { return };
        let is_unseen = refusal.is_before_dispatch() && !call.has_been_handled();
        let may_repeat = call.refusals == 0 && (call.is_idempotent() || is_unseen);
        let is_answered = refusal != Refusal::Unavailable;
        if let State::Sent { era, .. } = call.state
            && self.era().is_some_and(|current| current != era)
        {
            return self.refuse_late(now, number, may_repeat && is_answered, error);
        }
        let Some(known) = self.conn.known() else {
            // The meaning of an error depends on the era.
            let may_wait = may_repeat && is_answered && self.conn.negotiating().is_some();
            return self.park_or_fail(now, number, may_wait, error);
        };
        let Some(row) = recovery::TABLE.find((known, refusal)) else { return };
        let Recovery { then, repeats } = row.then;
        let is_recovered =
            then != Reaction::Deliver && (known == Known::Unconfirmed || self.may_recover(now));
        let is_of_session = matches!(call.goal, Goal::Subscribe { .. } | Goal::Nobody);
        // Requests of the session end with it; the next session gets requests of its own.
        if !(is_recovered && known == Known::Legacy && is_of_session) {
            let is_repeated = is_recovered && may_repeat && repeats != Repeats::Nothing;
            self.park_or_fail(now, number, is_repeated, error.clone());
        }
        if !is_recovered {
            return;
        }
        let reason = error.into_connect_error().unwrap_or(ConnectError::Malformed);
        match (known, then) {
            (Known::Unconfirmed, _) => self.decide(now, ProbeOutcome::Error),
            (_, Reaction::NewSession) => self.recover(now, Era::Legacy, reason),
            (_, Reaction::Negotiate | Reaction::Deliver) => self.recover(now, Era::Modern, reason),
        }
    }

    /// Handles a refusal of a call that was sent before the server changed its era. The refusal has
    /// no meaning for the current connection.
    fn refuse_late(&mut self, now: Instant, number: u64, may_repeat: bool, error: CallError) {
        if !may_repeat {
            return self.fail_call(now, number, error);
        }
        if let Some(mut call) = self.core.calls.remove(number) {
            call.refusals += 1;
            self.send_anew(now, call);
        }
    }

    fn park_or_fail(&mut self, now: Instant, number: u64, is_parked: bool, error: CallError) {
        let kept = error.to_keep().filter(|_| is_parked);
        let Some(kept) = kept else { return self.fail_call(now, number, error) };
        if let Some(call) = self.core.calls.get_mut(number) {
            call.refusals += 1;
            call.park(kept, self.conn.era_of_sent());
        }
    }

    /// Handles the loss of a session that was detected outside of a call.
    pub(crate) fn handle_session_lost(&mut self, now: Instant) {
        self.recover(now, Era::Legacy, ConnectError::Http { status: 404 });
    }

    /// Allows the next attempt at once, since the cause of the last failure may be removed.
    pub(crate) fn retry_at_once(&mut self, now: Instant) {
        if let Conn::Unconnected(_) = &self.conn {
            self.reconnect_rate.reset();
            self.reconnect(now);
        }
    }

    /// First step of a negotiation with a server that belonged to this era. A modern server first
    /// gets `server/discover`.
    fn first_step(&self, era: Era) -> Step {
        let verdict = Verdict::new(ProtocolVersion::LATEST_LEGACY);
        let legacy = Some(&verdict).filter(|_| era == Era::Legacy);
        Step::first(self.core.config.negotiation, legacy)
    }

    /// Returns whether the client can open another connection, or try again on the current
    /// connection.
    fn may_recover(&self, now: Instant) -> bool {
        // The client cannot pause on an open stream, so the refusal is delivered.
        self.core.binding == BindingKind::Http || self.reconnect_rate.next(now) <= now
    }

    /// Returns whether a lost connection leaves the client unconnected instead of closing it.
    pub(super) fn recovers(&self) -> bool {
        let restarts = self.core.config.restart != Restart::Never;
        (self.core.binding == BindingKind::Http || restarts) && self.reconnect_rate.has_connected()
    }

    /// Negotiates again after a change of the era or the loss of the session, at once or when the
    /// next attempt is allowed. Expects a server of the era `next`.
    fn recover(&mut self, now: Instant, next: Era, reason: ConnectError) {
        let Some(era) = self.era() else { return };
        let subscriptions = match era {
            Era::Legacy => self.core.leave_session(now, &mut self.conn),
            Era::Modern => Vec::new(),
        };
        let not_before = self.reconnect_rate.lost(now);
        // A parked call is refused again, or succeeds; a call that was not sent could wait forever.
        let is_parked = |call: &Call| matches!(call.state, State::Parked { .. });
        if not_before <= now {
            self.reconnect_rate.begin(now);
            self.decisions.clear();
            self.renegotiate(now, self.first_step(next), PriorServer::Here(era));
        } else if self.reconnect_rate.is_in_vain() && !self.core.calls.any(is_parked) {
            self.attempt_failed(now, era, reason);
        } else {
            self.disconnect(now, Unconnected { not_before, error: reason, era });
        }
        self.listen_all(now, subscriptions);
    }

    fn listen_all(&mut self, now: Instant, subscriptions: Vec<SubscriptionId>) {
        for subscription in subscriptions {
            // Its request may still be held.
            if self.core.calls.find_listen(subscription).is_none() {
                self.listen(now, subscription);
            }
        }
    }

    /// Handles a failed attempt: waiting calls fail with its reason, and a byte stream is left.
    pub(super) fn attempt_failed(&mut self, now: Instant, era: Era, error: ConnectError) {
        let not_before = self.reconnect_rate.failed(now);
        let cause = CallError::Connect(error.clone());
        self.disconnect(now, Unconnected { not_before, error, era });
        let fails = |call: &Call| call.waits() && !self.core.subscriptions.lives_on(call);
        for number in self.core.calls.numbers_of(fails) {
            self.fail_call(now, number, cause.clone());
        }
        // The driver leaves the stream, so the calls in flight get no response.
        if self.core.binding == BindingKind::Stream {
            let subscriptions = self.core.leave_stream(now, &mut self.conn, era);
            self.listen_all(now, subscriptions);
        }
        self.schedule(now);
    }

    /// Handles the end of a byte stream, or a failure to open it.
    pub(super) fn stream_ended(&mut self, now: Instant, era: Era, error: ConnectError) {
        let subscriptions = self.core.leave_stream(now, &mut self.conn, era);
        // A server that ran long enough is restarted at once; otherwise the delay grows.
        let not_before = self.reconnect_rate.lost(now);
        self.disconnect(now, Unconnected { not_before, error, era });
        self.listen_all(now, subscriptions);
    }

    fn disconnect(&mut self, now: Instant, unconnected: Unconnected) {
        self.deadlines.clear(ClientTimer::Negotiation);
        let error = unconnected.error.clone();
        self.conn = Conn::Unconnected(unconnected);
        self.core.outbox.event(ClientEvent::Disconnected(error));
        self.schedule(now);
    }

    /// Schedules the next attempt, if anything needs a connection. Fails the calls whose timeout
    /// ends before the attempt.
    pub(super) fn schedule(&mut self, now: Instant) {
        let Conn::Unconnected(Unconnected { not_before, error, .. }) = &self.conn else { return };
        let not_before = *not_before;
        let error = error.clone();
        let is_late = |call: &Call| {
            call.waits() && !self.core.subscriptions.lives_on(call) && call.is_late(now, not_before)
        };
        for number in self.core.calls.numbers_of(is_late) {
            self.fail_call(now, number, CallError::Connect(error.clone()));
        }
        let is_stream = self.core.binding == BindingKind::Stream;
        let restarts = is_stream && self.core.config.restart == Restart::Always;
        if restarts || self.connects_alone || self.core.calls.any(Call::waits) {
            self.deadlines.set(ClientTimer::Recovery, not_before);
        } else {
            self.deadlines.clear(ClientTimer::Recovery);
        }
    }

    /// Handles a call while there is no connection.
    pub(super) fn call_unconnected(&mut self, now: Instant) {
        self.schedule(now);
        if matches!(&self.conn, Conn::Unconnected(it) if it.not_before <= now) {
            self.reconnect(now);
        }
    }

    /// Begins the next attempt.
    pub(super) fn reconnect(&mut self, now: Instant) {
        let Conn::Unconnected(Unconnected { era, .. }) = self.conn else { return };
        self.deadlines.clear(ClientTimer::Recovery);
        self.reconnect_rate.begin(now);
        self.decisions.clear();
        let step = self.first_step(era);
        match self.core.binding {
            BindingKind::Stream => self.reopen(now, step, PriorServer::Earlier(era)),
            BindingKind::Http => self.renegotiate(now, step, PriorServer::Earlier(era)),
        }
    }
}
