//! A decision in words.
//!
//! In: a [`Decision`] of a negotiation. Out: what came, and what followed, for people who have not
//! read the table of decisions; its own names are for those who have, and for programs.

use mcp_tokio::mcp_proto::client::Decision;
use mcp_tokio::mcp_proto::client::probe::{Move, Outcome, Step};
use serde::Serialize;

/// What a negotiation begins with.
pub(crate) fn opening(step: Step) -> &'static str {
    sent(step)
}

/// What came, and what followed.
pub(crate) fn sentence(decision: &Decision) -> String {
    format!("{}, so {}", came(decision.outcome), followed(decision.then))
}

/// A decision for programs, in the words of the table.
#[derive(Serialize)]
pub(crate) struct Document {
    ms: u64,
    step: String,
    outcome: String,
    row: &'static str,
    then: String,
}

impl Document {
    pub(crate) fn new(decision: &Decision) -> Self {
        Self {
            ms: millis(decision),
            step: format!("{:?}", decision.step),
            outcome: format!("{:?}", decision.outcome),
            row: decision.row,
            then: format!("{:?}", decision.then),
        }
    }
}

/// When it was taken, in milliseconds since the start.
pub(crate) fn millis(decision: &Decision) -> u64 {
    decision.at.as_micros() / 1000
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

fn followed(then: Move) -> String {
    match then {
        Move::Modern => "the server is modern".into(),
        Move::Legacy => "the server is legacy".into(),
        Move::Send(step) => format!("{} is sent", sent(step)),
        Move::Await(step) => format!("{} is still out", sent(step)),
        Move::Reopen(step) => format!("it is started anew and {} is sent", sent(step)),
        Move::Stay => "nothing follows".into(),
        Move::Fail(_) => "it is given up".into(),
    }
}

fn sent(step: Step) -> &'static str {
    match step {
        Step::Probe | Step::Reprobe => "server/discover",
        Step::Correct => "server/discover, with that version,",
        Step::Both => "server/discover, beside initialize,",
        Step::Unconfirmed => "what is asked",
        Step::Initialize | Step::Stored | Step::Fallback | Step::Silent | Step::Reopened => {
            "initialize"
        }
    }
}
