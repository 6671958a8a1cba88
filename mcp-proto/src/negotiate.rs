//! Which era a message belongs to: one pure table.
//!
//! In: what the connection has been opened as, the server's policy, the kind of the message, and
//! whether its `_meta` claims a version. Out: a [`Row`], whose name tests and documentation use
//! and whose [`Route`] says what happens to the message. `ARCHITECTURE.md` shows [`TABLE`]
//! ([`draw`]); a test walks every combination.
//!
//! Its enums are exhaustive on purpose: whoever matches on them wants to hear of a new value.
//!
//! What pins a connection: an `initialize` that was answered with a result makes it legacy; a
//! modern request that was served makes it modern. `server/discover` and whatever was refused
//! pin nothing.
//!
//! [Specification: Backward
//! Compatibility](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions)

use alloc::string::String;

use crate::error::ProtocolError;
use crate::version::{Era, EraPolicy, MODERN, ProtocolVersion};

/// What a connection has been opened as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opened {
    /// Neither, so far.
    Undecided,
    /// With a modern request.
    Modern,
    /// With `initialize`.
    Legacy,
    /// With `initialize`, at the one revision that has batches.
    LegacyWithBatches,
}

/// What kind of message it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An `initialize` request.
    Initialize,
    /// A `ping` request.
    Ping,
    /// Any other request.
    Request,
    /// A notification.
    Notification,
    /// A response.
    Response,
    /// An array.
    Batch,
}

/// Whether `params._meta` holds `io.modelcontextprotocol/protocolVersion`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// It does not.
    Absent,
    /// It does, whatever the value.
    Present,
}

/// What happens to a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// It goes on under the rules of the modern era.
    Modern,
    /// It goes on under the rules of the legacy era.
    Legacy,
    /// It is dropped. A notification has no answer, and a response answers nothing here.
    Drop,
    /// It is answered with an error.
    Reject(Refusal),
}

/// Why a message is refused by the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// -32600: an array outside of 2025-03-26.
    UnexpectedBatch,
    /// -32600: a second `initialize`.
    UnexpectedInitialize,
    /// -32600: a legacy request before `initialize`.
    BeforeInitialize,
    /// -32600: a modern request after `initialize`.
    ModernOnLegacy,
    /// -32600: a modern request to a legacy server.
    ModernNotServed,
    /// -32022: a legacy request to a server, or on a connection, that is modern.
    LegacyNotServed,
    /// -32602: a request without the keys of `_meta` that a modern one carries.
    MissingMeta,
}

/// A row of the table; the first that matches decides.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// What tests and documentation call it.
    pub name: &'static str,
    opened: &'static [Opened],
    policy: &'static [EraPolicy],
    kind: &'static [Kind],
    claim: &'static [Claim],
    /// What happens to the message.
    pub route: Route,
}

const ANY_OPENED: &[Opened] =
    &[Opened::Undecided, Opened::Modern, Opened::Legacy, Opened::LegacyWithBatches];
const LEGACY: &[Opened] = &[Opened::Legacy, Opened::LegacyWithBatches];
const UNDECIDED: &[Opened] = &[Opened::Undecided];
const ANY_POLICY: &[EraPolicy] = &[EraPolicy::Auto, EraPolicy::LegacyOnly, EraPolicy::ModernOnly];
const SERVES_LEGACY: &[EraPolicy] = &[EraPolicy::Auto, EraPolicy::LegacyOnly];
const SERVES_MODERN: &[EraPolicy] = &[EraPolicy::Auto, EraPolicy::ModernOnly];
const REQUESTS: &[Kind] = &[Kind::Initialize, Kind::Ping, Kind::Request];
const ANY_CLAIM: &[Claim] = &[Claim::Absent, Claim::Present];

