//! Decision table for the era of a message to a server.
//!
//! In: the opening of the connection, the server's policy, the kind of the message, and the version
//! that its `_meta` claims. Out: the [`Route`] of the message. A modern request without a version
//! is distinguished from a legacy request. `docs/tables.md` shows [`TABLE`]; a test walks every
//! combination.
//!
//! The enums are exhaustive on purpose, so that a new value breaks code that matches on them.
//!
//! Two messages fix the era of a connection. An `initialize` that was answered with a result makes
//! the connection legacy, and a modern request that was served makes it modern. `server/discover`
//! and refused messages do not fix the era. While another server answers `initialize`, the
//! connection counts as legacy. Over HTTP the era of every request is independent, and its header
//! `MCP-Protocol-Version` counts too.
//!
//! [Specification: Backward
//! Compatibility](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions)

use crate::decision_table::{Cells, Column, Row, Set, Table, row};
use crate::error::ProtocolError;
use crate::version::{BOTH_ERAS, Era, EraPolicy, MODERN, ProtocolVersion};

/// Era in which a connection was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opened {
    /// Not opened yet.
    Undecided,
    /// With a modern request.
    Modern,
    /// With `initialize`.
    Legacy,
    /// With `initialize`, at the only revision with batches.
    LegacyWithBatches,
    /// One HTTP request, whose content decides its era.
    Exchange,
    /// One HTTP request, with a header that names a modern revision.
    ModernExchange,
}

/// Kind of a message, for negotiation.
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

/// The per-request fields of the modern era in `params._meta`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// None of these fields.
    Absent,
    /// `io.modelcontextprotocol/clientCapabilities`, `clientInfo` or `logLevel`, without
    /// `io.modelcontextprotocol/protocolVersion`.
    Incomplete,
    /// `io.modelcontextprotocol/protocolVersion`, with any value.
    Present,
}

/// Decision about a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// The message is handled by the rules of the modern era.
    Modern,
    /// The message is handled by the rules of the legacy era.
    Legacy,
    /// The message is dropped. A notification has no answer, and the response matches no request.
    Drop,
    /// The message is answered with an error.
    Reject(Refusal),
}

/// Reason of a refusal by the table.
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
    /// -32022: an `initialize` to a modern server or on a modern connection. The error lists the
    /// versions that the server supports.
    LegacyNotServed,
    /// -32602: a request that lacks a required key of `_meta`. "The server MUST reject it with
    /// JSON-RPC error code -32602."
    MissingMeta,
    /// -32600: a response to a modern server, which sends no requests.
    UnexpectedResponse,
}

/// The inputs of a row.
type Sets = (Set<Opened>, Set<EraPolicy>, Set<Kind>, Set<Claim>);

impl Column for Opened {
    const ALL: Set<Self> = &[
        Self::Undecided,
        Self::Modern,
        Self::Legacy,
        Self::LegacyWithBatches,
        Self::Exchange,
        Self::ModernExchange,
    ];
}

impl Column for EraPolicy {
    const ALL: Set<Self> = &[Self::Auto, Self::LegacyOnly, Self::ModernOnly];
}

impl Column for Kind {
    const ALL: Set<Self> = &[
        Self::Initialize,
        Self::Ping,
        Self::Request,
        Self::Notification,
        Self::Response,
        Self::Batch,
    ];
}

impl Column for Claim {
    const ALL: Set<Self> = &[Self::Absent, Self::Incomplete, Self::Present];
}

impl Cells for Route {}

const STREAM: &[Opened] =
    &[Opened::Undecided, Opened::Modern, Opened::Legacy, Opened::LegacyWithBatches];
const LEGACY: &[Opened] = &[Opened::Legacy, Opened::LegacyWithBatches];
const UNDECIDED: &[Opened] = &[Opened::Undecided];
const UNPINNED: &[Opened] = &[Opened::Undecided, Opened::Modern];
const EXCHANGE: &[Opened] = &[Opened::Exchange, Opened::ModernExchange];
const ANY_POLICY: &[EraPolicy] = EraPolicy::ALL;
const ANY_KIND: &[Kind] = Kind::ALL;
const ANY_CLAIM: &[Claim] = Claim::ALL;
const AUTO: &[EraPolicy] = &[EraPolicy::Auto];
const LEGACY_ONLY: &[EraPolicy] = &[EraPolicy::LegacyOnly];
const MODERN_ONLY: &[EraPolicy] = &[EraPolicy::ModernOnly];
const SERVES_LEGACY: &[EraPolicy] = &[EraPolicy::Auto, EraPolicy::LegacyOnly];
const SERVES_MODERN: &[EraPolicy] = &[EraPolicy::Auto, EraPolicy::ModernOnly];
const REQUESTS: &[Kind] = &[Kind::Initialize, Kind::Ping, Kind::Request];
const PLAIN: &[Kind] = &[Kind::Ping, Kind::Request];
const CALLS: &[Kind] = &[Kind::Initialize, Kind::Ping, Kind::Request, Kind::Notification];
const CLAIM: &[Claim] = &[Claim::Present];
const NO_CLAIM: &[Claim] = &[Claim::Absent, Claim::Incomplete];
const INCOMPLETE: &[Claim] = &[Claim::Incomplete];

