//! Requests for input that clients have not answered.
//!
//! In: commands of sessions, answers from the machine. Out: commands for the machine, and wakers to
//! wake without a lock. Dropping the requests fails their futures.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use core::task::Waker;

use super::command::SessionCommand;
use super::error::SessionError;
use super::scope::SessionScope;
use super::slot::Ticket;
use mcp_proto::Instant;
use mcp_proto::Json;
use mcp_proto::server::{InputFailure, InputId};

/// The requests for input that clients have not answered.
#[derive(Debug, Default)]
pub(in super::super) struct OpenInputRequests {
    open: BTreeMap<InputId, OpenInputRequest>,
}

#[derive(Debug)]
struct OpenInputRequest {
    method: Cow<'static, str>,
    ticket: Ticket<Json>,
}

impl OpenInputRequests {
    /// Applies a command of a session. If `is_full`, the client does not read, and the command
    /// fails.
    #[must_use]
    pub(in super::super) fn apply_command(
        &mut self,
        now: Instant,
        scope: &mut impl SessionScope,
        command: SessionCommand,
        is_full: bool,
    ) -> Option<Waker> {
        match command {
            SessionCommand::Cancel(input) => {
                // A request that is answered needs no cancellation.
                if self.open.remove(&input).is_some() {
                    let _ = scope.cancel_input(now, input);
                }
                None
            }
            SessionCommand::EndIdle { sessions, ticket } => {
                ticket.settle(Ok(scope.end_idle_session(now, &sessions)))
            }
            command if is_full => command.refuse(SessionError::Full),
            SessionCommand::Notify { session, notification, ticket } => {
                let sent = scope.notify_session(now, session, notification);
                ticket.settle(sent.map_err(SessionError::from))
            }
            SessionCommand::Ask { ticket, .. } if ticket.is_abandoned() => None,
            SessionCommand::Ask { session, about, request, timeout, ticket } => {
                let method = request.method_name();
                match scope.request_input(now, session, about, request, timeout) {
                    Ok(input) if ticket.mark_sent(input) => {
                        self.open.insert(input, OpenInputRequest { method, ticket });
                        None
                    }
                    // The future was dropped in the meantime.
                    Ok(input) => {
                        let _ = scope.cancel_input(now, input);
                        None
                    }
                    Err(error) => ticket.settle(Err(error.into())),
                }
            }
        }
    }

    /// Settles a request with the client's answer; returns the task to wake.
    #[must_use]
    pub(in super::super) fn answer(
        &mut self,
        input: InputId,
        answer: Result<Json, InputFailure>,
    ) -> Option<Waker> {
        let OpenInputRequest { method, ticket } = self.open.remove(&input)?;
        ticket.settle(answer.map_err(|failure| SessionError::unanswered(failure, method)))
    }
}
