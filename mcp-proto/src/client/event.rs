//! Events and actions of a client machine, and the handles to reply to them.

use alloc::boxed::Box;
use alloc::string::String;

use super::call_error::CallError;
use super::connect_error::ConnectError;
use super::negotiation::ServerInfo;
use crate::challenge::Unauthorized;
use crate::change::Change;
use crate::error::{PlanError, ProtocolError};
use crate::json::Json;
use crate::message::{Outgoing, RequestId};
use crate::progress::Progress;
use crate::time::Duration;
use crate::trace::TraceContext;
use crate::types::{
    ClientCapabilities, InputRequest, LoggingLevel, LoggingMessageNotificationParams,
    SubscriptionFilter, Task,
};

/// An action of a [`Client`](super::Client).
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientAction {
    /// Send this message.
    Send(Outgoing),
    /// Close the stream of the request with this id, whose response is no longer needed; only over
    /// HTTP.
    Abort(RequestId),
    /// Report an event to the application.
    Event(ClientEvent),
    /// Close the connection; nothing follows.
    Close,
}

/// An event of a [`Client`](super::Client).
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientEvent {
    /// The server's era and version are known; waiting calls are sent next. The event is repeated
    /// after each further negotiation: if the era was in doubt later, if a session was lost, and
    /// after each [`ClientEvent::Disconnected`].
    Connected(Box<ServerInfo>),
    /// The connection is lost, for this reason. The session or the era was lost and could not be
    /// negotiated again, or a byte stream has ended under a [`Restart`](super::Restart) policy.
    /// Subscriptions stay requested. The next call starts another attempt, at a limited rate.
    Disconnected(ConnectError),
    /// Start the server, then call [`Client::handle_opened`](super::Client::handle_opened). The
    /// server has ended at the first message, as some legacy servers do, or the
    /// [`Restart`](super::Restart) policy requires a start. If the server cannot be started, call
    /// [`Client::handle_eof`](super::Client::handle_eof).
    Reopen,
    /// The outcome of a call. Each call has exactly one outcome.
    Response {
        /// The call.
        call: CallId,
        /// The result of the call, unchanged, or the reason why the call has no result.
        result: Result<Json, CallError>,
    },
    /// Progress of a call.
    Progress {
        /// The call.
        call: CallId,
        /// The progress.
        progress: Progress,
    },
    /// The task of a call has changed its status or its message.
    Task {
        /// The call.
        call: CallId,
        /// The task.
        task: Box<Task>,
    },
    /// The server needs input. Pass its [`InputReply`] to
    /// [`Client::answer`](super::Client::answer).
    Input(Box<Input>),
    /// The server does not need the input of a [`ClientEvent::Input`] any more; its reply is void.
    InputCancelled {
        /// The input.
        input: InputId,
    },
    /// A log message.
    Log(LoggingMessageNotificationParams),
    /// A subscription has begun, or has begun again after its stream broke or its session was lost.
    /// In the second case [`ClientEvent::Changed`] follows for each list and resource that the
    /// server honours, because changes may have been missed.
    Subscribed {
        /// The subscription.
        subscription: SubscriptionId,
        /// The part that the server honours.
        honoured: SubscriptionFilter,
    },
    /// A list or a resource has changed.
    Changed {
        /// The subscription that the change belongs to. `None` if a legacy server reports a change
        /// that no subscription includes.
        subscription: Option<SubscriptionId>,
        /// The change.
        change: Change,
    },
    /// A subscription has ended, or has not begun. Each subscription has exactly one such event.
    SubscriptionEnded {
        /// The subscription.
        subscription: SubscriptionId,
        /// `Ok` if the server has ended the subscription with a result; otherwise the cause.
        cause: Result<(), CallError>,
    },
    /// The user has finished the task behind a URL; only servers of 2025-11-25 report this. The
    /// client does not check the id: ignore one that is unknown or was completed before.
    ElicitationComplete {
        /// The `elicitationId` of the request with the URL.
        elicitation_id: String,
    },
    /// Over HTTP: a tool of a modern server was left out of the list. Its schema has invalid
    /// `x-mcp-header` annotations, so that it cannot be called as the specification requires.
    ToolRejected {
        /// The name of the tool.
        tool: String,
        /// The reason why the schema of the tool is refused.
        reason: PlanError,
    },
    /// Over HTTP: the server requires credentials, outside of a call. The server has refused the
    /// GET stream of a legacy session, the stream of a subscription, an answer to one of its
    /// requests, or `notifications/initialized`. The client tries again at once when the
    /// application sets a header field or a sign-in succeeds, and about once a minute: a stream
    /// always, a message 10 times.
    Unauthorized {
        /// The subscription, if there is one.
        subscription: Option<SubscriptionId>,
        /// The challenges of the server.
        unauthorized: Unauthorized,
    },
    /// Over HTTP: a legacy server has no stream for messages outside of calls, status 405, 501 or
    /// 204. Every subscription, also each later subscription, ends with the same error.
    NoStream {
        /// The refusal.
        error: CallError,
    },
    /// A message that has no response has not reached the server. A notification waits for the
    /// connection, and ends with the attempt to connect. Over HTTP the server may also refuse it,
    /// or lose its session. An answer is sent again before this event, up to 10 times, as long as
    /// its request is open. Over HTTP this event also reports what is not accepted when the client
    /// is closed.
    Undelivered {
        /// The message.
        message: Undelivered,
        /// The reason why the last attempt failed; `Closed` if the client was closed.
        error: CallError,
    },
    /// A notification that the specification does not define.
    Notification {
        /// The method of the notification.
        method: String,
        /// The parameters of the notification, unchanged.
        params: Json,
    },
    /// A notification of the server, under [`Config::forwards`](super::Config::forwards).
    Forwarded {
        /// The call that the notification is about: the call whose progress token or subscription
        /// it names, or whose HTTP response contains it. `None` if there is no such call.
        call: Option<CallId>,
        /// The method of the notification.
        method: String,
        /// The parameters of the notification, unchanged.
        params: Json,
    },
    /// Over HTTP, under [`Config::forwards`](super::Config::forwards): the stream of a legacy
    /// session has begun again without the id of its last event. Any list or resource may have
    /// changed.
    ChangesMissed,
    /// The peer sent an invalid message, which was dropped.
    PeerFault(ProtocolError),
    /// The connection has closed; every call has had its response. Holds an error if there was
    /// never a connection, or if a later negotiation has failed on a byte stream.
    Closed(Option<ConnectError>),
}

