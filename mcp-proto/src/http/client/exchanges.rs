//! Exchanges of a client, and their deadlines.
//!
//! In: requests with their purposes, ends, delays. Out: `Open` and `Abort`; exchanges that have had
//! their time, and what is attempted again.
//!
//! | state | holds | leaves by |
//! |---|---|---|
//! | waiting | the request | a connection that is free |
//! | open | the request until the head of its answer has come; the answer | its end; `Abort`, at its deadline or when nobody wants it |
//! | asleep | the call or the message, without its exchange | its delay, or other credentials |

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::mem;

use super::connections::Connections;
use super::delivery::{ACCEPT_TIMEOUT, Delivery};
use super::exchange::{Exchange, Purpose, Sleeper, Waking};
use super::{Action, ExchangeId, Request};
use crate::deadlines::Deadlines;
use crate::time::Instant;

/// Exchanges that are open, wait for a connection, or are asleep.
#[derive(Debug)]
pub(super) struct Exchanges {
    all: BTreeMap<ExchangeId, Exchange>,
    sleeping: BTreeMap<u64, Sleeper>,
    connections: Connections,
    deadlines: Deadlines<Reason>,
    /// Messages that have not been accepted, open, waiting or asleep.
    messages: usize,
    serials: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Reason {
    /// The end of an exchange.
    End(ExchangeId),
    /// Another attempt.
    Wake(u64),
}

/// What is due.
#[derive(Debug)]
pub(super) enum Due {
    /// An exchange has had its time.
    Over(ExchangeId),
    /// Something is attempted again.
    Awake(Waking),
}

impl Exchanges {
    /// No exchanges, of which `max` may have a connection.
    pub(super) fn new(max: usize) -> Self {
        Self {
            all: BTreeMap::new(),
            sleeping: BTreeMap::new(),
            connections: Connections::new(max),
            deadlines: Deadlines::new(),
            messages: 0,
            serials: 0,
        }
    }

    /// A number that no exchange has, nor will have.
    pub(super) fn serial(&mut self) -> u64 {
        self.serials += 1;
        self.serials
    }

    /// Begins an exchange; it is opened at once if there is a connection for it.
    pub(super) fn begin(
        &mut self,
        queue: &mut VecDeque<Action>,
        request: Request,
        purpose: Purpose,
    ) -> ExchangeId {
        let id = ExchangeId(self.serial());
        if self.connections.begin(id, purpose.share()) {
            queue.push_back(Action::Open { exchange: id, request: request.clone() });
        }
        self.messages += usize::from(purpose.is_message());
        self.all.insert(id, Exchange::new(request, purpose));
        id
    }

    /// Opens the next exchange that has waited, if there is a connection for it by now.
    pub(super) fn open_waiting(
        &mut self,
        now: Instant,
        queue: &mut VecDeque<Action>,
    ) -> Option<&Purpose> {
        while let Some(id) = self.connections.next() {
            let Some(Exchange { request: Some(request), purpose, .. }) = self.all.get(&id) else {
                continue;
            };
            if let Purpose::Message(_) = purpose {
                self.deadlines.set(Reason::End(id), now + ACCEPT_TIMEOUT);
            }
            queue.push_back(Action::Open { exchange: id, request: request.clone() });
            return Some(purpose);
        }
        None
    }

    pub(super) fn get(&self, id: ExchangeId) -> Option<&Exchange> {
        self.all.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: ExchangeId) -> Option<&mut Exchange> {
        self.all.get_mut(&id)
    }

    /// Whether an exchange has a connection.
    pub(super) fn is_open(&self, id: ExchangeId) -> bool {
        self.connections.is_open(id)
    }

    /// The most streams that may be open, if no other one may be opened.
    pub(super) fn full_of_streams(&self) -> Option<usize> {
        self.connections.is_full_of_streams().then(|| self.connections.max_streams())
    }

    /// The number of messages that have not been accepted.
    pub(super) fn messages(&self) -> usize {
        self.messages
    }

    /// Takes the message of an exchange that has got its status; the rest of the answer says nothing.
    pub(super) fn take_message(&mut self, id: ExchangeId) -> Option<Delivery> {
        let open = self.all.get_mut(&id).filter(|open| open.purpose.is_message())?;
        self.messages = self.messages.saturating_sub(1);
        mem::replace(&mut open.purpose, Purpose::Rest).into_delivery()
    }

