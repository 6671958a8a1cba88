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
    InputRequest, LoggingLevel, LoggingMessageNotificationParams, SubscriptionFilter,
};

/// An action of a [`Client`](super::Client).
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientAction {
    /// Send this message.
    Send(Outgoing),
    /// Close the stream of the request with this id, whose response is of no interest any more;
    /// over HTTP alone.
    Abort(RequestId),
    /// Tell the application.
    Event(ClientEvent),
    /// Close the connection; nothing follows.
    Close,
}

/// The event.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientEvent {
    /// The server's era and version are known; what waited is sent next. It comes again if it was
    /// in doubt later on, and after each [`ClientEvent::Disconnected`].
    Connected(ServerInfo),
    /// There is no connection any more, for this reason: the session or the era was lost and could
    /// not be negotiated again, or a byte stream has ended under a [`Restart`](super::Restart)
    /// policy. Subscriptions stay wanted. The next call tries again, limited in rate.
    Disconnected(ConnectError),
    /// The server has ended at the first message, as some legacy ones do, or is to be started again
    /// by the [`Restart`](super::Restart) policy: start it, then call
    /// [`Client::handle_opened`](super::Client::handle_opened). If it cannot be started, call
    /// [`Client::handle_eof`](super::Client::handle_eof).
    Reopen,
    /// The outcome of a call. Each call has exactly one.
    Response {
        /// The call.
        call: CallId,
        /// Its result, as it came; or why there is none.
        result: Result<Json, CallError>,
    },
    /// Progress of a call.
    Progress {
        /// The call.
        call: CallId,
        /// The progress.
        progress: Progress,
    },
    /// The server needs input; give its [`InputReply`] back with `answer`.
    Input(Input),
    /// A [`ClientEvent::Input`] is no longer of interest; its reply is void.
    InputCancelled {
        /// The input.
        input: InputId,
    },
    /// Something worth a log.
    Log(LoggingMessageNotificationParams),
    /// A subscription has begun; or has begun again after its stream broke, or its session was
    /// lost. In that case [`ClientEvent::Changed`] follows for everything that is honoured, as the
    /// server may have changed it meanwhile.
    Subscribed {
        /// The subscription.
        subscription: SubscriptionId,
        /// The part that the server honours.
        honoured: SubscriptionFilter,
    },
    /// Something is not what it was.
    Changed {
        /// The subscription that it belongs to. A legacy server tells of its lists without one.
        subscription: Option<SubscriptionId>,
        /// The change.
        change: Change,
    },
    /// A subscription has ended, or has not begun. Each subscription has exactly one.
    SubscriptionEnded {
        /// The subscription.
        subscription: SubscriptionId,
        /// `Ok` if the server has ended it with a result; else why it has ended.
        cause: Result<(), CallError>,
    },
    /// The user is done with what a URL asked for; 2025-11-25 alone tells so.
    ElicitationComplete {
        /// The `elicitationId` of the request with the URL.
        elicitation_id: String,
    },
    /// Over HTTP: a tool of a modern server was left out of the list, because its schema has headers
    /// that must not be; it cannot be called as the specification wants it.
    ToolRejected {
        /// Its name.
        tool: String,
        /// The reason why its schema is refused.
        reason: PlanError,
    },
    /// Over HTTP: the server wants to know who asks, and not for a call: it refuses the GET stream of
    /// a legacy session, the stream of a subscription, or an answer to one of its requests. All are
    /// attempted again at once when the application sets a field, and once a minute.
    Unauthorized {
        /// The subscription, if there is one.
        subscription: Option<SubscriptionId>,
        /// The challenges of the server.
        unauthorized: Unauthorized,
    },
    /// Over HTTP: a legacy server has no stream for what it sends outside of calls, status 405 or
    /// 501. Every subscription ends with the same error, those to come as well.
    NoStream {
        /// The refusal.
        error: CallError,
    },
    /// Over HTTP: the server has not accepted a message that has no response. An answer was sent
    /// again before, for as long as its request lived.
    Undelivered {
        /// The message.
        message: Undelivered,
        /// Why the last attempt has failed.
        error: CallError,
    },
    /// A notification that the specification does not have.
    Notification {
        /// Its method.
        method: String,
        /// Its parameters, as they came.
        params: Json,
    },
    /// A notification of the server, under [`Config::forwards`](super::Config::forwards).
    Forwarded {
        /// The call that it is about: whose progress token or subscription it names, or on whose HTTP
        /// response it came; `None` if nothing says so.
        call: Option<CallId>,
        /// Its method.
        method: String,
        /// Its parameters, as they came.
        params: Json,
    },
    /// The peer sent something that was dropped.
    PeerFault(ProtocolError),
    /// The connection has closed; every call has had its response. With an error if there has not
    /// been a connection.
    Closed(Option<ConnectError>),
}

