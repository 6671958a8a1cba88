use core::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::json::Json;

/// The clients that may use a cached result.
///
/// Any value other than `public` is read as private. A result with an invalid scope can still be
/// used, and is cached for fewer clients.
///
/// [Specification: Caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// Anyone.
    Public,
    /// Only clients with the same authorization as the original request.
    Private,
}

impl CacheScope {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

impl fmt::Display for CacheScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Time for which clients may keep a result, and the clients that may use it.
///
/// [Specification: Caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct CacheHint {
    /// The milliseconds for which the result is fresh; 0 means never. A server sends at most
    /// 2<sup>53</sup>−1, since many clients cannot read a larger number.
    pub ttl_ms: u64,
    /// The scope of the caches that may store the result.
    pub scope: CacheScope,
}

impl CacheHint {
    /// Fresh for `ttl_ms` milliseconds, for requests with the same authorization.
    pub fn private(ttl_ms: u64) -> Self {
        Self { ttl_ms, scope: CacheScope::Private }
    }

    /// Fresh for `ttl_ms` milliseconds, for anyone.
    pub fn public(ttl_ms: u64) -> Self {
        Self { ttl_ms, scope: CacheScope::Public }
    }
}

impl Default for CacheHint {
    /// Not fresh, and private.
    fn default() -> Self {
        Self::private(0)
    }
}

impl<'de> Deserialize<'de> for CacheScope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let scope = Json::deserialize(deserializer)?;
        let public = scope.raw().string().as_deref() == Some("public");
        Ok(if public { Self::Public } else { Self::Private })
    }
}

/// Reads `ttlMs`. Like [`CacheScope`] it accepts any value; a value that is not a number is 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and a fraction of a millisecond does not matter"
)]
pub(crate) fn ttl_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let ttl = Json::deserialize(deserializer)?;
    Ok(Some(ttl.decode::<f64>().map_or(0, |ttl| ttl as u64)))
}
