//! Decision table for a server that refuses a request with 401 or 403.
//!
//! In: the status and the challenge, the token that the request had, and whether another
//! authorization can help. Out: a [`RefusalStep`]. `docs/tables.md` shows [`TABLE`]; a test walks
//! every combination.
//!
//! Discovery always requests the metadata of the server again, to detect a change of the
//! authorization server. A step-up uses tokens of the store for which the scopes were requested.
//! Otherwise it keeps the discovered data, never refreshes, and requests the union of the scopes.
//!
//! [Specification: Scope Challenge
//! Handling](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-challenge-handling)

use crate::decision_table::{Cells, Column, Set, Table, row};

/// The status of the refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefusalStatus {
    /// 401.
    Unauthorized,
    /// 403.
    Forbidden,
}

/// The challenge of the refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefusalChallenge {
    /// The `error` is `insufficient_scope`.
    InsufficientScope,
    /// The `error` is `use_dpop_nonce`, for the first time, with a known nonce.
    Nonce,
    /// The challenge names metadata.
    Metadata,
    /// Another challenge, or none.
    Other,
}

/// The token of the refused request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SentToken {
    /// The request had no token, and there is none.
    Absent,
    /// There is a newer token now.
    Older,
    /// The current token, from an authorization for this request.
    Fresh,
    /// The current token, from a refresh for this request.
    Refreshed,
    /// The current token, which is older than the request.
    Held,
}

/// The next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefusalStep {
    /// Send the request again, with the current token.
    Repeat,
    /// Authorize for more scopes.
    StepUp,
    /// Authorize without a refresh.
    Authorize,
    /// Ask for the metadata of the server, then refresh or authorize.
    Discover,
    /// Fail: the server requires scopes that an authorization does not grant.
    FailScopes,
    /// Fail: the server refuses.
    FailRefused,
}

impl Column for RefusalStatus {
    const ALL: Set<Self> = &[Self::Unauthorized, Self::Forbidden];
}

impl Column for RefusalChallenge {
    const ALL: Set<Self> = &[Self::InsufficientScope, Self::Nonce, Self::Metadata, Self::Other];
}

impl Column for SentToken {
    const ALL: Set<Self> = &[Self::Absent, Self::Older, Self::Fresh, Self::Refreshed, Self::Held];
}

impl Cells for RefusalStep {}

type RefusalCase =
    (Set<RefusalStatus>, Set<RefusalChallenge>, Set<SentToken>, Set<bool>, Set<bool>);

const ANY: Set<bool> = bool::ALL;
const BOTH: Set<RefusalStatus> = RefusalStatus::ALL;
const UNAUTHORIZED: Set<RefusalStatus> = &[RefusalStatus::Unauthorized];
const FORBIDDEN: Set<RefusalStatus> = &[RefusalStatus::Forbidden];
const SCOPE: Set<RefusalChallenge> = &[RefusalChallenge::InsufficientScope];
const NONCE: Set<RefusalChallenge> = &[RefusalChallenge::Nonce];
const CHALLENGES: Set<RefusalChallenge> = RefusalChallenge::ALL;
const OLDER: Set<SentToken> = &[SentToken::Older];
const PRESENT: Set<SentToken> = &[SentToken::Fresh, SentToken::Refreshed, SentToken::Held];
const ABSENT: Set<SentToken> = &[SentToken::Absent];
const NAMES: Set<RefusalChallenge> =
    &[RefusalChallenge::Metadata, RefusalChallenge::InsufficientScope];

/// The table; the first row that matches decides.
pub const TABLE: Table<RefusalCase, RefusalStep> = Table::new(
    &["status", "challenge", "token", "names a new scope", "steps left", "next"],
    &[
        row("nonce", (UNAUTHORIZED, NONCE, PRESENT, ANY, ANY), RefusalStep::Repeat),
        row("superseded", (UNAUTHORIZED, CHALLENGES, OLDER, ANY, ANY), RefusalStep::Repeat),
        row("widened", (FORBIDDEN, SCOPE, OLDER, ANY, ANY), RefusalStep::Repeat),
        row("step-up", (BOTH, SCOPE, PRESENT, &[true], &[true]), RefusalStep::StepUp),
        row("steps-spent", (BOTH, SCOPE, PRESENT, &[true], &[false]), RefusalStep::FailScopes),
        row("no-growth", (BOTH, SCOPE, PRESENT, &[false], ANY), RefusalStep::FailScopes),
        row(
            "refused-again",
            (UNAUTHORIZED, CHALLENGES, &[SentToken::Fresh], ANY, ANY),
            RefusalStep::FailRefused,
        ),
        row(
            "refreshed-in-vain",
            (UNAUTHORIZED, CHALLENGES, &[SentToken::Refreshed], ANY, ANY),
            RefusalStep::Authorize,
        ),
        row(
            "unauthorized",
            (UNAUTHORIZED, CHALLENGES, &[SentToken::Absent, SentToken::Held], ANY, ANY),
            RefusalStep::Discover,
        ),
        row("forbidden-unknown", (FORBIDDEN, NAMES, ABSENT, ANY, ANY), RefusalStep::Discover),
        row(
            "forbidden",
            (FORBIDDEN, CHALLENGES, SentToken::ALL, ANY, ANY),
            RefusalStep::FailRefused,
        ),
    ],
);