/// A message that has not reached its server.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Undelivered {
    /// An answer to a request of the server.
    Answer {
        /// The id of the input, as in [`InputReply::id`]; `None` if the client has answered by
        /// itself, or in a batch.
        input: Option<InputId>,
    },
    /// A notification.
    Notification {
        /// The method of the notification.
        method: String,
    },
}

/// Input that a server needs.
#[derive(Debug)]
#[non_exhaustive]
pub struct Input {
    /// The handle to answer with. It can be used only once: answering twice does not compile.
    pub reply: InputReply,
    /// The call that needs the input; unknown for a legacy server on a byte stream. The call may
    /// have ended.
    pub call: Option<CallId>,
    /// The content.
    pub request: InputRequest,
}

/// The right to give one input, once.
#[derive(PartialEq, Eq, Debug)]
#[must_use = "the server waits for it"]
pub struct InputReply {
    pub(super) id: InputId,
}

impl InputReply {
    /// The id of the input, which [`ClientEvent::InputCancelled`] names.
    pub fn id(&self) -> InputId {
        self.id
    }
}

/// Identifier of a call; never used twice by one client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallId(pub(crate) u64);

impl CallId {
    /// The number of the call. Later calls have greater numbers, not always by one.
    #[inline]
    pub fn number(self) -> u64 {
        self.0
    }
}

