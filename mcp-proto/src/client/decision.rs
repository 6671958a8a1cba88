//! How a negotiation went: the rows of `probe::TABLE` that were taken.
//!
//! In: each row that decided. Out: [`Decision`]s, to be shown to people who want to know why a
//! server is taken for what it is. Nothing of the protocol depends on them.

use super::probe::{Move, Outcome, Row, Step};
use crate::time::Instant;

/// A step of a negotiation: where it was, what came of what was sent, and what followed.
///
/// Its `Display` form is for people: `legacy-by-error: Error at Probe, then Send(Fallback)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Decision {
    /// When it was taken.
    pub at: Instant,
    /// Where the negotiation was.
    pub step: Step,
    /// What came of what was sent.
    pub outcome: Outcome,
    /// The name of the row of [`probe::TABLE`](super::probe::TABLE) that decided.
    pub row: &'static str,
    /// What followed.
    pub then: Move,
}

impl Decision {
    /// What a row has decided; nothing if it decides that nothing happens. A negotiation comes back
    /// to no step, so it has as many of these as there are steps, at most.
    pub(super) fn new(at: Instant, step: Step, outcome: Outcome, row: &Row) -> Option<Self> {
        let decides = row.then != Move::Stay;
        decides.then_some(Self { at, step, outcome, row: row.name, then: row.then })
    }
}

impl core::fmt::Display for Decision {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { step, outcome, row, then, .. } = self;
        write!(f, "{row}: {outcome:?} at {step:?}, then {then:?}")
    }
}
