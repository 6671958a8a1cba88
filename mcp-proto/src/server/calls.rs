//! The requests in flight: by id, for duplicates and cancellation, and by reply.

use alloc::collections::BTreeMap;

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

#[derive(Debug, Default)]
pub(super) struct Calls {
    by_serial: BTreeMap<u64, Call>,
    by_id: BTreeMap<RequestId, u64>,
    bytes: usize,
    serials: u64,
}

impl Calls {
    pub(super) fn insert(&mut self, call: Call) -> u64 {
        self.serials += 1;
        self.bytes = self.bytes.saturating_add(call.size);
        self.by_id.insert(call.id.clone(), self.serials);
        self.by_serial.insert(self.serials, call);
        self.serials
    }

    pub(super) fn take(&mut self, serial: u64) -> Option<Call> {
        let call = self.by_serial.remove(&serial)?;
        self.by_id.remove(&call.id);
        self.bytes = self.bytes.saturating_sub(call.size);
        Some(call)
    }

    pub(super) fn get_mut(&mut self, serial: u64) -> Option<&mut Call> {
        self.by_serial.get_mut(&serial)
    }

    pub(super) fn find(&self, id: &RequestId) -> Option<u64> {
        self.by_id.get(id).copied()
    }

    /// The serial numbers, oldest first.
    pub(super) fn serials(&self) -> impl Iterator<Item = u64> + '_ {
        self.by_serial.keys().copied()
    }

    pub(super) fn oldest(&self) -> Option<u64> {
        self.by_serial.first_key_value().map(|(serial, _)| *serial)
    }

    /// When the oldest handler has had its time.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.by_serial.first_key_value().map(|(_, call)| call.deadline)
    }

    /// When the newest handler has had its time; that is the last of all.
    pub(super) fn last_deadline(&self) -> Instant {
        self.by_serial.last_key_value().map_or(Instant::ZERO, |(_, call)| call.deadline)
    }

    /// The oldest request, if its handler has had its time.
    pub(super) fn due(&self, now: Instant) -> Option<u64> {
        let (serial, call) = self.by_serial.first_key_value()?;
        (call.deadline <= now).then_some(*serial)
    }

    pub(super) fn len(&self) -> usize {
        self.by_serial.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_serial.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
