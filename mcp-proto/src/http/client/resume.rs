//! Decision table for exchanges that break before they have served their purpose.
//!
//! In: the purpose of the exchange, the way in which it broke, and whether another attempt is
//! allowed. Out: the next step. `docs/tables.md` shows [`TABLE`]; a test walks every combination.
//!
//! The first attempt follows after 1 s, or after the server's `retry` (at least 100 ms, at most an
//! hour). The delay doubles with each failed attempt up to a minute, and up to a quarter of it is
//! added at random. The delay starts over after an event, and after a stream that lived longer than
//! its delay or 10 s. A stream that was refused with 429 or 503 is not attempted before the time in
//! `Retry-After`, if that is in seconds; an hour is the most. Streams are attempted for as long as
//! the application needs them. An answer to a request of the server, and
//! `notifications/initialized`, are sent again 10 times.
//!
//! [Specification: Resumability and
//! Redelivery](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery)

use crate::decision_table::{Cells, Column, Set, Table, row};
use crate::time::{Duration, spread};

/// The most repetitions of an answer to a request of the server, and of
/// `notifications/initialized`.
pub const MAX_TRIES: u32 = 10;

/// Lifetime after which a stream counts as working, independent of its delay.
pub const STABLE: Duration = Duration::from_secs(10);

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// Bounds for `retry`, against a busy loop and against endless silence. `Retry-After` has the upper
/// bound too.
const LEAST: Duration = Duration::from_millis(100);
const MOST: Duration = Duration::from_secs(60 * 60);

/// Purpose of an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Response to a call; the stream has no ids, or is a modern server's, or has ended with an
    /// event that is too long.
    Call,
    /// Response to a call of a legacy server, which has given an id to resume from.
    Resumable,
    /// `subscriptions/listen` that the server has not accepted yet; `resources/subscribe` of a
    /// subscription.
    Subscribing,
    /// `subscriptions/listen` that the server has accepted before.
    Subscription,
    /// GET stream of a legacy session that was never open.
    Opening,
    /// GET stream of a legacy session that was open before.
    Listening,
    /// Answer to a request of a legacy server.
    Answer,
    /// `notifications/initialized`.
    Beginning,
    /// Another notification of the client.
    Notification,
}

/// Way in which an exchange broke.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Break {
    /// The stream ended without the response.
    Ended,
    /// The connection broke, or there was none.
    Cut,
    /// 408, 425, 429, or a status of 500 or more.
    Unavailable,
    /// 409: the server still has another stream of this session open.
    Conflict,
    /// 401 or 403.
    Unauthorized,
    /// 404 in a session.
    NotFound,
    /// 400 to a GET with `Last-Event-ID`.
    UnknownEvent,
    /// 405 or 501; 204 to the GET of a session.
    Unsupported,
    /// Any other status that is not 2xx.
    Refused,
    /// 2xx without a stream of events.
    NoEvents,
}

impl Break {
    /// Returns the way in which an exchange breaks by a status.
    pub fn of(status: u16) -> Self {
        match status {
            200..=299 => Self::NoEvents,
            401 | 403 => Self::Unauthorized,
            404 => Self::NotFound,
            405 | 501 => Self::Unsupported,
            409 => Self::Conflict,
            408 | 425 | 429 => Self::Unavailable,
            300..=499 => Self::Refused,
            _ => Self::Unavailable,
        }
    }
}

/// Reaction of a client to a stream or a delivery that broke.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resumption {
    /// Send a GET with the last id, after the delay.
    Resume,
    /// Send a GET without the last id, after the delay.
    Restart,
    /// Send `ping` to check that the server knows the session; then a GET, after the delay.
    Check,
    /// Send the same request again under another id, after the delay.
    Reopen,
    /// Send the same message again, after the delay.
    Resend,
    /// Report that the server requires authentication. Attempt again when the application sets a
    /// field, or after the longest delay.
    Authorize,
    /// Open another session.
    Lose,
    /// Fail the call or the subscription; report the message as not delivered.
    Fail,
    /// Report that the server has no such stream, and end the subscriptions that need it.
    Stop,
}

/// The inputs of a row.
type Sets = (Set<Kind>, Set<Break>, Set<bool>);

