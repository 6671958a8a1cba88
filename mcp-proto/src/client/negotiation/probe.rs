//! Decision table for the era of a server.
//!
//! In: the [`Step`] of the negotiation, whether the client may fall back to the legacy era, and the
//! [`Outcome`] of what was sent. Out: the [`Move`] that comes next. `docs/tables.md` shows
//! [`TABLE`]; a test walks every combination.
//!
//! Its enums are exhaustive on purpose: whoever matches on them wants to hear of a new value.
//!
//! [Specification: Backward
//! Compatibility](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions)

use super::verdict::{Negotiation, Verdict};
use crate::decision_table::{Cells, Input, Set, Table, row};
use crate::version::Era;

/// Where a negotiation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// `server/discover` is out.
    Probe,
    /// `server/discover` is out again, with a version that the server has named.
    Correct,
    /// `server/discover` is out after `initialize` has failed.
    Reprobe,
    /// `server/discover` is out beside the `initialize` of a stored verdict, which has no answer.
    Both,
    /// Requests are out on the strength of a stored verdict that says modern.
    Unconfirmed,
    /// `initialize` is out because nothing else may be tried.
    Initialize,
    /// `initialize` is out on the strength of a stored verdict that says legacy.
    Stored,
    /// `initialize` is out because the answer to the probe was not a modern one.
    Fallback,
    /// `initialize` is out because nothing answered the probe.
    Silent,
    /// `initialize` is out, and the answer of a modern server to the probe has come after its time.
    /// The client holds it until `initialize` is answered or times out, since `initialize` may pin
    /// the stream to the legacy era.
    Held,
    /// `initialize` is out on a stream that was opened anew.
    Reopened,
}

/// What came of what was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// A `DiscoverResult` with a modern version in common; or any answer that only a modern server
    /// gives.
    Modern,
    /// A `DiscoverResult` with legacy versions in common alone.
    ListsLegacy,
    /// A `DiscoverResult`, or -32022, with other versions alone.
    Disjoint,
    /// -32022, with a modern version in common.
    Unsupported,
    /// -32022, with a legacy version, or without a list that can be read.
    UnsupportedLegacy,
    /// Another error, to `server/discover` or to a request that tried a stored verdict.
    Error,
    /// A result without `resultType`, to a request that tried a stored verdict: some legacy servers
    /// serve whoever has not said `initialize`.
    Untyped,
    /// On a byte stream: a request that must not be sent twice is to be sent on the strength of a
    /// stored verdict.
    NotIdempotent,
    /// An answer to `server/discover` that cannot be read.
    Malformed,
    /// Nothing, for as long as it may take.
    Silence,
    /// The end of the stream.
    Eof,
    /// The answer of a modern server to the first probe, after its time.
    Late,
    /// An `InitializeResult` with a legacy version that the client speaks.
    Initialized,
    /// An `InitializeResult` with a modern version that the client speaks.
    InitializedModern,
    /// An `InitializeResult` with another version.
    InitializedUnknown,
    /// An error to `initialize`.
    Refused,
    /// An answer to `initialize` that cannot be read.
    InitializeMalformed,
    /// Over HTTP: status 401 or 403.
    Unauthorized,
    /// Over HTTP: a status of 500 or more, a redirection that is not followed, or no connection.
    Unavailable,
    /// Over HTTP: nothing, for as long as it may take.
    NoAnswer,
}

/// What happens next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    /// The server is modern.
    Modern,
    /// The server is modern, as the answer says that was held.
    UseHeld,
    /// The server is legacy: `notifications/initialized`.
    Legacy,
    /// Send `server/discover`, or `initialize`, and be there.
    Send(Step),
    /// Be there; what is needed is out.
    Await(Step),
    /// Open the stream anew, then send what that step has out.
    Reopen(Step),
    /// Nothing.
    Stay,
    /// Give up.
    Fail(Failure),
}

/// Why a negotiation fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// There is no version that both speak.
    NoCommonVersion,
    /// The server has answered with an error.
    Refused,
    /// The answer cannot be read.
    Malformed,
    /// There was no answer in time.
    TimedOut,
    /// The stream has ended.
    Closed,
    /// The server wants to know who asks.
    Unauthorized,
    /// The server cannot answer, or cannot be reached.
    Unavailable,
}

/// The inputs of a row.
pub(in crate::client) type Sets = (Set<Step>, Set<bool>, Set<Outcome>);