    /// Ends an exchange that the driver has ended.
    pub(super) fn end(&mut self, id: ExchangeId) -> Option<Exchange> {
        self.deadlines.clear(Reason::End(id));
        self.connections.end(id);
        let ended = self.all.remove(&id)?;
        self.messages = self.messages.saturating_sub(usize::from(ended.purpose.is_message()));
        Some(ended)
    }

    /// Ends an exchange whose answer is of no interest any more.
    pub(super) fn abort(
        &mut self,
        queue: &mut VecDeque<Action>,
        id: ExchangeId,
    ) -> Option<Exchange> {
        let is_open = self.connections.is_open(id);
        let exchange = self.end(id)?;
        if is_open && !exchange.has_ended {
            queue.push_back(Action::Abort { exchange: id });
        }
        Some(exchange)
    }

    /// The same for each exchange with such a purpose.
    pub(super) fn abort_where(
        &mut self,
        queue: &mut VecDeque<Action>,
        is_meant: impl Fn(&Purpose) -> bool,
    ) -> Vec<Purpose> {
        let aborted = self.find(|_, purpose| is_meant(purpose)).into_iter();
        aborted.filter_map(|id| self.abort(queue, id)).map(|aborted| aborted.purpose).collect()
    }

    /// Ends each exchange with such a purpose that waits for a connection.
    pub(super) fn end_waiting_where(
        &mut self,
        is_meant: impl Fn(&Purpose) -> bool,
    ) -> Vec<Purpose> {
        let waiting = self.find(|id, purpose| !self.is_open(id) && is_meant(purpose));
        waiting.into_iter().filter_map(|id| self.end(id)).map(|ended| ended.purpose).collect()
    }

    /// Gives an exchange its deadline.
    pub(super) fn set_deadline(&mut self, id: ExchangeId, at: Instant) {
        self.deadlines.set(Reason::End(id), at);
    }

    /// The deadline of an exchange.
    pub(super) fn deadline(&self, id: ExchangeId) -> Option<Instant> {
        self.deadlines.due(Reason::End(id))
    }

    /// Gives each exchange with such a purpose a deadline, if it has none.
    pub(super) fn set_deadline_where(&mut self, at: Instant, is_meant: impl Fn(&Purpose) -> bool) {
        for id in self.find(|_, purpose| is_meant(purpose)) {
            if !self.deadlines.has(Reason::End(id)) {
                self.deadlines.set(Reason::End(id), at);
            }
        }
    }

    fn find(&self, is_meant: impl Fn(ExchangeId, &Purpose) -> bool) -> Vec<ExchangeId> {
        let found = self.all.iter().filter(|(id, open)| is_meant(**id, &open.purpose));
        found.map(|(id, _)| *id).collect()
    }

    /// Attempts something again at `at`.
    pub(super) fn sleep(&mut self, at: Instant, sleeper: Sleeper) {
        let key = self.serial();
        self.deadlines.set(Reason::Wake(key), at);
        self.messages += usize::from(sleeper.waking.is_message());
        self.sleeping.insert(key, sleeper);
    }

    /// Takes out whatever of this kind is asleep, in its order.
    pub(super) fn wake_where(&mut self, is_meant: impl Fn(&Sleeper) -> bool) -> Vec<Waking> {
        let meant = self.asleep_where(is_meant);
        meant.into_iter().filter_map(|key| self.wake(key)).collect()
    }

    /// The keys of whatever of this kind is asleep.
    pub(super) fn asleep_where(&self, is_meant: impl Fn(&Sleeper) -> bool) -> Vec<u64> {
        let meant = self.sleeping.iter().filter(|(_, sleeper)| is_meant(sleeper));
        meant.map(|(key, _)| *key).collect()
    }

    /// Takes out what is asleep under a key.
    pub(super) fn wake(&mut self, key: u64) -> Option<Waking> {
        self.deadlines.clear(Reason::Wake(key));
        let Sleeper { waking, .. } = self.sleeping.remove(&key)?;
        self.messages = self.messages.saturating_sub(usize::from(waking.is_message()));
        Some(waking)
    }

    /// The first thing that is due.
    pub(super) fn expire(&mut self, now: Instant) -> Option<Due> {
        while let Some(reason) = self.deadlines.expire(now) {
            match reason {
                Reason::End(id) => return Some(Due::Over(id)),
                Reason::Wake(key) => {
                    if let Some(waking) = self.wake(key) {
                        return Some(Due::Awake(waking));
                    }
                }
            }
        }
        None
    }

    /// When something is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.deadlines.next()
    }
}
