//! Decision table for the era of a server.
//!
//! In: the [`Step`] of the negotiation, whether the client may fall back to the legacy era, and the
//! [`ProbeOutcome`] of the request. Out: the next [`Move`]. `docs/tables.md` shows [`TABLE`]; a
//! test walks every combination.
//!
//! The enums of this module are exhaustive on purpose, so that a new value breaks code that matches
//! on them.
//!
//! [Specification: Backward
//! Compatibility](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions)

use super::verdict::{Negotiation, Verdict};
use crate::decision_table::{Cells, Column, Set, Table, row};
use crate::version::Era;

/// Step of a negotiation, named after the request that is in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// `server/discover` is in flight.
    Probe,
    /// `server/discover` is in flight again, with a version that the server has named.
    Correct,
    /// `server/discover` is in flight after `initialize` has failed.
    Reprobe,
    /// `server/discover` is in flight, as well as the unanswered `initialize` of a stored verdict.
    Both,
    /// Requests are in flight because a stored verdict says that the server is modern.
    Unconfirmed,
    /// `initialize` is in flight because no other request is allowed.
    Initialize,
    /// `initialize` is in flight because a stored verdict says that the server is legacy.
    Stored,
    /// `initialize` is in flight because the answer to the probe was not from a modern server.
    Fallback,
    /// `initialize` is in flight because the probe had no answer.
    Silent,
    /// `initialize` is in flight, and the answer of a modern server to the probe has arrived late.
    /// The client holds that answer until `initialize` is answered or times out, since `initialize`
    /// may pin the stream to the legacy era.
    Held,
    /// `initialize` is in flight on a reopened stream.
    Reopened,
}

/// Result of the request that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProbeOutcome {
    /// A `DiscoverResult` with a common modern version, or another answer that only a modern server
    /// gives.
    Modern,
    /// A `DiscoverResult` whose only common versions are legacy.
    ListsLegacy,
    /// A `DiscoverResult`, or -32022, without a common version.
    Disjoint,
    /// -32022, with a common modern version.
    Unsupported,
    /// -32022, with a legacy version, or without a readable list.
    UnsupportedLegacy,
    /// Another error in response to `server/discover`, or to a request that tried a stored verdict.
    Error,
    /// A result without `resultType`, in response to a request that tried a stored verdict: some
    /// legacy servers answer requests before `initialize`.
    Untyped,
    /// On a byte stream: a request that must not be sent twice waits to be sent, and only a stored
    /// verdict says that the server is modern.
    NotIdempotent,
    /// An unreadable answer to `server/discover`.
    Malformed,
    /// No answer before the timeout.
    Silence,
    /// The end of the stream.
    Eof,
    /// The answer of a modern server to the first probe, after the timeout.
    Late,
    /// An `InitializeResult` with a legacy version that the client supports.
    Initialized,
    /// An `InitializeResult` with a modern version that the client supports.
    InitializedModern,
    /// An `InitializeResult` with another version.
    InitializedUnknown,
    /// An error to `initialize`.
    Refused,
    /// An unreadable answer to `initialize`.
    InitializeMalformed,
    /// Over HTTP: status 401 or 403.
    Unauthorized,
    /// Over HTTP: a status of 500 or more, a redirection that is not followed, or no connection.
    Unavailable,
    /// Over HTTP: no answer before the timeout.
    NoAnswer,
}

/// Reaction to an outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    /// The server is modern.
    Modern,
    /// The server is modern, by the answer that was held.
    UseHeld,
    /// The server is legacy: `notifications/initialized`.
    Legacy,
    /// Send the request of this step, `server/discover` or `initialize`, and move to the step.
    Send(Step),
    /// Move to this step; its requests are already in flight.
    Await(Step),
    /// Open the stream again, then send the request of this step.
    Reopen(Step),
    /// Over HTTP: try HTTP+SSE, and send `initialize` over it. Only a row of
    /// [`answer::TABLE`](crate::http::client::answer::TABLE) has this move.
    HttpSseTransport,
    /// Do nothing.
    Stay,
    /// Give up.
    Fail(Failure),
}

/// Reason why a negotiation fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// Client and server have no version in common.
    NoCommonVersion,
    /// The server has answered with an error.
    Refused,
    /// The answer cannot be read.
    Malformed,
    /// There was no answer in time.
    TimedOut,
    /// The stream has ended.
    Closed,
    /// The server requires authentication.
    Unauthorized,
    /// The server cannot answer, or cannot be reached.
    Unavailable,
}

/// The inputs of a row.
pub(in crate::client) type Sets = (Set<Step>, Set<bool>, Set<ProbeOutcome>);

