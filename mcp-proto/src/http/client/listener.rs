//! GET stream of a legacy session: what the server sends outside of calls.
//!
//! In: the beginning and the end of a session; what becomes of the GET. Out: when to send the next
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
//! Server](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server)

use super::exchange::Streaming;
use super::resume::{self, Break, Kind, Then};
use super::{Client, ExchangeId};
use crate::client::{CallError, ClientEvent};
use crate::http::client::exchange::Purpose;
use crate::time::{Duration, Instant};

/// GET stream of one legacy session.
#[derive(Debug, Default)]
pub(super) struct Listener {
    state: State,
    stream: Streaming,
    /// Whether the server may have accepted a GET since the last one that has opened: what it sent
    /// there is lost, unless the next GET resumes it.
    may_have_missed: bool,
    /// The time of the next GET.
    due: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Off,
    Opening(ExchangeId),
    Open(ExchangeId),
    Sleeping,
    Unauthorized,
    GivenUp,
}

impl Listener {
    /// The time of the next GET.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Whether it is time for the next GET; asked once.
    pub(super) fn take_due(&mut self, now: Instant) -> bool {
        self.due.take_if(|due| *due <= now).is_some()
    }

    /// The id to resume from.
    fn last_id(&self) -> Option<&str> {
        self.stream.last_id()
    }

    /// How far the stream has come, if this is its GET.
    pub(super) fn stream(&mut self) -> &mut Streaming {
        &mut self.stream
    }

    /// Whether the server has accepted a GET of this session, ever.
    fn was_open(&self) -> bool {
        self.stream.was_open
    }

    /// The server accepts the GET; returns whether it may have sent something meanwhile that will
    /// never come.
    fn open(&mut self, now: Instant, exchange: ExchangeId) -> bool {
        let is_gap = core::mem::take(&mut self.may_have_missed) && self.last_id().is_none();
        self.state = State::Open(exchange);
        self.stream.open(now);
        is_gap
    }

    /// The GET is over; returns the next step, and the delay before the next GET.
    fn fail(&mut self, now: Instant, broke: Break, random: u8) -> (Then, Option<Duration>) {
        let kind = if self.was_open() { Kind::Listening } else { Kind::Opening };
        self.may_have_missed |= match broke {
            // A gateway may say so of an answer that it has not handed on.
            Break::Ended | Break::Cut | Break::Unavailable | Break::NoEvents => true,
            Break::Conflict
            | Break::Unauthorized
            | Break::NotFound
            | Break::UnknownEvent
            | Break::Unsupported
            | Break::Refused => false,
        };
        let then = resume::TABLE.find((kind, broke, true)).map_or(Then::Stop, |row| row.then);
        let backoff = &mut self.stream.backoff;
        let (state, delay) = match then {
            Then::Resume | Then::Check => (State::Sleeping, Some(backoff.fail(now, random))),
            Then::Restart => {
                let delay = backoff.fail(now, random);
                self.stream.forget_id();
                (State::Sleeping, Some(delay))
            }
            Then::Authorize => (State::Unauthorized, Some(backoff.fail_for_long(random))),
            Then::Stop => (State::GivenUp, None),
            Then::Lose | Then::Reopen | Then::Resend | Then::Fail => (State::Off, None),
        };
        self.state = state;
        (then, delay)
    }
}

impl Client {
    /// A session has begun: asks for what the server sends outside of calls.
    pub(super) fn listen(&mut self) {
        self.listener = Listener::default();
        self.send_get();
    }

    /// The session is over, and its GET with it.
    pub(super) fn forget_listener(&mut self) {
        self.listener = Listener::default();
    }

    /// It is time for the next GET.
    pub(super) fn listen_again(&mut self) {
        if matches!(self.listener.state, State::Sleeping | State::Unauthorized) {
            self.send_get();
        }
    }

    fn send_get(&mut self) {
        let request = self.get(self.listener.last_id(), None);
        let exchange = self.open(request, Purpose::Listen);
        self.listener.state = State::Opening(exchange);
    }

    /// The application has other credentials perhaps.
    pub(super) fn authorize_listener(&mut self) {
        if self.listener.state == State::Unauthorized {
            self.listener.due = None;
            self.send_get();
        }
    }

    /// The server accepts the GET.
    pub(super) fn listener_opened(&mut self, now: Instant, exchange: ExchangeId) {
        if self.listener.open(now, exchange) {
            self.side.changes_missed();
        }
    }

    /// The GET is over.
    pub(super) fn listener_broke(&mut self, now: Instant, broke: Break, error: CallError) {
        let random = self.jitter();
        let resumed = self.listener.last_id().is_some();
        let broke = if resumed && error == (CallError::Http { status: 400 }) {
            Break::UnknownEvent
        } else if broke == Break::NotFound && self.session.id.is_none() {
            // There is no session that could be lost.
            Break::Refused
        } else {
            broke
        };
        let (then, delay) = self.listener.fail(now, broke, random);
        if let Some(delay) = delay {
            self.listener.due = Some(now + delay);
        }
        match then {
            Then::Check => self.side.check_session(now),
            Then::Lose => self.session_of_listener_lost(now),
            Then::Authorize => self.report_unauthorized(None, error),
            Then::Stop => {
                self.side.event(ClientEvent::NoStream { error: error.clone() });
                self.side.handle_no_stream(now, error);
            }
            Then::Resume | Then::Restart | Then::Reopen | Then::Resend | Then::Fail => {}
        }
    }
}
