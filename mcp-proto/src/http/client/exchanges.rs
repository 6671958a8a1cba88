//! Exchanges of a client, and their deadlines.
//!
//! In: requests with their purposes, ends, delays. Out: `Open` and `Abort`; exchanges whose
//! deadline has passed, and purposes that are due for another attempt.
//!
//! | state | holds | leaves by |
//! |---|---|---|
//! | waiting | the request | a connection that is free |
//! | held, for the authorizer | the request | a signature, or the end of the flow |
//! | open | the request until the head of its answer has come; the answer | its end; `Abort`, at its deadline or when nobody wants it |
//! | asleep | the call or the message, without its exchange | its delay, or other credentials |
//!
//! A message has 60 s, counted from its connection. A request for a subscription, if it renews the
//! subscription or its call has no timeout, has 60 s until the head of its answer, counted in the
//! same way. A list of tools has 60 s from its start, and a DELETE has 2 s. The GET of HTTP+SSE has
//! 10 s until its first event.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;

use super::attempt::Attempt;
#[cfg(feature = "auth")]
use super::attempt::HeldFor;
use super::connections::Connections;
use super::delivery::{ACCEPT_TIMEOUT, Delivery};
use super::exchange::{Exchange, Purpose};
use super::sse2024::ENDPOINT_TIMEOUT;
use super::{Action, ExchangeId, Request, set_field};
use crate::deadlines::Deadlines;
use crate::error::UsageError;
use crate::message::RequestId;
use crate::seq_map::SeqMap;
use crate::time::{Duration, Instant};
use crate::url::Url;

/// Time that a server has to answer a DELETE.
const DELETE_TIMEOUT: Duration = Duration::from_secs(2);

/// Time that an answer may continue after its last relevant part.
pub(super) const LINGER: Duration = Duration::from_secs(1);

/// The most redirections of a request.
const MAX_REDIRECTS: u8 = 5;

/// Exchanges that are open, wait for a connection, or sleep.
#[derive(Debug)]
pub(super) struct Exchanges {
    /// By the numbers of their ids. Boxed, since the places of the others change when one ends.
    all: SeqMap<Box<Exchange>>,
    sleeping: BTreeMap<u64, Sleeper>,
    connections: Connections,
    deadlines: Deadlines<ExchangeTimer>,
    /// Number of messages that the server has not accepted: open, waiting or asleep.
    messages: usize,
    serials: u64,
}

/// An exchange that sleeps until its next attempt.
#[derive(Debug)]
struct Sleeper {
    purpose: Purpose,
    /// True if new credentials may end the sleep.
    is_unauthorized: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum ExchangeTimer {
    /// The end of an exchange.
    End(ExchangeId),
    /// Another attempt.
    Wake(u64),
}

/// Deadline that has passed.
#[derive(Debug)]
pub(super) enum Due {
    /// The exchange has ended.
    Expired(ExchangeId),
    /// The purpose is due for another attempt.
    Retry(Purpose),
}

impl Exchanges {
    /// Creates an empty set of exchanges, of which at most `max` will have a connection.
    pub(super) fn new(max: usize) -> Self {
        Self {
            all: SeqMap::default(),
            sleeping: BTreeMap::new(),
            connections: Connections::new(max),
            deadlines: Deadlines::new(),
            messages: 0,
            serials: 0,
        }
    }

    /// A serial number that no other exchange ever has.
    pub(super) fn serial(&mut self) -> u64 {
        self.serials += 1;
        self.serials
    }

