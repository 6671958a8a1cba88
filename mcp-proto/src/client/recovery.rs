//! Decision table for a server that has changed, and the rate of attempts to reconnect.
//!
//! In: the [knowledge](Known) about the server, and the [`Refusal`] of a request. Out: a
//! [`Recovery`]: deliver the refusal, open another session, or negotiate the era again; and which
//! calls may be repeated. `docs/tables.md` shows [`TABLE`]; a test walks every combination.
//!
//! A call may be repeated if its method is idempotent, or if the server refused it before dispatch
//! to a handler. Handlers answer with results and errors inside of JSON-RPC, which HTTP carries
//! with a status of 2xx. So the client assumes a refusal before dispatch if the status is 4xx, and
//! the text names a wrong session, envelope or version. The texts are those of the official SDKs:
//!
//! | server | refusal | class |
//! |---|---|---|
//! | TypeScript, stateful | 400, -32000 `Bad Request: Mcp-Session-Id header is required`, `Bad Request: Server not initialized` | `NoSession` |
//! | TypeScript, the widely copied example | 400, -32000 `Bad Request: No valid session ID provided` | `NoSession` |
//! | Python, stateful | 400, -32600 `Bad Request: Missing session ID`, `Bad Request: No valid session ID provided` | `NoSession` |
//! | Rust (rmcp) | 422 `Unexpected message, expect initialize request` | `NoSession` |
//! | Rust (rmcp before 1.0), session forgotten | 401 `Unauthorized: Session not found`, without a challenge | `NoSession` |
//! | all, session forgotten | 404 to a request with `Mcp-Session-Id` | `UnknownSession` |
//! | all, legacy | 400 `Bad Request: Unsupported protocol version` | `UnsupportedVersion` |
//! | all, modern | 400, -32022; -32602 that names `_meta` | `UnsupportedVersion`, `MissingMeta` |
//!
//! A refused call is repeated once. A call of a tool whose handler has asked for input is not
//! repeated, since that handler has seen the call. The rate of attempts is limited, but not their
//! number: see `ReconnectRate`.
//!
//! [Specification: Backward
//! Compatibility](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#backward-compatibility)

use alloc::string::String;
use alloc::vec::Vec;

use super::negotiation;
use crate::decision_table::{Cells, Column, Set, Table, row};
use crate::error::ErrorCode;
use crate::message::ErrorData;
use crate::time::{Duration, Instant, spread};
use crate::version::ProtocolVersion;

/// Knowledge about the server that refused a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    /// A stored verdict says that the server is modern, but no answer has confirmed this.
    Unconfirmed,
    /// The server has answered as a modern server.
    Modern,
    /// The server has answered `initialize`, with a session or without.
    Legacy,
}

/// Reason of a refused request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// -32022 with a status of 4xx or with other versions than that of the request, or a status of
    /// 400 whose text names the protocol version.
    UnsupportedVersion,
    /// Status 404 to a request that named a session.
    UnknownSession,
    /// Status 400, 401, 404 or 422 whose text says that a session, or `initialize`, is missing.
    NoSession,
    /// A status of 4xx whose text says that members of `_meta` are missing.
    MissingMeta,
    /// -32601 with a status of 4xx: handlers answer with 2xx.
    UnknownMethod,
    /// Status 400 or 422 without a JSON-RPC error.
    BadRequest,
    /// Status 404, 405, 406 or 415 without a JSON-RPC error.
    NoEndpoint,
    /// 3xx, 401, 403, 408, 425, 429 or 5xx without a JSON-RPC error, or no answer. The era stays
    /// unknown.
    Unavailable,
    /// Any other error or answer; a handler may have given it.
    Other,
}

/// Reaction to a refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reaction {
    /// The call fails with the refusal.
    Deliver,
    /// `initialize` opens another session.
    NewSession,
    /// `server/discover` finds out the era.
    Negotiate,
}

/// The calls that are repeated once the server is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repeats {
    /// No calls.
    Nothing,
    /// The refused call, if its method is idempotent.
    Idempotent,
    /// The refused call, because the server has not dispatched it.
    Refused,
}

/// The decision about a refused call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recovery {
    /// Reaction of the client.
    pub then: Reaction,
    /// The calls that are repeated.
    pub repeats: Repeats,
}

/// The inputs of a row.
type Sets = (Set<Known>, Set<Refusal>);

impl Column for Known {
    const ALL: Set<Self> = &[Self::Unconfirmed, Self::Modern, Self::Legacy];
}

impl Column for Refusal {
    const ALL: Set<Self> = &[
        Self::UnsupportedVersion,
        Self::UnknownSession,
        Self::NoSession,
        Self::MissingMeta,
        Self::UnknownMethod,
        Self::BadRequest,
        Self::NoEndpoint,
        Self::Unavailable,
        Self::Other,
    ];
}

