//! What a server sends to the client of a session outside of a request.
//!
//! In: a session, and a command for its machine. Out: messages on the GET stream of the session. A
//! file of its own, since the owner of the sessions has as many verbs as a file can hold.

use super::super::action::Queue;
use super::Sessions;
use crate::error::UsageError;
use crate::limits::Limits;
use crate::server::{Server, SessionRef};
use crate::time::Instant;

impl<W: Clone> Sessions<W> {
    /// Has the machine of a session do something about no request.
    pub(in super::super) fn in_session<R>(
        &mut self,
        now: Instant,
        session: SessionRef,
        queue: &mut Queue<W>,
        command: impl FnOnce(&mut Server) -> Result<R, UsageError>,
    ) -> Result<R, UsageError> {
        let (key, session) = self.sessions.of_scope(session.0).ok_or(UsageError::Closed)?;
        let result = command(&mut session.server)?;
        session.act_quietly(now, queue);
        self.schedule.plan(key, session);
        Ok(result)
    }

    /// The longest time that a client may take to give input, unless it is said.
    pub(in super::super) fn limits(&self) -> &Limits {
        &self.config.server.limits
    }
}