/// The table; the first row that matches decides.
#[rustfmt::skip]
pub const TABLE: Table<Sets, Route> = Table::new(&["opened as", "policy", "kind", "claim", "route"], &[
    row("batch-2025-03-26",        (&[Opened::LegacyWithBatches], ANY_POLICY, &[Kind::Batch], ANY_CLAIM), Route::Legacy),
    row("batch",                   (STREAM, ANY_POLICY, &[Kind::Batch], ANY_CLAIM), Route::Reject(Refusal::UnexpectedBatch)),
    row("response-on-legacy",      (LEGACY, ANY_POLICY, &[Kind::Response], ANY_CLAIM), Route::Legacy),
    row("response",                (STREAM, ANY_POLICY, &[Kind::Response], ANY_CLAIM), Route::Drop),
    row("modern-on-legacy",        (LEGACY, ANY_POLICY, REQUESTS, CLAIM), Route::Reject(Refusal::ModernOnLegacy)),
    row("initialize-twice",        (LEGACY, ANY_POLICY, &[Kind::Initialize], NO_CLAIM), Route::Reject(Refusal::UnexpectedInitialize)),
    row("legacy",                  (LEGACY, ANY_POLICY, &[Kind::Ping, Kind::Request, Kind::Notification], ANY_CLAIM), Route::Legacy),
    row("notification-on-modern",  (&[Opened::Modern], ANY_POLICY, &[Kind::Notification], ANY_CLAIM), Route::Modern),
    row("notification-undecided",  (UNDECIDED, ANY_POLICY, &[Kind::Notification], ANY_CLAIM), Route::Drop),
    row("modern",                  (UNPINNED, SERVES_MODERN, REQUESTS, CLAIM), Route::Modern),
    row("modern-to-legacy-only",   (UNPINNED, LEGACY_ONLY, REQUESTS, CLAIM), Route::Reject(Refusal::ModernNotServed)),
    row("initialize-on-modern",    (&[Opened::Modern], ANY_POLICY, &[Kind::Initialize], NO_CLAIM), Route::Reject(Refusal::LegacyNotServed)),
    row("no-claim-on-modern",      (&[Opened::Modern], ANY_POLICY, PLAIN, NO_CLAIM), Route::Reject(Refusal::MissingMeta)),
    row("initialize-to-modern-only", (UNDECIDED, MODERN_ONLY, &[Kind::Initialize], NO_CLAIM), Route::Reject(Refusal::LegacyNotServed)),
    row("no-claim-to-modern-only", (UNDECIDED, MODERN_ONLY, PLAIN, NO_CLAIM), Route::Reject(Refusal::MissingMeta)),
    row("incomplete-claim",        (UNDECIDED, AUTO, PLAIN, INCOMPLETE), Route::Reject(Refusal::MissingMeta)),
    row("initialize",              (UNDECIDED, SERVES_LEGACY, &[Kind::Initialize], NO_CLAIM), Route::Legacy),
    row("ping-before-initialize",  (UNDECIDED, SERVES_LEGACY, &[Kind::Ping], NO_CLAIM), Route::Legacy),
    row("before-initialize",       (UNDECIDED, SERVES_LEGACY, &[Kind::Request], NO_CLAIM), Route::Reject(Refusal::BeforeInitialize)),
    row("http-modern-to-legacy-only", (EXCHANGE, LEGACY_ONLY, REQUESTS, CLAIM), Route::Reject(Refusal::ModernNotServed)),
    row("http-legacy-only",        (EXCHANGE, LEGACY_ONLY, ANY_KIND, ANY_CLAIM), Route::Legacy),
    row("http-modern",             (EXCHANGE, SERVES_MODERN, CALLS, CLAIM), Route::Modern),
    row("http-initialize",         (EXCHANGE, AUTO, &[Kind::Initialize], NO_CLAIM), Route::Legacy),
    row("http-initialize-to-modern-only", (EXCHANGE, MODERN_ONLY, &[Kind::Initialize], NO_CLAIM), Route::Reject(Refusal::LegacyNotServed)),
    row("http-no-claim",           (&[Opened::ModernExchange], SERVES_MODERN, PLAIN, NO_CLAIM), Route::Reject(Refusal::MissingMeta)),
    row("http-incomplete-claim",   (&[Opened::Exchange], AUTO, PLAIN, INCOMPLETE), Route::Reject(Refusal::MissingMeta)),
    row("http-modern-notification", (&[Opened::ModernExchange], SERVES_MODERN, &[Kind::Notification], NO_CLAIM), Route::Modern),
    row("http-modern-batch",       (&[Opened::ModernExchange], SERVES_MODERN, &[Kind::Batch], ANY_CLAIM), Route::Reject(Refusal::UnexpectedBatch)),
    row("http-modern-response",    (&[Opened::ModernExchange], SERVES_MODERN, &[Kind::Response], ANY_CLAIM), Route::Reject(Refusal::UnexpectedResponse)),
    row("http-legacy",             (&[Opened::Exchange], AUTO, ANY_KIND, ANY_CLAIM), Route::Legacy),
    row("http-no-claim-to-modern-only", (&[Opened::Exchange], MODERN_ONLY, PLAIN, NO_CLAIM), Route::Reject(Refusal::MissingMeta)),
    row("http-notification-to-modern-only", (&[Opened::Exchange], MODERN_ONLY, &[Kind::Notification], NO_CLAIM), Route::Modern),
    row("http-batch-to-modern-only", (&[Opened::Exchange], MODERN_ONLY, &[Kind::Batch], ANY_CLAIM), Route::Reject(Refusal::UnexpectedBatch)),
    row("http-response-to-modern-only", (&[Opened::Exchange], MODERN_ONLY, &[Kind::Response], ANY_CLAIM), Route::Reject(Refusal::UnexpectedResponse)),
]);

