//! How a negotiation went: the rows of `probe::TABLE` that were taken.
//!
//! In: each row that decided. Out: [`Decision`]s, to be shown to people who want to know why a
//! server is taken for what it is. Nothing of the protocol depends on them.

use super::probe::{Move, Outcome, Sets, Step};
use crate::decision_table::Row;
use crate::time::Instant;

/// A step of a negotiation: where it was, what came of what was sent, and what followed.
///
/// Its `Display` form is for people who have not read the table:
/// `an error, so initialize is sent [legacy-by-error]`.
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
    pub(in crate::client) fn new(
        at: Instant,
        step: Step,
        outcome: Outcome,
        row: &Row<Sets, Move>,
    ) -> Option<Self> {
        let decides = row.then != Move::Stay;
        decides.then_some(Self { at, step, outcome, row: row.name, then: row.then })
    }
}

impl core::fmt::Display for Decision {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}, so ", came(self.outcome))?;
        match self.then {
            Move::Modern | Move::UseHeld => f.write_str("the server is modern"),
            Move::Legacy => f.write_str("the server is legacy"),
            Move::Send(step) => write!(f, "{} is sent", sent(step)),
            Move::Await(step) => write!(f, "{} is still out", sent(step)),
            Move::Reopen(step) => write!(f, "it is started anew and {} is sent", sent(step)),
            Move::Stay => f.write_str("nothing follows"),
            Move::Fail(_) => f.write_str("it is given up"),
        }?;
        write!(f, " [{}]", self.row)
    }
}

fn came(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Modern => "an answer as of a modern server",
        Outcome::ListsLegacy => "a list of legacy versions alone",
        Outcome::Disjoint => "a list of versions that are unknown here, or not wanted",
        Outcome::Unsupported => "an error that lists another modern version",
        Outcome::UnsupportedLegacy => "an error that lists legacy versions, or none",
        Outcome::Error | Outcome::Refused => "an error",
        Outcome::Untyped => "a result, as of a legacy server",
        Outcome::NotIdempotent => "a call that must not be sent twice",
        Outcome::Malformed | Outcome::InitializeMalformed => "an answer that cannot be read",
        Outcome::Silence | Outcome::NoAnswer => "nothing in time",
        Outcome::Eof => "the end of the stream",
        Outcome::Late => "the first answer, after all",
        Outcome::Initialized => "an answer with a legacy version",
        Outcome::InitializedModern => "an answer with a modern version",
        Outcome::InitializedUnknown => {
            "an answer with a version that is unknown here, or not wanted"
        }
        Outcome::Unauthorized => "a refusal for want of credentials",
        Outcome::Unavailable => "no connection, or a server that cannot answer",
    }
}

fn sent(step: Step) -> &'static str {
    match step {
        Step::Probe | Step::Reprobe => "server/discover",
        Step::Correct => "server/discover, with that version,",
        Step::Both => "server/discover, beside initialize,",
        Step::Unconfirmed => "what is asked",
        Step::Initialize
        | Step::Stored
        | Step::Fallback
        | Step::Silent
        | Step::Held
        | Step::Reopened => "initialize",
    }
}
