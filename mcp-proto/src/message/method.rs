//! The methods that a machine itself knows.

use alloc::borrow::Cow;
use alloc::boxed::Box;

use crate::json::Raw;

/// The effect of a message that arrives twice.
#[cfg(feature = "client")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Repetition {
    /// The same as that of one that arrives once.
    Idempotent,
    /// Something happens twice, or nobody knows.
    Unsafe,
}

macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $repetition:ident;)*) => {
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

            #[cfg(feature = "client")]
            fn repetition(name: &str) -> Repetition {
                match name {
                    $($name => Repetition::$repetition,)*
                    _ => Repetition::Unsafe,
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

/// Whether a request or notification with this method has the same effect if the peer sees it twice
/// ([RFC 9110, section 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)). The effect of
/// a tool, and of a request of an extension, is not known. A second `initialize` or
/// `subscriptions/listen` opens another session or subscription, which ends by itself.
#[cfg(feature = "client")]
pub(crate) fn is_idempotent(method: &str) -> bool {
    Method::repetition(method) == Repetition::Idempotent || method.starts_with("notifications/")
}

// Name on the wire, and effect of a repetition.
methods! {
    /// Opens a legacy session.
    Initialize = "initialize", Idempotent;
    /// Asks what a modern server serves.
    Discover = "server/discover", Idempotent;
    /// Asks a legacy peer for a sign of life.
    Ping = "ping", Idempotent;
    /// Asks for a page of the tools.
    ListTools = "tools/list", Idempotent;
    /// Calls a tool.
    CallTool = "tools/call", Unsafe;
    /// Asks for a page of the resources.
    ListResources = "resources/list", Idempotent;
    /// Asks for a page of the resource templates.
    ListResourceTemplates = "resources/templates/list", Idempotent;
    /// Reads a resource.
    ReadResource = "resources/read", Idempotent;
    /// Asks a legacy server to tell of updates of a resource.
    Subscribe = "resources/subscribe", Idempotent;
    /// Asks a legacy server not to do so any more.
    Unsubscribe = "resources/unsubscribe", Idempotent;
    /// Asks for a page of the prompts.
    ListPrompts = "prompts/list", Idempotent;
    /// Gets a prompt.
    GetPrompt = "prompts/get", Idempotent;
    /// Asks how an argument might go on.
    Complete = "completion/complete", Idempotent;
    /// Tells a legacy server which log messages to send.
    SetLevel = "logging/setLevel", Idempotent;
    /// Asks a modern server to tell of changes.
    Listen = "subscriptions/listen", Idempotent;
    /// Asks a client for what its model says.
    CreateMessage = "sampling/createMessage", Unsafe;
    /// Asks a client's user.
    Elicit = "elicitation/create", Unsafe;
    /// Asks for a client's roots.
    ListRoots = "roots/list", Idempotent;
    /// A legacy client has taken note of the answer to `initialize`.
    Initialized = "notifications/initialized", Idempotent;
    /// A request is no longer of interest.
    Cancelled = "notifications/cancelled", Idempotent;
    /// A request makes progress.
    Progress = "notifications/progress", Idempotent;
    /// Something worth a log.
    LogMessage = "notifications/message", Idempotent;
    /// The tools have changed.
    ToolsListChanged = "notifications/tools/list_changed", Idempotent;
    /// The prompts have changed.
    PromptsListChanged = "notifications/prompts/list_changed", Idempotent;
    /// The resources or the resource templates have changed.
    ResourcesListChanged = "notifications/resources/list_changed", Idempotent;
    /// A resource has changed.
    ResourceUpdated = "notifications/resources/updated", Idempotent;
    /// A modern server tells what of a subscription it honours.
    SubscriptionsAcknowledged = "notifications/subscriptions/acknowledged", Idempotent;
    /// The user is done with what a URL asked for; 2025-11-25 alone.
    ElicitationComplete = "notifications/elicitation/complete", Idempotent;
    /// The roots of a legacy client have changed.
    RootsListChanged = "notifications/roots/list_changed", Idempotent;
}
