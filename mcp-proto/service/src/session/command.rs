//! Commands of sessions to the service.

use alloc::vec::Vec;
use core::task::Waker;

use super::error::SessionError;
use super::slot::Ticket;
use mcp_proto::Duration;
use mcp_proto::Json;
use mcp_proto::server::{InputId, Notification, ReplyId, SessionRef};
use mcp_proto::types::InputRequest;

/// Command from a session to the service. A command that is dropped fails with
/// [`SessionError::Closed`].
#[derive(Debug)]
pub(in super::super) enum SessionCommand {
    Notify {
        session: SessionRef,
        notification: Notification,
        ticket: Ticket<()>,
    },
    Ask {
        session: SessionRef,
        /// The client's request that this request is about.
        about: Option<ReplyId>,
        request: InputRequest,
        /// Default `Limits::input_timeout`.
        timeout: Option<Duration>,
        ticket: Ticket<Json>,
    },
    /// The future of the answer was dropped.
    Cancel(InputId),
    /// Ends one of these sessions that is idle; the result is the session.
    EndIdle {
        sessions: Vec<SessionRef>,
        ticket: Ticket<Option<SessionRef>>,
    },
}

impl SessionCommand {
    /// The peer whose queue this command counts for.
    pub(in super::super) fn counts_for(&self) -> Option<usize> {
        match self {
            Self::Notify { session, .. } | Self::Ask { session, .. } => Some(session.scope()),
            // There is at most one for each request.
            Self::Cancel(_) | Self::EndIdle { .. } => None,
        }
    }

    /// The notification to send, if the command sends one.
    pub(in super::super) fn notification(&self) -> Option<&Notification> {
        match self {
            Self::Notify { notification, .. } => Some(notification),
            Self::Ask { .. } | Self::Cancel(_) | Self::EndIdle { .. } => None,
        }
    }

    /// Fails the command. The caller must wake the returned waker without a lock.
    #[must_use]
    pub(in super::super) fn refuse(self, error: SessionError) -> Option<Waker> {
        match self {
            Self::Notify { ticket, .. } => ticket.settle(Err(error)),
            Self::Ask { ticket, .. } => ticket.settle(Err(error)),
            Self::EndIdle { ticket, .. } => ticket.settle(Err(error)),
            Self::Cancel(_) => None,
        }
    }
}
