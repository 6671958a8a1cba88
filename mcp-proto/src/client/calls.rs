//! The calls that have had no response yet.
//!
//! In: a call, under the id that its request has on the wire; it comes out again, and goes in under
//! another id, when it is asked again. Out: the call that a response or progress belongs to, and
//! those whose time is over.
//!
//! | state | leaves by |
//! |---|---|
//! | `Waiting` for the era to be known, or held by the `Outbox` | being sent; cancellation, its time |
//! | `Sent` | a response, cancellation, its time |
//! | `Asking` for input | the last input, which sends it again; cancellation, its time |
//! | `Parked`: refused, and may be repeated once the server is known | the end of the negotiation |
//!
//! A call that the server may have dispatched to a handler is parked only if its method is
//! idempotent; see `recovery`.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::event::{CallError, CallId, CallOptions, SubscriptionId};
use super::inputs::Inputs;
use super::pages::Pages;
use crate::error::UsageError;
use crate::json::Json;
use crate::limits::Limits;
use crate::message::{RequestId, is_idempotent};
use crate::row::Row;
use crate::time::Instant;
use crate::types::{InputResponse, InputResponses};
use crate::version::Era;

/// A call that has had no response yet.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: CallId,
    pub(super) method: Cow<'static, str>,
    /// As the application has given them.
    pub(super) params: Json,
    pub(super) options: CallOptions,
    pub(super) goal: Goal,
    pub(super) state: State,
    /// When its time is over.
    pub(super) due: Instant,
    /// When its time is over at the latest.
    pub(super) ends: Instant,
    /// How often the server has refused it before it was repeated.
    pub(super) refusals: u8,
    /// How often it has brought input.
    pub(super) rounds: usize,
    /// The last progress.
    pub(super) progress: Option<f64>,
}

/// Who waits for the response.
#[derive(Debug)]
pub(super) enum Goal {
    /// The application.
    Answer,
    /// The application, for all pages at once.
    Pages(Pages),
    /// A subscription of a modern server, which the response ends.
    Listen { subscription: SubscriptionId },
    /// A subscription to one resource of a legacy server.
    Subscribe { subscription: SubscriptionId, uri: String },
    /// Nobody; it is a request that is not worth an event.
    Nobody,
    /// Nobody; it is a notification.
    Notification,
}

#[derive(Debug)]
pub(super) enum State {
    Waiting,
    Sent {
        /// The era in which it was sent.
        era: Era,
    },
    Asking(Asking),
    Parked {
        error: CallError,
        /// The era in which it was sent.
        refused_as: Era,
    },
}

/// What a modern server wants before it answers.
#[derive(Debug)]
pub(super) struct Asking {
    /// What is not there yet.
    pub(super) missing: BTreeSet<String>,
    pub(super) responses: InputResponses,
    /// What it wants back, as it came.
    pub(super) request_state: Option<Json>,
}

impl Call {
    /// Its time starts anew.
    pub(super) fn restart(&mut self, now: Instant) {
        self.due = (now + self.options.timeout).min(self.ends);
    }

    /// Its time rests.
    pub(super) fn rest(&mut self) {
        self.due = self.ends;
    }

    fn rests(&self) -> bool {
        self.due == self.ends
    }

    /// It is to be sent once there is a connection, and room; its time rests.
    pub(super) fn wait(&mut self) {
        self.state = State::Waiting;
        self.rest();
    }

    /// The server, of this era, has refused or lost it; it may be repeated.
    pub(super) fn park(&mut self, error: CallError, refused_as: Era) {
        self.state = State::Parked { error, refused_as };
        self.rest();
    }

    /// One of the inputs that it asks for is there; returns whether it is the last.
    pub(super) fn give(&mut self, key: String, answer: Json) -> bool {
        let State::Asking(asking) = &mut self.state else { return false };
        asking.missing.remove(&key);
        asking.responses.insert(key, InputResponse::from(answer));
        asking.missing.is_empty()
    }

    /// Whether the server may see it twice.
    pub(super) fn is_idempotent(&self) -> bool {
        is_idempotent(&self.method)
    }

    /// Whether it is to be sent when there is a connection.
    pub(super) fn waits(&self) -> bool {
        matches!(self.state, State::Waiting | State::Parked { .. })
    }

    /// Why it has no response when the connection ends, for this cause.
    pub(super) fn interruption(&self, cause: CallError) -> CallError {
        if self.is_sent() && !self.is_idempotent() { CallError::Interrupted } else { cause }
    }

    /// Whether it waits to be sent, or to be sent again with its input.
    fn is_held(&self) -> bool {
        match &self.state {
            State::Waiting => true,
            State::Asking(asking) => asking.missing.is_empty(),
            State::Sent { .. } | State::Parked { .. } => false,
        }
    }

    pub(super) fn is_sent(&self) -> bool {
        matches!(self.state, State::Sent { .. })
    }
}

#[derive(Debug, Default)]
pub(super) struct Calls {
    /// By the number that their request has on the wire.
    table: Row<Call>,
    /// The numbers of requests whose response is of no interest any more.
    abandoned: BTreeSet<u64>,
    /// When the next call may be due. It is looked up then, and not whenever a call is over, so
    /// that whoever drives the client need not set a timer for every call.
    next_due: Option<Instant>,
    numbers: u64,
}

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

    /// Whether the response with this number is of no interest any more, and has not come.
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

    /// The number that a call has on the wire.
    pub(super) fn find(&self, id: CallId) -> Option<u64> {
        // It keeps its first one until it is asked again.
        let is_it = |call: &Call| call.id == id;
        let first = self.table.get(id.0).filter(|call| is_it(call)).map(|_| id.0);
        first.or_else(|| self.numbers_of(is_it).next())
    }

    pub(super) fn find_listen(&self, wanted: SubscriptionId) -> Option<u64> {
        self.numbers_of(|call| {
            matches!(&call.goal, Goal::Listen { subscription, .. } if *subscription == wanted)
        })
        .next()
    }

    /// The numbers of some calls, oldest first.
    pub(super) fn numbers_of<'a>(
        &'a self,
        wanted: impl Fn(&Call) -> bool + 'a,
    ) -> impl Iterator<Item = u64> + 'a {
        self.table.iter().filter(move |(_, call)| wanted(call)).map(|(number, _)| number)
    }

    /// The numbers of the calls that wait to be sent, oldest first.
    pub(super) fn held(&self) -> Vec<u64> {
        self.numbers_of(Call::is_held).collect()
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
        let due = self.numbers_of(|call| call.due <= now).collect();
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
