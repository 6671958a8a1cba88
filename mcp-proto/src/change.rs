//! What of a server may change while it runs: servers tell it, clients hear of it.

use alloc::string::String;

/// A list that a server offers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum List {
    /// The tools.
    Tools,
    /// The prompts.
    Prompts,
    /// The resources and the resource templates.
    Resources,
}

impl List {
    pub(crate) const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Resources];

    /// The notification that it has changed.
    pub(crate) fn notification(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
        }
    }

    /// The setting that declares it.
    pub(crate) fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools.listChanged",
            Self::Prompts => "prompts.listChanged",
            Self::Resources => "resources.listChanged",
        }
    }
}

/// Something that clients may want to be told of.
///
/// [Specification: Subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Change {
    /// A list is not what it was; a client asks for it again.
    ListChanged(List),
    /// The resource with this URI is not what it was; a client reads it again. Those are told who
    /// subscribed to this very URI.
    ResourceUpdated(String),
}
