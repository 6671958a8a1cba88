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

/// Returns whether the resource `uri` is `whole` or a part of it. What is updated "might be a
/// sub-resource of the one that the client actually subscribed to"; which those are, only the URIs
/// tell.
pub(crate) fn is_part(uri: &str, whole: &str) -> bool {
    uri.strip_prefix(whole).is_some_and(|rest| {
        rest.is_empty() || whole.ends_with('/') || rest.starts_with(['/', '?', '#'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_begins_where_a_name_ends() {
        for part in
            ["file:///dir", "file:///dir/", "file:///dir/a", "file:///dir?a", "file:///dir#a"]
        {
            assert!(is_part(part, "file:///dir"), "{part}");
        }
        assert!(is_part("file:///dir/a", "file:///dir/"));
        assert!(!is_part("file:///directory", "file:///dir"));
        assert!(!is_part("file:///dir", "file:///dir/"));
        assert!(!is_part("file:///other", "file:///dir"));
    }
}