impl Column for Kind {
    const ALL: Set<Self> = &[
        Self::Call,
        Self::Resumable,
        Self::Subscribing,
        Self::Subscription,
        Self::Opening,
        Self::Listening,
        Self::Answer,
        Self::Beginning,
        Self::Notification,
    ];
}

impl Column for Break {
    const ALL: Set<Self> = &[
        Self::Ended,
        Self::Cut,
        Self::Unavailable,
        Self::Conflict,
        Self::Unauthorized,
        Self::NotFound,
        Self::UnknownEvent,
        Self::Unsupported,
        Self::Refused,
        Self::NoEvents,
    ];
}

impl Cells for Resumption {}

const BREAKS: &[Break] = Break::ALL;
const GET: &[Kind] = &[Kind::Opening, Kind::Listening];
const PASSING: &[Break] = &[Break::Ended, Break::Cut, Break::Unavailable, Break::Conflict];
const EITHER: &[bool] = bool::ALL;

/// The table. The first row that matches decides.
#[rustfmt::skip]
pub const TABLE: Table<Sets, Resumption> = Table::new(&["exchange", "broke", "may try", "then"], &[
    row("broken-call",          (&[Kind::Call], BREAKS, EITHER), Resumption::Fail),
    row("resumed",              (&[Kind::Resumable], PASSING, EITHER), Resumption::Resume),
    row("refused-resumption",   (&[Kind::Resumable], BREAKS, EITHER), Resumption::Fail),
    row("subscribes-again",     (&[Kind::Subscribing], PASSING, EITHER), Resumption::Reopen),
    row("refused-subscription", (&[Kind::Subscribing], BREAKS, EITHER), Resumption::Fail),
    row("ended-subscription",   (&[Kind::Subscription], &[Break::Unsupported], EITHER), Resumption::Fail),
    row("no-stream",            (GET, &[Break::Unsupported], EITHER), Resumption::Stop),
    row("token-of-a-stream",    (&[Kind::Subscription, Kind::Opening, Kind::Listening], &[Break::Unauthorized], EITHER), Resumption::Authorize),
    row("reopened",             (&[Kind::Subscription], BREAKS, EITHER), Resumption::Reopen),
    row("lost-session",         (&[Kind::Listening], &[Break::NotFound], EITHER), Resumption::Lose),
    row("without-id",           (GET, &[Break::UnknownEvent], EITHER), Resumption::Restart),
    row("is-there-a-session",   (GET, &[Break::NotFound, Break::Refused], EITHER), Resumption::Check),
    row("listens-again",        (GET, BREAKS, EITHER), Resumption::Resume),
    row("answers-again",        (&[Kind::Answer], PASSING, &[true]), Resumption::Resend),
    row("token-of-an-answer",   (&[Kind::Answer], &[Break::Unauthorized], &[true]), Resumption::Authorize),
    row("lost-answer",          (&[Kind::Answer], BREAKS, EITHER), Resumption::Fail),
    row("begins-again",         (&[Kind::Beginning], PASSING, &[true]), Resumption::Resend),
    row("token-of-a-session",   (&[Kind::Beginning], &[Break::Unauthorized], &[true]), Resumption::Authorize),
    row("lost-beginning",       (&[Kind::Beginning], BREAKS, EITHER), Resumption::Fail),
    row("lost-notification",    (&[Kind::Notification], BREAKS, EITHER), Resumption::Fail),
]);

/// Delay before the next attempt, after `tries` failed ones. `retry` is the server's request, and
/// `random` is any byte.
pub fn delay(tries: u32, retry: Option<Duration>, random: u8) -> Duration {
    let first = retry.unwrap_or(FIRST).clamp(LEAST, MOST);
    let most = first.max(LONGEST);
    let delay = first.saturating_mul(1_u32.checked_shl(tries).unwrap_or(u32::MAX)).min(most);
    spread(delay, random)
}

/// Delay before the next attempt, after a refusal with this `Retry-After`. `random` is any byte.
pub(super) fn delay_after(retry_after: Duration, random: u8) -> Duration {
    spread(retry_after.min(MOST), random)
}
