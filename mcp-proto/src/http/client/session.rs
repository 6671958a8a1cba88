//! The session of a legacy server, and what it says by itself.
//!
//! In: the answer to `initialize`, and to `notifications/initialized`; 404. Out: what has waited, in
//! order; a GET for what the server says by itself; a DELETE; what belongs to a session that is
//! over, aborted.
//!
//! [Specification: Session Management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management)

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;

use super::exchange::{Purpose, Sleeper, Waking};
use super::{Action, Client, ExchangeId, Life};
use crate::client::CallError;
use crate::client::recovery::Refusal;
use crate::message::Outgoing;
use crate::time::{Duration, Instant};
use crate::version::ProtocolVersion;

/// How long a server may take to answer a DELETE.
const DELETE_TIMEOUT: Duration = Duration::from_secs(2);

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
    /// `notifications/initialized` goes out.
    pub(super) fn hold(&mut self) {
        self.session.held = Some(VecDeque::new());
        self.session.version = self.side.version();
    }

    /// `notifications/initialized` was accepted, or is not for now: what waits will be told if the
    /// session is of no use.
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

    /// The server does not know the session that an exchange belongs to, with this serial.
    pub(super) fn session_lost(&mut self, now: Instant, id: ExchangeId, serial: u64) {
        let Some(exchange) = self.abort(id) else { return };
        let is_current = self.session.serial == serial && self.life == Life::Open;
        if is_current {
            self.leave_session();
        }
        match exchange.purpose {
            // The server has accepted the request, and forgotten its session since.
            Purpose::Call(asked) if !asked.is_resumed() => {
                let error = CallError::Http { status: 404 };
                self.side.handle_lost(now, &asked.id, Refusal::UnknownSession, error);
            }
            Purpose::Message(delivery) => {
                self.lose_deliveries(Vec::from([*delivery]));
                if is_current {
                    self.side.handle_session_lost(now);
                }
            }
            Purpose::Call(_) if is_current => self.side.handle_session_lost(now),
            Purpose::Call(_)
            | Purpose::Listen
            | Purpose::Refresh(_)
            | Purpose::Rest
            | Purpose::Delete => {}
        }
    }

    /// The session is over: what belongs to it, but for calls, is of no interest any more.
    pub(super) fn leave_session(&mut self) {
        let serial = self.serial();
        let Session { serial: last, version, held, .. } =
            core::mem::replace(&mut self.session, Session { serial, ..Session::default() });
        for message in held.into_iter().flatten() {
            if let Outgoing::Request { id, .. } = message {
                self.side.handle_unsent(&id);
            }
        }
        if version.is_none() {
            return;
        }
        self.leave_waiting(last);
        let mut undelivered = Vec::new();
        let belongs = |purpose: &Purpose| match purpose {
            Purpose::Message(delivery) => delivery.serial == last,
            Purpose::Listen => true,
            Purpose::Call(_) | Purpose::Refresh(_) | Purpose::Rest | Purpose::Delete => false,
        };
        let open = self.exchanges.iter().filter(|(_, open)| belongs(&open.purpose));
        let open: Vec<ExchangeId> = open.map(|(id, _)| *id).collect();
        for id in open {
            if let Some(Purpose::Message(delivery)) = self.abort(id).map(|it| it.purpose) {
                undelivered.push(*delivery);
            }
        }
        let belongs = |sleeper: &Sleeper| match &sleeper.waking {
            Waking::Message(delivery) => delivery.serial == last,
            Waking::Call(_) => false,
        };
        let asleep = self.sleeping.iter().filter(|(_, sleeper)| belongs(sleeper));
        let asleep: Vec<u64> = asleep.map(|(key, _)| *key).collect();
        for key in asleep {
            self.deadlines.clear(super::Reason::Sleeping(key));
            if let Some(Waking::Message(delivery)) = self.sleeping.remove(&key).map(|it| it.waking)
            {
                undelivered.push(*delivery);
            }
        }
        self.forget_listener();
        self.lose_deliveries(undelivered);
    }

    /// Calls that wait for a connection were not sent in the session with this serial.
    fn leave_waiting(&mut self, last: u64) {
        let waits = |id: ExchangeId, purpose: &Purpose| match purpose {
            Purpose::Call(asked) => {
                asked.serial == last && !asked.is_resumed() && !self.connections.is_open(id)
            }
            Purpose::Refresh(_)
            | Purpose::Message(_)
            | Purpose::Listen
            | Purpose::Rest
            | Purpose::Delete => false,
        };
        let waiting = self.exchanges.iter().filter(|(id, open)| waits(**id, &open.purpose));
        let waiting: Vec<ExchangeId> = waiting.map(|(id, _)| *id).collect();
        for id in waiting {
            if let Some(Purpose::Call(asked)) = self.remove(id).map(|it| it.purpose) {
                self.side.handle_unsent(&asked.id);
            }
        }
    }

    /// The server does not know the session of the GET that it has accepted before.
    pub(super) fn session_of_listener_lost(&mut self, now: Instant) {
        if self.life == Life::Open {
            self.leave_session();
            self.side.handle_session_lost(now);
        }
    }

    /// All is said; a server with a session is told.
    pub(super) fn begin_close(&mut self, now: Instant) {
        let _ = self.abort_all();
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
