//! Decision table for a server that refuses a request with 401 or 403.
//!
//! In: the status and the challenge, the token that the request had, and whether another
//! authorization can help. Out: a [`RefusalStep`]. `docs/tables.md` shows [`TABLE`]; a test walks
//! every combination.
//!
//! Discovery always asks for the metadata of the server again: a change of the authorization server is
//! seen there. A step-up keeps what was discovered, never refreshes, and asks for the union of the
//! scopes.
//!
//! [Specification: Scope Challenge
//! Handling](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-challenge-handling)

use crate::decision_table::{Cells, Input, Set, Table, row};

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
    /// Its `error` is `insufficient_scope`.
    InsufficientScope,
    /// Its `error` is `use_dpop_nonce`, for the first time, and the nonce is known.
    Nonce,
    /// It names metadata.
    Metadata,
    /// Another one, or none.
    Other,
}

/// The token of the request that was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SentToken {
    /// It had none, and there is none.
    Absent,
    /// There is a newer one by now.
    Older,
    /// The present one, got for this request by an authorization.
    Fresh,
    /// The present one, got for this request by a refresh.
    Refreshed,
    /// The present one, which was there before.
    Held,
}

/// The next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefusalStep {
    /// Send the request again, with the present token.
    Repeat,
    /// Authorize for more scopes.
    StepUp,
    /// Authorize without a refresh.
    Authorize,
    /// Ask for the metadata of the server, then refresh or authorize.
    Discover,
    /// Fail: the server wants scopes that an authorization does not get.
    FailScopes,
    /// Fail: the server refuses.
    FailRefused,
}

impl Input for RefusalStatus {
    const ALL: Set<Self> = &[Self::Unauthorized, Self::Forbidden];
}

impl Input for RefusalChallenge {
    const ALL: Set<Self> = &[Self::InsufficientScope, Self::Nonce, Self::Metadata, Self::Other];
}

impl Input for SentToken {
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
