//! Messages of an application to a legacy client, outside of the client's requests.
//!
//! In: calls of an application, in a handler or later. Out: commands for the service, and futures
//! of their results. A [`Session`] keeps nothing alive.
//!
//! | file | owns |
//! |---|---|
//! | `answer` | the futures |
//! | `command` | the commands |
//! | `slot` | the results, shared by futures and the service |
//! | `input_requests` | the requests that clients have not answered |
//! | `scope` | the machines that execute the commands |
//! | `error` | the errors |
//!
//! | a future is ready | with |
//! |---|---|
//! | the machine refuses the command | [`SessionError::NotSent`] |
//! | the client has too much unread output | [`SessionError::Full`] |
//! | a notification is passed to the machine | `Ok` |
//! | the client answers | `Ok`, [`SessionError::Refused`] or [`SessionError::InvalidAnswer`] |
//! | its timeout expires | [`SessionError::TimedOut`] |
//! | the session, its connection or its server ends | [`SessionError::Closed`] |
//!
//! [Specification: Messages](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#operation)

mod answer;
mod command;
mod error;
mod input_requests;
mod scope;
mod slot;

use alloc::boxed::Box;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::fmt;
use core::future::poll_fn;

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
pub(super) use input_requests::OpenInputRequests;
pub use scope::SessionScope;
use slot::AnswerSlot;

/// The session of a legacy client, for notifications and requests for input outside of the client's
/// requests. See [`Context::session`](super::Context::session) and
/// [`Registry::session_notification`](crate::Registry::session_notification).
///
/// Cheap to clone. A session may be stored without keeping the connection or the server alive. Over
/// HTTP all messages are sent on the stream of the client's GET, and queued while there is none,
/// within [`Limits::max_replay_events`](mcp_proto::Limits::max_replay_events) and
/// [`Limits::max_replay_bytes`](mcp_proto::Limits::max_replay_bytes). A message that is dropped
/// beyond these limits is no error; a request for input then times out.
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
/// All methods fail with [`SessionError`]. Requests need a client that declares the capability and
/// has sent `notifications/initialized`, and a revision that defines the request.
#[derive(Clone)]
pub struct Session {
    /// Weak, because handlers may store a session, and the mailbox owns the handlers.
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

    /// Sends a notification, whether or not the future is awaited. A log message below the client's
    /// level is not sent, without an error.
    ///
    /// Fails with [`SessionError`], and as
    /// [`Server::notify_session`](mcp_proto::server::Server::notify_session) does.
    pub fn notify(&self, notification: Notification) -> Sent {
        let (ticket, slot) = AnswerSlot::new();
        self.command(SessionCommand::Notify { session: self.id, notification, ticket });
        Sent::new(slot)
    }

    /// Sends a log message: a string, or any other value; see [`Session::notify`]. `logger` names
    /// the part of the server that logs.
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

    /// Sends `notifications/elicitation/complete`: the user has finished at a URL. Only clients of
    /// 2025-11-25 get it, nothing is sent to others; see [`Session::notify`].
    ///
    /// [Specification: Elicitation, Completion](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation)
    pub fn elicitation_complete(&self, elicitation_id: &str) -> Sent {
        let params = ElicitationCompleteNotificationParams::new(elicitation_id);
        let Ok(params) = Json::encode(&params) else { return Sent::not_json("elicitationId") };
        let method = "notifications/elicitation/complete".into();
        self.notify(Notification::Other { method, params })
    }

    /// Requests the client's roots.
    ///
    /// [Specification: Roots](https://modelcontextprotocol.io/specification/2025-11-25/client/roots)
    pub fn list_roots(&self) -> Answer<ListRootsResult> {
        Answer::new(self, InputRequest::list_roots(), Json::decode)
    }

    /// Requests input of the user. The values of a form are not checked; see
    /// [`ElicitRequestFormParams::check`](mcp_proto::types::ElicitRequestFormParams::check).
    ///
    /// [Specification: Elicitation](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation)
    pub fn elicit(&self, params: impl Into<ElicitRequestParams>) -> Answer<ElicitResult> {
        Answer::new(self, InputRequest::Elicit(params.into()), Json::decode)
    }

    /// Requests a message of the client's model.
    ///
    /// [Specification: Sampling](https://modelcontextprotocol.io/specification/2025-11-25/client/sampling)
    pub fn create_message(
        &self,
        params: CreateMessageRequestParams,
    ) -> Answer<CreateMessageResult> {
        Answer::new(self, params.into(), Json::decode)
    }

    /// Sends any request for input; the answer is not decoded.
    pub fn request(&self, request: InputRequest) -> Answer<InputResponse> {
        Answer::new(self, request, |answer| Ok(answer.clone().into()))
    }

    /// Ends one of these sessions, as
    /// [`Endpoint::end_idle_session`](mcp_proto::http::Endpoint::end_idle_session) does, at the
    /// first server that has an idle one. Only sessions over HTTP end in this way.
    pub(super) async fn end_idle(mut sessions: Vec<Self>) -> Option<SessionRef> {
        while let Some(first) = sessions.first().cloned() {
            let (own, others): (Vec<Self>, _) =
                sessions.into_iter().partition(|it| it.mailbox.ptr_eq(&first.mailbox));
            let (ticket, slot) = AnswerSlot::new();
            let own = own.iter().map(Self::id).collect();
            first.command(SessionCommand::EndIdle { sessions: own, ticket });
            if let Ok(Some(ended)) = poll_fn(|context| slot.poll(context.waker())).await {
                return Some(ended);
            }
            sessions = others;
        }
        None
    }

    fn command(&self, command: SessionCommand) {
        // Without a service the command is dropped, which fails its future.
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