impl Column for Step {
    const ALL: Set<Self> = &[
        Self::Probe,
        Self::Correct,
        Self::Reprobe,
        Self::Both,
        Self::Unconfirmed,
        Self::Initialize,
        Self::Stored,
        Self::Fallback,
        Self::Silent,
        Self::Held,
        Self::Reopened,
    ];
}

impl Column for ProbeOutcome {
    const ALL: Set<Self> = &[
        Self::Modern,
        Self::ListsLegacy,
        Self::Disjoint,
        Self::Unsupported,
        Self::UnsupportedLegacy,
        Self::Error,
        Self::Untyped,
        Self::NotIdempotent,
        Self::Malformed,
        Self::Silence,
        Self::Eof,
        Self::Late,
        Self::Initialized,
        Self::InitializedModern,
        Self::InitializedUnknown,
        Self::Refused,
        Self::InitializeMalformed,
        Self::Unauthorized,
        Self::Unavailable,
        Self::NoAnswer,
    ];
}

impl Cells for Move {}

const DISCOVERS: &[Step] = &[Step::Probe, Step::Correct, Step::Reprobe];
const PROBES: &[Step] = &[Step::Probe, Step::Correct];
const INITIALIZES: &[Step] = &[
    Step::Initialize,
    Step::Stored,
    Step::Fallback,
    Step::Silent,
    Step::Held,
    Step::Reopened,
    Step::Both,
];
const NOT_MODERN: &[ProbeOutcome] = &[
    ProbeOutcome::ListsLegacy,
    ProbeOutcome::UnsupportedLegacy,
    ProbeOutcome::Error,
    ProbeOutcome::Malformed,
    ProbeOutcome::Disjoint,
    ProbeOutcome::Unsupported,
];
/// The steps at which all requests in flight are for the negotiation.
const ASKS: &[Step] = &[
    Step::Probe,
    Step::Correct,
    Step::Reprobe,
    Step::Both,
    Step::Initialize,
    Step::Stored,
    Step::Fallback,
    Step::Silent,
    Step::Held,
    Step::Reopened,
];
const EITHER: &[bool] = bool::ALL;
const ALL: &[Step] = Step::ALL;
const ANY_OUTCOME: &[ProbeOutcome] = ProbeOutcome::ALL;
const AUTO: &[bool] = &[true];

