//! What happens when a stream of events breaks: one pure table.
//!
//! In: what the stream is for, how it broke, and whether it may be tried again. Out: a [`Row`], whose
//! name tests and documentation use. `ARCHITECTURE.md` shows [`TABLE`] ([`draw`]); a test walks every
//! combination.
//!
//! A stream is tried again after 1 s, or after what `retry` said, but 100 ms at least and an hour at
//! most; this doubles with each try in vain, up to 30 s, and up to a quarter of it is added at
//! random. After 5 tries in vain it is not tried again. A try that brings an event, or an id that is
//! not the last one, was not in vain.
//!
//! [Specification: Resumability and
//! Redelivery](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery)

use alloc::string::String;

use crate::table::{self, cell};
use crate::time::Duration;

/// How often a stream is tried again in vain.
pub const MAX_TRIES: u32 = 5;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

/// A server that wants to be asked without a pause is not, and one that never wants to be asked is.
const LEAST: Duration = Duration::from_millis(100);
const MOST: Duration = Duration::from_secs(60 * 60);

/// What a stream is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// The response to a call; the stream has no ids, or is a modern server's.
    Call,
    /// The response to a call of a legacy server, which has given an id to resume from.
    Resumable,
    /// A `subscriptions/listen`.
    Subscription,
    /// What a legacy server says by itself; it has not been open yet.
    Opening,
    /// What a legacy server says by itself.
    Listening,
}

/// How a stream broke.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Break {
    /// It ended, and not with the response.
    Ended,
    /// The connection broke, or there was none.
    Cut,
    /// A status of 500 or more.
    Unavailable,
    /// Another status than 2xx.
    Refused,
    /// A 2xx that is no stream of events.
    NoEvents,
}

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Then {
    /// A GET with the last id, after a while.
    Resume,
    /// The same request once more, under another id, after a while.
    Reopen,
    /// The call, or the subscription, has failed.
    Fail,
    /// Nothing: there is no such stream.
    Stop,
}

/// One row of the table: sets of inputs, and what happens.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// A stable name, for tests and documentation.
    pub name: &'static str,
    streams: &'static [Stream],
    breaks: &'static [Break],
    may_try: &'static [bool],
    /// What happens.
    pub then: Then,
}

const STREAMS: &[Stream] =
    &[Stream::Call, Stream::Resumable, Stream::Subscription, Stream::Opening, Stream::Listening];
const BREAKS: &[Break] =
    &[Break::Ended, Break::Cut, Break::Unavailable, Break::Refused, Break::NoEvents];
const PASSING: &[Break] = &[Break::Ended, Break::Cut, Break::Unavailable];
const LASTING: &[Break] = &[Break::Refused, Break::NoEvents];
const EITHER: &[bool] = &[true, false];

/// The table. The first row that matches decides.
#[rustfmt::skip]
pub const TABLE: &[Row] = &[
    row("broken-call",          &[Stream::Call], BREAKS, EITHER, Then::Fail),
    row("refused-resumption",   &[Stream::Resumable, Stream::Subscription], LASTING, EITHER, Then::Fail),
    row("resumed",              &[Stream::Resumable], PASSING, &[true], Then::Resume),
    row("reopened",             &[Stream::Subscription], PASSING, &[true], Then::Reopen),
    row("failed-in-the-end",    &[Stream::Resumable, Stream::Subscription], PASSING, &[false], Then::Fail),
    row("no-stream",            &[Stream::Opening, Stream::Listening], LASTING, EITHER, Then::Stop),
    row("listens-again",        &[Stream::Opening, Stream::Listening], PASSING, &[true], Then::Resume),
    row("stopped-in-the-end",   &[Stream::Opening, Stream::Listening], PASSING, &[false], Then::Stop),
];

const fn row(
    name: &'static str,
    streams: &'static [Stream],
    breaks: &'static [Break],
    may_try: &'static [bool],
    then: Then,
) -> Row {
    Row { name, streams, breaks, may_try, then }
}

/// The row that decides; `None` only if the table had a gap, which a test rules out.
pub fn judge(stream: Stream, broke: Break, may_try: bool) -> Option<&'static Row> {
    TABLE.iter().find(|row| {
        row.streams.contains(&stream)
            && row.breaks.contains(&broke)
            && row.may_try.contains(&may_try)
    })
}

/// How long to wait before a stream is tried again: `tries` were in vain, `retry` is what the server
/// has said, and `random` is any byte.
pub fn delay(tries: u32, retry: Option<Duration>, random: u8) -> Duration {
    let first = retry.unwrap_or(FIRST).clamp(LEAST, MOST);
    let most = first.max(LONGEST);
    let delay = first.saturating_mul(1_u32.checked_shl(tries).unwrap_or(u32::MAX)).min(most);
    delay.saturating_add(delay / 4 * u32::from(random) / 255)
}

impl Stream {
    /// All there are.
    pub const ALL: &'static [Self] = STREAMS;
}

impl Break {
    /// All there are.
    pub const ALL: &'static [Self] = BREAKS;
}

/// The table as Markdown, as it stands in `ARCHITECTURE.md`.
pub fn draw() -> String {
    table::draw(["row", "stream", "broke", "may try", "then"], TABLE, |row| {
        [
            row.name.into(),
            cell(row.streams, STREAMS),
            cell(row.breaks, BREAKS),
            cell(row.may_try, EITHER),
            alloc::format!("{:?}", row.then),
        ]
    })
}
