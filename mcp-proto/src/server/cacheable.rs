//! Results of a server that clients may cache.

/// Results that clients may keep for a time.
///
/// [Specification: Caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Cacheable {
    /// Those of `server/discover`.
    Discover,
    /// Those of `tools/list`.
    Tools,
    /// Those of `prompts/list`.
    Prompts,
    /// Those of `resources/list`.
    Resources,
    /// Those of `resources/templates/list`.
    ResourceTemplates,
    /// Those of `resources/read`, unless a handler's result says otherwise.
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