/// The table. The first row that matches decides.
#[rustfmt::skip]
pub const TABLE: Table<Sets, Move> = Table::new(&["step", "falls back", "outcome", "then"], &[
    row("modern",                 (&[Step::Probe, Step::Correct, Step::Reprobe, Step::Both, Step::Silent, Step::Unconfirmed], EITHER, &[ProbeOutcome::Modern]), Move::Modern),
    row("corrected",              (&[Step::Probe], EITHER, &[ProbeOutcome::Unsupported]), Move::Send(Step::Correct)),
    row("still-unsupported",      (&[Step::Correct, Step::Reprobe], EITHER, &[ProbeOutcome::Unsupported]), Move::Fail(Failure::NoCommonVersion)),
    row("disjoint",               (DISCOVERS, EITHER, &[ProbeOutcome::Disjoint]), Move::Fail(Failure::NoCommonVersion)),
    row("legacy-is-listed",       (PROBES, AUTO, &[ProbeOutcome::ListsLegacy, ProbeOutcome::UnsupportedLegacy]), Move::Send(Step::Fallback)),
    row("legacy-by-error",        (PROBES, AUTO, &[ProbeOutcome::Error, ProbeOutcome::Malformed]), Move::Send(Step::Fallback)),
    row("legacy-by-silence",      (PROBES, AUTO, &[ProbeOutcome::Silence]), Move::Send(Step::Silent)),
    row("legacy-by-eof",          (PROBES, AUTO, &[ProbeOutcome::Eof]), Move::Reopen(Step::Reopened)),
    row("no-modern-version",      (DISCOVERS, EITHER, &[ProbeOutcome::ListsLegacy, ProbeOutcome::UnsupportedLegacy]), Move::Fail(Failure::NoCommonVersion)),
    row("probe-refused",          (DISCOVERS, EITHER, &[ProbeOutcome::Error]), Move::Fail(Failure::Refused)),
    row("probe-malformed",        (DISCOVERS, EITHER, &[ProbeOutcome::Malformed]), Move::Fail(Failure::Malformed)),
    row("stored-modern-is-wrong", (&[Step::Unconfirmed], EITHER, &[ProbeOutcome::Error, ProbeOutcome::Untyped, ProbeOutcome::Silence]), Move::Send(Step::Probe)),
    row("stored-modern-unproven", (&[Step::Unconfirmed], EITHER, &[ProbeOutcome::NotIdempotent]), Move::Send(Step::Probe)),
    row("stored-modern-eof",      (&[Step::Unconfirmed], AUTO, &[ProbeOutcome::Eof]), Move::Reopen(Step::Reopened)),
    row("legacy",                 (INITIALIZES, EITHER, &[ProbeOutcome::Initialized]), Move::Legacy),
    row("initialized-as-modern",  (INITIALIZES, AUTO, &[ProbeOutcome::InitializedModern]), Move::Modern),
    row("initialized-as-unknown", (INITIALIZES, EITHER, &[ProbeOutcome::InitializedModern, ProbeOutcome::InitializedUnknown]), Move::Fail(Failure::NoCommonVersion)),
    row("late-discovery",         (&[Step::Silent], EITHER, &[ProbeOutcome::Late]), Move::Await(Step::Held)),
    row("late-beside-reprobe",    (&[Step::Reprobe], EITHER, &[ProbeOutcome::Late]), Move::Modern),
    row("held",                   (&[Step::Held], EITHER, &[ProbeOutcome::Modern, ProbeOutcome::Refused, ProbeOutcome::InitializeMalformed, ProbeOutcome::Silence]), Move::UseHeld),
    row("held-eof",               (&[Step::Held], AUTO, &[ProbeOutcome::Eof]), Move::Reopen(Step::Reprobe)),
    row("probe-beside-fails",     (&[Step::Both], EITHER, NOT_MODERN), Move::Await(Step::Fallback)),
    row("initialize-beside-fails", (&[Step::Both], EITHER, &[ProbeOutcome::Refused, ProbeOutcome::InitializeMalformed]), Move::Await(Step::Reprobe)),
    row("refused-unheard",        (&[Step::Stored, Step::Silent, Step::Reopened], AUTO, &[ProbeOutcome::Refused]), Move::Send(Step::Reprobe)),
    row("refused",                (INITIALIZES, EITHER, &[ProbeOutcome::Refused]), Move::Fail(Failure::Refused)),
    row("stored-legacy-eof",      (&[Step::Stored], AUTO, &[ProbeOutcome::Eof]), Move::Reopen(Step::Probe)),
    row("stored-legacy-silence",  (&[Step::Stored], AUTO, &[ProbeOutcome::Silence]), Move::Send(Step::Both)),
    row("stored-legacy-malformed", (&[Step::Stored], AUTO, &[ProbeOutcome::InitializeMalformed]), Move::Send(Step::Reprobe)),
    row("initialize-malformed",   (INITIALIZES, EITHER, &[ProbeOutcome::InitializeMalformed]), Move::Fail(Failure::Malformed)),
    row("silent-eof",             (&[Step::Silent], AUTO, &[ProbeOutcome::Eof]), Move::Reopen(Step::Reopened)),
    row("silence",                (ALL, EITHER, &[ProbeOutcome::Silence]), Move::Fail(Failure::TimedOut)),
    row("eof",                    (ALL, EITHER, &[ProbeOutcome::Eof]), Move::Fail(Failure::Closed)),
    row("unauthorized",           (ASKS, EITHER, &[ProbeOutcome::Unauthorized]), Move::Fail(Failure::Unauthorized)),
    row("unavailable",            (ASKS, EITHER, &[ProbeOutcome::Unavailable]), Move::Fail(Failure::Unavailable)),
    row("no-answer",              (ASKS, EITHER, &[ProbeOutcome::NoAnswer]), Move::Fail(Failure::TimedOut)),
    row("of-no-interest",         (ALL, EITHER, ANY_OUTCOME), Move::Stay),
]);

impl Step {
    /// First step of a negotiation.
    pub(in crate::client) fn first(negotiation: Negotiation, stored: Option<&Verdict>) -> Self {
        let pinned = match negotiation {
            Negotiation::Auto => None,
            Negotiation::Legacy => return Self::Initialize,
            Negotiation::Pinned(version) if version.era() == Era::Legacy => {
                return Self::Initialize;
            }
            Negotiation::Pinned(version) => Some(version),
        };
        let stored = stored.filter(|verdict| pinned.is_none_or(|pin| pin == verdict.version));
        match stored.map(Verdict::era) {
            None => Self::Probe,
            Some(Era::Legacy) => Self::Stored,
            Some(Era::Modern) => Self::Unconfirmed,
        }
    }

    /// Returns whether the request of this step is `server/discover`.
    pub(in crate::client) fn discovers(self) -> bool {
        matches!(self, Self::Probe | Self::Correct | Self::Reprobe | Self::Both)
    }
}