/// The table.
#[rustfmt::skip]
pub const TABLE: &[Row] = &[
    row("batch-2025-03-26",        &[Opened::LegacyWithBatches], ANY_POLICY, &[Kind::Batch], ANY_CLAIM, Route::Legacy),
    row("batch",                   ANY_OPENED, ANY_POLICY, &[Kind::Batch], ANY_CLAIM, Route::Reject(Refusal::UnexpectedBatch)),
    row("response-on-legacy",      LEGACY, ANY_POLICY, &[Kind::Response], ANY_CLAIM, Route::Legacy),
    row("response",                ANY_OPENED, ANY_POLICY, &[Kind::Response], ANY_CLAIM, Route::Drop),
    row("modern-on-legacy",        LEGACY, ANY_POLICY, REQUESTS, &[Claim::Present], Route::Reject(Refusal::ModernOnLegacy)),
    row("initialize-twice",        LEGACY, ANY_POLICY, &[Kind::Initialize], &[Claim::Absent], Route::Reject(Refusal::UnexpectedInitialize)),
    row("legacy",                  LEGACY, ANY_POLICY, &[Kind::Ping, Kind::Request, Kind::Notification], ANY_CLAIM, Route::Legacy),
    row("notification-on-modern",  &[Opened::Modern], ANY_POLICY, &[Kind::Notification], ANY_CLAIM, Route::Modern),
    row("notification-undecided",  UNDECIDED, ANY_POLICY, &[Kind::Notification], ANY_CLAIM, Route::Drop),
    row("modern",                  &[Opened::Undecided, Opened::Modern], SERVES_MODERN, REQUESTS, &[Claim::Present], Route::Modern),
    row("modern-to-legacy-only",   &[Opened::Undecided, Opened::Modern], &[EraPolicy::LegacyOnly], REQUESTS, &[Claim::Present], Route::Reject(Refusal::ModernNotServed)),
    row("initialize-on-modern",    &[Opened::Modern], ANY_POLICY, &[Kind::Initialize], &[Claim::Absent], Route::Reject(Refusal::LegacyNotServed)),
    row("no-claim-on-modern",      &[Opened::Modern], ANY_POLICY, &[Kind::Ping, Kind::Request], &[Claim::Absent], Route::Reject(Refusal::MissingMeta)),
    row("legacy-to-modern-only",   UNDECIDED, &[EraPolicy::ModernOnly], REQUESTS, &[Claim::Absent], Route::Reject(Refusal::LegacyNotServed)),
    row("initialize",              UNDECIDED, SERVES_LEGACY, &[Kind::Initialize], &[Claim::Absent], Route::Legacy),
    row("ping-before-initialize",  UNDECIDED, SERVES_LEGACY, &[Kind::Ping], &[Claim::Absent], Route::Legacy),
    row("before-initialize",       UNDECIDED, SERVES_LEGACY, &[Kind::Request], &[Claim::Absent], Route::Reject(Refusal::BeforeInitialize)),
];

const fn row(
    name: &'static str,
    opened: &'static [Opened],
    policy: &'static [EraPolicy],
    kind: &'static [Kind],
    claim: &'static [Claim],
    route: Route,
) -> Row {
    Row { name, opened, policy, kind, claim, route }
}

/// The row that decides about a message. `None` never happens; a test walks every combination.
pub fn classify(
    opened: Opened,
    policy: EraPolicy,
    kind: Kind,
    claim: Claim,
) -> Option<&'static Row> {
    TABLE.iter().find(|row| {
        row.kind.contains(&kind)
            && row.opened.contains(&opened)
            && row.claim.contains(&claim)
            && row.policy.contains(&policy)
    })
}

/// The revision that answers an `initialize`: the requested one if it is legacy, else the newest
/// legacy one. Never a modern one.
pub fn legacy_version(requested: &str) -> ProtocolVersion {
    ProtocolVersion::from_name(requested)
        .filter(|version| version.era() == Era::Legacy)
        .unwrap_or(ProtocolVersion::LATEST_LEGACY)
}

/// The modern revision that a request claims.
pub fn modern_version(claim: &str) -> Result<ProtocolVersion, ProtocolError> {
    ProtocolVersion::from_name(claim)
        .filter(|version| version.era() == Era::Modern)
        .ok_or_else(|| unsupported(Some(claim)))
}

/// The -32022 that answers `requested`, of which it quotes what could be a version.
pub(crate) fn unsupported(requested: Option<&str>) -> ProtocolError {
    ProtocolError::UnsupportedVersion {
        requested: requested.map(|version| version.chars().take(100).collect()),
        supported: MODERN,
    }
}

/// The table as Markdown, one line a row.
pub fn draw() -> String {
    let mut out = String::from(
        "| row | opened as | policy | kind | claim | route |\n|---|---|---|---|---|---|\n",
    );
    for row in TABLE {
        let cells = [
            row.name.into(),
            cell(row.opened, ANY_OPENED.len()),
            cell(row.policy, ANY_POLICY.len()),
            cell(row.kind, usize::MAX),
            cell(row.claim, ANY_CLAIM.len()),
            alloc::format!("{:?}", row.route),
        ];
        out.extend(["| ", &cells.join(" | "), " |\n"]);
    }
    out
}

fn cell<T: core::fmt::Debug>(values: &[T], all: usize) -> String {
    if values.len() == all {
        return "any".into();
    }
    let names: alloc::vec::Vec<String> =
        values.iter().map(|value| alloc::format!("{value:?}")).collect();
    names.join(", ")
}
