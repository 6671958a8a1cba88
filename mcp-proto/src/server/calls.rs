//! The requests in flight: by id, for duplicates and cancellation, and by reply.

use alloc::collections::{BTreeMap, VecDeque};

use crate::message::{ProgressToken, RequestId};
use crate::time::Instant;
use crate::version::Era;

/// A request that a handler has not answered yet.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: RequestId,
    pub(super) era: Era,
    pub(super) token: Option<ProgressToken>,
    /// The last progress that went out.
    pub(super) progress: Option<f64>,
    /// When the handler has had its time.
    pub(super) deadline: Instant,
    /// The bytes of its message.
    pub(super) size: usize,
    /// The batch that waits for the answer.
    pub(super) batch: Option<u64>,
}

/// The requests in flight, oldest first.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// With serial numbers, which only grow: found by halving. Answers mostly come in order, so
    /// that little moves when one is taken out.
    queue: VecDeque<(u64, Call)>,
    by_id: BTreeMap<RequestId, u64>,
    bytes: usize,
    serials: u64,
}

impl Calls {
    pub(super) fn insert(&mut self, call: Call) -> u64 {
        self.serials += 1;
        self.bytes = self.bytes.saturating_add(call.size);
        self.by_id.insert(call.id.clone(), self.serials);
        self.queue.push_back((self.serials, call));
        self.serials
    }

    pub(super) fn take(&mut self, serial: u64) -> Option<Call> {
        let at = self.place(serial)?;
        let (_, call) = self.queue.remove(at)?;
        self.by_id.remove(&call.id);
        self.bytes = self.bytes.saturating_sub(call.size);
        Some(call)
    }

    pub(super) fn get_mut(&mut self, serial: u64) -> Option<&mut Call> {
        let at = self.place(serial)?;
        self.queue.get_mut(at).map(|(_, call)| call)
    }

    pub(super) fn find(&self, id: &RequestId) -> Option<u64> {
        self.by_id.get(id).copied()
    }

    /// The serial numbers, oldest first.
    pub(super) fn serials(&self) -> impl Iterator<Item = u64> + '_ {
        self.queue.iter().map(|(serial, _)| *serial)
    }

    pub(super) fn oldest(&self) -> Option<u64> {
        self.queue.front().map(|(serial, _)| *serial)
    }

    /// When the oldest handler has had its time.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.queue.front().map(|(_, call)| call.deadline)
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

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn place(&self, serial: u64) -> Option<usize> {
        self.queue.binary_search_by_key(&serial, |(serial, _)| *serial).ok()
    }
}
