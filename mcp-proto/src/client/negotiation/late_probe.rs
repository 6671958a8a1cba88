//! The first `server/discover`, after it has timed out.
//!
//! In: the id of the probe, and its answer if it arrives late. Out: the answer, once `initialize`
//! is answered.
//!
//! | state | owns | leaves by |
//! |---|---|---|
//! | `None` | | a probe that times out |
//! | `Awaited` | the id of the probe | the answer, which is held, used or of no interest |
//! | `Held` | what the answer of a modern server says | the answer to `initialize`, or silence |
//!
//! [Specification: Backward
//! Compatibility](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#backward-compatibility)

use alloc::boxed::Box;
use core::mem;

use super::probe_result::ProbeResult;
use crate::message::RequestId;

#[derive(Debug, Default)]
pub(super) enum LateProbe {
    /// No probe has timed out, or its answer has arrived.
    #[default]
    None,
    /// The answer has not arrived.
    Awaited(RequestId),
    /// The answer of a modern server has arrived; it is held until `initialize` is answered.
    Held(Box<ProbeResult>),
}

impl LateProbe {
    /// The unanswered probe, if there is one.
    pub(super) fn new(unanswered: Option<RequestId>) -> Self {
        unanswered.map_or(Self::None, Self::Awaited)
    }

    /// Returns whether a response with this id answers the probe; true at most once.
    pub(super) fn settle(&mut self, id: &RequestId) -> bool {
        let is_awaited = matches!(self, Self::Awaited(awaited) if awaited == id);
        if is_awaited {
            *self = Self::None;
        }
        is_awaited
    }

    pub(super) fn hold(&mut self, found: ProbeResult) {
        *self = Self::Held(Box::new(found));
    }

    /// Removes and returns the held result.
    pub(super) fn take(&mut self) -> Option<ProbeResult> {
        match mem::take(self) {
            Self::Held(found) => Some(*found),
            Self::None | Self::Awaited(_) => None,
        }
    }
}