    /// Begins an exchange; opens it at once if a connection is free.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        queue: &mut VecDeque<Action>,
        request: Request,
        purpose: Purpose,
        attempt: Attempt,
    ) -> ExchangeId {
        let id = ExchangeId(self.serial());
        // Shared with the driver: a copy would cost 1,200 instructions per call.
        let request = Arc::new(request);
        let is_open = self.connections.begin(id, purpose.share());
        if is_open {
            queue.push_back(Action::Open { exchange: id, request: request.clone() });
        }
        let timeout = match &purpose {
            Purpose::Message(_) => is_open.then_some(ACCEPT_TIMEOUT),
            Purpose::Call(call) => (is_open && call.must_begin).then_some(ACCEPT_TIMEOUT),
            Purpose::Refresh(_) => Some(ACCEPT_TIMEOUT),
            Purpose::HttpSseStream(_) => Some(ENDPOINT_TIMEOUT),
            Purpose::Delete => Some(DELETE_TIMEOUT),
            Purpose::HttpSsePost(_) | Purpose::Listen | Purpose::Drain => None,
        };
        if let Some(timeout) = timeout {
            self.deadlines.set(ExchangeTimer::End(id), now + timeout);
        }
        self.messages += usize::from(purpose.is_message());
        self.all.insert(id.0, Box::new(Exchange::new(request, purpose, attempt)));
        id
    }

    /// Replaces a field of the requests that are not sent yet, or may be sent again.
    pub(super) fn set_field(&mut self, name: &str, value: &str) -> Result<(), UsageError> {
        for request in self.all.values_mut().filter_map(|open| open.request.as_mut()) {
            set_field(&mut Arc::make_mut(request).fields, name, value)?;
        }
        Ok(())
    }

    /// Takes out an exchange whose request is to be sent again at another URL, and its deadline.
    /// Returns `None` if there is no such exchange, or if it was redirected too often.
    pub(super) fn take_redirected(
        &mut self,
        queue: &mut VecDeque<Action>,
        id: ExchangeId,
        url: &Url,
        is_permanent: bool,
    ) -> Option<(Request, Purpose, Attempt, Option<Instant>)> {
        self.all.get(id.0).filter(|open| open.attempt.redirects < MAX_REDIRECTS)?;
        let due = self.deadlines.due(ExchangeTimer::End(id));
        let aborted = self.abort(queue, id)?;
        let mut request = Arc::unwrap_or_clone(aborted.request?);
        request.target = url.target().into();
        let mut attempt = aborted.attempt;
        attempt.redirects = attempt.redirects.saturating_add(1);
        attempt.moved = (!is_permanent).then(|| url.clone());
        Some((request, aborted.purpose, attempt, due))
    }

    /// Opens the next waiting exchange, if a connection is free for it.
    pub(super) fn open_waiting(
        &mut self,
        now: Instant,
        queue: &mut VecDeque<Action>,
    ) -> Option<&Purpose> {
        while let Some(id) = self.connections.next() {
            let Some(open) = self.all.get(id.0) else { continue };
            let Exchange { request: Some(request), purpose, .. } = &**open else { continue };
            if purpose.is_message() || purpose.call().is_some_and(|call| call.must_begin) {
                self.deadlines.set(ExchangeTimer::End(id), now + ACCEPT_TIMEOUT);
            }
            queue.push_back(Action::Open { exchange: id, request: request.clone() });
            return Some(purpose);
        }
        None
    }

    /// Takes the waiting request that is the next to be opened, if its proof is too old.
    #[cfg(feature = "auth")]
    pub(super) fn take_outdated(&mut self, now: Instant) -> Option<(Request, Purpose, Attempt)> {
        let id = self.connections.peek()?;
        self.all.get(id.0).filter(|open| open.attempt.is_outdated(now))?;
        let open = self.end(id)?;
        Some((Arc::unwrap_or_clone(open.request?), open.purpose, open.attempt))
    }

    pub(super) fn get(&self, id: ExchangeId) -> Option<&Exchange> {
        self.all.get(id.0).map(|open| &**open)
    }

