//! The session of a legacy server, and what it says by itself.
//!
//! In: the answer to `initialize`, and to `notifications/initialized`; 404. Out: what has waited, in
//! order; a GET for what the server says by itself; another `initialize`; a DELETE.
//!
//! [Specification: Session Management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management)

use alloc::collections::VecDeque;
use alloc::string::String;
use core::fmt;

use bytes::Bytes;

use super::exchange::{Purpose, Streaming};
use super::{Action, Client, Life};
use crate::client::ConnectError;
use crate::message::Outgoing;
use crate::time::{Duration, Instant};
use crate::version::ProtocolVersion;

/// How long a server may take to answer a DELETE.
const DELETE_TIMEOUT: Duration = Duration::from_secs(2);

/// A session that ends earlier than this was of no use, whatever was answered in it: several servers
/// at one address that do not know each other's sessions look like this.
const SHORT: Duration = Duration::from_secs(5);

/// The longest id of a session that is taken.
const MAX_ID: usize = 1024;

/// A session, if the server has them: without one it has no id.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) id: Option<SessionId>,
    /// What was negotiated, once it has begun.
    pub(super) version: Option<ProtocolVersion>,
    /// Tells it from earlier ones.
    pub(super) serial: u64,
    /// What waits for `notifications/initialized` to be accepted.
    pub(super) held: Option<VecDeque<Outgoing>>,
    /// When it began.
    begun: Instant,
    /// Whether something was answered in it.
    pub(super) is_useful: bool,
}

/// What a server calls a session: as good as a password.
#[derive(Clone)]
pub(super) struct SessionId(pub(super) String);

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Whether this may be the id of a session: visible ASCII.
pub(super) fn is_id(text: &[u8]) -> bool {
    !text.is_empty() && text.len() <= MAX_ID && text.iter().all(u8::is_ascii_graphic)
}

impl Client {
    /// `initialize` goes out: there is no session until it is answered.
    pub(super) fn forget_session(&mut self) {
        let serial = self.serial();
        self.session = Session { serial, ..Session::default() };
    }

    /// `notifications/initialized` goes out.
    pub(super) fn hold(&mut self, now: Instant) {
        self.session.held = Some(VecDeque::new());
        self.session.begun = now;
        self.session.version = self.side.version();
    }

    /// `notifications/initialized` was accepted, or was not: what waits will be told if the session
    /// is of no use.
    pub(super) fn release(&mut self, now: Instant) {
        let Some(held) = self.session.held.take() else { return };
        // First of all: some servers ask there for what a call needs, and do not wait for a listener.
        if self.listens {
            self.listen();
        }
        for message in held {
            self.send(now, message);
        }
    }

    /// The session is of use.
    pub(super) fn prove_session(&mut self) {
        self.session.is_useful = true;
    }

    /// The server does not know the session, if that is still the one that it was asked in.
    pub(super) fn expire_session(&mut self, now: Instant, serial: u64) {
        if self.session.serial != serial || self.life != Life::Open {
            return;
        }
        self.abort_all();
        if self.session.is_useful && now >= self.session.begun + SHORT {
            self.useless_sessions = 0;
        } else {
            self.useless_sessions += 1;
        }
        let gives_up = self.useless_sessions > 1;
        self.forget_session();
        if gives_up {
            self.side.give_up(now, ConnectError::Http { status: 404 });
        } else {
            self.side.handle_session_expired(now);
        }
    }

    /// Asks for what the server says by itself.
    fn listen(&mut self) {
        let (request, serial) = (self.get(None, None), self.session.serial);
        self.open(request, Purpose::Listen { stream: Streaming::default(), serial });
    }

    /// All is said; a server with a session is told.
    pub(super) fn begin_close(&mut self, now: Instant) {
        self.abort_all();
        if self.session.id.is_none() {
            return self.closed();
        }
        self.life = Life::Closing;
        let request = self.bare("DELETE", Bytes::new());
        let exchange = self.open(request, Purpose::Delete);
        self.deadlines.set(super::Reason::Exchange(exchange), now + DELETE_TIMEOUT);
        self.session.id = None;
    }

    pub(super) fn closed(&mut self) {
        self.life = Life::Closed;
        self.queue.push_back(Action::Close);
    }
}
