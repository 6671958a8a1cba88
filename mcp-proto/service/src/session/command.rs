//! Commands of sessions, on their way to the service.

use core::task::Waker;

use super::error::SessionError;
use super::slot::Ticket;
use mcp_proto::Duration;
use mcp_proto::Json;
use mcp_proto::server::{InputId, Notification, ReplyId, SessionRef};
use mcp_proto::types::InputRequest;

/// Command from a session to the service. A command that is dropped reports that the session is
/// gone. To drop it says that there is none.
#[derive(Debug)]
pub(in super::super) enum SessionCommand {
    Notify {
        session: SessionRef,
        notification: Notification,
        ticket: Ticket<()>,
    },
    Ask {
        session: SessionRef,
        /// The request for whose sake the client is asked.
        about: Option<ReplyId>,
        request: InputRequest,
        /// `Limits::input_timeout`, unless it is said.
        timeout: Option<Duration>,
        ticket: Ticket<Json>,
    },
    /// Nobody waits for the answer any more.
    Cancel(InputId),
}

impl SessionCommand {
    /// The peer for which it counts as a message that waits.
    pub(in super::super) fn counts_for(&self) -> Option<usize> {
        match self {
            Self::Notify { session, .. } | Self::Ask { session, .. } => Some(session.scope()),
            // There is one for each question at most.
            Self::Cancel(_) => None,
        }
    }

    /// Fails it; returns whom to wake once nothing is locked.
    #[must_use]
    pub(in super::super) fn refuse(self, error: SessionError) -> Option<Waker> {
        match self {
            Self::Notify { ticket, .. } => ticket.settle(Err(error)),
            Self::Ask { ticket, .. } => ticket.settle(Err(error)),
            Self::Cancel(_) => None,
        }
    }
}
