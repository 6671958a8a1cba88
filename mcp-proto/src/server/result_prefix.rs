//! Members that a modern result begins with.

use bytes::Bytes;

use crate::json::write::List;
use crate::json::{Json, Raw};
use crate::meta::SERVER_INFO;
use crate::time::MAX_MILLIS;
use crate::types::{CacheHint, CacheScope};

/// The `resultType` of a complete result, as JSON.
pub(super) const COMPLETE: &[u8] = b"\"complete\"";

/// The members that a modern result begins with.
pub(super) fn result_prefix(
    result_type: &[u8],
    server_info: &Json,
    meta: Option<Raw<'_>>,
    cache: Option<CacheHint>,
) -> Bytes {
    let mut out = [b"\"resultType\":", result_type, b",\"_meta\":"].concat();
    let mut object = List::object(&mut out);
    let mut named = false;
    if let Some(meta) = meta {
        meta.members(|key, value| {
            named |= key.string().as_deref() == Some(SERVER_INFO);
            object.copy(key, value);
        });
    }
    if !named {
        object.member(SERVER_INFO, server_info.as_bytes());
    }
    object.end();
    if let Some(CacheHint { ttl_ms, scope }) = cache {
        let scope = match scope {
            CacheScope::Public => "public",
            CacheScope::Private => "private",
        };
        let ttl_ms = ttl_ms.min(MAX_MILLIS);
        let hints = alloc::format!(",\"ttlMs\":{ttl_ms},\"cacheScope\":\"{scope}\"");
        out.extend_from_slice(hints.as_bytes());
    }
    out.into()
}
