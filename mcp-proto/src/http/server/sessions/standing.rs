//! The standing of a session among the others: its holder, its use, and the bytes that it holds.
//!
//! A session keeps these values for their owners, which are its only writers: [`HolderListing`]
//! for `tenants`, [`BudgetShare`] for `session_bytes`.

use super::super::shares::Holder;
use crate::time::Instant;

/// The use of a session that may end to make room.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Use {
    Idle,
    /// A stream has a reader, or keeps an answer that no reader has taken.
    Read,
}

/// The holder of a session, and the position at which the session is listed; see
/// [`SessionHolders`](super::tenants::SessionHolders).
#[derive(Debug)]
pub(super) struct HolderListing {
    pub(super) holder: Holder,
    pub(super) listed: Option<(Use, Instant)>,
}

impl HolderListing {
    pub(super) fn new(holder: Holder) -> Self {
        Self { holder, listed: None }
    }
}

/// Share of the endpoint's budget that one session holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BudgetShare {
    pub(super) work: usize,
    pub(super) replay: usize,
    /// Time of the oldest event that is kept for replay; never, if there is none.
    pub(super) since: Instant,
}

impl BudgetShare {
    pub(super) const NONE: Self = Self { work: 0, replay: 0, since: Instant::NEVER };
}
