//! Results of a server that clients may cache.

/// Kinds of results that clients may cache.
///
/// [Specification: Caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Cacheable {
    /// Results of `server/discover`.
    Discover,
    /// Results of `tools/list`.
    Tools,
    /// Results of `prompts/list`.
    Prompts,
    /// Results of `resources/list`.
    Resources,
    /// Results of `resources/templates/list`.
    ResourceTemplates,
    /// Results of `resources/read`, unless a handler's result has hints of its own.
    Contents,
}

impl Cacheable {
    pub(super) const ALL: [Self; 6] = [
        Self::Discover,
        Self::Tools,
        Self::Prompts,
        Self::Resources,
        Self::ResourceTemplates,
        Self::Contents,
    ];
}
