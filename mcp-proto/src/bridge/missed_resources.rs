//! Resources that may have changed during a gap in the stream of a legacy server.
//!
//! In: the resources that clients need. Out: pieces of them, each of which fits into the queue of a
//! client beside other messages.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use crate::time::{Duration, Instant};

/// The most resources that are reported at once after a gap: a client's queue has room for them.
const PIECE: usize = 512;

/// The pause before the next resources are reported.
const PAUSE: Duration = Duration::from_millis(100);

/// The resources that are still to be reported after a gap in the stream of a legacy server.
#[derive(Debug, Default)]
pub(super) struct MissedResources {
    uris: BTreeSet<String>,
    due: Option<Instant>,
}

impl MissedResources {
    pub(super) fn add(&mut self, now: Instant, mut uris: BTreeSet<String>) {
        self.uris.append(&mut uris);
        self.due.get_or_insert(now);
    }

    /// The resources to report at `now`.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<String> {
        if self.due.is_none_or(|due| due > now) {
            return Vec::new();
        }
        let next = core::iter::from_fn(|| self.uris.pop_first());
        let taken = next.take(PIECE).collect();
        self.due = (!self.uris.is_empty()).then(|| now + PAUSE);
        taken
    }

    /// The time at which the next resources are due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }
}
