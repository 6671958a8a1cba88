//! End of a session of a legacy server.
//!
//! In: 404, another `initialize`, the end of the connection. Out: a DELETE; what belongs to the
//! session, aborted; the calls that were not sent in it.
//!
//! [Specification: Session Management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management)

use alloc::vec::Vec;

use bytes::Bytes;

use super::exchange::{Purpose, Sleeper, Waking};
use super::session::Session;
use super::{Action, Client, ExchangeId, Life};
use crate::client::CallError;
use crate::client::recovery::Refusal;
use crate::message::Outgoing;
use crate::time::{Duration, Instant};

/// Time that a server has to answer a DELETE.
const DELETE_TIMEOUT: Duration = Duration::from_secs(2);

impl Client {
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
        let serial = self.exchanges.serial();
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
        let belongs = |purpose: &Purpose| match purpose {
            Purpose::Message(delivery) => delivery.serial == last,
            Purpose::Listen => true,
            Purpose::Call(_) | Purpose::Refresh(_) | Purpose::Rest | Purpose::Delete => false,
        };
        let aborted = self.exchanges.abort_where(&mut self.queue, belongs).into_iter();
        let mut undelivered: Vec<_> = aborted.filter_map(Purpose::into_delivery).collect();
        let is_message = |sleeper: &Sleeper| match &sleeper.waking {
            Waking::Message(delivery) => delivery.serial == last,
            Waking::Call(_) => false,
        };
        let asleep = self.exchanges.wake_where(is_message).into_iter();
        undelivered.extend(asleep.filter_map(Waking::into_delivery));
        self.forget_listener();
        self.lose_deliveries(undelivered);
    }

    /// Calls that wait for a connection were not sent in the session with this serial.
    fn leave_waiting(&mut self, last: u64) {
        let is_unsent = |purpose: &Purpose| match purpose {
            Purpose::Call(asked) => asked.serial == last && !asked.is_resumed(),
            Purpose::Refresh(_)
            | Purpose::Message(_)
            | Purpose::Listen
            | Purpose::Rest
            | Purpose::Delete => false,
        };
        for purpose in self.exchanges.end_waiting_where(is_unsent) {
            if let Purpose::Call(asked) = purpose {
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
        self.exchanges.abort_where(&mut self.queue, |_| true);
        self.exchanges.wake_where(|_| true);
        self.forget_listener();
        self.session.held = None;
        if self.session.id.is_none() {
            return self.closed();
        }
        self.life = Life::Closing;
        let request = self.bare("DELETE", Bytes::new());
        let exchange = self.open(request, Purpose::Delete);
        self.exchanges.set_deadline(exchange, now + DELETE_TIMEOUT);
        self.session.id = None;
    }

    pub(super) fn closed(&mut self) {
        self.life = Life::Closed;
        self.queue.push_back(Action::Close);
    }
}
