//! Messages that an application sends to a legacy client outside of its requests.
//!
//! In: verbs of an application, from a handler, from the handler of a notification, or later. Out:
//! commands for the service, and futures of what came of them. A [`Session`] keeps nothing alive.
//!
//! | file | owns |
//! |---|---|
//! | `answer` | the futures |
//! | `command` | the commands |
//! | `slot` | the place where a future and the service meet |
//! | `questions` | the requests that clients have not answered, at the service |
//! | `scope` | the machines that can do it |
//! | `error` | the reasons for which it fails |
//!
//! | a future is ready | with |
//! |---|---|
//! | the machine refuses the command | [`SessionError::NotSent`] |
//! | too much waits for the client | [`SessionError::Full`] |
//! | a notification is passed to the machine | `Ok` |
//! | the client answers | `Ok`, [`SessionError::Refused`] or [`SessionError::InvalidAnswer`] |
//! | its time is over | [`SessionError::TimedOut`] |
//! | the session, its connection or its server ends | [`SessionError::Closed`] |
//!
//! [Specification: Messages](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#operation)

mod answer;
mod command;
mod error;
mod questions;
mod scope;
mod slot;

use alloc::boxed::Box;
use alloc::sync::{Arc, Weak};
use core::fmt;

use serde::Serialize;

use super::service_mailbox::ServiceMailbox;
use mcp_proto::Json;
use mcp_proto::server::{Notification, SessionRef};
use mcp_proto::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
    ElicitationCompleteNotificationParams, InputRequest, InputResponse, ListRootsResult,
    LoggingLevel, LoggingMessageNotificationParams,
};

pub use answer::{Answer, Sent};
pub(super) use command::SessionCommand;
pub use error::SessionError;
pub(super) use questions::Questions;
pub use scope::SessionScope;
use slot::AnswerSlot;

/// A legacy client, to be sent something outside of its requests: notifications, and requests for
/// input. From [`Context::session`](super::Context::session) or
/// [`Registry::session_notification`](crate::Registry::session_notification).
///
/// Cheap to clone; it may be kept for as long as one likes, and keeps neither the connection nor
/// the server. Over HTTP all messages go out on the stream of the client's GET. They wait for one
/// within [`Limits::max_replay_events`](mcp_proto::Limits::max_replay_events) and
/// [`Limits::max_replay_bytes`](mcp_proto::Limits::max_replay_bytes). A message that is dropped
/// then is no error here, and a request for input times out.
///
/// ```
/// use mcp_proto::Json;
/// use mcp_service::{Handler, Registry, Session};
///
/// fn watch_roots(
///     registry: &mut Registry<Handler>,
///     spawn: impl Fn(Session) + Clone + Send + Sync + 'static,
/// ) -> Result<(), mcp_proto::UsageError> {
///     for method in ["notifications/initialized", "notifications/roots/list_changed"] {
///         let spawn = spawn.clone();
///         registry.session_notification(method, move |_: Json, session| spawn(session))?;
///     }
///     Ok(())
/// }
/// ```
///
/// All verbs fail with [`SessionError`]. Those that ask need a client that declares the capability
/// and has sent `notifications/initialized`, and a revision that has the request.
#[derive(Clone)]
pub struct Session {
    /// Handlers may keep a session, and the mailbox keeps handlers.
    mailbox: Weak<ServiceMailbox>,
    id: SessionRef,
}

impl Session {
    pub(super) fn new(mailbox: &Arc<ServiceMailbox>, id: SessionRef) -> Self {
        Self { mailbox: Arc::downgrade(mailbox), id }
    }

    /// Identity of the session among those of a server.
    pub fn id(&self) -> SessionRef {
        self.id
    }

    /// Sends a notification, whether or not the future is awaited. A log message that is less severe
    /// than the client wants is not sent, and that is no error.
    ///
    /// Fails, beside what [`SessionError`] says, as
    /// [`Server::notify_session`](mcp_proto::server::Server::notify_session) does.
    pub fn notify(&self, notification: Notification) -> Sent {
        let (ticket, slot) = AnswerSlot::new();
        self.command(SessionCommand::Notify { session: self.id, notification, ticket });
        Sent::new(slot)
    }

    /// Sends a log message: a string, or any other value; see [`Session::notify`]. `logger` is the
    /// part of the server that says it.
    ///
    /// Fails with [`UsageError::Undeclared`](mcp_proto::UsageError::Undeclared) without
    /// [`Registry::logging`](crate::Registry::logging), and with
    /// [`UsageError::NotJson`](mcp_proto::UsageError::NotJson).
    ///
    /// [Specification: Logging](https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging)
    pub fn log(&self, level: LoggingLevel, logger: Option<&str>, data: impl Serialize) -> Sent {
        let Ok(data) = Json::encode(&data) else { return Sent::not_json("data") };
        let mut message = LoggingMessageNotificationParams::new(level, data);
        message.logger = logger.map(Into::into);
        self.notify(Notification::Log(message))
    }

    /// Sends `notifications/elicitation/complete`: what a user was to do at a URL is done. Clients of
    /// 2025-11-25 alone get it, and to others nothing is sent; see [`Session::notify`].
    ///
    /// [Specification: Elicitation, Completion](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation)
    pub fn elicitation_complete(&self, elicitation_id: &str) -> Sent {
        let params = ElicitationCompleteNotificationParams::new(elicitation_id);
        let Ok(params) = Json::encode(&params) else { return Sent::not_json("elicitationId") };
        let method = "notifications/elicitation/complete".into();
        self.notify(Notification::Other { method, params })
    }

    /// Asks for the client's roots.
    ///
    /// [Specification: Roots](https://modelcontextprotocol.io/specification/2025-11-25/client/roots)
    pub fn list_roots(&self) -> Answer<ListRootsResult> {
        Answer::new(self, InputRequest::list_roots(), Json::decode)
    }

    /// Asks the user. What a form is filled in with is not checked; see
    /// [`ElicitRequestFormParams::check`](mcp_proto::types::ElicitRequestFormParams::check).
    ///
    /// [Specification: Elicitation](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation)
    pub fn elicit(&self, params: impl Into<ElicitRequestParams>) -> Answer<ElicitResult> {
        Answer::new(self, InputRequest::Elicit(params.into()), Json::decode)
    }

    /// Asks the client's model.
    ///
    /// [Specification: Sampling](https://modelcontextprotocol.io/specification/2025-11-25/client/sampling)
    pub fn create_message(
        &self,
        params: CreateMessageRequestParams,
    ) -> Answer<CreateMessageResult> {
        Answer::new(self, params.into(), Json::decode)
    }

    /// Asks for any input, whose answer stays as it came.
    pub fn request(&self, request: InputRequest) -> Answer<InputResponse> {
        Answer::new(self, request, |answer| Ok(answer.clone().into()))
    }

    fn command(&self, command: SessionCommand) {
        // Without a service the command is dropped, and says so to its future.
        if let Some(mailbox) = self.mailbox.upgrade() {
            mailbox.session_command(Box::new(command));
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}
