//! What the era adds to a handler's result, and what it takes away.
//!
//! A modern result carries `resultType` and, in `_meta`, the server's name; a legacy one carries
//! neither. A handler's result goes out as it is, with the stamp in front, unless it brings a
//! `_meta` or `resultType` of its own.

use alloc::vec::Vec;

use bytes::Bytes;

use super::declaration::{Declaration, SERVER_INFO};
use crate::json::write::List;
use crate::json::{Json, Raw};
use crate::version::Era;

/// The stamp and the object of a handler's result.
pub(super) fn complete(era: Era, declaration: &Declaration, result: Json) -> (Bytes, Json) {
    let mentions = |key: &[u8]| memchr::memmem::find(result.as_bytes(), key).is_some();
    match era {
        Era::Legacy if mentions(b"\"resultType\"") => (Bytes::new(), without_result_type(&result)),
        Era::Legacy => (Bytes::new(), result),
        Era::Modern if mentions(b"\"_meta\"") || mentions(b"\"resultType\"") => {
            merge(declaration, &result)
        }
        Era::Modern => (declaration.stamp.clone(), result),
    }
}

fn without_result_type(result: &Json) -> Json {
    let mut out = Vec::new();
    let mut object = List::object(&mut out);
    result.raw().members(|key, value| {
        if key.0 != b"\"resultType\"" {
            copy(&mut object, key, value);
        }
    });
    object.end();
    Json::trusted(out)
}

fn merge(declaration: &Declaration, result: &Json) -> (Bytes, Json) {
    let (mut meta, mut result_type) = (None, None);
    let mut rest = Vec::new();
    let mut object = List::object(&mut rest);
    result.raw().members(|key, value| match key.0 {
        b"\"_meta\"" => meta = Some(value),
        b"\"resultType\"" => result_type = Some(value),
        _ => copy(&mut object, key, value),
    });
    object.end();
    if meta.is_none() && result_type.is_none() {
        return (declaration.stamp.clone(), result.clone());
    }
    let mut stamp = Vec::new();
    if let Some(value) = result_type {
        stamp.extend_from_slice(b"\"resultType\":");
        stamp.extend_from_slice(value.0);
    } else {
        stamp.extend_from_slice(b"\"resultType\":\"complete\"");
    }
    stamp.extend_from_slice(b",\"_meta\":");
    let mut object = List::object(&mut stamp);
    let mut named = false;
    if let Some(meta) = meta {
        meta.members(|key, value| {
            named |= key.string().as_deref() == Some(SERVER_INFO);
            copy(&mut object, key, value);
        });
    }
    if !named {
        object.member(SERVER_INFO, declaration.server_info().as_bytes());
    }
    object.end();
    (stamp.into(), Json::trusted(rest))
}

fn copy(object: &mut List<'_, Vec<u8>>, key: Raw<'_>, value: Raw<'_>) {
    let out = object.item();
    out.extend_from_slice(key.0);
    out.push(b':');
    out.extend_from_slice(value.0);
}
