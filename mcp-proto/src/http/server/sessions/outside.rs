//! Work on sessions that no request of their clients begins.
//!
//! In: commands of the application for one session or for all, and sessions that open. Out:
//! messages on the GET streams of sessions, the end of an idle session, and refusals for lack of
//! room. Also out, for the checks before a request: the limits, and the client of a session.

use alloc::sync::Arc;

use super::super::action::Queue;
use super::session::Session;
use super::standing::Use;
use super::{RequestContext, Sessions};
use crate::budget::SMALL;
use crate::error::{ProtocolError, UsageError};
use crate::limits::Limits;
use crate::server::{Change, Declaration, List, Peer, Server, SessionRef};
use crate::time::Instant;

impl<W: Clone> Sessions<W> {
    /// Checks a session that opens: sessions whose clients have a long description leave half of
    /// the endpoint's memory to requests. If there is no room, the actions after the first `queued`
    /// ones, which are those of the session, are dropped.
    pub(super) fn check_room(
        &self,
        session: &Session<W>,
        queue: &mut Queue<W>,
        queued: usize,
    ) -> Result<(), ProtocolError> {
        let bytes = session.server.session_bytes();
        if bytes > SMALL && !self.server.has_lasting_room(bytes) {
            queue.truncate(queued);
            return Err(self.server.endpoint_full());
        }
        Ok(())
    }

    /// Runs a command on the machine of a session.
    pub(in super::super) fn in_session<R>(
        &mut self,
        now: Instant,
        session: SessionRef,
        queue: &mut Queue<W>,
        command: impl FnOnce(&mut Server) -> Result<R, UsageError>,
    ) -> Result<R, UsageError> {
        let session = self.sessions.of_scope(session.0).ok_or(UsageError::Closed)?;
        let result = command(&mut session.server)?;
        session.act_quietly(now, queue);
        self.schedule.plan(session);
        Ok(result)
    }

    /// Ends the idle session that was used least recently, and returns it; one that has ended
    /// before is the first choice. A session with a request in flight, an answer that no reader has
    /// taken, or an open stream is not idle.
    pub(in super::super) fn end_idle(
        &mut self,
        now: Instant,
        sessions: &[SessionRef],
        queue: &mut Queue<W>,
    ) -> Option<SessionRef> {
        let idle = sessions.iter().filter_map(|session| {
            let found = self.sessions.of_scope(session.0);
            match found.map_or(Some((Use::Idle, Instant::ZERO)), |found| found.last_use())? {
                (Use::Idle, used) => Some((used, *session)),
                (Use::Read, _) => None,
            }
        });
        let (_, session) = idle.min_by_key(|(used, _)| *used)?;
        self.end(now, session.0, queue);
        Some(session)
    }

    /// Replaces the declaration of all sessions.
    pub(in super::super) fn declare(
        &mut self,
        now: Instant,
        declaration: &Arc<Declaration>,
        changes: (&Arc<Declaration>, &[List]),
        queue: &mut Queue<W>,
    ) {
        for session in self.sessions.iter_mut() {
            session.server.declare_changes(now, declaration, changes);
            session.act_quietly(now, queue);
            self.schedule.kept.note(session);
        }
    }

    /// Notifies the clients that have asked for this kind of change. All clients get changes of
    /// lists, and none gets the states of tasks.
    pub(in super::super) fn publish(
        &mut self,
        now: Instant,
        change: &Change,
        queue: &mut Queue<W>,
    ) {
        // The change was checked against the declaration.
        let publish = |server: &mut Server| drop(server.publish(now, change));
        match change {
            Change::ListChanged(_) => self.for_each(now, publish, queue),
            Change::ResourceUpdated(_) => {
                for scope in self.schedule.subscribers.scopes() {
                    let Some(session) = self.sessions.of_scope(scope) else { continue };
                    publish(&mut session.server);
                    session.act_quietly(now, queue);
                    self.schedule.kept.note(session);
                }
            }
            Change::TaskUpdated(_) => {}
        }
    }

    /// Calls `f` with the machine of each session, without recording a use by the client.
    pub(in super::super) fn for_each(
        &mut self,
        now: Instant,
        f: impl Fn(&mut Server),
        queue: &mut Queue<W>,
    ) {
        for session in self.sessions.iter_mut() {
            f(&mut session.server);
            session.act_quietly(now, queue);
            self.schedule.kept.note(session);
        }
    }

    /// Takes the number of refusals for lack of room that are not reported yet.
    pub(in super::super) fn take_refusals(&self) -> usize {
        self.config.server.budget.take_refusals()
    }

    /// The limits of sessions.
    pub(in super::super) fn limits(&self) -> &Limits {
        &self.config.server.limits
    }

    /// The client of the session of a request.
    pub(in super::super) fn client_of(&mut self, context: &RequestContext) -> Option<&Peer> {
        let (_, session) = self.sessions.of_context(context, self.serves_modern()).ok()?;
        session.server.session_client().map(|client| &**client)
    }
}
