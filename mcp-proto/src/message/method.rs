//! The methods that a machine itself knows.

use alloc::borrow::Cow;
use alloc::boxed::Box;

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

            pub(crate) fn from_name(name: Cow<'_, str>) -> Self {
                match &*name {
                    $($name => Self::$variant,)*
                    _ => Self::Other(name.into()),
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
    /// A legacy client has taken note of the answer to `initialize`.
    Initialized = "notifications/initialized",
    /// A request is no longer of interest.
    Cancelled = "notifications/cancelled",
    /// A request makes progress.
    Progress = "notifications/progress",
}
