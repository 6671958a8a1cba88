//! The first `server/discover`, once it was not answered in time.
//!
//! In: its id, and its answer if that comes after all. Out: the answer, once `initialize` is
//! answered.
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
pub(super) enum Overdue {
    /// There is none.
    #[default]
    None,
    /// Its answer has not come.
    Awaited(RequestId),
    /// Its answer has come, of a modern server, and waits for the one to `initialize`.
    Held(Box<ProbeResult>),
}

impl Overdue {
    /// The probe that is still out, if one is.
    pub(super) fn new(unanswered: Option<RequestId>) -> Self {
        unanswered.map_or(Self::None, Self::Awaited)
    }

    /// Returns whether a response with this id is its answer; no other one is after that.
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

    /// What is held.
    pub(super) fn take(&mut self) -> Option<ProbeResult> {
        match mem::take(self) {
            Self::Held(found) => Some(*found),
            Self::None | Self::Awaited(_) => None,
        }
    }
}
