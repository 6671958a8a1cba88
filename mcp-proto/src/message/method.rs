//! The methods of the specification, one row each.
//!
//! In: the name of a method, or a [`Method`]. Out: its [`MethodRow`], which has all properties that
//! do not depend on parameters. The headers, the cache, sealed states, retries and reserved names
//! use the row. A new method needs a row here, a type, and a handler. The handler is registered
//! under the method's name, unless the machine answers the method itself.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::decision_table;
use crate::json::Raw;
use crate::version::Era;

/// The properties of a method.
#[derive(Debug)]
pub(crate) struct MethodRow {
    /// The name in messages.
    pub(crate) name: &'static str,
    /// The side that sends the method.
    pub(crate) sender: Sender,
    /// The eras that define the method.
    pub(crate) eras: Eras,
    /// The member of `params` with the subject of the message.
    pub(crate) subject: Option<Subject>,
    /// The capability of a server that a request needs.
    pub(crate) capability: Option<Capability>,
    /// The effect of a repeated message.
    pub(crate) repetition: Repetition,
    /// The further properties.
    traits: &'static [Trait],
}

/// The side that sends a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sender {
    Client,
    Server,
    Either,
}

/// The eras that define a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Eras {
    Legacy,
    Modern,
    Both,
}

/// The member of `params` with the subject of a message, which `Mcp-Name` mirrors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    /// `name`; the effect depends on `arguments` too.
    Name,
    /// `uri`.
    Uri,
    /// `taskId`.
    TaskId,
}

/// A capability that a server declares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Capability {
    Completions,
    Logging,
    Prompts,
    Resources,
    ResourceSubscriptions,
    /// The extension [`ext::TASKS`](crate::ext::TASKS).
    Tasks,
    Tools,
}

/// The effect of a repeated message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Repetition {
    /// The repetition has no further effect.
    Idempotent,
    /// The effect is doubled or unknown.
    Unsafe,
}

/// A property that few methods have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trait {
    /// The result has caching hints.
    Cacheable,
    /// The result may be `input_required`.
    MayRequireInput,
    /// The server's machine answers the method, from the registrations.
    Builtin,
    /// The client's machine sends the method; applications do not.
    ClientMachine,
    /// The server's machine sends the method; applications do not.
    ServerMachine,
}

impl Subject {
    /// The name of the member.
    pub(crate) fn member(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Uri => "uri",
            Self::TaskId => "taskId",
        }
    }
}

impl MethodRow {
    /// The row of the method with this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        Method::known(name).and_then(|method| method.row())
    }

    /// Returns whether results have caching hints
    /// ([Specification: Caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)).
    pub(crate) fn is_cacheable(&self) -> bool {
        self.traits.contains(&Trait::Cacheable)
    }

    /// Returns whether a result may be `input_required`
    /// ([Specification: Supported Requests](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#supported-requests)).
    pub(crate) fn may_require_input(&self) -> bool {
        self.traits.contains(&Trait::MayRequireInput)
    }

    /// Returns whether a handler, registered under the method's name, answers the method. This is
    /// so for requests of clients that the machine does not answer.
    pub(crate) fn has_handler(&self) -> bool {
        self.is_request() && self.sender != Sender::Server && !self.traits.contains(&Trait::Builtin)
    }

    /// Returns whether the method is one of requests.
    pub(crate) fn is_request(&self) -> bool {
        !self.name.starts_with("notifications/")
    }

    /// Returns whether this era defines the method.
    pub(crate) fn is_in(&self, era: Era) -> bool {
        match self.eras {
            Eras::Both => true,
            Eras::Legacy => era == Era::Legacy,
            Eras::Modern => era == Era::Modern,
        }
    }

    /// Returns whether only the machine of a client sends the method, and never an application.
    pub(crate) fn is_reserved_to_clients(&self) -> bool {
        self.traits.contains(&Trait::ClientMachine)
    }

    /// Returns whether an application of a server never sends the method: the server's machine
    /// sends it, or clients do.
    pub(crate) fn is_reserved_to_servers(&self) -> bool {
        self.sender == Sender::Client || self.traits.contains(&Trait::ServerMachine)
    }
}

macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $sender:ident, $eras:ident, $subject:expr,
        $capability:expr, $repetition:ident, $traits:expr;)*) => {
        /// The method of a request or notification.
        #[derive(Clone, PartialEq, Eq, Debug)]
        #[non_exhaustive]
        pub enum Method {
            $($(#[$doc])* $variant,)*
            /// A method that the specification does not define.
            Other(Box<str>),
        }

        /// All methods of the specification, in the order of [`Method`].
        static TABLE: &[MethodRow] = {
            use {Capability::*, Subject::*, Trait::*};
            &[$(MethodRow {
                name: $name,
                sender: Sender::$sender,
                eras: Eras::$eras,
                subject: $subject,
                capability: $capability,
                repetition: Repetition::$repetition,
                traits: &$traits,
            },)*]
        };

        impl Method {
            /// The name in messages.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Other(name) => name,
                }
            }

            /// The name, without a borrow of `self`.
            pub(crate) fn to_name(&self) -> Cow<'static, str> {
                match self {
                    $(Self::$variant => Cow::Borrowed($name),)*
                    Self::Other(name) => Cow::Owned(name.as_ref().into()),
                }
            }

            /// The method with this name.
            pub fn from_name(name: Cow<'_, str>) -> Self {
                Self::known(&name).unwrap_or_else(|| Self::Other(name.into()))
            }

            fn known(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// The method in a JSON value, if the value is a name. Known names are found without
            /// decoding.
            pub(crate) fn from_raw(raw: Raw<'_>) -> Option<Self> {
                match raw.0.strip_prefix(b"\"")?.strip_suffix(b"\"")? {
                    b"" => None,
                    $(name if name == $name.as_bytes() => Some(Self::$variant),)*
                    _ => raw.string().map(Self::from_name),
                }
            }

            /// The row of the method, if the specification has it.
            pub(crate) fn row(&self) -> Option<&'static MethodRow> {
                #[derive(Clone, Copy)]
                enum Index { $($variant,)* }
                let index = match self {
                    $(Self::$variant => Index::$variant,)*
                    Self::Other(_) => return None,
                };
                TABLE.get(index as usize)
            }
        }
    };
}

// Name, sender, eras, subject, capability, effect of a repetition, traits.
methods! {
    /// Opens a legacy session.
    Initialize = "initialize", Client, Legacy, None, None, Idempotent, [Builtin, ClientMachine];
    /// Requests the versions and capabilities of a modern server.
    Discover = "server/discover", Client, Modern, None, None, Idempotent, [Builtin, Cacheable, ClientMachine];
    /// Checks whether a legacy peer still answers.
    Ping = "ping", Either, Legacy, None, None, Idempotent, [Builtin];
    /// Requests a page of the tools.
    ListTools = "tools/list", Client, Both, None, Some(Tools), Idempotent, [Builtin, Cacheable];
    /// Calls a tool.
    CallTool = "tools/call", Client, Both, Some(Name), Some(Tools), Unsafe, [Builtin, MayRequireInput];
    /// Requests a page of the resources.
    ListResources = "resources/list", Client, Both, None, Some(Resources), Idempotent, [Builtin, Cacheable];
    /// Requests a page of the resource templates.
    ListResourceTemplates = "resources/templates/list", Client, Both, None, Some(Resources), Idempotent, [Builtin, Cacheable];
    /// Reads a resource.
    ReadResource = "resources/read", Client, Both, Some(Uri), Some(Resources), Idempotent, [Builtin, Cacheable, MayRequireInput];
    /// Requests notifications about updates of a resource from a legacy server.
    Subscribe = "resources/subscribe", Client, Legacy, None, Some(ResourceSubscriptions), Idempotent, [Builtin];
    /// Ends the notifications about updates of a resource.
    Unsubscribe = "resources/unsubscribe", Client, Legacy, None, Some(ResourceSubscriptions), Idempotent, [Builtin];
    /// Requests a page of the prompts.
    ListPrompts = "prompts/list", Client, Both, None, Some(Prompts), Idempotent, [Builtin, Cacheable];
    /// Gets a prompt.
    GetPrompt = "prompts/get", Client, Both, Some(Name), Some(Prompts), Idempotent, [Builtin, MayRequireInput];
    /// Requests completions of an argument.
    Complete = "completion/complete", Client, Both, None, Some(Completions), Idempotent, [Builtin];
    /// Sets the least severe log messages that a legacy server sends.
    SetLevel = "logging/setLevel", Client, Legacy, None, Some(Logging), Idempotent, [Builtin];
    /// Requests notifications about changes from a modern server.
    Listen = "subscriptions/listen", Client, Modern, None, None, Idempotent, [Builtin, ClientMachine];
    /// Requests a task, of the extension [`ext::TASKS`](crate::ext::TASKS).
    GetTask = "tasks/get", Client, Modern, Some(TaskId), Some(Tasks), Idempotent, [];
    /// Sends input to a task.
    UpdateTask = "tasks/update", Client, Modern, Some(TaskId), Some(Tasks), Idempotent, [];
    /// Cancels a task.
    CancelTask = "tasks/cancel", Client, Modern, Some(TaskId), Some(Tasks), Idempotent, [];
    /// Requests a message from the model of a client.
    CreateMessage = "sampling/createMessage", Server, Both, None, None, Unsafe, [];
    /// Requests input from the user of a client.
    Elicit = "elicitation/create", Server, Both, None, None, Unsafe, [];
    /// Requests the roots of a client.
    ListRoots = "roots/list", Server, Both, None, None, Idempotent, [];
    /// Reports that a legacy client has read the result of `initialize`.
    Initialized = "notifications/initialized", Client, Legacy, None, None, Idempotent, [ClientMachine];
    /// Cancels a request.
    Cancelled = "notifications/cancelled", Either, Both, None, None, Idempotent, [ClientMachine, ServerMachine];
    /// Reports progress of a request.
    Progress = "notifications/progress", Either, Both, None, None, Idempotent, [ServerMachine];
    /// Carries a log message.
    LogMessage = "notifications/message", Server, Both, None, None, Idempotent, [ServerMachine];
    /// The tools have changed.
    ToolsListChanged = "notifications/tools/list_changed", Server, Both, None, None, Idempotent, [ServerMachine];
    /// The prompts have changed.
    PromptsListChanged = "notifications/prompts/list_changed", Server, Both, None, None, Idempotent, [ServerMachine];
    /// The resources or the resource templates have changed.
    ResourcesListChanged = "notifications/resources/list_changed", Server, Both, None, None, Idempotent, [ServerMachine];
    /// A resource has changed.
    ResourceUpdated = "notifications/resources/updated", Server, Both, None, None, Idempotent, [ServerMachine];
    /// Reports which part of a subscription a modern server accepts.
    SubscriptionsAcknowledged = "notifications/subscriptions/acknowledged", Server, Modern, None, None, Idempotent, [ServerMachine];
    /// A task has changed.
    TaskUpdated = "notifications/tasks", Server, Modern, None, None, Idempotent, [ServerMachine];
    /// Reports that the user has finished at a URL; 2025-11-25 only.
    ElicitationComplete = "notifications/elicitation/complete", Server, Legacy, None, None, Idempotent, [];
    /// The roots of a legacy client have changed.
    RootsListChanged = "notifications/roots/list_changed", Client, Legacy, None, None, Idempotent, [];
}

