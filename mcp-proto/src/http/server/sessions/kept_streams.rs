//! The kept streams of a session, by their last use.
//!
//! In: each change of a stream. Out: the bytes that are kept for readers that may come back, and
//! the streams that are dropped next. Most sessions keep nothing, and need no memory for this.
//!
//! | stream | is |
//! |---|---|
//! | with events that no attached reader waits for | replayable |
//! | complete, without a reader | expiring |

use alloc::boxed::Box;
use alloc::collections::BTreeSet;

use crate::time::Instant;

/// The kept streams of a session.
#[derive(PartialEq, Eq, Debug, Default)]
pub(super) struct KeptStreams(Option<Box<Kept>>);

#[derive(PartialEq, Eq, Debug, Default)]
struct Kept {
    /// The replayable streams, by the time until which they are kept.
    replayable: BTreeSet<(Instant, u64)>,
    /// The expiring streams, likewise.
    expiring: BTreeSet<(Instant, u64)>,
    /// The bytes of events of the replayable streams.
    bytes: usize,
}

/// The share of one stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct KeptShare {
    /// The bytes of events, if the stream is replayable.
    pub(super) bytes: usize,
    pub(super) expires: bool,
    /// Time until which the stream is kept, if it expires. Its last use, plus a constant.
    pub(super) until: Instant,
}

impl KeptStreams {
    /// Adds the share of a stream.
    pub(super) fn add(&mut self, stream: u64, share: KeptShare) {
        // Calls whose reader stays connected keep nothing.
        if share.bytes > 0 || share.expires {
            self.0.get_or_insert_default().add(stream, share);
        }
    }

    /// Subtracts the share of a stream.
    pub(super) fn subtract(&mut self, stream: u64, share: KeptShare) {
        if (share.bytes > 0 || share.expires)
            && let Some(kept) = &mut self.0
        {
            kept.subtract(stream, share);
        }
    }

    /// The bytes of events of all replayable streams.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |kept| kept.bytes)
    }

    /// The replayable stream that was used first, and the time until which it is kept.
    #[inline]
    pub(super) fn first_replayable(&self) -> Option<(Instant, u64)> {
        self.0.as_ref()?.replayable.first().copied()
    }

    /// The stream that expires first, and its time.
    #[inline]
    pub(super) fn first_expiring(&self) -> Option<(Instant, u64)> {
        self.0.as_ref()?.expiring.first().copied()
    }

    /// The expiring streams, by their times.
    pub(super) fn expiring(&self) -> impl Iterator<Item = u64> {
        self.0.iter().flat_map(|kept| kept.expiring.iter().map(|(_, stream)| *stream))
    }

    /// Frees memory if no stream is kept.
    pub(super) fn shrink(&mut self) {
        self.0.take_if(|kept| kept.replayable.is_empty() && kept.expiring.is_empty());
    }
}

impl Kept {
    fn add(&mut self, stream: u64, share: KeptShare) {
        let position = (share.until, stream);
        self.bytes = self.bytes.saturating_add(share.bytes);
        if share.bytes > 0 {
            self.replayable.insert(position);
        }
        if share.expires {
            self.expiring.insert(position);
        }
    }

    fn subtract(&mut self, stream: u64, share: KeptShare) {
        let position = (share.until, stream);
        self.bytes = self.bytes.saturating_sub(share.bytes);
        self.replayable.remove(&position);
        self.expiring.remove(&position);
    }
}
