//! The connections of a bridge, by owner, and which of them ends to make room.
//!
//! In: requests, with the owners of their connections; ends of sessions and connections. Out: the
//! connection of a client; the connection, or the sessions, that give way to another one.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use super::owner::Owner;
use super::upstream::Upstream;
use crate::{Context, Session};
use mcp_proto::server::SessionRef;
use mcp_proto::{Era, ErrorData};

/// The most sessions that are remembered after their ends. A request whose handler is called at the
/// same time, by another thread, must not open a connection that no end of a session closes.
const MAX_ENDED: usize = 1024;

/// The connections of a bridge.
#[derive(Default)]
pub(super) struct PooledConnections {
    pub(super) open: BTreeMap<Owner, Upstream>,
    /// Replaced and idle connections that have not ended.
    pub(super) closing: Vec<Upstream>,
    /// Connections that have ended before the sessions of their legacy clients. The next connection
    /// of the owner takes over the sessions.
    pub(super) ended: BTreeMap<Owner, Upstream>,
    /// The owners of the connections of modern clients on byte streams, by their last requests.
    pub(super) streams: BTreeMap<SessionRef, Owner>,
    /// The sessions that have ended last, the latest at the back.
    ended_sessions: VecDeque<SessionRef>,
    /// Number of requests so far.
    pub(super) requests: u64,
}

impl PooledConnections {
    /// Moves the idle connection of clients without a session that was used least recently to
    /// `closing`, and returns it. A connection with tasks is the last choice.
    fn retire_least_used(&mut self) -> Option<Upstream> {
        let idle = self.open.iter().filter_map(|(owner, upstream)| match owner {
            Owner::Sessionless { .. } => upstream.last_use().map(|last| (last, owner)),
            // The server may have state of the session.
            Owner::Session(_) | Owner::Everybody => None,
        });
        let owner = idle.min_by_key(|(last, _)| *last)?.1.clone();
        let upstream = self.open.remove(&owner)?;
        self.closing.push(upstream.clone());
        Some(upstream)
    }

    /// Moves a connection that the caller closes to `closing`, if it is open: the next request
    /// opens another one.
    pub(super) fn retire(&mut self, owner: &Owner, upstream: &Upstream) {
        if self.open.get(owner).is_some_and(|it| it.is(upstream)) {
            self.open.remove(owner);
            self.closing.push(upstream.clone());
        }
    }

    /// Records the end of a session. It may be reported more than once.
    pub(super) fn end_session(&mut self, session: SessionRef) {
        if self.ended_sessions.contains(&session) {
            return;
        }
        if self.ended_sessions.len() >= MAX_ENDED {
            self.ended_sessions.pop_front();
        }
        self.ended_sessions.push_back(session);
    }

    /// Records the connection of the client of a request. A modern client on a byte stream may send
    /// notifications, which name no connection. Over HTTP, nothing tells whose they are.
    pub(super) fn record_stream(&mut self, context: &Context, owner: &Owner) {
        let (about, session) = (context.about(), context.about().session());
        if context.peer().version.era() == Era::Modern
            && !about.is_lone()
            && self.streams.get(&session) != Some(owner)
            && !self.ended_sessions.contains(&session)
        {
            self.streams.insert(session, owner.clone());
        }
    }

    /// The open connection of the client of a notification.
    pub(super) fn of_client(&self, session: SessionRef) -> Option<&Upstream> {
        if let Some(owner) = self.streams.get(&session) {
            return self.open.get(owner);
        }
        let owners = [Owner::Session(session), Owner::Everybody];
        let upstream = owners.iter().find_map(|owner| self.open.get(owner))?;
        Some(upstream).filter(|upstream| upstream.has_session(session))
    }

    /// Fails if the session of a request has ended, unless its connection still knows the session.
    pub(super) fn check_session(
        &self,
        upstream: Option<&Upstream>,
        session: Option<&Session>,
    ) -> Result<(), ErrorData> {
        let Some(session) = session.map(Session::id) else { return Ok(()) };
        let is_known = upstream.is_some_and(|upstream| upstream.has_session(session));
        if !is_known && self.ended_sessions.contains(&session) {
            return Err(ErrorData::internal("the session has ended"));
        }
        Ok(())
    }

    /// Makes room for the connection of an owner. Returns the connection to close for that, if any.
    pub(super) fn make_room(
        &mut self,
        owner: &Owner,
        max: usize,
    ) -> Result<Option<Upstream>, Unavailable> {
        let full = || {
            ErrorData::internal(alloc::format!(
                "BridgeConfig::max_upstreams = {max} connections to the server are open"
            ))
        };
        if self.open.len() + self.closing.len() >= max.saturating_mul(2) {
            return Err(Unavailable::Refused(full()));
        }
        if self.open.len() < max || self.open.contains_key(owner) {
            return Ok(None);
        }
        self.retire_least_used().map(Some).ok_or_else(|| Unavailable::Full(full()))
    }

    /// The sessions of legacy clients whose connections are idle. The server may have state of a
    /// session, so its connection ends only with the session.
    pub(super) fn idle_sessions(&self) -> Vec<Session> {
        let idle = self.open.iter().filter_map(|(owner, upstream)| match owner {
            Owner::Session(session) => upstream.last_use().and_then(|_| upstream.session(*session)),
            Owner::Sessionless { .. } | Owner::Everybody => None,
        });
        idle.collect()
    }
}

/// The reason why there is no connection for a request.
pub(super) enum Unavailable {
    /// All connections are in use. The end of a session makes room.
    Full(ErrorData),
    Refused(ErrorData),
}

impl From<ErrorData> for Unavailable {
    fn from(error: ErrorData) -> Self {
        Self::Refused(error)
    }
}
