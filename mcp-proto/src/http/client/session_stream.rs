//! GET stream of a legacy session: the messages that the server sends outside of calls.
//!
//! In: the beginning and the end of a session; the outcomes of the GET. Out: the time of the next
//! GET, and whether changes may have been missed in between. [`resume::TABLE`] decides.
//!
//! | state | holds | leaves by |
//! |---|---|---|
//! | `Off`: there is no session, or nobody listens | | the beginning of a session |
//! | `Opening` | the GET that is out | its head, its failure |
//! | `Open` | the GET | its end, its failure |
//! | `Sleeping` | | the delay |
//! | `Unauthorized` | | a field that the application sets; the longest delay |
//! | `GivenUp`: the server has no such stream | | the end of the session |
//!
//! [Specification: Listening for Messages from the
//! Server](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server),
//! [HTML Standard: Server-Sent Events](https://html.spec.whatwg.org/multipage/server-sent-events.html)

use super::call::Streaming;
use super::resume::{self, Break, Kind, Resumption};
use crate::client::CallError;
use crate::time::Instant;

#[derive(Debug, Default)]
pub(super) struct SessionStream {
    state: SessionStreamState,
    stream: Streaming,
    /// True if the server may have sent messages on a GET that failed. These messages are lost
    /// unless the next GET resumes that stream.
    may_have_missed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum SessionStreamState {
    #[default]
    Off,
    Opening,
    Open,
    /// Until the time of the next GET.
    Sleeping(Instant),
    Unauthorized(Instant),
    GivenUp,
}

impl SessionStream {
    /// The time of the next GET.
    pub(super) fn due(&self) -> Option<Instant> {
        match self.state {
            SessionStreamState::Sleeping(due) | SessionStreamState::Unauthorized(due) => Some(due),
            SessionStreamState::Off
            | SessionStreamState::Opening
            | SessionStreamState::Open
            | SessionStreamState::GivenUp => None,
        }
    }

    /// Returns whether the next GET waits for other credentials.
    pub(super) fn is_unauthorized(&self) -> bool {
        matches!(self.state, SessionStreamState::Unauthorized(_))
    }

    /// Records that a GET is sent; returns the event to resume from.
    pub(super) fn begin(&mut self) -> Option<&str> {
        self.state = SessionStreamState::Opening;
        self.stream.last_id()
    }

    /// Position in the stream.
    pub(super) fn stream(&mut self) -> &mut Streaming {
        &mut self.stream
    }

    /// Records that the server accepts the GET. Returns whether messages may have been lost since
    /// the last GET.
    pub(super) fn open(&mut self, now: Instant) -> bool {
        let may_have_missed = core::mem::take(&mut self.may_have_missed);
        let is_gap = may_have_missed && self.stream.last_id().is_none();
        self.state = SessionStreamState::Open;
        self.stream.open(now);
        is_gap
    }

    /// Ends the GET; returns the next step.
    pub(super) fn fail(
        &mut self,
        now: Instant,
        broke: Break,
        error: &CallError,
        has_session: bool,
        random: u8,
    ) -> Resumption {
        let is_resumed = self.stream.last_id().is_some();
        let broke = match (broke, error) {
            (_, CallError::Http { status: 400 }) if is_resumed => Break::UnknownEvent,
            // "HTTP 204 No Content" tells a client to stop reconnecting.
            (Break::NoEvents, CallError::Http { status: 204 }) => Break::Unsupported,
            // Without a session, no session can be lost.
            (Break::NotFound, _) if !has_session => Break::Refused,
            (broke, _) => broke,
        };
        let kind = if self.stream.was_open { Kind::Listening } else { Kind::Opening };
        self.may_have_missed |= match broke {
            // A gateway may have sent this status although the server had accepted the GET.
            Break::Ended | Break::Cut | Break::Unavailable | Break::NoEvents => true,
            Break::Conflict
            | Break::Unauthorized
            | Break::NotFound
            | Break::UnknownEvent
            | Break::Unsupported
            | Break::Refused => false,
        };
        let then = resume::TABLE.find((kind, broke, true)).map_or(Resumption::Stop, |row| row.then);
        let backoff = &mut self.stream.backoff;
        self.state = match then {
            Resumption::Resume | Resumption::Check | Resumption::Restart => {
                SessionStreamState::Sleeping(now + backoff.fail(now, random))
            }
            Resumption::Authorize => {
                SessionStreamState::Unauthorized(now + backoff.fail_with_longest_delay(random))
            }
            Resumption::Stop => SessionStreamState::GivenUp,
            Resumption::Lose | Resumption::Reopen | Resumption::Resend | Resumption::Fail => {
                SessionStreamState::Off
            }
        };
        if then == Resumption::Restart {
            self.stream.clear_id();
        }
        then
    }
}
