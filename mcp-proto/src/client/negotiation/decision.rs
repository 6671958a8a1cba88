//! Course of a negotiation: the rows of `probe::TABLE` that decided.
//!
//! In: each row that decided, and the error that it was about. Out: [`Decision`]s, which explain to
//! people why a server counts as legacy or modern. The protocol does not depend on them.

use alloc::vec::Vec;

use super::super::call_error::CallError;
use super::probe::{Move, ProbeOutcome, Sets, Step};
use crate::decision_table::Row;
use crate::time::Instant;

/// A step of a negotiation: the step before, the outcome of the request, and the move that
/// followed.
///
/// The `Display` form needs no knowledge of the table:
/// `an error, so initialize is sent [legacy-by-error]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Decision {
    /// Time of the decision.
    pub at: Instant,
    /// Step of the negotiation at the time of the decision.
    pub step: Step,
    /// Result of the message that was sent.
    pub outcome: ProbeOutcome,
    /// The name of the row of [`probe::TABLE`](super::probe::TABLE) that decided; of
    /// [`answer::TABLE`](crate::http::client::answer::TABLE) if `then` is
    /// [`Move::HttpSseTransport`].
    pub row: &'static str,
    /// Move that followed.
    pub then: Move,
}

impl Decision {
    /// Records the decision of a row; `None` if the row changes nothing. A negotiation never
    /// returns to a step, so there are at most as many decisions as steps.
    pub(in crate::client) fn new(
        at: Instant,
        step: Step,
        outcome: ProbeOutcome,
        row: &Row<Sets, Move>,
    ) -> Option<Self> {
        let decides = row.then != Move::Stay;
        decides.then_some(Self { at, step, outcome, row: row.name, then: row.then })
    }

    /// Records that the binding tries HTTP+SSE, because of this row of its own table.
    pub(in crate::client) fn old_transport(at: Instant, step: Step, row: &'static str) -> Self {
        Self { at, step, outcome: ProbeOutcome::Refused, row, then: Move::HttpSseTransport }
    }
}

/// Decisions of a negotiation, and the errors that they are about.
#[derive(Debug, Default)]
pub(in crate::client) struct DecisionLog {
    decisions: Vec<Decision>,
    /// As many as there are decisions.
    errors: Vec<Option<CallError>>,
}

impl DecisionLog {
    pub(in crate::client) fn push(&mut self, decision: Decision, error: Option<CallError>) {
        self.decisions.push(decision);
        self.errors.push(error);
    }

    pub(in crate::client) fn clear(&mut self) {
        self.decisions.clear();
        self.errors.clear();
    }

    pub(in crate::client) fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    pub(in crate::client) fn errors(&self) -> &[Option<CallError>] {
        &self.errors
    }
}

impl core::fmt::Display for Decision {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}, so ", outcome_text(self.outcome))?;
        match self.then {
            Move::Modern | Move::UseHeld => f.write_str("the server is modern"),
            Move::Legacy => f.write_str("the server is legacy"),
            Move::Send(step) => write!(f, "{} is sent", request_text(step)),
            Move::Await(step) => write!(f, "the answer to {} is awaited", request_text(step)),
            Move::Reopen(step) => {
                write!(f, "the server is started again, and {} is sent", request_text(step))
            }
            Move::HttpSseTransport => f.write_str("HTTP+SSE of 2024-11-05 is tried"),
            Move::Stay => f.write_str("nothing follows"),
            Move::Fail(_) => f.write_str("the negotiation fails"),
        }?;
        write!(f, " [{}]", self.row)
    }
}

fn outcome_text(outcome: ProbeOutcome) -> &'static str {
    match outcome {
        ProbeOutcome::Modern => "an answer of a modern server",
        ProbeOutcome::ListsLegacy => "a list of legacy versions only",
        ProbeOutcome::Disjoint => "a list without a version that the client accepts",
        ProbeOutcome::Unsupported => "an error that lists another modern version",
        ProbeOutcome::UnsupportedLegacy => "an error that lists legacy versions, or none",
        ProbeOutcome::Error | ProbeOutcome::Refused => "an error",
        ProbeOutcome::Untyped => "a result of a legacy server",
        ProbeOutcome::NotIdempotent => "a call that must not be sent twice",
        ProbeOutcome::Malformed | ProbeOutcome::InitializeMalformed => {
            "an answer that cannot be read"
        }
        ProbeOutcome::Silence | ProbeOutcome::NoAnswer => "nothing in time",
        ProbeOutcome::Eof => "the end of the stream",
        ProbeOutcome::Late => "the first answer, which is late",
        ProbeOutcome::Initialized => "an answer with a legacy version",
        ProbeOutcome::InitializedModern => "an answer with a modern version",
        ProbeOutcome::InitializedUnknown => {
            "an answer with a version that the client does not accept"
        }
        ProbeOutcome::Unauthorized => "a refusal because of missing credentials",
        ProbeOutcome::Unavailable => "no connection, or a server that cannot answer",
    }
}

fn request_text(step: Step) -> &'static str {
    match step {
        Step::Probe | Step::Reprobe => "server/discover",
        Step::Correct => "server/discover with that version",
        Step::Both => "server/discover beside initialize",
        Step::Unconfirmed => "the first request",
        Step::Initialize
        | Step::Stored
        | Step::Fallback
        | Step::Silent
        | Step::Held
        | Step::Reopened => "initialize",
    }
}
