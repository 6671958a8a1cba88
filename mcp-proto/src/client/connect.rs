//! Changes of the [`Life`]: what `probe::TABLE` and `recovery::TABLE` say, done.
//!
//! In: the opening, what came of `server/discover` and `initialize`, refused requests, lost sessions,
//! the end of a stream. Out: those requests, and a client that is connected as modern or as legacy,
//! or unconnected. Calls wait meanwhile, and what the server sends is kept.
//!
//! [Specification: Versioning](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#protocol-version-negotiation)

use alloc::vec::Vec;

use super::binding::{MessageSource, TransportKind};
use super::call::{Call, Goal, State};
use super::compose::Envelope;
use super::connect_error::ConnectError;
use super::event::SubscriptionId;
use super::legacy;
use super::life::{Life, Modern};
use super::negotiation::probe::{self, Move, Outcome, Step};
use super::negotiation::{
    Before, Decision, Negotiating, Negotiation, ProbeResult, ServerInfo, Verdict,
};
use super::recovery::{self, Known, Recovery, Refusal, Repeats, Then};
use super::unconnected::{Restart, Unconnected};
use super::{CallError, Client, ClientEvent, Reason};
use crate::json::Json;
use crate::message::Outgoing;
use crate::time::Instant;
use crate::version::{Era, ProtocolVersion};

impl Client {
    /// Begins at `step`, on a stream that was just opened.
    pub(super) fn begin(&mut self, now: Instant, step: Step) {
        match (step, self.work.config.verdict.clone()) {
            (Step::Unconfirmed, Some(verdict)) => self.connect_modern(now, verdict, None, false),
            (Step::Unconfirmed, None) => self.enter(now, Step::Probe),
            _ => self.enter(now, step),
        }
    }

    /// Begins at `step`, with a server that was taken for something else.
    pub(super) fn enter_after(&mut self, now: Instant, step: Step, before: Before) {
        self.enter(now, step);
        if let Some(negotiating) = self.life.negotiating_mut() {
            negotiating.set_before(before);
        }
    }

    /// The server has answered a call, as a modern one does.
    pub(super) fn served_typed(&mut self, now: Instant) {
        let found = match self.life.step() {
            Some(Step::Unconfirmed) => ProbeResult::default(),
            // It was slow, and it will not like the `initialize` that is out.
            Some(Step::Silent | Step::Held) => {
                let Some(verdict) = self.work.config.verdict.clone() else { return };
                let version = Some(verdict.version);
                let discover = verdict.discover;
                ProbeResult { version, discover, ..ProbeResult::default() }
            }
            Some(_) | None => return,
        };
        self.decide_with(now, Outcome::Modern, found);
    }

    /// The server has answered a call, and not as a modern one does.
    pub(super) fn served_untyped(&mut self, now: Instant) {
        self.decide(now, Outcome::Untyped);
        if let Some(negotiating) = self.life.negotiating_mut() {
            negotiating.set_serves();
        }
    }

    /// Sends what `step` has out.
    fn enter(&mut self, now: Instant, step: Step) {
        let mut negotiating =
            self.life.take_negotiating().unwrap_or_else(|| Negotiating::new(step));
        let number = self.work.calls.number();
        let (request, timeout) =
            negotiating.request(step, number, &self.work.config, self.work.binding);
        self.deadlines.set(Reason::Negotiation, now + timeout);
        self.life = Life::Negotiating(negotiating);
        self.work.outbox.send(request);
    }

    /// Nothing came of what is out, in its time.
    pub(super) fn judge_silence(&mut self, now: Instant) {
        match self.work.binding {
            TransportKind::Http => self.decide(now, Outcome::NoAnswer),
            TransportKind::Stream => self.decide(now, Outcome::Silence),
        }
    }

    /// Something came of what is out, or nothing.
    pub(super) fn decide(&mut self, now: Instant, outcome: Outcome) {
        self.decide_with(now, outcome, ProbeResult::default());
    }

