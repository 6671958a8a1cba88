//! A client that was connected and is not: from a lost session, era or stream to the next attempt.
//!
//! In: refused requests, lost sessions, failed negotiations, the end of a byte stream under a
//! [`Restart`] policy. Out: what `recovery::TABLE` says: another negotiation at the rate of its
//! [`Pace`](super::recovery::Pace); `Disconnected` if that fails, or may not begin yet.
//!
//! | state | input | then |
//! |---|---|---|
//! | connected | a refusal that the table recovers from, a lost session | negotiating; unconnected, if no attempt may begin yet |
//! | connected | a refusal of a call that was sent in the other era | the call is sent again, or fails |
//! | negotiating again | failure | unconnected: calls that wait fail with its reason |
//! | connected or negotiating, over a byte stream | the end of the stream | unconnected, under a restart policy |
//! | unconnected | a call; the time of the next attempt if something waits | negotiating; over a byte stream `Reopen` |
//! | unconnected | a call whose time ends before the next attempt may begin | the call fails with the last reason |
//! | unconnected | `retry_at_once`: another field, such as a token | the next attempt begins |
//!
//! Subscriptions stay wanted throughout: each is a call that waits, whose time never ends.

use alloc::vec::Vec;

use super::calls::{self, Call, Goal, State};
use super::connect_error::ConnectError;
use super::event::SubscriptionId;
use super::http::Binding;
use super::negotiation::probe::{Outcome, Step};
use super::negotiation::{Before, Verdict};
use super::recovery::{self, Known, Recovery, Refusal, Repeats, Then};
use super::{CallError, CallOptions, Client, ClientEvent, Life, Reason};
use crate::message::RequestId;
use crate::time::Instant;
use crate::version::{Era, ProtocolVersion};

/// When a server over a byte stream, such as a child process, is started again after it has ended.
/// Over HTTP there is nothing to start: a client over HTTP always connects again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Restart {
    /// Never: the end of the stream closes the client.
    #[default]
    Never,
    /// With the next call, or at once if subscriptions are wanted.
    OnCall,
    /// At once.
    Always,
}

/// A connection that is lost.
#[derive(Debug)]
pub(super) struct Unconnected {
    /// When the next attempt may begin.
    not_before: Instant,
    /// Why the connection was lost, or why the last attempt has failed.
    error: ConnectError,
    /// The era that the server belonged to.
    era: Era,
}

impl Client {
    /// The server has refused a call.
    pub(super) fn refuse_call(
        &mut self,
        now: Instant,
        number: u64,
        refusal: Refusal,
        error: CallError,
    ) {
        let Some(call) = self.calls.get(number) else { return };
        let may_repeat =
            call.refusals == 0 && (call.is_idempotent() || refusal.is_before_dispatch());
        if let State::Sent { era } = call.state
            && self.era().is_some_and(|current| current != era)
        {
            return self.refuse_late(
                now,
                number,
                may_repeat && refusal != Refusal::Unavailable,
                error,
            );
        }
        let known = match &self.life {
            Life::Modern(modern) if modern.confirmed => Known::Modern,
            Life::Modern(_) => Known::Unconfirmed,
            Life::Legacy(_) => Known::Legacy,
            // What an error means is known when the era is.
            Life::Negotiating(_) if may_repeat && refusal != Refusal::Unavailable => {
                return self.park(number, error);
            }
            Life::Negotiating(_)
            | Life::Unconnected(_)
            | Life::Unopened
            | Life::Reopening { .. }
            | Life::Closed => return self.fail_call(now, number, error),
        };
        let Some(row) = recovery::TABLE.find((known, refusal)) else { return };
        let Recovery { then, repeats } = row.then;
        let is_recovered =
            then != Then::Deliver && (known == Known::Unconfirmed || self.may_recover(now));
        let is_of_session = matches!(call.goal, Goal::Subscribe { .. } | Goal::Nobody);
        if is_recovered && known == Known::Legacy && is_of_session {
            // It ends with the session, and the next one has another.
        } else if is_recovered && may_repeat && repeats != Repeats::Nothing {
            self.park(number, error.clone());
        } else {
            self.fail_call(now, number, error.clone());
        }
        if !is_recovered {
            return;
        }
        let reason = ConnectError::of_loss(error).unwrap_or(ConnectError::Malformed);
        match (known, then) {
            (Known::Unconfirmed, _) => self.judge(now, Outcome::Error),
            (_, Then::NewSession) => self.recover(now, self.first_step(Era::Legacy), reason),
            (_, Then::Negotiate | Then::Deliver) => {
                self.recover(now, self.first_step(Era::Modern), reason);
            }
        }
    }