impl Cells for Recovery {
    fn cells(&self) -> Vec<String> {
        Vec::from([alloc::format!("{:?}", self.then), alloc::format!("{:?}", self.repeats)])
    }
}

const fn recovery(then: Reaction, repeats: Repeats) -> Recovery {
    Recovery { then, repeats }
}

const ANY: &[Known] = Known::ALL;
const ANY_REFUSAL: &[Refusal] = Refusal::ALL;
const ASSUMED_MODERN: &[Known] = &[Known::Unconfirmed, Known::Modern];
/// The table. The first row that matches decides.
#[rustfmt::skip]
pub const TABLE: Table<Sets, Recovery> = Table::new(&["known", "refusal", "then", "repeats"], &[
    row("unavailable",         (ANY, &[Refusal::Unavailable]), recovery(Reaction::Deliver, Repeats::Nothing)),
    row("unsupported-version", (ANY, &[Refusal::UnsupportedVersion]), recovery(Reaction::Negotiate, Repeats::Refused)),
    row("unknown-session",     (&[Known::Legacy], &[Refusal::UnknownSession, Refusal::NoSession]), recovery(Reaction::NewSession, Repeats::Refused)),
    row("wants-a-session",     (ASSUMED_MODERN, &[Refusal::NoSession]), recovery(Reaction::Negotiate, Repeats::Refused)),
    row("wants-an-envelope",   (&[Known::Legacy], &[Refusal::MissingMeta]), recovery(Reaction::Negotiate, Repeats::Refused)),
    row("bad-request",         (ASSUMED_MODERN, &[Refusal::BadRequest]), recovery(Reaction::Negotiate, Repeats::Refused)),
    row("unconfirmed",         (&[Known::Unconfirmed], &[Refusal::UnknownSession, Refusal::MissingMeta, Refusal::UnknownMethod, Refusal::NoEndpoint]), recovery(Reaction::Negotiate, Repeats::Refused)),
    row("unconfirmed-error",   (&[Known::Unconfirmed], &[Refusal::Other]), recovery(Reaction::Negotiate, Repeats::Idempotent)),
    row("delivered",           (ANY, ANY_REFUSAL), recovery(Reaction::Deliver, Repeats::Nothing)),
]);

impl Refusal {
    /// The class of a JSON-RPC error with this HTTP status, or on a byte stream. `request_version`
    /// is the version of the refused request.
    pub fn of_error(
        error: &ErrorData,
        status: Option<u16>,
        request_version: Option<ProtocolVersion>,
    ) -> Self {
        let is_refused = status.is_some_and(|status| matches!(status, 400..=499));
        if error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION {
            // A handler may have forwarded the error of another server, which lists other versions.
            let supported = negotiation::listed(error);
            let lists =
                |version: ProtocolVersion| supported.iter().any(|it| it == version.as_str());
            let names_others = !supported.is_empty() && !request_version.is_some_and(lists);
            return if is_refused || names_others { Self::UnsupportedVersion } else { Self::Other };
        }
        let Some(status) = status.filter(|_| is_refused) else { return Self::Other };
        let says = |words: &[&str]| mentions(error.message.as_bytes(), words);
        match error.code {
            ErrorCode::METHOD_NOT_FOUND => Self::UnknownMethod,
            ErrorCode::INVALID_PARAMS | ErrorCode::INVALID_REQUEST if says(ENVELOPE) => {
                Self::MissingMeta
            }
            // SDKs use these codes for faults of the transport.
            ErrorCode::INVALID_REQUEST | ErrorCode(-32003..=-32000) => {
                Self::of_text(status, error.message.as_bytes()).unwrap_or(Self::Other)
            }
            _ => Self::Other,
        }
    }

    /// The class of an HTTP status with this text and without a JSON-RPC error.
    pub fn of_status(status: u16, text: &[u8]) -> Self {
        if let Some(refusal) = Self::of_text(status, text) {
            return refusal;
        }
        match status {
            // The text is a JSON-RPC message, but not an error for this status.
            400..=499 if mentions(text, &["\"jsonrpc\""]) => Self::Other,
            400 | 422 => Self::BadRequest,
            404 | 405 | 406 | 415 => Self::NoEndpoint,
            // The server has answered, but not with a JSON-RPC response.
            200..=299 | 402 | 407 | 409..=424 | 426..=428 | 430..=499 => Self::Other,
            _ => Self::Unavailable,
        }
    }

    fn of_text(status: u16, text: &[u8]) -> Option<Self> {
        match status {
            400 if mentions(text, VERSION) => Some(Self::UnsupportedVersion),
            400 | 404 | 422 if mentions(text, SESSION) => Some(Self::NoSession),
            _ => None,
        }
    }

