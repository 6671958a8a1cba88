//! Single use of states.

use alloc::collections::BTreeSet;

use super::{RequestStateError, Verified};
use crate::time::Duration;

/// The used states, until they expire.
///
/// Expiry and binding limit when and where a state can be used, but not how often. A server that
/// must act at most once on a state (a payment, a one-time code) [`spend`](Self::spend)s it after
/// verification and before it acts. This type records states for one process: servers that share
/// keys need a shared store. Such a store may be a table with [`Verified::nonce`] as its key and
/// [`Verified::expires`] as the time after which a row may be deleted.
///
/// [Specification: Server Requirements](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow)
#[derive(Clone, Debug)]
pub struct UsedNonces {
    used: BTreeSet<(Duration, [u8; 16])>,
    capacity: usize,
    /// The latest time so far. Entries that expired before this time are dropped. Their states stay
    /// refused even if the clock is set back.
    latest: Duration,
}

impl UsedNonces {
    /// Records at most `capacity` states, about 50 bytes each. A state for which there is no room
    /// is refused, because an unrecorded state could be replayed. Room for all states that are used
    /// within the ttl of the codec is sufficient.
    pub const fn new(capacity: usize) -> Self {
        Self { used: BTreeSet::new(), capacity, latest: Duration::ZERO }
    }

    /// Records the use of a state; fails if the state must not be used.
    ///
    /// `now` is the time since the Unix epoch, as for
    /// [`RequestStateCodec::verify`](super::RequestStateCodec::verify).
    ///
    /// # Errors
    ///
    /// `Replayed` if the state was used before, `Expired`, or `Full`.
    pub fn spend(&mut self, now: Duration, state: &Verified) -> Result<(), RequestStateError> {
        self.latest = self.latest.max(now);
        while self.used.first().is_some_and(|(expires, _)| *expires <= self.latest) {
            self.used.pop_first();
        }
        let entry = (state.expires, state.nonce);
        if state.expires <= self.latest {
            Err(RequestStateError::Expired)
        } else if self.used.contains(&entry) {
            Err(RequestStateError::Replayed)
        } else if self.used.len() >= self.capacity {
            Err(RequestStateError::Full { capacity: self.capacity })
        } else {
            self.used.insert(entry);
            Ok(())
        }
    }
}
