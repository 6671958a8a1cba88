//! Lifecycle of a connection: the era in which it was opened, and its end.
//!
//! In: openings, the end of input, the end of the last request. Out: the era, the session of a
//! legacy client, and the deadline for the end.
//!
//! | opening | becomes |
//! |---|---|
//! | undecided | modern, by a modern request that is served; legacy, by `initialize` |
//! | undecided | initializing, by an `initialize` that another server answers |
//! | initializing, which counts as legacy | legacy, by a result; undecided, by any other end of `initialize` |
//! | modern, legacy | nothing else |
//!
//! | state | becomes |
//! |---|---|
//! | open | draining, at the end of input or when the peer is gone |
//! | draining, for `Limits::drain` | closed, once no handler is at work |
//!
//! [Specification: Lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle)

use core::mem;

use super::call::{CallKind, Forward};
use super::calls::Calls;
use super::context::{Context, ServerChannel};
use super::legacy::Session;
use crate::error::UsageError;
use crate::message::Outgoing;
use crate::negotiate::{self, Claim, Kind, Opened, Route};
use crate::time::Instant;
use crate::version::{Era, EraPolicy, ProtocolVersion};

/// The era and the state of a connection.
#[derive(Debug)]
pub(super) struct Lifecycle {
    opening: Opening,
    state: LifecycleState,
}

#[derive(Debug)]
enum Opening {
    Undecided,
    Modern,
    /// A forwarded `initialize` is in flight.
    Initializing(Session),
    Legacy(Session),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LifecycleState {
    Open,
    Draining { until: Instant },
    Closed,
}

impl Lifecycle {
    pub(super) fn undecided() -> Self {
        Self { opening: Opening::Undecided, state: LifecycleState::Open }
    }

    pub(super) fn modern() -> Self {
        Self { opening: Opening::Modern, state: LifecycleState::Open }
    }

    pub(super) fn legacy(session: Session) -> Self {
        Self { opening: Opening::Legacy(session), state: LifecycleState::Open }
    }

    /// Records that a modern request was served.
    pub(super) fn open_modern(&mut self) {
        if let Opening::Undecided = self.opening {
            self.opening = Opening::Modern;
        }
    }

    /// Records that `initialize` was served.
    pub(super) fn open_legacy(&mut self, session: Session) {
        self.opening = Opening::Legacy(session);
    }

    /// Records that `initialize` is passed to the forwarding handler.
    pub(super) fn start_legacy(&mut self, session: Session) {
        self.opening = Opening::Initializing(session);
    }

    /// Handles the answer of a handler. A result of a forwarded `initialize` opens the connection.
    pub(super) fn handle_answer(&mut self, kind: CallKind, answer: &Outgoing) {
        if kind == CallKind::Forwarded(Forward::Initialize)
            && matches!(answer, Outgoing::Result { .. })
        {
            self.opening = match mem::replace(&mut self.opening, Opening::Undecided) {
                Opening::Initializing(session) => Opening::Legacy(session),
                other @ (Opening::Undecided | Opening::Modern | Opening::Legacy(_)) => other,
            };
        }
    }

    /// Handles the end of input: requests in flight may be answered until this time.
    pub(super) fn drain(&mut self, until: Instant) {
        self.state = LifecycleState::Draining { until };
    }

    /// Handles the end of requests. An `initialize` that ended without a result does not open the
    /// connection. A draining connection closes once no handler is running.
    #[inline]
    pub(super) fn handle_ended_calls(&mut self, context: &mut Context, calls: &Calls) {
        if let Opening::Initializing(_) = self.opening
            && !calls.is_initializing()
        {
            self.opening = Opening::Undecided;
        }
        if let LifecycleState::Draining { .. } = self.state
            && calls.is_idle()
        {
            self.state = LifecycleState::Closed;
            context.close();
        }
    }

    /// Deadline of running handlers after the end of input.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        match self.state {
            LifecycleState::Draining { until } if until != Instant::NEVER => Some(until),
            LifecycleState::Open | LifecycleState::Draining { .. } | LifecycleState::Closed => None,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.state == LifecycleState::Open
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state == LifecycleState::Closed
    }

    /// The route of a message by the table of eras.
    pub(super) fn classify(&self, policy: EraPolicy, kind: Kind, claim: Claim) -> Route {
        let row = negotiate::classify(self.opened(), policy, kind, claim);
        row.map_or(Route::Drop, |row| row.then)
    }

    /// The opening as the table of eras knows it.
    fn opened(&self) -> Opened {
        match &self.opening {
            Opening::Undecided => Opened::Undecided,
            Opening::Modern => Opened::Modern,
            Opening::Initializing(session) | Opening::Legacy(session) => {
                if session.version().has_batches() {
                    Opened::LegacyWithBatches
                } else {
                    Opened::Legacy
                }
            }
        }
    }

    /// The era in which the connection was opened; `None` before that.
    pub(super) fn era(&self) -> Option<Era> {
        match self.opening {
            Opening::Undecided => None,
            Opening::Modern => Some(Era::Modern),
            Opening::Initializing(_) | Opening::Legacy(_) => Some(Era::Legacy),
        }
    }

    /// The revision for errors: that of the session, or the latest modern revision without a
    /// session.
    pub(super) fn error_version(&self) -> ProtocolVersion {
        self.session().map_or(ProtocolVersion::LATEST_MODERN, Session::version)
    }

    pub(super) fn session(&self) -> Option<&Session> {
        match &self.opening {
            Opening::Initializing(session) | Opening::Legacy(session) => Some(session),
            Opening::Undecided | Opening::Modern => None,
        }
    }

    pub(super) fn session_mut(&mut self) -> Option<&mut Session> {
        match &mut self.opening {
            Opening::Initializing(session) | Opening::Legacy(session) => Some(session),
            Opening::Undecided | Opening::Modern => None,
        }
    }

    /// The session of a client that can be sent messages outside of its requests. A request without
    /// a session has no stream for such messages.
    pub(super) fn live_session(&self, context: &Context) -> Result<&Session, UsageError> {
        if !self.is_open() {
            return Err(UsageError::Closed);
        }
        let session = self.session().filter(|_| context.channel() != ServerChannel::Exchange);
        session.ok_or(UsageError::NoServerRequests)
    }
}
