//! The methods that a machine itself knows.

use alloc::borrow::Cow;
use alloc::boxed::Box;

use crate::json::Raw;

macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The method of a request or notification.
        #[derive(Clone, PartialEq, Eq, Debug)]
        #[non_exhaustive]
        pub enum Method {
            $($(#[$doc])* $variant,)*
            /// A method that no machine knows by itself.
            Other(Box<str>),
        }

        impl Method {
            /// The name on the wire.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Other(name) => name,
                }
            }

            /// The method with this name.
            pub fn from_name(name: Cow<'_, str>) -> Self {
                match &*name {
                    $($name => Self::$variant,)*
                    _ => Self::Other(name.into()),
                }
            }

            /// The method that a JSON value names, if it names one. The names that are known are
            /// seen without decoding them.
            pub(crate) fn from_raw(raw: Raw<'_>) -> Option<Self> {
                match raw.0.strip_prefix(b"\"")?.strip_suffix(b"\"")? {
                    b"" => None,
                    $(name if name == $name.as_bytes() => Some(Self::$variant),)*
                    _ => raw.string().map(Self::from_name),
                }
            }
        }
    };
}

methods! {
    /// Opens a legacy session.
    Initialize = "initialize",
    /// Asks what a modern server serves.
    Discover = "server/discover",
    /// Asks a legacy peer for a sign of life.
    Ping = "ping",
    /// Asks for a page of the tools.
    ListTools = "tools/list",
    /// Calls a tool.
    CallTool = "tools/call",
    /// Asks for a page of the resources.
    ListResources = "resources/list",
    /// Asks for a page of the resource templates.
    ListResourceTemplates = "resources/templates/list",
    /// Reads a resource.
    ReadResource = "resources/read",
    /// Asks a legacy server to tell of updates of a resource.
    Subscribe = "resources/subscribe",
    /// Asks a legacy server not to do so any more.
    Unsubscribe = "resources/unsubscribe",
    /// Asks for a page of the prompts.
    ListPrompts = "prompts/list",
    /// Gets a prompt.
    GetPrompt = "prompts/get",
    /// Asks how an argument might go on.
    Complete = "completion/complete",
    /// Tells a legacy server which log messages to send.
    SetLevel = "logging/setLevel",
    /// Asks a modern server to tell of changes.
    Listen = "subscriptions/listen",
    /// Asks a client for what its model says.
    CreateMessage = "sampling/createMessage",
    /// Asks a client's user.
    Elicit = "elicitation/create",
    /// Asks for a client's roots.
    ListRoots = "roots/list",
    /// A legacy client has taken note of the answer to `initialize`.
    Initialized = "notifications/initialized",
    /// A request is no longer of interest.
    Cancelled = "notifications/cancelled",
    /// A request makes progress.
    Progress = "notifications/progress",
    /// Something worth a log.
    LogMessage = "notifications/message",
    /// The tools have changed.
    ToolsListChanged = "notifications/tools/list_changed",
    /// The prompts have changed.
    PromptsListChanged = "notifications/prompts/list_changed",
    /// The resources or the resource templates have changed.
    ResourcesListChanged = "notifications/resources/list_changed",
    /// A resource has changed.
    ResourceUpdated = "notifications/resources/updated",
    /// A modern server tells what of a subscription it honours.
    SubscriptionsAcknowledged = "notifications/subscriptions/acknowledged",
    /// The user is done with what a URL asked for; 2025-11-25 alone.
    ElicitationComplete = "notifications/elicitation/complete",
    /// The roots of a legacy client have changed.
    RootsListChanged = "notifications/roots/list_changed",
}
