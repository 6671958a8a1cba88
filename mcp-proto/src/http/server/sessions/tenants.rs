//! Holders of sessions: the number of sessions of each, admission of another session, and the
//! choice of the session that ends to make room.
//!
//! In: sessions that open, end, and change their use. Out: the session that ends first, among those
//! that may end.
//!
//! | use | the session has | ends to make room |
//! |---|---|---|
//! | `Idle` | none of the below | first, the one that was used least recently |
//! | `Read` | a reader of a stream, or an answer that is kept because no reader has taken it | if no session is idle |
//! | none | a request in flight, or an answer that its reader has not taken | never |
//!
//! The list is updated late. A session is listed with the use that it had at the last update. The
//! use is corrected when the session is about to end. So a request that uses a session changes
//! nothing here.

use super::super::action::{EndpointAction, Queue};
use super::super::alarms::Alarms;
use super::super::rates::Rates;
use super::super::shares::{Holder, Shares};
use super::directory::Directory;
use super::session::Session;
use super::standing::{HolderListing, Use};
use crate::error::ProtocolError;
use crate::limits::Limits;
use crate::time::Instant;

/// Position of a session in the order in which the sessions of a holder end, and its scope.
type ListingEntry = (Use, Instant, usize);

/// The holders of sessions.
#[derive(Debug, Default)]
pub(super) struct SessionHolders {
    shares: Shares<ListingEntry>,
    rates: Rates,
    alarms: Alarms,
}

impl SessionHolders {
    /// Admits an `initialize` of `holder`. Returns the scope of the session that must end for it,
    /// if there is one.
    pub(super) fn admit<W: Clone>(
        &mut self,
        now: Instant,
        holder: &Holder,
        limits: &Limits,
        sessions: &mut Directory<W>,
        queue: &mut Queue<W>,
    ) -> Result<Option<usize>, ProtocolError> {
        let Limits { max_sessions, max_sessions_per_holder, .. } = *limits;
        let Limits { max_initialize_burst, initialize_interval, .. } = *limits;
        let Self { rates, shares, alarms } = &mut *self;
        let mut exceeded = |limit, max| {
            queue.extend(alarms.reached(now, limit).map(EndpointAction::Event));
            ProtocolError::ShareExceeded { limit, max }
        };
        if holder.is_known() && !rates.take(now, holder, max_initialize_burst, initialize_interval)
        {
            return Err(exceeded("max_initialize_burst", max_initialize_burst));
        }
        let (holders, error) =
            if holder.is_known() && shares.amount(holder) >= max_sessions_per_holder {
                let error = exceeded("max_sessions_per_holder", max_sessions_per_holder);
                ([holder.clone()].into(), error)
            } else if shares.total() >= max_sessions {
                let holders = shares.above_fair_share(holder, 1, max_sessions);
                (holders, exceeded("max_sessions", max_sessions))
            } else {
                return Ok(None);
            };
        self.first_of_all(&holders, sessions).map(Some).ok_or(error)
    }

    /// Adds a session that has opened.
    pub(super) fn enter<W: Clone>(&mut self, session: &mut Session<W>) {
        self.shares.charge(&session.listing.holder, 1);
        self.list(session);
    }

    /// Removes a session that has ended.
    pub(super) fn leave<W>(&mut self, session: &Session<W>) {
        let HolderListing { holder, listed } = &session.listing;
        if let Some((listed, used)) = *listed {
            self.shares.remove(holder, &(listed, used, session.server.scope()));
        }
        self.shares.credit(holder, 1);
    }

    /// Lists a session whose use may have changed, unless it is already listed early enough.
    pub(super) fn list<W: Clone>(&mut self, session: &mut Session<W>) {
        if matches!(session.listing.listed, Some((Use::Idle, _))) {
            return;
        }
        let used = session.last_use();
        if used.is_some_and(|used| session.listing.listed.is_none_or(|listed| used < listed)) {
            self.put(session, used);
        }
    }

    /// The session that ends first, of the first holder that has a session that may end.
    fn first_of_all<W: Clone>(
        &mut self,
        holders: &[Holder],
        sessions: &mut Directory<W>,
    ) -> Option<usize> {
        // No session with a reader ends while another holder above its share has an idle session.
        [Use::Idle, Use::Read].into_iter().find_map(|at_most| {
            holders.iter().find_map(|holder| self.first(holder, at_most, sessions))
        })
    }

    fn first<W: Clone>(
        &mut self,
        holder: &Holder,
        at_most: Use,
        sessions: &mut Directory<W>,
    ) -> Option<usize> {
        loop {
            let entry @ (listed, used, scope) = *self.shares.items(holder).next()?;
            if listed > at_most {
                return None;
            }
            let Some(session) = sessions.of_scope(scope) else {
                self.shares.remove(holder, &entry);
                continue;
            };
            match session.last_use() {
                Some(last) if last <= (listed, used) => return Some(scope),
                last => self.put(session, last),
            }
        }
    }

    /// Lists a session at this position only.
    fn put<W>(&mut self, session: &mut Session<W>, at: Option<(Use, Instant)>) {
        let scope = session.server.scope();
        let HolderListing { holder, listed } = &mut session.listing;
        if let Some((listed, used)) = core::mem::replace(listed, at) {
            self.shares.remove(holder, &(listed, used, scope));
        }
        if let Some((listed, used)) = at {
            self.shares.insert(holder, (listed, used, scope));
        }
    }
}