    /// The server has refused a call that was sent before it changed its era. That says nothing of the
    /// connection that there is by now.
    fn refuse_late(&mut self, now: Instant, number: u64, may_repeat: bool, error: CallError) {
        if !may_repeat {
            return self.fail_call(now, number, error);
        }
        if let Some(mut call) = self.calls.remove(number) {
            call.refusals += 1;
            self.send_anew(now, call);
        }
    }

    /// The server has forgotten the session, as something else than a call shows.
    pub(crate) fn handle_session_lost(&mut self, now: Instant) {
        let reason = ConnectError::Http { status: 404 };
        self.recover(now, self.first_step(Era::Legacy), reason);
    }

    /// A request did not leave the client: it waits for the next session.
    pub(crate) fn handle_unsent(&mut self, id: &RequestId) {
        let number = calls::number(id).filter(|number| self.is_awaited(*number));
        if let Some(call) = number.and_then(|number| self.calls.get_mut(number))
            && let Goal::Answer | Goal::Pages(_) = call.goal
        {
            call.wait();
        }
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
        Step::first(self.config.negotiation, legacy)
    }

    /// Whether there is a way to another connection, or another attempt on this one.
    fn may_recover(&self, now: Instant) -> bool {
        // A stream that goes on cannot be waited for: what was refused is delivered.
        self.binding == Binding::Http || self.pace.next(now) <= now
    }

    /// Whether the loss of the connection leaves the client unconnected, and does not close it.
    pub(super) fn recovers(&self) -> bool {
        let may_reopen = self.binding == Binding::Http || self.config.restart != Restart::Never;
        may_reopen && self.pace.has_connected()
    }

    /// The era or the session is not what it was: negotiates again, at once or when it may.
    fn recover(&mut self, now: Instant, step: Step, reason: ConnectError) {
        let Some(era) = self.era() else { return };
        let subscriptions = if era == Era::Legacy { self.leave_session(now) } else { Vec::new() };
        let not_before = self.pace.lost(now);
        if not_before <= now {
            self.pace.begin(now);
            self.decisions.clear();
            self.enter_after(now, step, Before::Here(era));
        } else {
            self.disconnect(now, Unconnected { not_before, error: reason, era });
        }
        for subscription in subscriptions {
            self.listen(now, subscription);
        }
    }

    /// A session is over. Calls in flight are repeated if they are idempotent; others fail, since the
    /// server may have executed them.
    fn leave_session(&mut self, now: Instant) -> Vec<SubscriptionId> {
        self.inputs.end(&mut self.outbox);
        let subscriptions = self.subscriptions.forget_session();
        let numbers: Vec<u64> = self.calls.numbers_of(Call::is_sent).collect();
        for number in numbers {
            self.abort(number);
            let Some(mut call) = self.calls.remove(number) else { continue };
            match call.goal {
                Goal::Answer | Goal::Pages(_) if call.is_idempotent() => {
                    call.wait();
                    let number = self.calls.number();
                    self.calls.insert(number, call);
                }
                Goal::Answer | Goal::Pages(_) => {
                    self.finish(now, call, Err(CallError::SessionExpired));
                }
                // Subscriptions are asked for again; nobody waits for the others.
                Goal::Listen { .. }
                | Goal::Subscribe { .. }
                | Goal::Nobody
                | Goal::Notification => {}
            }
        }
        subscriptions
    }

    /// An attempt has failed: calls that wait fail with its reason.
    pub(super) fn attempt_failed(&mut self, now: Instant, era: Era, error: ConnectError) {
        let not_before = self.pace.failed(now);
        self.disconnect(now, Unconnected { not_before, error, era });
        self.fail_waiting(now);
    }

