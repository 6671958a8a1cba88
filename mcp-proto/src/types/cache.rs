use serde::{Deserialize, Deserializer, Serialize};

use crate::json::Json;

/// Who may be given a cached result.
///
/// Whatever is not `public` reads as private, so that a server's mistake costs a request and not
/// the result.
///
/// [Specification: Caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// Anyone.
    Public,
    /// Whoever has the same authorization as the one that asked.
    Private,
}

impl<'de> Deserialize<'de> for CacheScope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let scope = Json::deserialize(deserializer)?;
        let public = scope.raw().string().as_deref() == Some("public");
        Ok(if public { Self::Public } else { Self::Private })
    }
}

/// Reads `ttlMs`; whatever is no number of milliseconds reads as 0, for the same reason.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and a fraction of a millisecond does not matter"
)]
pub(super) fn ttl_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let ttl = Json::deserialize(deserializer)?;
    Ok(Some(ttl.decode::<f64>().map_or(0, |ttl| ttl as u64)))
}