    /// The method of a request whose answer has not begun.
    pub(super) fn waiting_method(&self, id: ExchangeId) -> Option<&'static str> {
        self.get(id)?.request.as_ref().map(|request| request.method)
    }

    pub(super) fn get_mut(&mut self, id: ExchangeId) -> Option<&mut Exchange> {
        self.all.get_mut(id.0).map(|open| &mut **open)
    }

    /// Returns whether an exchange has a connection.
    pub(super) fn is_open(&self, id: ExchangeId) -> bool {
        self.connections.is_open(id)
    }

    /// The maximum of open streams, if it is reached.
    pub(super) fn full_of_streams(&self) -> Option<usize> {
        self.connections.is_full_of_streams().then(|| self.connections.max_streams())
    }

    /// The number of messages that have not been accepted.
    pub(super) fn messages(&self) -> usize {
        self.messages
    }

    /// Takes the message of an exchange that has received its status; the rest of the answer is
    /// ignored.
    pub(super) fn take_message(&mut self, id: ExchangeId) -> Option<Box<Delivery>> {
        let open = self.all.get_mut(id.0).filter(|open| open.purpose.is_message())?;
        self.messages = self.messages.saturating_sub(1);
        mem::replace(&mut open.purpose, Purpose::Drain).into_delivery()
    }

    /// Holds a request for the event that its attempt names. A DELETE keeps its usual timeout.
    #[cfg(feature = "auth")]
    pub(super) fn hold(
        &mut self,
        now: Instant,
        request: Request,
        purpose: Purpose,
        attempt: Attempt,
    ) -> ExchangeId {
        let id = ExchangeId(self.serial());
        if matches!(purpose, Purpose::Delete) {
            self.deadlines.set(ExchangeTimer::End(id), now + DELETE_TIMEOUT);
        }
        self.messages += usize::from(purpose.is_message());
        self.all.insert(id.0, Box::new(Exchange::new(Arc::new(request), purpose, attempt)));
        id
    }

    /// Removes and returns the requests that are held for a matching event, in order.
    #[cfg(feature = "auth")]
    pub(super) fn take_held(
        &mut self,
        matches: impl Fn(HeldFor) -> bool,
    ) -> Vec<(Request, Purpose, Attempt)> {
        let held = self.all.iter().filter(|(_, open)| open.attempt.held.is_some_and(&matches));
        let held: Vec<_> = held.map(|(number, _)| ExchangeId(number)).collect();
        let held = held.into_iter().filter_map(|id| self.end(id));
        let parts = |open: Exchange| {
            Some((Arc::unwrap_or_clone(open.request?), open.purpose, open.attempt))
        };
        held.filter_map(parts).collect()
    }

    /// Takes the request of an exchange that was refused; the rest of the answer is ignored.
    #[cfg(feature = "auth")]
    pub(super) fn take_refused(
        &mut self,
        now: Instant,
        id: ExchangeId,
    ) -> Option<(Request, Purpose, Attempt)> {
        let open = self.all.get_mut(id.0)?;
        let request = Arc::unwrap_or_clone(open.request.take()?);
        let purpose = mem::replace(&mut open.purpose, Purpose::Drain);
        self.messages = self.messages.saturating_sub(usize::from(purpose.is_message()));
        self.deadlines.set(ExchangeTimer::End(id), now + LINGER);
        Some((request, purpose, mem::take(&mut self.all.get_mut(id.0)?.attempt)))
    }

    /// Ends an exchange that the driver has ended.
    pub(super) fn end(&mut self, id: ExchangeId) -> Option<Exchange> {
        self.deadlines.clear(ExchangeTimer::End(id));
        self.connections.end(id);
        let ended = self.all.remove(id.0)?;
        self.messages = self.messages.saturating_sub(usize::from(ended.purpose.is_message()));
        Some(*ended)
    }

    /// Ends an exchange whose answer is no longer needed.
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

    /// Ends all exchanges with a matching purpose: aborts the open ones, and removes the sleeping
    /// ones.
    pub(super) fn abort_where(
        &mut self,
        queue: &mut VecDeque<Action>,
        matches: impl Fn(&Purpose) -> bool,
    ) -> Vec<Purpose> {
        let open = self.find(|_, purpose| matches(purpose)).into_iter();
        let mut aborted: Vec<_> =
            open.filter_map(|id| self.abort(queue, id)).map(|open| open.purpose).collect();
        let asleep = self.asleep_where(|sleeper| matches(&sleeper.purpose)).into_iter();
        aborted.extend(asleep.filter_map(|key| self.wake(key)));
        aborted
    }

    /// Ends the matching requests that wait for a connection; returns their ids.
    pub(super) fn end_unsent(&mut self, matches: impl Fn(&Purpose) -> bool) -> Vec<RequestId> {
        let is_unsent = |id, purpose: &Purpose| !self.is_open(id) && matches(purpose);
        let ended = self.find(is_unsent).into_iter().filter_map(|id| self.end(id));
        ended.filter_map(|ended| Some(ended.purpose.request()?.clone())).collect()
    }

    pub(super) fn clear_deadline(&mut self, id: ExchangeId) {
        self.deadlines.clear(ExchangeTimer::End(id));
    }

    /// Sets the earlier deadline of a request that is sent again, unless the request is held.
    pub(super) fn restore_deadline(&mut self, id: ExchangeId, at: Instant) {
        #[cfg(feature = "auth")]
        if self.all.get(id.0).is_some_and(|open| open.attempt.held.is_some()) {
            return;
        }
        self.deadlines.set(ExchangeTimer::End(id), at);
    }

    pub(super) fn set_deadline(&mut self, id: ExchangeId, at: Instant) {
        self.deadlines.set(ExchangeTimer::End(id), at);
    }

    /// Sets the deadline of each matching exchange that has none.
    pub(super) fn set_deadline_where(&mut self, at: Instant, matches: impl Fn(&Purpose) -> bool) {
        for id in self.find(|_, purpose| matches(purpose)) {
            if !self.deadlines.has(ExchangeTimer::End(id)) {
                self.deadlines.set(ExchangeTimer::End(id), at);
            }
        }
    }

    /// The exchange of a call.
    pub(super) fn of_call(&self, id: &RequestId) -> Option<ExchangeId> {
        let is_of_call = |purpose: &Purpose| purpose.call().is_some_and(|call| call.id == *id);
        self.find(|_, purpose| is_of_call(purpose)).pop()
    }

    fn find(&self, matches: impl Fn(ExchangeId, &Purpose) -> bool) -> Vec<ExchangeId> {
        let all = self.all.iter().map(|(number, open)| (ExchangeId(number), &open.purpose));
        all.filter(|(id, purpose)| matches(*id, purpose)).map(|(id, _)| id).collect()
    }

    /// Schedules another attempt of a call or a message at `at`, or earlier with other credentials.
    pub(super) fn sleep(&mut self, at: Instant, purpose: Purpose, is_unauthorized: bool) {
        let key = self.serial();
        self.deadlines.set(ExchangeTimer::Wake(key), at);
        self.messages += usize::from(purpose.is_message());
        self.sleeping.insert(key, Sleeper { purpose, is_unauthorized });
    }

    /// The keys of sleepers that other credentials may wake.
    pub(super) fn unauthorized(&self) -> Vec<u64> {
        self.asleep_where(|sleeper| sleeper.is_unauthorized)
    }

    fn asleep_where(&self, matches: impl Fn(&Sleeper) -> bool) -> Vec<u64> {
        let meant = self.sleeping.iter().filter(|(_, sleeper)| matches(sleeper));
        meant.map(|(key, _)| *key).collect()
    }

    /// Removes the sleeper with this key; returns its purpose.
    pub(super) fn wake(&mut self, key: u64) -> Option<Purpose> {
        self.deadlines.clear(ExchangeTimer::Wake(key));
        let Sleeper { purpose, .. } = self.sleeping.remove(&key)?;
        self.messages = self.messages.saturating_sub(usize::from(purpose.is_message()));
        Some(purpose)
    }

    /// Takes the first deadline that has passed.
    pub(super) fn expire(&mut self, now: Instant) -> Option<Due> {
        while let Some(reason) = self.deadlines.expire(now) {
            match reason {
                ExchangeTimer::End(id) => return Some(Due::Expired(id)),
                ExchangeTimer::Wake(key) => {
                    if let Some(purpose) = self.wake(key) {
                        return Some(Due::Retry(purpose));
                    }
                }
            }
        }
        None
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.deadlines.next()
    }
}