/// Identifier of an input; never used twice by one client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct InputId(pub(super) u64);

/// Identifier of a subscription; never used twice by one client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SubscriptionId(pub(super) u64);

/// Timeouts of a call, and the notifications that it asks for.
///
/// ```
/// use mcp_proto::Duration;
/// use mcp_proto::client::CallOptions;
///
/// let patient = CallOptions::default().timeout(Duration::from_secs(300)).progress();
/// assert!(patient.progress && patient.reset_on_progress);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CallOptions {
    /// The longest time between the request and its response; default 60 s. The timeout is paused
    /// while the server waits for input, and restarts afterwards. `Duration::MAX` disables the
    /// timeout.
    pub timeout: Duration,
    /// True if progress restarts the timeout; default true.
    pub reset_on_progress: bool,
    /// The longest total time of the call, with its task; default 1 hour. `Duration::MAX` disables
    /// the limit.
    pub max_total: Duration,
    /// True if the call asks for progress notifications; default false.
    pub progress: bool,
    /// The least severe log messages that the call asks for, in place of those of
    /// [`Client::set_log_level`](super::Client::set_log_level); default `None`. A legacy server has
    /// one level for all calls.
    pub log_level: Option<LoggingLevel>,
    /// True if the request is sent even if its result is in the cache; default false. The new
    /// result is cached. See [`Config::cache`](super::Config::cache).
    pub refresh: bool,
    /// The trace that the call belongs to; default `None`. The trace replaces members with the same
    /// keys in the `_meta` of the parameters.
    pub trace: Option<Box<TraceContext>>,
    /// The capabilities of the client for which the call is forwarded; default `None`. A modern
    /// server gets the `elicitation`, `sampling` and `roots` of that client in place of those of
    /// the [`Config`](super::Config). An `input_required` result is the response to the call. Input
    /// that a legacy server or a task of the call requests is a [`ClientEvent::Input`] as usual.
    pub forward_input: Option<Box<ClientCapabilities>>,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            reset_on_progress: true,
            max_total: Duration::from_secs(60 * 60),
            progress: false,
            log_level: None,
            refresh: false,
            trace: None,
            forward_input: None,
        }
    }
}

impl CallOptions {
    /// Sets the timeout for the response.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the longest total time of the call.
    pub fn max_total(mut self, max_total: Duration) -> Self {
        self.max_total = max_total;
        self
    }

    /// Sets the effect of progress on the timeout: true restarts it.
    pub fn reset_on_progress(mut self, resets: bool) -> Self {
        self.reset_on_progress = resets;
        self
    }

    /// Asks the server for progress notifications.
    pub fn progress(mut self) -> Self {
        self.progress = true;
        self
    }

    /// Sets the least severe log messages that the call asks for.
    pub fn log_level(mut self, level: LoggingLevel) -> Self {
        self.log_level = Some(level);
        self
    }

    /// Sends the request even if its result is in the cache.
    pub fn refresh(mut self) -> Self {
        self.refresh = true;
        self
    }

    /// Sets the trace that the call belongs to.
    pub fn trace(mut self, trace: TraceContext) -> Self {
        self.trace = Some(Box::new(trace));
        self
    }

    /// Leaves the input that a modern server requires to the client with these capabilities, for
    /// which the call is forwarded.
    pub fn forward_input(mut self, capabilities: ClientCapabilities) -> Self {
        self.forward_input = Some(Box::new(capabilities));
        self
    }
}

/// A list of a server that the client fetches completely.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Listing {
    /// `tools/list`.
    Tools,
    /// `prompts/list`.
    Prompts,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    ResourceTemplates,
    /// `skills/list`, of the extension for skills.
    Skills,
}

impl Listing {
    /// The method that requests a page.
    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
            Self::Skills => "skills/list",
        }
    }

    /// The member of a page that holds the items.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Skills => "skills",
        }
    }
}
