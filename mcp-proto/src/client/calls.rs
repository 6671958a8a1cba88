//! The calls without a response so far.
//!
//! In: a call, under the id of its request. A repeated call gets another id. Out: the call for a
//! response or for progress, and the calls whose timeout has passed.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::call::{Call, State};
use super::event::{CallId, SubscriptionId};
use super::inputs::Inputs;
use crate::error::UsageError;
use crate::limits::Limits;
use crate::message::RequestId;
use crate::progress::Progress;
use crate::seq_map::SeqMap;
use crate::time::Instant;
use crate::types::ProgressNotificationParams;
use crate::version::Era;

#[derive(Debug, Default)]
pub(super) struct Calls {
    /// The calls by the numbers of their requests; boxed, since calls are moved often.
    table: SeqMap<Box<Call>>,
    /// The numbers of requests whose responses will be ignored.
    abandoned: BTreeSet<u64>,
    /// Time at which the next call may be due. It is recomputed at that time, not at the end of
    /// each call, so that drivers need not set a timer for every call.
    next_due: Option<Instant>,
    numbers: u64,
}

/// Error of progress below the earlier value.
#[derive(Debug)]
pub(super) struct Decreased;

impl Calls {
    /// An unused request number.
    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Checks that there is room for a call with this many bytes of parameters; `may_wait` is true
    /// if the call is not sent at once.
    ///
    /// Fails with [`UsageError::TooManyCalls`] and [`UsageError::TooManyUnsentBytes`].
    pub(super) fn admit(
        &self,
        bytes: usize,
        may_wait: bool,
        limits: &Limits,
    ) -> Result<(), UsageError> {
        let Limits { max_in_flight, max_unsent_bytes, .. } = *limits;
        if self.table.len() >= max_in_flight {
            return Err(UsageError::TooManyCalls { max_in_flight });
        }
        if may_wait {
            let held = self.table.iter().filter(|(_, call)| call.is_held());
            let held: usize = held.map(|(_, call)| call.params.as_bytes().len()).sum();
            if held > 0 && held.saturating_add(bytes) > max_unsent_bytes {
                return Err(UsageError::TooManyUnsentBytes { max_unsent_bytes });
            }
        }
        Ok(())
    }

    /// Stores a call that cannot be sent yet, and starts its timeout.
    pub(super) fn hold(&mut self, now: Instant, number: u64, mut call: Box<Call>) {
        if let State::Sent { .. } = call.state {
            call.state = State::Waiting;
        }
        call.restart(now);
        self.insert(number, call);
    }