/// A message that has not reached its server.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Undelivered {
    /// An answer to a request of the server.
    Answer {
        /// The id of the input, as [`InputReply::id`] gives it; `None` if the client has
        /// answered by itself, or in a batch.
        input: Option<InputId>,
    },
    /// A notification.
    Notification {
        /// Its method.
        method: String,
    },
}

/// Something that a server needs.
#[derive(Debug)]
#[non_exhaustive]
pub struct Input {
    /// The handle to answer with. Linear: answering twice does not compile.
    pub reply: InputReply,
    /// The call that needs it; a legacy server on a byte stream does not say.
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

/// Names a call; never used twice by one client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallId(pub(crate) u64);

impl CallId {
    /// The number of calls and subscriptions that the client had made before.
    #[inline]
    pub fn number(self) -> u64 {
        self.0
    }
}

/// Names an input; never used twice by one client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct InputId(pub(super) u64);

/// Names a subscription; never used twice by one client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SubscriptionId(pub(super) u64);

/// The longest time that a call may take, and what it wants to hear meanwhile.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CallOptions {
    /// The longest time that the response may take, from when the request is sent; default 60 s.
    /// This time rests while the server waits for input, and starts anew after that.
    /// `Duration::MAX` is for ever.
    pub timeout: Duration,
    /// True if progress starts it anew; default true.
    pub reset_on_progress: bool,
    /// The longest time that the call may take whatever happens; default 1 hour. `Duration::MAX` is
    /// for ever.
    pub max_total: Duration,
    /// True if the server is asked to tell of progress; default false.
    pub progress: bool,
    /// The least severe log messages that are wanted about this call, in place of those of
    /// [`Client::set_log_level`](super::Client::set_log_level); default `None`. A legacy server
    /// has one level for all.
    pub log_level: Option<LoggingLevel>,
    /// The trace that the call belongs to; default `None`. It goes before what the parameters have
    /// in their `_meta` under the same keys.
    pub trace: Option<Box<TraceContext>>,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            reset_on_progress: true,
            max_total: Duration::from_secs(60 * 60),
            progress: false,
            log_level: None,
            trace: None,
        }
    }
}

impl CallOptions {
    /// Sets how long the response may take.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how long the call may take whatever happens.
    pub fn max_total(mut self, max_total: Duration) -> Self {
        self.max_total = max_total;
        self
    }

    /// Sets whether progress starts the time for the response anew.
    pub fn reset_on_progress(mut self, resets: bool) -> Self {
        self.reset_on_progress = resets;
        self
    }

    /// Asks the server to tell of progress.
    pub fn progress(mut self) -> Self {
        self.progress = true;
        self
    }

    /// Sets the least severe log messages that are wanted about this call.
    pub fn log_level(mut self, level: LoggingLevel) -> Self {
        self.log_level = Some(level);
        self
    }

    /// Sets the trace that the call belongs to.
    pub fn trace(mut self, trace: TraceContext) -> Self {
        self.trace = Some(Box::new(trace));
        self
    }
}

/// A list of a server, to be fetched whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
}

impl Listing {
    /// The method that asks for a page.
    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
        }
    }

    /// The member of a page that holds the items.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
        }
    }
}