    pub(super) fn decide_with(&mut self, now: Instant, outcome: Outcome, found: ProbeResult) {
        let Some(step) = self.life.step() else { return };
        let falls_back = self.work.config.negotiation == Negotiation::Auto;
        let Some(row) = probe::TABLE.find((step, falls_back, outcome)) else { return };
        self.decisions.extend(Decision::new(now, step, outcome, row));
        let before = self.life.before();
        match row.then {
            Move::Stay => {}
            Move::Send(step) => self.enter(now, step),
            Move::Await(step) => {
                if let Some(negotiating) = self.life.negotiating_mut() {
                    negotiating.wait_at(step);
                }
            }
            Move::Reopen(step) => self.reopen(now, step, before),
            Move::Fail(failure) => {
                let error = found.into_error(failure);
                if self.recovers() {
                    self.abort_probe();
                    self.attempt_failed(now, before.era(), error);
                } else {
                    self.end(now, Some(error));
                }
            }
            Move::Modern => self.found_modern(now, found),
            Move::UseHeld => {
                let held = self.life.negotiating_mut().and_then(Negotiating::take_held);
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

    /// Nobody waits for what is out any more.
    fn abort_probe(&mut self) {
        if let (Some(negotiating), TransportKind::Http) =
            (self.life.negotiating(), self.work.binding)
        {
            negotiating.in_flight().for_each(|request| self.work.outbox.abort(request));
        }
    }

    /// Has the stream opened again.
    fn reopen(&mut self, now: Instant, step: Step, before: Before) {
        self.deadlines.clear(Reason::Negotiation);
        self.work.recall(now, &mut self.life);
        self.life = Life::Reopening { step, before };
        self.work.outbox.event(ClientEvent::Reopen);
    }

    fn found_modern(&mut self, now: Instant, found: ProbeResult) {
        if let Life::Modern(modern) = &mut self.life {
            modern.confirmed = true;
            self.pace.connected(now);
            self.deadlines.clear(Reason::Negotiation);
            return;
        }
        let chosen = self.work.config.negotiation;
        let version = found.version.unwrap_or_else(|| chosen.modern_version());
        let verdict = Verdict { version, discover: found.discover };
        self.connect_modern(now, verdict, found.server, true);
    }

    /// `server` is what else is known of it.
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
        let envelope = Envelope::new(version, &self.work.config);
        let negotiating = self.life.take_negotiating();
        if let Some(number) = negotiating.as_ref().and_then(Negotiating::initialize_in_flight) {
            self.work.calls.ignore(number);
            self.work.abort(number);
        }
        let modern = Modern { server: server.clone(), verdict, envelope, confirmed };
        self.connected(now, Life::Modern(modern), server, negotiating);
    }

    fn connect_legacy(&mut self, now: Instant, server: ServerInfo) {
        let negotiating = self.life.take_negotiating();
        let initialized = Outgoing::notification("notifications/initialized", Json::EMPTY_OBJECT);
        self.work.outbox.send(initialized);
        let tells_roots = negotiating.as_ref().is_some_and(Negotiating::tells_roots);
        let session = legacy::Session::new(server.clone(), tells_roots);
        self.connected(now, Life::Legacy(session), server, negotiating);
    }

    fn connected(
        &mut self,
        now: Instant,
        life: Life,
        server: ServerInfo,
        negotiating: Option<Negotiating>,
    ) {
        self.deadlines.clear(Reason::Negotiation);
        // A stored verdict that nothing has confirmed is no connection yet.
        if !life.is_unconfirmed() {
            self.pace.connected(now);
        }
        self.life = life;
        self.work.outbox.event(ClientEvent::Connected(server));
        self.send_waiting(now, negotiating.as_ref().is_some_and(Negotiating::serves));
        for message in negotiating.into_iter().flat_map(Negotiating::into_early_messages) {
            self.message(now, message, MessageSource::default());
        }
    }

    /// Capabilities have changed.
    pub(super) fn rebuild_envelope(&mut self) {
        if let Life::Modern(modern) = &mut self.life {
            modern.envelope = Envelope::new(modern.server.version, &self.work.config);
        }
    }

    /// A server that gets further has more time to show that it is modern.
    pub(super) fn restart_confirmation_timer(&mut self, now: Instant) {
        if self.is_in_doubt() && self.work.binding == TransportKind::Stream {
            self.deadlines.set(Reason::Negotiation, now + self.work.config.probe_timeout);
        }
    }

    /// A server that was modern once has time to show that it is. Over HTTP its answer shows it, and
    /// silence shows nothing.
    pub(super) fn start_confirmation_timer(&mut self, now: Instant) {
        if self.life.is_unconfirmed()
            && self.work.binding == TransportKind::Stream
            && !self.deadlines.has(Reason::Negotiation)
        {
            self.deadlines.set(Reason::Negotiation, now + self.work.config.probe_timeout);
        }
    }

    /// Returns whether something was asked on the strength of a stored verdict, and nothing has
    /// shown yet that it is right.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.life.is_unconfirmed() && self.work.calls.any(Call::is_sent)
    }

    /// The server has refused a call.
    pub(super) fn refuse_call(
        &mut self,
        now: Instant,
        number: u64,
        refusal: Refusal,
        error: CallError,
    ) {
        let Some(call) = self.work.calls.get(number) else { return };
        let may_repeat =
            call.refusals == 0 && (call.is_idempotent() || refusal.is_before_dispatch());
        let is_answered = refusal != Refusal::Unavailable;
        if let State::Sent { era } = call.state
            && self.era().is_some_and(|current| current != era)
        {
            return self.refuse_late(now, number, may_repeat && is_answered, error);
        }
        let Some(known) = self.life.known() else {
            // What an error means is known when the era is.
            let may_wait = may_repeat && is_answered && self.life.negotiating().is_some();
            return self.park_or_fail(now, number, may_wait, error);
        };
        let Some(row) = recovery::TABLE.find((known, refusal)) else { return };
        let Recovery { then, repeats } = row.then;
        let is_recovered =
            then != Then::Deliver && (known == Known::Unconfirmed || self.may_recover(now));
        let is_of_session = matches!(call.goal, Goal::Subscribe { .. } | Goal::Nobody);
        // What is of the session ends with it, and the next one has another.
        if !(is_recovered && known == Known::Legacy && is_of_session) {
            let is_repeated = is_recovered && may_repeat && repeats != Repeats::Nothing;
            self.park_or_fail(now, number, is_repeated, error.clone());
        }
        if !is_recovered {
            return;
        }
        let reason = error.into_connect_error().unwrap_or(ConnectError::Malformed);
        match (known, then) {
            (Known::Unconfirmed, _) => self.decide(now, Outcome::Error),
            (_, Then::NewSession) => self.recover(now, Era::Legacy, reason),
            (_, Then::Negotiate | Then::Deliver) => self.recover(now, Era::Modern, reason),
        }
    }

    /// The server has refused a call that was sent before it changed its era. That says nothing of the
    /// connection that there is by now.
    fn refuse_late(&mut self, now: Instant, number: u64, may_repeat: bool, error: CallError) {
        if !may_repeat {
            return self.work.fail(now, &mut self.life, number, error);
        }
        if let Some(mut call) = self.work.calls.remove(number) {
            call.refusals += 1;
            self.send_anew(now, call);
        }
    }

    fn park_or_fail(&mut self, now: Instant, number: u64, is_parked: bool, error: CallError) {
        if !is_parked {
            return self.work.fail(now, &mut self.life, number, error);
        }
        if let Some(call) = self.work.calls.get_mut(number) {
            call.refusals += 1;
            call.park(error, self.life.era_of_sent());
        }
    }

    /// The server has forgotten the session, as something else than a call shows.
    pub(crate) fn handle_session_lost(&mut self, now: Instant) {
        self.recover(now, Era::Legacy, ConnectError::Http { status: 404 });
    }

    /// The next attempt need not wait: what made the last one fail may be mended.
    pub(crate) fn retry_at_once(&mut self, now: Instant) {
        if let Life::Unconnected(_) = &self.life {
            self.pace.reset();
            self.reconnect(now);
        }
    }

    /// Where a negotiation begins with a server that belonged to this era. One that was modern is
    /// asked what it is before anything else is.
    fn first_step(&self, era: Era) -> Step {
        let verdict = Verdict::new(ProtocolVersion::LATEST_LEGACY);
        let legacy = Some(&verdict).filter(|_| era == Era::Legacy);
        Step::first(self.work.config.negotiation, legacy)
    }

    /// Returns whether there is a way to another connection, or another attempt on this one.
    fn may_recover(&self, now: Instant) -> bool {
        // A stream that goes on cannot be waited for: what was refused is delivered.
        self.work.binding == TransportKind::Http || self.pace.next(now) <= now
    }

    /// Returns whether the loss of the connection leaves the client unconnected, and does not close
    /// it.
    pub(super) fn recovers(&self) -> bool {
        let restarts = self.work.config.restart != Restart::Never;
        (self.work.binding == TransportKind::Http || restarts) && self.pace.has_connected()
    }

    /// The era or the session is not what it was: negotiates again, at once or when it may, from
    /// where a server of the era `next` is expected.
    fn recover(&mut self, now: Instant, next: Era, reason: ConnectError) {
        let Some(era) = self.era() else { return };
        let subscriptions = match era {
            Era::Legacy => self.work.leave_session(now, &mut self.life),
            Era::Modern => Vec::new(),
        };
        let not_before = self.pace.lost(now);
        if not_before <= now {
            self.pace.begin(now);
            self.decisions.clear();
            self.enter_after(now, self.first_step(next), Before::Here(era));
        } else {
            self.disconnect(now, Unconnected { not_before, error: reason, era });
        }
        self.listen_all(now, subscriptions);
    }

    fn listen_all(&mut self, now: Instant, subscriptions: Vec<SubscriptionId>) {
        for subscription in subscriptions {
            self.listen(now, subscription);
        }
    }

    /// An attempt has failed: calls that wait fail with its reason.
    pub(super) fn attempt_failed(&mut self, now: Instant, era: Era, error: ConnectError) {
        let not_before = self.pace.failed(now);
        let cause = CallError::Connect(error.clone());
        self.disconnect(now, Unconnected { not_before, error, era });
        let fails = |call: &Call| call.waits() && !self.work.lives_on(call);
        for number in self.work.calls.numbers_of(fails) {
            self.work.fail(now, &mut self.life, number, cause.clone());
        }
        self.schedule(now);
    }

    /// A byte stream has ended, or could not be opened.
    pub(super) fn stream_ended(&mut self, now: Instant, era: Era) {
        let subscriptions = self.work.leave_stream(now, &mut self.life, era);
        let error = ConnectError::Closed;
        // The server was of use if it lasted; else it is started again later and later.
        let not_before = self.pace.lost(now);
        self.disconnect(now, Unconnected { not_before, error, era });
        self.listen_all(now, subscriptions);
    }

    fn disconnect(&mut self, now: Instant, unconnected: Unconnected) {
        self.deadlines.clear(Reason::Negotiation);
        let error = unconnected.error.clone();
        self.life = Life::Unconnected(unconnected);
        self.work.outbox.event(ClientEvent::Disconnected(error));
        self.schedule(now);
    }

    /// Sees to the next attempt, if something wants a connection; calls that cannot wait for it fail.
    fn schedule(&mut self, now: Instant) {
        let Life::Unconnected(Unconnected { not_before, error, .. }) = &self.life else { return };
        let not_before = *not_before;
        let error = error.clone();
        let is_late = |call: &Call| {
            call.waits() && !self.work.lives_on(call) && call.is_late(now, not_before)
        };
        for number in self.work.calls.numbers_of(is_late) {
            self.work.fail(now, &mut self.life, number, CallError::Connect(error.clone()));
        }
        // The same credentials would be refused again.
        let is_refused = matches!(error, ConnectError::Unauthorized(_));
        let wants =
            |call: &Call| call.waits() && !(is_refused && matches!(call.goal, Goal::Listen { .. }));
        let is_stream = self.work.binding == TransportKind::Stream;
        let restarts = is_stream && self.work.config.restart == Restart::Always;
        if restarts || self.work.calls.any(wants) {
            self.deadlines.set(Reason::Recovery, not_before);
        } else {
            self.deadlines.clear(Reason::Recovery);
        }
    }

    /// A call was asked for, and there is no connection.
    pub(super) fn call_unconnected(&mut self, now: Instant) {
        self.schedule(now);
        if matches!(&self.life, Life::Unconnected(it) if it.not_before <= now) {
            self.reconnect(now);
        }
    }

    /// The next attempt begins.
    pub(super) fn reconnect(&mut self, now: Instant) {
        let Life::Unconnected(Unconnected { era, .. }) = self.life else { return };
        self.deadlines.clear(Reason::Recovery);
        self.pace.begin(now);
        self.decisions.clear();
        let step = self.first_step(era);
        match self.work.binding {
            TransportKind::Stream => self.reopen(now, step, Before::Earlier(era)),
            TransportKind::Http => self.enter_after(now, step, Before::Earlier(era)),
        }
    }
}
