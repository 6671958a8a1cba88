//! The requests in flight: by id, for duplicates and cancellation, and by reply.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::call::{Call, PER_CALL};
use crate::message::RequestId;
use crate::time::Instant;

/// The requests in flight.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Those in handlers, oldest first, with serial numbers, which only grow: found by halving.
    /// Answers mostly come in order, so that little moves when one is taken out.
    queue: VecDeque<(u64, Call)>,
    /// All of them: those in handlers, those that wait for input, and subscriptions.
    by_id: Ids,
    /// How many of them are subscriptions.
    held: usize,
    bytes: usize,
    /// How many of the bytes are input.
    input: usize,
    serials: u64,
}

impl Calls {
    /// Room for so many requests in handlers.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        let by_id = Ids { row: Vec::with_capacity(capacity) };
        Self { queue: VecDeque::with_capacity(capacity), by_id, ..Self::default() }
    }

    pub(super) fn insert(&mut self, call: Call) -> u64 {
        self.bytes = self.bytes.saturating_add(call.size);
        self.push(call)
    }

    /// The request has no handler, but its id is in use.
    pub(super) fn hold(&mut self, id: &RequestId) -> u64 {
        self.serials += 1;
        self.held += 1;
        self.by_id.insert(id, self.serials);
        self.serials
    }

    /// What [`Calls::hold`] held is over.
    pub(super) fn release(&mut self, id: &RequestId) {
        if self.by_id.remove(id) {
            self.held -= 1;
        }
    }

    /// A request leaves its handler and stays in flight, until it is brought back or settled.
    pub(super) fn set_aside(&mut self, serial: u64) -> Option<Call> {
        let at = self.place(serial)?;
        self.queue.remove(at).map(|(_, call)| call)
    }

    /// A request that was set aside keeps so many bytes of input more.
    pub(super) fn keep_input(&mut self, call: &mut Call, bytes: usize) {
        let Some(again) = &mut call.again else { return };
        again.input = again.input.saturating_add(bytes);
        self.input = self.input.saturating_add(bytes);
        call.size = call.size.saturating_add(bytes);
        self.bytes = self.bytes.saturating_add(bytes);
        if let Some(charge) = &mut call.charge {
            charge.set(call.size.saturating_add(PER_CALL));
        }
    }

    /// The handler of a request that was set aside has had its input.
    pub(super) fn drop_input(&mut self, call: &mut Call) {
        let Some(again) = &mut call.again else { return };
        let bytes = core::mem::take(&mut again.input);
        call.size = call.size.saturating_sub(bytes);
        self.input = self.input.saturating_sub(bytes);
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// The bytes of the input that is kept; they are among [`Calls::bytes`].
    pub(super) fn input_bytes(&self) -> usize {
        self.input
    }

    /// A request that was set aside goes to a handler again.
    pub(super) fn bring_back(&mut self, call: Call) -> u64 {
        self.push(call)
    }

    /// A request that was set aside is over.
    pub(super) fn settle(&mut self, call: &Call) {
        self.by_id.remove(&call.id);
        self.bytes = self.bytes.saturating_sub(call.size);
        let input = call.again.as_ref().map_or(0, |again| again.input);
        self.input = self.input.saturating_sub(input);
    }

    pub(super) fn get_mut(&mut self, serial: u64) -> Option<&mut Call> {
        let at = self.place(serial)?;
        self.queue.get_mut(at).map(|(_, call)| call)
    }

    pub(super) fn get(&self, serial: u64) -> Option<&Call> {
        self.queue.get(self.place(serial)?).map(|(_, call)| call)
    }

    pub(super) fn is_in_handler(&self, serial: u64) -> bool {
        self.place(serial).is_some()
    }

    pub(super) fn find(&self, id: &RequestId) -> Option<u64> {
        self.by_id.get(id)
    }

    /// The serial numbers of those in handlers, oldest first.
    pub(super) fn serials(&self) -> impl Iterator<Item = u64> + '_ {
        self.queue.iter().map(|(serial, _)| *serial)
    }

    pub(super) fn oldest(&self) -> Option<u64> {
        self.queue.front().map(|(serial, _)| *serial)
    }

    /// The request in a handler, if there is one, and no batch waits for it.
    pub(super) fn only(&self) -> Option<&RequestId> {
        let mut calls = self.queue.iter().map(|(_, call)| call);
        let first = calls.next().filter(|call| call.path.batch.is_none())?;
        calls.next().is_none().then_some(&first.id)
    }

    /// When the oldest handler has had its time, if ever.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let deadline = self.queue.front().map(|(_, call)| call.deadline);
        deadline.filter(|at| *at != Instant::NEVER)
    }

    /// When the newest handler has had its time; that is the last of all.
    pub(super) fn last_deadline(&self) -> Instant {
        self.queue.back().map_or(Instant::ZERO, |(_, call)| call.deadline)
    }

    /// The oldest request, if its handler has had its time.
    pub(super) fn due(&self, now: Instant) -> Option<u64> {
        let (serial, call) = self.queue.front()?;
        (call.deadline <= now).then_some(*serial)
    }

    /// How many are in handlers or wait for input.
    pub(super) fn len(&self) -> usize {
        self.by_id.len() - self.held
    }

    /// Whether no handler is at work.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// Gives back the memory that is not needed while nothing is in flight.
    pub(super) fn shrink(&mut self) {
        if self.by_id.is_empty() {
            self.by_id = Ids::default();
            self.queue = VecDeque::new();
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn push(&mut self, call: Call) -> u64 {
        self.serials += 1;
        self.by_id.insert(&call.id, self.serials);
        self.queue.push_back((self.serials, call));
        self.serials
    }

    fn place(&self, serial: u64) -> Option<usize> {
        self.queue.binary_search_by_key(&serial, |(serial, _)| *serial).ok()
    }
}

/// Serial numbers by id: a row, since few are in flight at a time.
#[derive(Debug, Default)]
struct Ids {
    row: Vec<(RequestId, u64)>,
}

impl Ids {
    fn insert(&mut self, id: &RequestId, serial: u64) {
        match self.find(id) {
            Ok(at) => {
                if let Some((_, before)) = self.row.get_mut(at) {
                    *before = serial;
                }
            }
            Err(at) => self.row.insert(at, (id.clone(), serial)),
        }
    }

    fn remove(&mut self, id: &RequestId) -> bool {
        self.find(id).is_ok_and(|at| {
            self.row.remove(at);
            true
        })
    }

    fn get(&self, id: &RequestId) -> Option<u64> {
        self.row.get(self.find(id).ok()?).map(|(_, serial)| *serial)
    }

    fn len(&self) -> usize {
        self.row.len()
    }

    fn is_empty(&self) -> bool {
        self.row.is_empty()
    }

    fn find(&self, id: &RequestId) -> Result<usize, usize> {
        self.row.binary_search_by(|(other, _)| other.cmp(id))
    }
}