    /// Returns whether the server refused the request before dispatch to a handler.
    pub fn is_before_dispatch(self) -> bool {
        match self {
            Self::UnsupportedVersion
            | Self::UnknownSession
            | Self::NoSession
            | Self::MissingMeta
            | Self::UnknownMethod
            | Self::BadRequest
            | Self::NoEndpoint => true,
            Self::Unavailable | Self::Other => false,
        }
    }
}

const VERSION: &[&str] = &["protocol version", "protocol-version"];
const SESSION: &[&str] = &["session", "initializ"];
const ENVELOPE: &[&str] = &["_meta", "io.modelcontextprotocol/"];

/// The number of bytes that are searched, from the beginning of a text.
const MAX_TEXT: usize = 512;

/// Returns whether the beginning of a text contains one of these words, in any case.
fn mentions(text: &[u8], words: &[&str]) -> bool {
    let text = text.get(..MAX_TEXT).unwrap_or(text);
    words.iter().any(|word| {
        text.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word.as_bytes()))
    })
}

/// The first delay between two attempts.
const FIRST: Duration = Duration::from_secs(1);

/// The longest delay between two attempts.
const LONGEST: Duration = Duration::from_secs(30);

/// The number of connections in a row that were of no use, after which the calls that wait fail.
const MAX_IN_VAIN: u32 = 3;

/// The rate of attempts to recover. The first attempt begins at once, the next attempts after 1 s,
/// 2 s, and so on up to 30 s, each up to a quarter longer. A connection that lasts longer than the
/// last delay resets the delays. Over HTTP no attempt begins before the time in the `Retry-After`
/// of the last refusal, of which 30 s at most count.
///
/// A connection is of use if it lasts so long, or if a call has had a result.
#[derive(Debug, Default)]
pub(super) struct ReconnectRate {
    delay: Duration,
    /// Earliest time of the next attempt.
    next: Instant,
    /// The time before which the server wants no attempt.
    refused_until: Instant,
    last: LastConnection,
    /// The number of connections since the last one that was of use.
    in_vain: u32,
    /// The share of a quarter that is added to each delay: 255 for all of it.
    random: u8,
}

/// State of the last connection.
#[derive(Clone, Copy, Debug, Default)]
enum LastConnection {
    #[default]
    Never,
    Since(Instant),
    Lost,
}

impl ReconnectRate {
    /// Spreads the attempts of many clients over time. `random` is any byte.
    pub(super) fn spread(&mut self, random: u8) {
        self.random = random;
    }

    /// Records a new connection.
    pub(super) fn connected(&mut self, now: Instant) {
        self.last = LastConnection::Since(now);
        self.in_vain = self.in_vain.saturating_add(1);
    }

    /// Records that a call has had a result.
    pub(super) fn answered(&mut self) {
        self.in_vain = 0;
    }

    /// Returns whether there ever was a connection.
    pub(super) fn has_connected(&self) -> bool {
        !matches!(self.last, LastConnection::Never)
    }

    /// Earliest time of the next attempt, if the connection is lost now.
    pub(super) fn next(&self, now: Instant) -> Instant {
        match self.last {
            LastConnection::Since(since) if now >= since + self.delay.max(FIRST) => now,
            LastConnection::Since(_) | LastConnection::Never | LastConnection::Lost => self.next,
        }
    }

    /// Records the loss of the connection; returns the earliest time of the next attempt.
    pub(super) fn lost(&mut self, now: Instant) -> Instant {
        if let LastConnection::Since(since) = self.last {
            if now >= since + self.delay.max(FIRST) {
                (self.delay, self.next) = (Duration::ZERO, now);
                self.in_vain = 0;
            }
            self.last = LastConnection::Lost;
        }
        self.next
    }

    /// Returns whether the last three connections were lost before they were of use. Attempts that
    /// failed do not count.
    pub(super) fn is_in_vain(&self) -> bool {
        self.in_vain >= MAX_IN_VAIN
    }

    /// Records the start of an attempt.
    pub(super) fn begin(&mut self, now: Instant) {
        self.delay = self.delay.saturating_mul(2).clamp(FIRST, LONGEST);
        self.next = now + spread(self.delay, self.random);
    }

    /// Records that the server wants no attempt for this time (`Retry-After`).
    pub(super) fn refused(&mut self, now: Instant, retry_after: Duration) {
        self.refused_until = now + spread(retry_after.min(LONGEST), self.random);
    }

    /// Records a failed attempt; returns the earliest time of the next attempt.
    pub(super) fn failed(&mut self, now: Instant) -> Instant {
        self.lost(now);
        let next = now + spread(self.delay.max(FIRST), self.random);
        self.next = next.max(self.refused_until);
        self.next
    }

    /// Resets the delays after a change, such as other credentials.
    pub(super) fn reset(&mut self) {
        self.delay = Duration::ZERO;
        self.in_vain = 0;
    }
}