/// Returns whether a repeated request or notification with this method has no further effect ([RFC
/// 9110, section 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)).
///
/// The effect of a tool, and of a request of an extension, is unknown. A second `initialize` or
/// `subscriptions/listen` opens another session or subscription, which ends by itself.
pub(crate) fn is_idempotent(method: &str) -> bool {
    match MethodRow::named(method) {
        Some(row) => row.repetition == Repetition::Idempotent,
        None => method.starts_with("notifications/"),
    }
}

/// The table as Markdown, as in `docs/tables.md`.
pub fn draw() -> String {
    let heads = ["method", "sent by", "eras", "about", "capability", "twice", "traits"];
    decision_table::draw(heads.into_iter(), TABLE, |row| {
        Vec::from([
            alloc::format!("`{}`", row.name),
            alloc::format!("{:?}", row.sender),
            alloc::format!("{:?}", row.eras),
            row.subject.map_or_else(String::new, |subject| subject.member().into()),
            row.capability.map_or_else(String::new, |capability| alloc::format!("{capability:?}")),
            alloc::format!("{:?}", row.repetition),
            decision_table::names(row.traits),
        ])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_the_name_of_its_method() {
        for row in TABLE {
            let method = Method::from_name(row.name.into());
            assert_eq!(method.name(), row.name);
            assert!(core::ptr::eq(method.row().unwrap(), row), "{}", row.name);
        }
        assert!(Method::from_name("x".into()).row().is_none());
    }

    #[test]
    fn method_without_a_trait_has_a_handler() {
        let row = |name, sender, traits| MethodRow {
            name,
            sender,
            eras: Eras::Modern,
            subject: None,
            capability: None,
            repetition: Repetition::Idempotent,
            traits,
        };
        assert!(row("new/method", Sender::Client, &[]).has_handler());
        assert!(row("new/method", Sender::Client, &[]).is_in(Era::Modern));
        assert!(!row("new/method", Sender::Client, &[]).is_in(Era::Legacy));
        assert!(!row("new/method", Sender::Server, &[]).has_handler());
        assert!(!row("new/method", Sender::Client, &[Trait::Builtin]).has_handler());
        assert!(!row("notifications/new", Sender::Client, &[]).has_handler());
    }
}
