//! What a server sends to a legacy client outside of a request: notifications, and requests for
//! input.
//!
//! In: commands of the application. Out: messages on the stream that belongs to no request (over
//! HTTP that of the GET), and an event for each request for input.
//!
//! | command | needs | then |
//! |---|---|---|
//! | [`Server::notify_session`] with a log message | `Registry::logging`, and the level of the session | `notifications/message` |
//! | [`Server::notify_session`] with another one | `notifications/initialized` | that notification |
//! | [`Server::request_input`] | `notifications/initialized`, the revision, the client's capability | the request |
//!
//! | a request for input ends by | [`InputFailure`] |
//! |---|---|
//! | a result that is an object | none: it is the answer |
//! | a result that is no object | `NotAnObject` |
//! | an error | `Refused` |
//! | its timeout; the client is sent `notifications/cancelled` | `TimedOut` |
//! | the end of the connection or of the session | `Closed` |
//! | [`Server::cancel_input`]; the client is sent `notifications/cancelled` | no event tells |
//!
//! A modern client is asked inside of its own requests only: all of this fails with
//! [`UsageError::NoServerRequests`] there.
//!
//! [Specification: Messages](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization)

use super::super::context::Binding;
use super::super::event::{InputFailure, InputId};
use super::super::notification::{Notification, told_message, told_other};
use super::super::{Life, Opening, Reason, Server, ServerEvent};
use super::Session;
use super::bridge::{Question, params, since};
use crate::error::UsageError;
use crate::json::Json;
use crate::message::{ErrorData, Outgoing};
use crate::time::{Duration, Instant};
use crate::types::InputRequest;

impl Server {
    /// Sends a notification to a legacy client, about no request. A log message that is less severe
    /// than the session wants is not sent, and that is no error; nor is
    /// `notifications/elicitation/complete` to a revision without it.
    ///
    /// Fails with [`UsageError::Closed`], with [`UsageError::NoServerRequests`] unless the
    /// connection was opened with `initialize`, with [`UsageError::NotInitialized`] (log messages
    /// may go earlier), with [`UsageError::Undeclared`] for a log message without
    /// [`Registry::logging`](crate::server::Registry::logging), with
    /// [`UsageError::NotInFlight`] for progress and losses, which are about a request, and with
    /// [`UsageError::ReservedMethod`], [`UsageError::NotAnObject`] and [`UsageError::NotJson`].
    pub fn notify_session(
        &mut self,
        _now: Instant,
        notification: Notification,
    ) -> Result<(), UsageError> {
        let logs = self.context.declaration().capabilities.logging.is_some();
        let session = self.live_session()?;
        let told = match notification {
            Notification::Progress(_) | Notification::Lost { .. } => {
                return Err(UsageError::NotInFlight);
            }
            Notification::Log(_) if !logs => {
                return Err(UsageError::Undeclared { capability: "logging" });
            }
            Notification::Log(message) => told_message(Some(session.log_level), &message)?,
            Notification::Other { .. } if !session.initialized => {
                return Err(UsageError::NotInitialized);
            }
            Notification::Other { method, params } => {
                told_other(Some(session.version), method, params)?
            }
        };
        if let Some((method, params)) = told {
            self.context.send(None, Outgoing::Notification { method, params });
        }
        Ok(())
    }

    /// Asks a legacy client for input, about no request: its roots, a form, a URL, a message of its
    /// model. A [`ServerEvent::InputAnswered`] tells what came of it, after `timeout` at the latest.
    ///
    /// Fails with [`UsageError::Closed`], with [`UsageError::NoServerRequests`] unless the
    /// connection was opened with `initialize`, with [`UsageError::NotInitialized`], with
    /// [`UsageError::UndeclaredByClient`], with [`UsageError::NotInRevision`], and with
    /// [`UsageError::TooManyCalls`] while `Limits::max_in_flight` requests wait for the client.
    pub fn request_input(
        &mut self,
        now: Instant,
        request: InputRequest,
        timeout: Duration,
    ) -> Result<InputId, UsageError> {
        let (scope, max_in_flight) = (self.context.scope(), self.context.limits().max_in_flight);
        let session = self.live_session()?;
        if !session.initialized {
            return Err(UsageError::NotInitialized);
        }
        let method = request.method();
        if let Some(since) = since(session.version, &request) {
            return Err(UsageError::NotInRevision { method, since: since.as_str() });
        }
        if let Some(capability) = session.inputs.missing(&request) {
            return Err(UsageError::UndeclaredByClient { capability });
        }
        if session.asked.pending() >= max_in_flight {
            return Err(UsageError::TooManyCalls { max_in_flight });
        }
        let (number, id) = session.asked.ask(|number| Question::Session(InputId { scope, number }));
        let input = InputId { scope, number };
        self.deadlines.set(Reason::SessionInput(input), now + timeout);
        self.context.send(None, Outgoing::request(id, method, params(request, number)));
        Ok(input)
    }

    /// Withdraws a request for input: the client is sent `notifications/cancelled`, and no
    /// [`ServerEvent::InputAnswered`] follows.
    ///
    /// Fails with [`UsageError::Closed`] or [`UsageError::NoServerRequests`], and with
    /// [`UsageError::NotInFlight`] if it has ended, or is another machine's.
    ///
    /// [Specification: Cancellation](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation)
    pub fn cancel_input(&mut self, _now: Instant, input: InputId) -> Result<(), UsageError> {
        let is_ours = input.scope == self.context.scope();
        let session = self.live_session()?;
        let id = input.request_id();
        if !is_ours || !session.asked.forget(&id) {
            return Err(UsageError::NotInFlight);
        }
        self.deadlines.clear(Reason::SessionInput(input));
        self.context.send(None, Outgoing::cancelled(&id));
        Ok(())
    }

    /// The client has answered a request for input that belongs to no request.
    pub(super) fn session_input_answered(&mut self, input: InputId, body: Result<Json, ErrorData>) {
        self.deadlines.clear(Reason::SessionInput(input));
        let answer = match body {
            Ok(result) if result.raw().is_object() => Ok(result.detach()),
            Ok(_) => Err(InputFailure::NotAnObject),
            Err(error) => Err(InputFailure::Refused(error)),
        };
        self.context.event(ServerEvent::InputAnswered { input, answer });
    }

    pub(in super::super) fn session_input_timed_out(&mut self, input: InputId) {
        let Opening::Legacy(session) = &mut self.opening else { return };
        let id = input.request_id();
        if session.asked.forget(&id) {
            self.context.send(None, Outgoing::cancelled(&id));
        }
        self.end_session_input(input, InputFailure::TimedOut);
    }

    /// No answer will come.
    pub(super) fn end_session_input(&mut self, input: InputId, failure: InputFailure) {
        self.deadlines.clear(Reason::SessionInput(input));
        self.context.event(ServerEvent::InputAnswered { input, answer: Err(failure) });
    }

    /// The session of a client that can be sent something outside of its requests. A request that
    /// stands alone has no stream for it.
    fn live_session(&mut self) -> Result<&mut Session, UsageError> {
        if self.life != Life::Open {
            return Err(UsageError::Closed);
        }
        match &mut self.opening {
            Opening::Legacy(session) if self.context.binding() != Binding::Exchange => Ok(session),
            Opening::Legacy(_) | Opening::Undecided | Opening::Modern => {
                Err(UsageError::NoServerRequests)
            }
        }
    }
}