    /// A byte stream has ended, or could not be opened.
    pub(super) fn stream_ended(&mut self, now: Instant, era: Era) {
        let subscriptions =
            if era == Era::Legacy { self.subscriptions.forget_session() } else { Vec::new() };
        self.inputs.end(&mut self.outbox);
        let is_lost = |call: &Call| !matches!(call.state, State::Waiting);
        let numbers: Vec<u64> = self.calls.numbers_of(is_lost).collect();
        for number in numbers {
            let Some(mut call) = self.calls.remove(number) else { continue };
            if let Goal::Listen { .. } = &call.goal {
                call.options.timeout = CallOptions::default().timeout;
                call.wait();
                let number = self.calls.number();
                self.calls.insert(number, call);
            } else {
                let error = call.interruption(CallError::Closed);
                self.finish(now, call, Err(error));
            }
        }
        let error = ConnectError::Closed;
        // The server was of use if it lasted; else it is started again later and later.
        let not_before = self.pace.lost(now);
        self.disconnect(now, Unconnected { not_before, error, era });
        for subscription in subscriptions {
            self.listen(now, subscription);
        }
    }

    fn disconnect(&mut self, now: Instant, unconnected: Unconnected) {
        self.deadlines.clear(Reason::Negotiation);
        let error = unconnected.error.clone();
        self.life = Life::Unconnected(unconnected);
        self.outbox.event(ClientEvent::Disconnected(error));
        self.schedule(now);
    }

    /// Sees to the next attempt, if something wants a connection; calls that cannot wait for it fail.
    fn schedule(&mut self, now: Instant) {
        let Life::Unconnected(Unconnected { not_before, error, .. }) = &self.life else { return };
        let not_before = *not_before;
        let error = error.clone();
        let is_late = |call: &Call| {
            let is_wanted = self.lives_on(call);
            let due = (now + call.options.timeout).min(call.ends);
            !is_wanted && call.waits() && due < not_before
        };
        let late: Vec<u64> = self.calls.numbers_of(is_late).collect();
        for number in late {
            self.fail_call(now, number, CallError::Connect(error.clone()));
        }
        // The same credentials would be refused again.
        let is_refused = matches!(error, ConnectError::Unauthorized(_));
        let wants =
            |call: &Call| call.waits() && !(is_refused && matches!(call.goal, Goal::Listen { .. }));
        let restarts = self.binding == Binding::Stream && self.config.restart == Restart::Always;
        if restarts || self.calls.numbers_of(wants).next().is_some() {
            self.deadlines.set(Reason::Recovery, not_before);
        } else {
            self.deadlines.clear(Reason::Recovery);
        }
    }

    /// Whether a request outlives the attempts that fail: that of a subscription that has begun. One
    /// that the server has never honoured fails like a call.
    fn lives_on(&self, call: &Call) -> bool {
        match call.goal {
            Goal::Listen { subscription } => self.subscriptions.has_begun(subscription),
            Goal::Answer
            | Goal::Pages(_)
            | Goal::Subscribe { .. }
            | Goal::Nobody
            | Goal::Notification => false,
        }
    }

    fn fail_waiting(&mut self, now: Instant) {
        let Life::Unconnected(Unconnected { error, .. }) = &self.life else { return };
        let error = CallError::Connect(error.clone());
        let fails = |call: &Call| call.waits() && !self.lives_on(call);
        let numbers: Vec<u64> = self.calls.numbers_of(fails).collect();
        for number in numbers {
            self.fail_call(now, number, error.clone());
        }
        self.schedule(now);
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
        let Life::Unconnected(Unconnected { era, .. }) = &self.life else { return };
        let era = *era;
        self.deadlines.clear(Reason::Recovery);
        self.pace.begin(now);
        self.decisions.clear();
        let step = self.first_step(era);
        match self.binding {
            Binding::Stream => self.reopen(now, step, Before::Earlier(era)),
            Binding::Http => self.enter_after(now, step, Before::Earlier(era)),
        }
    }

    fn park(&mut self, number: u64, error: CallError) {
        let refused_as = match &self.life {
            Life::Negotiating(negotiating) => negotiating.before().era(),
            Life::Legacy(_) => Era::Legacy,
            Life::Modern(_)
            | Life::Unconnected(_)
            | Life::Unopened
            | Life::Reopening { .. }
            | Life::Closed => Era::Modern,
        };
        if let Some(call) = self.calls.get_mut(number) {
            call.refusals += 1;
            call.park(error, refused_as);
        }
    }

    fn fail_call(&mut self, now: Instant, number: u64, error: CallError) {
        if let Some(call) = self.calls.remove(number) {
            self.finish(now, call, Err(error));
        }
    }
}