/// Number of all combinations of inputs.
const CASES: usize =
    case(Opened::ModernExchange, EraPolicy::ModernOnly, Kind::Batch, Claim::Present) + 1;

/// The index of a combination.
const fn case(opened: Opened, policy: EraPolicy, kind: Kind, claim: Claim) -> usize {
    let opened_and_policy = opened as usize * EraPolicy::ALL.len() + policy as usize;
    (opened_and_policy * Kind::ALL.len() + kind as usize) * Claim::ALL.len() + claim as usize
}

/// The deciding rows, by the indices of the combinations; computed at compile time.
#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "it runs at compile time, and a panic fails the build"
)]
const fn index() -> [u8; CASES] {
    assert!(TABLE.rows.len() < u8::MAX as usize);
    let mut index = [u8::MAX; CASES];
    let mut at = TABLE.rows.len();
    // Backwards, so that the first matching row is stored last.
    while at > 0 {
        at -= 1;
        let (opened, policy, kind, claim) = TABLE.rows[at].when;
        let mut o = 0;
        let mut p = 0;
        let mut k = 0;
        let mut c = 0;
        while o < opened.len() {
            index[case(opened[o], policy[p], kind[k], claim[c])] = at as u8;
            // The next combination of the four lists.
            c += 1;
            if c == claim.len() {
                (c, k) = (0, k + 1);
            }
            if k == kind.len() {
                (k, p) = (0, p + 1);
            }
            if p == policy.len() {
                (p, o) = (0, o + 1);
            }
        }
    }
    index
}

/// The row that decides about a message. Never `None`: a test walks every combination.
pub fn classify(
    opened: Opened,
    policy: EraPolicy,
    kind: Kind,
    claim: Claim,
) -> Option<&'static Row<Sets, Route>> {
    const INDEX: [u8; CASES] = index();
    TABLE.rows.get(usize::from(*INDEX.get(case(opened, policy, kind, claim))?))
}

/// The revision that answers an `initialize`: the requested one if it is legacy, otherwise the
/// newest legacy one.
pub fn legacy_version(requested: &str) -> ProtocolVersion {
    ProtocolVersion::from_name(requested)
        .filter(|version| version.era() == Era::Legacy)
        .unwrap_or(ProtocolVersion::LATEST_LEGACY)
}

/// The modern revision that a request to a server with this policy claims.
///
/// Fails with [`ProtocolError::UnsupportedVersion`].
pub fn modern_version(claim: &str, policy: EraPolicy) -> Result<ProtocolVersion, ProtocolError> {
    ProtocolVersion::from_name(claim)
        .filter(|version| version.era() == Era::Modern)
        .ok_or_else(|| unsupported(Some(claim), policy))
}

/// The revisions that a server with this policy lists to modern clients, newest first: in
/// `supportedVersions` of `server/discover`, and in `supported` of error -32022.
///
/// The legacy revisions are included if the server supports them: "it MUST respond with an
/// `UnsupportedProtocolVersionError` listing the versions it does support". Otherwise a client with
/// legacy revisions and a later modern one would find no common version.
pub(crate) fn listed(policy: EraPolicy) -> &'static [&'static str] {
    match policy {
        EraPolicy::Auto | EraPolicy::LegacyOnly => BOTH_ERAS,
        EraPolicy::ModernOnly => MODERN,
    }
}

/// The error -32022 for `requested`, which is shortened to 100 characters.
///
/// A legacy revision that the server supports is opened with `initialize`. If a client has claimed
/// a legacy revision in `_meta`, listing that revision would make the client repeat the same
/// request.
pub(crate) fn unsupported(requested: Option<&str>, policy: EraPolicy) -> ProtocolError {
    let supported = listed(policy);
    let needs_initialize = requested.is_some_and(|version| supported.contains(&version));
    ProtocolError::UnsupportedVersion {
        requested: requested.map(|version| version.chars().take(100).collect()),
        supported: if needs_initialize { MODERN } else { supported },
        needs_initialize,
    }
}
