//! The calls that have had no response yet.
//!
//! In: a call, under the id that its request has on the wire; it comes out again, and goes in under
//! another id, when it is asked again. Out: the call that a response or progress belongs to, and
//! those whose time is over.

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

#[derive(Debug, Default)]
pub(super) struct Calls {
    /// By the number that their request has on the wire.
    table: SeqMap<Call>,
    /// The numbers of requests whose response is of no interest any more.
    abandoned: BTreeSet<u64>,
    /// When the next call may be due. It is looked up then, and not whenever a call is over, so
    /// that whoever drives the client need not set a timer for every call.
    next_due: Option<Instant>,
    numbers: u64,
}

/// Progress that is less than before.
#[derive(Debug)]
pub(super) struct Decreased;

impl Calls {
    /// A number that no request has had.
    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Whether there is room for a call with this many bytes of parameters; `may_wait` if it is not
    /// sent at once.
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

    /// Keeps a call that cannot be sent yet, with its time running.
    pub(super) fn hold(&mut self, now: Instant, number: u64, mut call: Call) {
        if let State::Sent { .. } = call.state {
            call.state = State::Waiting;
        }
        call.restart(now);
        self.insert(number, call);
    }

    pub(super) fn insert(&mut self, number: u64, call: Call) {
        self.watch(call.due);
        self.table.insert(number, call);
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<Call> {
        self.table.remove(number)
    }

    /// Takes out a call whose response will be of no interest when it comes.
    pub(super) fn abandon(&mut self, number: u64, max: usize) -> Option<Call> {
        let call = self.remove(number)?;
        if call.is_sent() {
            self.abandoned.insert(number);
            if self.abandoned.len() > max {
                self.abandoned.pop_first();
            }
        }
        Some(call)
    }

    /// The response with this number will be of no interest when it comes.
    pub(super) fn ignore(&mut self, number: u64) {
        self.abandoned.insert(number);
    }

    /// Returns whether the response with this number is of no interest any more, and has not come.
    pub(super) fn is_abandoned(&self, number: u64) -> bool {
        self.abandoned.contains(&number)
    }

    /// A response has come that belongs to no call; whether it is of one that was abandoned.
    pub(super) fn take_abandoned(&mut self, number: u64) -> bool {
        self.abandoned.remove(&number)
    }

    pub(super) fn get(&self, number: u64) -> Option<&Call> {
        self.table.get(number)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Call> {
        self.table.get_mut(number)
    }

    /// The number of the call that waits for a response with this id.
    pub(super) fn awaited(&self, id: &RequestId) -> Option<u64> {
        number(id).filter(|number| self.get(*number).is_some_and(Call::is_sent))
    }

    /// The subscription that the request with this number is.
    pub(super) fn subscription(&self, number: u64) -> Option<SubscriptionId> {
        self.get(number).and_then(Call::listens)
    }

    /// The number that a call has on the wire.
    pub(super) fn find(&self, id: CallId) -> Option<u64> {
        // It keeps its first one until it is asked again.
        let is_it = |call: &Call| call.id == id;
        let first = self.table.get(id.0).filter(|call| is_it(call)).map(|_| id.0);
        first.or_else(|| self.first_of(is_it))
    }

    pub(super) fn find_listen(&self, wanted: SubscriptionId) -> Option<u64> {
        self.first_of(|call| call.listens() == Some(wanted))
    }

    /// The numbers of some calls, oldest first.
    pub(super) fn numbers_of(&self, wanted: impl Fn(&Call) -> bool) -> Vec<u64> {
        let found = self.table.iter().filter(|(_, call)| wanted(call));
        found.map(|(number, _)| number).collect()
    }

    /// The number of the oldest of some calls.
    fn first_of(&self, wanted: impl Fn(&Call) -> bool) -> Option<u64> {
        self.table.iter().find(|(_, call)| wanted(call)).map(|(number, _)| number)
    }

    /// Returns whether there are some calls.
    pub(super) fn any(&self, wanted: impl Fn(&Call) -> bool) -> bool {
        self.first_of(wanted).is_some()
    }

    /// Keeps a call until there is a connection, under a number that no server has seen.
    pub(super) fn wait(&mut self, mut call: Call) {
        call.wait();
        let number = self.number();
        self.insert(number, call);
    }

    /// The time of the calls that a legacy server waits with rests.
    pub(super) fn rest(&mut self, inputs: &Inputs) {
        self.table.values_mut().filter(|call| inputs.rests(call.id)).for_each(Call::rest);
    }

    /// The time of calls in flight goes on if a legacy server does not wait with them any more.
    pub(super) fn resume(&mut self, now: Instant, inputs: &Inputs) {
        let rested = |call: &&mut Call| call.is_sent() && call.rests() && !inputs.rests(call.id);
        for call in self.table.values_mut().filter(rested) {
            call.restart(now);
        }
        // Some calls are due at another time than before.
        self.watch_after(Instant::ZERO);
    }

    /// The time for the response to a request starts again, unless a legacy server waits with it.
    pub(super) fn restart(&mut self, now: Instant, number: u64, inputs: &Inputs) {
        if let Some(call) = self.table.get_mut(number)
            && !inputs.rests(call.id)
        {
            call.restart(now);
            // A long time may become a shorter one.
            let due = call.due;
            self.watch(due);
        }
    }

    /// A server tells of progress; returns the call, unless it is over.
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
        // What comes after the response is of no interest, and may have been under way.
        let is_told = |call: &&mut Call| call.is_sent() && call.options.progress;
        let Some(call) = self.table.get_mut(number).filter(is_told) else { return Ok(None) };
        // "The progress value MUST increase with each notification".
        if call.progress.is_some_and(|before| progress < before) {
            return Err(Decreased);
        }
        // A server that does not get any further does not get more time either.
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

    /// A call may be due then.
    fn watch(&mut self, due: Instant) {
        if due != Instant::NEVER {
            self.next_due = Some(self.next_due.map_or(due, |next| next.min(due)));
        }
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.next_due
    }

    /// The numbers of the calls whose time is over.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<u64> {
        let due = self.numbers_of(|call| call.due <= now);
        self.watch_after(now);
        due
    }

    /// Looks up which call is due next after `then`.
    fn watch_after(&mut self, then: Instant) {
        let rest = self.table.iter().map(|(_, call)| call.due).filter(|due| *due > then);
        self.next_due = rest.min().filter(|due| *due != Instant::NEVER);
    }
}

/// The number of a request of ours, from its id: a number, or the same number as a string, since
/// no id of ours is one.
pub(super) fn number(id: &RequestId) -> Option<u64> {
    let token = id.canonical_str();
    let digits = token.strip_prefix('"').map_or(token, |text| text.trim_end_matches('"'));
    let plain = !digits.starts_with(['+', '0']) || digits == "0";
    digits.parse().ok().filter(|_| plain)
}
