//! What the era makes of a handler's outcome: what it adds, and what it takes away.
//!
//! A modern result carries `resultType` and, in `_meta`, the server's name; a legacy one carries
//! neither. A handler's result goes out as it is, with the stamp in front, unless it brings a
//! `_meta` or `resultType` of its own.

use alloc::vec::Vec;

use bytes::Bytes;

use super::Outcome;
use super::declaration::{Declaration, SERVER_INFO};
use crate::error::ErrorCode;
use crate::json::write::List;
use crate::json::{Json, Raw};
use crate::message::{ErrorData, Outgoing, RequestId};
use crate::version::Era;

/// The response that carries an outcome.
pub(super) fn outgoing(
    era: Era,
    declaration: &Declaration,
    id: RequestId,
    outcome: Outcome,
) -> Outgoing {
    match outcome {
        Outcome::Complete(result) if result.raw().is_object() => {
            let (stamp, result) = complete(era, declaration, result);
            Outgoing::Result { id, stamp, result }
        }
        Outcome::Complete(_) => {
            let error = ErrorData::internal("the handler's result is no JSON object");
            Outgoing::Error { id: Some(id), error }
        }
        Outcome::Error(error) => Outgoing::Error { id: Some(id), error: permitted(era, error) },
    }
}

/// A handler's error with a code that may be sent in this era.
fn permitted(era: Era, mut error: ErrorData) -> ErrorData {
    const RESOURCE_NOT_FOUND: i64 = -32002;
    const URL_ELICITATION_REQUIRED: i64 = -32042;
    let defined = match era {
        Era::Legacy => [RESOURCE_NOT_FOUND, URL_ELICITATION_REQUIRED].contains(&error.code.0),
        Era::Modern => (-32022..=-32020).contains(&error.code.0),
    };
    if (-32099..=-32000).contains(&error.code.0) && !defined {
        error.code = match error.code.0 {
            // What the modern era calls it.
            RESOURCE_NOT_FOUND => ErrorCode::INVALID_PARAMS,
            _ => ErrorCode::INTERNAL_ERROR,
        };
    }
    error
}

/// The stamp and the object of a handler's result.
fn complete(era: Era, declaration: &Declaration, result: Json) -> (Bytes, Json) {
    let meta = mentions(result.as_bytes(), b"\"", b'_', b"meta\"");
    let result_type = mentions(result.as_bytes(), b"\"result", b'T', b"ype\"");
    match era {
        Era::Legacy if result_type => (Bytes::new(), without_result_type(&result)),
        Era::Legacy => (Bytes::new(), result),
        Era::Modern if meta || result_type => merge(declaration, &result),
        Era::Modern => (declaration.stamp.clone(), result),
    }
}

/// Whether `before`, `rare` and `after` stand together anywhere in `text`; fast where `rare` is.
fn mentions(text: &[u8], before: &[u8], rare: u8, after: &[u8]) -> bool {
    memchr::memchr_iter(rare, text).any(|at| {
        let (head, tail) = text.split_at(at);
        head.ends_with(before) && tail.get(1..).is_some_and(|tail| tail.starts_with(after))
    })
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