    pub(super) fn insert(&mut self, number: u64, call: Box<Call>) {
        self.watch(call.due);
        self.table.insert(number, call);
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<Box<Call>> {
        self.table.remove(number)
    }

    /// Removes a call whose response will be ignored.
    pub(super) fn abandon(&mut self, number: u64, max: usize) -> Option<Box<Call>> {
        let call = self.remove(number)?;
        if call.is_sent() {
            self.ignore(number, max);
        }
        Some(call)
    }

    /// Marks the response with this number as ignored. At most `max` responses are, the latest.
    pub(super) fn ignore(&mut self, number: u64, max: usize) {
        self.abandoned.insert(number);
        if self.abandoned.len() > max {
            self.abandoned.pop_first();
        }
    }

    /// Returns whether the response with this number will be ignored, and has not arrived yet.
    pub(super) fn is_abandoned(&self, number: u64) -> bool {
        self.abandoned.contains(&number)
    }

    /// Handles a response that belongs to no call; returns whether its call was abandoned.
    pub(super) fn take_abandoned(&mut self, number: u64) -> bool {
        self.abandoned.remove(&number)
    }

    pub(super) fn get(&self, number: u64) -> Option<&Call> {
        self.table.get(number).map(|call| &**call)
    }

    /// Returns whether the request with this number was sent to a modern server.
    pub(super) fn is_modern(&self, number: u64) -> bool {
        let is_modern = |call: &Call| matches!(call.state, State::Sent { era: Era::Modern, .. });
        self.get(number).is_some_and(is_modern)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Call> {
        self.table.get_mut(number).map(|call| &mut **call)
    }

    /// The number of the call that waits for a response with this id.
    pub(super) fn awaited(&self, id: &RequestId) -> Option<u64> {
        number(id).filter(|number| self.get(*number).is_some_and(Call::is_sent))
    }

    /// The subscription of the request with this number.
    pub(super) fn subscription(&self, number: u64) -> Option<SubscriptionId> {
        self.get(number).and_then(Call::listens)
    }

    /// The request number of a call.
    pub(super) fn find(&self, id: CallId) -> Option<u64> {
        // A call keeps its first id until it is sent again.
        let is_it = |call: &Call| call.id == id;
        let first = self.table.get(id.0).filter(|call| is_it(call)).map(|_| id.0);
        first.or_else(|| self.first_of(is_it))
    }

    pub(super) fn find_listen(&self, wanted: SubscriptionId) -> Option<u64> {
        self.first_of(|call| call.listens() == Some(wanted))
    }

    /// The numbers of matching calls, oldest first.
    pub(super) fn numbers_of(&self, wanted: impl Fn(&Call) -> bool) -> Vec<u64> {
        let found = self.table.iter().filter(|(_, call)| wanted(call));
        found.map(|(number, _)| number).collect()
    }

    /// The number of the oldest matching call.
    fn first_of(&self, wanted: impl Fn(&Call) -> bool) -> Option<u64> {
        self.table.iter().find(|(_, call)| wanted(call)).map(|(number, _)| number)
    }

    /// Returns whether any call matches.
    pub(super) fn any(&self, wanted: impl Fn(&Call) -> bool) -> bool {
        self.first_of(wanted).is_some()
    }

    /// Queues a call until there is a connection, under an unused number.
    pub(super) fn wait(&mut self, mut call: Box<Call>) {
        call.wait();
        let number = self.number();
        self.insert(number, call);
    }

    /// The numbers of the calls that cannot continue after the end of a session: calls in flight,
    /// and calls that wait for input, since all inputs are dropped.
    pub(super) fn of_session(&self) -> Vec<u64> {
        self.numbers_of(|call| match &call.state {
            State::Sent { .. } => true,
            State::AwaitingInput(awaiting) => !awaiting.missing.is_empty(),
            State::Waiting | State::BetweenPolls | State::Parked { .. } => false,
        })
    }

    /// Begins all lists again after the end of a session: "Don't persist cursors across sessions".
    pub(super) fn restart_pages(&mut self) {
        self.table.values_mut().for_each(|call| call.restart_pages());
    }

    /// Pauses the timeouts of calls for which a legacy server waits for input.
    pub(super) fn pause_timeouts(&mut self, inputs: &Inputs) {
        self.table
            .values_mut()
            .filter(|call| inputs.awaits_legacy_input(call.id))
            .for_each(|call| call.pause_timeout());
    }

    /// Restarts the paused timeouts of calls for which a legacy server no longer waits.
    pub(super) fn resume(&mut self, now: Instant, inputs: &Inputs) {
        let rested = |call: &&mut Box<Call>| {
            let is_paused_for_input =
                matches!(call.state, State::Sent { is_paused: false, .. }) && call.due == call.ends;
            is_paused_for_input && !inputs.awaits_legacy_input(call.id)
        };
        for call in self.table.values_mut().filter(rested) {
            call.restart(now);
        }
        // Some deadlines have changed.
        self.watch_after(Instant::ZERO);
    }

    /// Restarts the timeout of a request, unless a legacy server waits for its input.
    pub(super) fn restart(&mut self, now: Instant, number: u64, inputs: &Inputs) {
        let Some(call) = self.table.get_mut(number) else { return };
        if let State::Sent { is_queued, is_paused, .. } = &mut call.state {
            *is_queued = false;
            *is_paused = false;
        }
        if !inputs.awaits_legacy_input(call.id) {
            call.restart(now);
            // The deadline may now be earlier.
            let due = call.due;
            self.watch(due);
        }
    }

    /// Handles progress; returns the call, unless it is over.
    ///
    /// Fails if the progress is less than before.
    pub(super) fn progressed(
        &mut self,
        now: Instant,
        params: ProgressNotificationParams,
        inputs: &Inputs,
    ) -> Result<Option<(CallId, Progress)>, Decreased> {
        let ProgressNotificationParams { progress_token, progress, total, message, .. } = params;
        let Some(number) = number(&progress_token) else { return Ok(None) };
        // Progress that arrives after the response may have been sent before it, so it is ignored.
        let wants_progress = |call: &&mut Call| call.is_sent() && call.options.progress;
        let Some(call) = self.get_mut(number).filter(wants_progress) else { return Ok(None) };
        // "The progress value MUST increase with each notification".
        if call.progress.is_some_and(|before| progress < before) {
            return Err(Decreased);
        }
        // Progress without an increase does not postpone the timeout.
        let increases = call.progress.is_none_or(|before| progress > before);
        if increases {
            call.progress = Some(progress);
        }
        let id = call.id;
        if increases && call.options.reset_on_progress {
            self.restart(now, number, inputs);
        }
        Ok(Some((id, Progress { progress, total, message })))
    }

    /// Records that a call may be due at this time.
    fn watch(&mut self, due: Instant) {
        if due != Instant::NEVER {
            self.next_due = Some(self.next_due.map_or(due, |next| next.min(due)));
        }
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.next_due
    }

    /// The numbers of the calls whose timeout has passed.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<u64> {
        let due = self.numbers_of(|call| call.due <= now);
        self.watch_after(now);
        due
    }

    /// Finds the call that is due next after `then`.
    fn watch_after(&mut self, then: Instant) {
        let rest = self.table.iter().map(|(_, call)| call.due).filter(|due| *due > then);
        self.next_due = rest.min().filter(|due| *due != Instant::NEVER);
    }
}

/// The number of a client's request, from its id. The id may be the number as a string, because the
/// client's own ids are never strings.
pub(super) fn number(id: &RequestId) -> Option<u64> {
    let mut digits = id.canonical();
    if let Some(text) = digits.strip_prefix(b"\"") {
        digits = text.strip_suffix(b"\"")?;
    }
    if digits.is_empty() || digits.starts_with(b"0") && digits.len() > 1 {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Raw;

    #[test]
    fn ignored_responses_are_limited() {
        let mut calls = Calls::default();
        for number in 1..=5 {
            calls.ignore(number, 3);
        }
        let ignored: Vec<u64> = (1..=5).filter(|number| calls.is_abandoned(*number)).collect();
        assert_eq!(ignored, [3, 4, 5]);
    }

    #[test]
    fn number_of_an_id_is_its_plain_digits() {
        for (id, expected) in [
            ("0", Some(0)),
            ("7", Some(7)),
            ("1e1", Some(10)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("99999999999999999999", None),
            ("-7", None),
            (r#""7""#, Some(7)),
            (r#""\u0037""#, Some(7)),
            (r#""0""#, Some(0)),
            (r#""""#, None),
            (r#""07""#, None),
            (r#""+7""#, None),
            (r#""7 ""#, None),
            (r#""discover-7""#, None),
        ] {
            let id = RequestId::from_raw(Raw(id.as_bytes())).unwrap();
            assert_eq!(number(&id), expected, "{id:?}");
        }
    }
}
