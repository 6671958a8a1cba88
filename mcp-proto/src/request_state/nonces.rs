//! Each state once.

use alloc::collections::BTreeSet;

use super::{RequestStateError, Verified};
use crate::time::Duration;

/// The states that were used, until they expire by themselves.
///
/// Expiry and binding bound when and where a state can be used, not how often. A server that must
/// act at most once on a state (a payment, a one-time code) [`spend`](Self::spend)s it after it
/// was verified and before it acts. This remembers for one process: servers that share keys need
/// a place that they share, such as a table with [`Verified::nonce`] as its key and
/// [`Verified::expires`] as the time after which a row may go.
///
/// [Specification: Server Requirements](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow)
#[derive(Clone, Debug)]
pub struct UsedNonces {
    used: BTreeSet<(Duration, [u8; 16])>,
    capacity: usize,
    /// The latest time that was seen. What expired by then is forgotten, so it stays refused if the
    /// clock is set back.
    latest: Duration,
}

impl UsedNonces {
    /// Remembers at most `capacity` states, each some 50 bytes. One that is used while there is no
    /// room is refused, since forgetting another one would let that be replayed: room for all
    /// states that are used within the ttl of the codec is enough.
    pub const fn new(capacity: usize) -> Self {
        Self { used: BTreeSet::new(), capacity, latest: Duration::ZERO }
    }

    /// Takes note that a state is used; an error if it must not be.
    ///
    /// `now` is the time since the Unix epoch, as for
    /// [`RequestStateCodec::verify`](super::RequestStateCodec::verify).
    ///
    /// # Errors
    ///
    /// `Replayed` if it was used before, `Expired`, or `Full`.
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
