//! Sessions that legacy clients open, and the requests for input that wait for them.
//!
//! In: the beginning and the end of an opening; a legacy server's requests for input; time. Out:
//! the requests to the clients of open sessions; the requests that have waited too long.
//!
//! | a request waits until | then |
//! |---|---|
//! | `notifications/initialized`, or another request of the client | the client is asked |
//! | the end of the session, or `Limits::input_timeout` | the server gets an error |
//! | `notifications/cancelled` of the server, or the end of the server | the client gets nothing |

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::action::{BridgeAction, Ticket};
use crate::server::SessionRef;
use crate::time::Instant;

/// The sessions that clients open, and what waits for each of them.
#[derive(Debug, Default)]
pub(super) struct SessionOpenings(BTreeMap<SessionRef, Vec<WaitingInput>>);

/// A request for input whose client is not asked yet.
#[derive(Debug)]
struct WaitingInput {
    ticket: Ticket,
    until: Instant,
    request: BridgeAction,
}

impl SessionOpenings {
    /// Records that a client opens a session.
    pub(super) fn begin(&mut self, session: SessionRef) {
        self.0.entry(session).or_default();
    }

    /// Returns a request to the client of a session, unless it waits until the session is open.
    pub(super) fn admit(
        &mut self,
        (session, ticket): (SessionRef, Ticket),
        until: Instant,
        request: BridgeAction,
    ) -> Option<BridgeAction> {
        let Some(waiting) = self.0.get_mut(&session) else { return Some(request) };
        waiting.push(WaitingInput { ticket, until, request });
        None
    }

    /// Handles the end of the opening of a session; returns the requests that have waited for it.
    pub(super) fn end(
        &mut self,
        session: SessionRef,
    ) -> impl Iterator<Item = BridgeAction> + use<> {
        let waiting = self.0.remove(&session).unwrap_or_default();
        waiting.into_iter().map(|waiting| waiting.request)
    }

    /// Takes over these sessions of an earlier bridge.
    pub(super) fn take_over(&mut self, earlier: &mut Self, sessions: &[SessionRef]) {
        let opening = sessions.iter().filter_map(|session| earlier.0.remove_entry(session));
        self.0.extend(opening);
    }

    /// Removes all requests: their server has ended. The clients still open their sessions.
    pub(super) fn drop_requests(&mut self) {
        self.0.values_mut().for_each(Vec::clear);
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.0.values().flatten().map(|waiting| waiting.until).min()
    }

    /// Removes and returns the requests that have waited until `now`.
    pub(super) fn take_expired(&mut self, now: Instant) -> Vec<Ticket> {
        self.take(|waiting| waiting.until <= now)
    }

    /// Removes a request. Returns false if it does not wait.
    pub(super) fn remove(&mut self, ticket: Ticket) -> bool {
        !self.take(|waiting| waiting.ticket == ticket).is_empty()
    }

    fn take(&mut self, is_taken: impl Fn(&WaitingInput) -> bool) -> Vec<Ticket> {
        let mut taken = Vec::new();
        for waiting in self.0.values_mut() {
            taken.extend(waiting.iter().filter(|it| is_taken(it)).map(|it| it.ticket));
            waiting.retain(|it| !is_taken(it));
        }
        taken
    }
}
