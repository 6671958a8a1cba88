//! The revisions of the protocol, and the eras that they belong to.
//!
//! Versions are compared by this table, never as strings: every other version is unknown.
//!
//! [Specification: Versioning](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning)

use alloc::borrow::Cow;
use core::fmt;
use core::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A revision of the protocol.
///
/// Versions are deliberately not ordered: code calls a predicate for each feature.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ProtocolVersion {
    /// 2024-11-05, legacy.
    V2024_11_05,
    /// 2025-03-26, legacy; the only revision with batches.
    V2025_03_26,
    /// 2025-06-18, legacy.
    V2025_06_18,
    /// 2025-11-25, the newest legacy revision.
    V2025_11_25,
    /// 2026-07-28, modern.
    V2026_07_28,
}

/// Era of a revision, which defines how a conversation is opened.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Era {
    /// With an `initialize` handshake; up to 2025-11-25.
    Legacy,
    /// Without a handshake: every request has its version in `_meta`; from 2026-07-28 on.
    Modern,
}

/// Eras that a server supports.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum EraPolicy {
    /// Both eras; the client's first message decides.
    #[default]
    Auto,
    /// Only legacy revisions.
    LegacyOnly,
    /// Only modern revisions.
    ModernOnly,
}

/// The modern revisions, newest first.
pub(crate) const MODERN: &[&str] = &["2026-07-28"];

/// The revisions of both eras, newest first.
pub(crate) const BOTH_ERAS: &[&str] =
    &["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

impl ProtocolVersion {
    /// All revisions, oldest first.
    pub const ALL: &'static [Self] = &[
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];
    /// The newest revision that opens with `initialize`.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;
    /// The newest modern revision.
    pub const LATEST_MODERN: Self = Self::V2026_07_28;

    /// The name in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|version| version.as_str() == name)
    }

    /// The era that the revision belongs to.
    pub const fn era(self) -> Era {
        match self {
            Self::V2024_11_05 | Self::V2025_03_26 | Self::V2025_06_18 | Self::V2025_11_25 => {
                Era::Legacy
            }
            Self::V2026_07_28 => Era::Modern,
        }
    }

    /// Returns whether the revision has JSON-RPC batches.
    pub(crate) const fn has_batches(self) -> bool {
        matches!(self, Self::V2025_03_26)
    }

    /// Returns whether a server over HTTP may end a stream before its answer. A first event without
    /// data then gives the client an id from which to resume.
    pub(crate) const fn has_polling(self) -> bool {
        matches!(self, Self::V2025_11_25)
    }

    /// Returns whether a message for a model may have a list of content blocks.
    pub(crate) const fn has_block_lists(self) -> bool {
        matches!(self, Self::V2025_11_25 | Self::V2026_07_28)
    }

    /// Returns whether the revision has content blocks of the type `audio`.
    pub(crate) const fn has_audio(self) -> bool {
        !matches!(self, Self::V2024_11_05)
    }

    /// Returns whether the revision has content blocks of the type `resource_link`.
    pub(crate) const fn has_resource_links(self) -> bool {
        !matches!(self, Self::V2024_11_05 | Self::V2025_03_26)
    }

    /// Returns whether the revision has `notifications/elicitation/complete`.
    pub(crate) const fn has_elicitation_complete(self) -> bool {
        matches!(self, Self::V2025_11_25)
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ProtocolVersion {
    type Err = UnknownVersion;

    fn from_str(name: &str) -> Result<Self, UnknownVersion> {
        Self::from_name(name).ok_or(UnknownVersion)
    }
}

/// Error of a text that is not the name of a [`ProtocolVersion`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownVersion;

impl fmt::Display for UnknownVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the protocol version is unknown; use one of ")?;
        for (at, version) in ProtocolVersion::ALL.iter().enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            write!(f, "{separator}{version}")?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownVersion {}

impl Serialize for ProtocolVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Fails for an unknown version.
impl<'de> Deserialize<'de> for ProtocolVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(deserializer)?;
        Self::from_name(&name).ok_or_else(|| D::Error::custom("an unknown protocol version"))
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t015_an_unknown_version_is_no_version() {
        for name in ["2999-01-01", "2025-11-26", "DRAFT-2026-v1", "", "2026-07-28 "] {
            assert_eq!(ProtocolVersion::from_name(name), None);
            assert_eq!(name.parse::<ProtocolVersion>(), Err(UnknownVersion));
        }
        for version in ProtocolVersion::ALL.iter().copied() {
            assert_eq!(ProtocolVersion::from_name(version.as_str()), Some(version));
            assert_eq!(version.as_str().parse(), Ok(version));
            assert_eq!(MODERN.contains(&version.as_str()), version.era() == Era::Modern);
        }
        assert!(
            ProtocolVersion::ALL
                .iter()
                .rev()
                .map(|version| version.as_str())
                .eq(BOTH_ERAS.iter().copied())
        );
    }
}