impl Input for Step {
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

impl Input for Outcome {
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
const NOT_MODERN: &[Outcome] = &[
    Outcome::ListsLegacy,
    Outcome::UnsupportedLegacy,
    Outcome::Error,
    Outcome::Malformed,
    Outcome::Disjoint,
    Outcome::Unsupported,
];
/// All at which nothing but the server's era is asked for.
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
const ANY_OUTCOME: &[Outcome] = Outcome::ALL;
const AUTO: &[bool] = &[true];

/// The table. The first row that matches decides.
#[rustfmt::skip]
pub const TABLE: Table<Sets, Move> = Table::new(&["step", "falls back", "outcome", "then"], &[
    row("modern",                 (&[Step::Probe, Step::Correct, Step::Reprobe, Step::Both, Step::Silent, Step::Unconfirmed], EITHER, &[Outcome::Modern]), Move::Modern),
    row("corrected",              (&[Step::Probe], EITHER, &[Outcome::Unsupported]), Move::Send(Step::Correct)),
    row("still-unsupported",      (&[Step::Correct, Step::Reprobe], EITHER, &[Outcome::Unsupported]), Move::Fail(Failure::NoCommonVersion)),
    row("disjoint",               (DISCOVERS, EITHER, &[Outcome::Disjoint]), Move::Fail(Failure::NoCommonVersion)),
    row("legacy-is-listed",       (PROBES, AUTO, &[Outcome::ListsLegacy, Outcome::UnsupportedLegacy]), Move::Send(Step::Fallback)),
    row("legacy-by-error",        (PROBES, AUTO, &[Outcome::Error, Outcome::Malformed]), Move::Send(Step::Fallback)),
    row("legacy-by-silence",      (PROBES, AUTO, &[Outcome::Silence]), Move::Send(Step::Silent)),
    row("legacy-by-eof",          (PROBES, AUTO, &[Outcome::Eof]), Move::Reopen(Step::Reopened)),
    row("no-modern-version",      (DISCOVERS, EITHER, &[Outcome::ListsLegacy, Outcome::UnsupportedLegacy]), Move::Fail(Failure::NoCommonVersion)),
    row("probe-refused",          (DISCOVERS, EITHER, &[Outcome::Error]), Move::Fail(Failure::Refused)),
    row("probe-malformed",        (DISCOVERS, EITHER, &[Outcome::Malformed]), Move::Fail(Failure::Malformed)),
    row("stored-modern-is-wrong", (&[Step::Unconfirmed], EITHER, &[Outcome::Error, Outcome::Untyped, Outcome::Silence]), Move::Send(Step::Probe)),
    row("stored-modern-unproven", (&[Step::Unconfirmed], EITHER, &[Outcome::NotIdempotent]), Move::Send(Step::Probe)),
    row("stored-modern-eof",      (&[Step::Unconfirmed], AUTO, &[Outcome::Eof]), Move::Reopen(Step::Reopened)),
    row("legacy",                 (INITIALIZES, EITHER, &[Outcome::Initialized]), Move::Legacy),
    row("initialized-as-modern",  (INITIALIZES, AUTO, &[Outcome::InitializedModern]), Move::Modern),
    row("initialized-as-unknown", (INITIALIZES, EITHER, &[Outcome::InitializedModern, Outcome::InitializedUnknown]), Move::Fail(Failure::NoCommonVersion)),
    row("late-discovery",         (&[Step::Silent], EITHER, &[Outcome::Late]), Move::Await(Step::Held)),
    row("late-beside-reprobe",    (&[Step::Reprobe], EITHER, &[Outcome::Late]), Move::Modern),
    row("held",                   (&[Step::Held], EITHER, &[Outcome::Modern, Outcome::Refused, Outcome::InitializeMalformed, Outcome::Silence]), Move::UseHeld),
    row("held-eof",               (&[Step::Held], AUTO, &[Outcome::Eof]), Move::Reopen(Step::Reprobe)),
    row("probe-beside-fails",     (&[Step::Both], EITHER, NOT_MODERN), Move::Await(Step::Fallback)),
    row("initialize-beside-fails", (&[Step::Both], EITHER, &[Outcome::Refused, Outcome::InitializeMalformed]), Move::Await(Step::Reprobe)),
    row("refused-unheard",        (&[Step::Stored, Step::Silent, Step::Reopened], AUTO, &[Outcome::Refused]), Move::Send(Step::Reprobe)),
    row("refused",                (INITIALIZES, EITHER, &[Outcome::Refused]), Move::Fail(Failure::Refused)),
    row("stored-legacy-eof",      (&[Step::Stored], AUTO, &[Outcome::Eof]), Move::Reopen(Step::Probe)),
    row("stored-legacy-silence",  (&[Step::Stored], AUTO, &[Outcome::Silence]), Move::Send(Step::Both)),
    row("stored-legacy-malformed", (&[Step::Stored], AUTO, &[Outcome::InitializeMalformed]), Move::Send(Step::Reprobe)),
    row("initialize-malformed",   (INITIALIZES, EITHER, &[Outcome::InitializeMalformed]), Move::Fail(Failure::Malformed)),
    row("silent-eof",             (&[Step::Silent], AUTO, &[Outcome::Eof]), Move::Reopen(Step::Reopened)),
    row("silence",                (ALL, EITHER, &[Outcome::Silence]), Move::Fail(Failure::TimedOut)),
    row("eof",                    (ALL, EITHER, &[Outcome::Eof]), Move::Fail(Failure::Closed)),
    row("unauthorized",           (ASKS, EITHER, &[Outcome::Unauthorized]), Move::Fail(Failure::Unauthorized)),
    row("unavailable",            (ASKS, EITHER, &[Outcome::Unavailable]), Move::Fail(Failure::Unavailable)),
    row("no-answer",              (ASKS, EITHER, &[Outcome::NoAnswer]), Move::Fail(Failure::TimedOut)),
    row("of-no-interest",         (ALL, EITHER, ANY_OUTCOME), Move::Stay),
]);

impl Step {
    /// Where a negotiation begins.
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

    /// Returns whether `server/discover` is what is out.
    pub(in crate::client) fn discovers(self) -> bool {
        matches!(self, Self::Probe | Self::Correct | Self::Reprobe | Self::Both)
    }
}
