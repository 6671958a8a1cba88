//! Adaptation of a handler's outcome to the era: adds and removes members.
//!
//! A modern result has `resultType` and, in `_meta`, the server's name; the result of
//! `resources/read` also has caching hints. A legacy result has neither, and its structured content
//! is an object; content of newer types is replaced. The handler's result is sent unchanged, with
//! these members, its *stamp*, in front, unless it already contains some of them.

use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::cacheable::Cacheable;
use super::call::{Call, CallKind};
use super::declaration::Declaration;
use super::forward;
use super::legacy::{older_content, wrapped_content};
use super::result_prefix::{COMPLETE, result_prefix};
use crate::error::{ErrorCode, ProtocolError};
use crate::json::integer::read_integer;
use crate::json::write::List;
use crate::json::{Json, Raw};
use crate::message::{ErrorData, Outgoing, ResultValue};
use crate::types::{CacheHint, CacheScope, CompleteResult, CreateTaskResult, Task};
use crate::version::{Era, ProtocolVersion};

/// The response with the outcome of a handler. `session` returns the revision of the session, if
/// there is one. `session` is not called for the text of a tool.
pub(super) fn outgoing(
    call: Call,
    declaration: &Declaration,
    made: Result<ResultValue, ErrorData>,
    session: impl FnOnce() -> Option<ProtocolVersion>,
) -> Outgoing {
    let Call { id, era, kind, .. } = call;
    let made = match made {
        Ok(text @ ResultValue::Text(_)) if kind.is_tool() => {
            let stamp = if era == Era::Modern { declaration.stamp.clone() } else { Bytes::new() };
            return Outgoing::Result { id, stamp, result: text };
        }
        made => made.map(ResultValue::into_json),
    };
    if let CallKind::Forwarded(forward) = kind {
        return forward::outgoing(id, forward, made, session());
    }
    let result = match made {
        Ok(result) if result.raw().is_object() => result,
        Ok(_) => {
            let error = ErrorData::internal("the handler's result is no JSON object");
            return Outgoing::Error { id: Some(id), error };
        }
        Err(error) => {
            let error = with_allowed_code(era, in_session(error, session()));
            return Outgoing::Error { id: Some(id), error };
        }
    };
    let has_result_type = contains_key(result.as_bytes(), b"\"result", b'T', b"ype\"");
    if has_result_type && let Some(error) = result_type_error(kind, &result) {
        return Outgoing::Error { id: Some(id), error: ErrorData::internal(error) };
    }
    let result = if kind == CallKind::Completion { shortened(result) } else { result };
    match era {
        Era::Legacy => {
            let result = legacy_result(kind, has_result_type, result);
            let result = match session() {
                Some(version) => older_content(kind, result, version),
                None => result,
            };
            Outgoing::Result { id, stamp: Bytes::new(), result: result.into() }
        }
        Era::Modern => {
            let (stamp, result) = modern_result(kind, has_result_type, declaration, result);
            Outgoing::Result { id, stamp, result: result.into() }
        }
    }
}

/// The error of a handler in this session. [`ErrorData::resource_not_found`] links to the
/// specification page of the session's revision; any other error is unchanged.
fn in_session(error: ErrorData, session: Option<ProtocolVersion>) -> ErrorData {
    #[derive(serde::Deserialize)]
    struct Data {
        uri: String,
    }
    let Some(version) = session.filter(|_| error.code == ErrorCode::RESOURCE_NOT_FOUND) else {
        return error;
    };
    match error.data.as_ref().and_then(|data| data.decode().ok()) {
        Some(Data { uri }) if error == ErrorData::resource_not_found(&uri) => {
            ErrorData::in_revision(&ProtocolError::ResourceNotFound { uri }, version)
        }
        Some(_) | None => error,
    }
}

/// A handler's error with a code that may be sent in this era.
pub(crate) fn with_allowed_code(era: Era, mut error: ErrorData) -> ErrorData {
    let code = error.code;
    let defined = match era {
        Era::Legacy => {
            [ErrorCode::RESOURCE_NOT_FOUND, ErrorCode::URL_ELICITATION_REQUIRED].contains(&code)
        }
        Era::Modern => (-32022..=-32020).contains(&code.0),
    };
    if (-32099..=-32000).contains(&code.0) && !defined {
        // The modern era reports "not found" as invalid parameters.
        let is_not_found = code == ErrorCode::RESOURCE_NOT_FOUND;
        error.code =
            if is_not_found { ErrorCode::INVALID_PARAMS } else { ErrorCode::INTERNAL_ERROR };
    }
    error
}

/// Error text for a result with a forbidden `resultType`: `input_required`, which would bypass
/// [`Outcome::InputRequired`](super::Outcome) and its checks, or `task` where tasks are not
/// allowed.
fn result_type_error(kind: CallKind, result: &Json) -> Option<&'static str> {
    let mut error = None;
    result.raw().members(|key, value| match (key.0, value.0) {
        (b"\"resultType\"", b"\"input_required\"") => {
            error = Some("the handler's result is no answer, but `input_required`");
        }
        // Methods of extensions define result types of their own.
        (b"\"resultType\"", b"\"task\"")
            if !matches!(kind, CallKind::Tool { task: true, .. } | CallKind::Other) =>
        {
            error = Some("the handler's result is a task, which this request cannot become");
        }
        _ => {}
    });
    error
}

/// The result that announces a task.
pub(super) fn created(task: Task) -> Result<Json, ErrorData> {
    let result = Json::encode(&CreateTaskResult::new(task));
    result.map_err(|_| ErrorData::internal("the task cannot be written as JSON"))
}

/// The completions, cut to the maximum number.
fn shortened(result: Json) -> Json {
    let Ok(mut complete) = result.decode::<CompleteResult>() else { return result };
    let completion = &mut complete.completion;
    if completion.values.len() <= CompleteResult::MAX_VALUES {
        return result;
    }
    completion.values.truncate(CompleteResult::MAX_VALUES);
    completion.has_more = true;
    Json::encode(&complete).unwrap_or(result)
}

/// The members that the machine writes itself.
fn is_stamp(kind: CallKind, key: Raw<'_>) -> bool {
    match key.0 {
        b"\"resultType\"" => true,
        b"\"ttlMs\"" | b"\"cacheScope\"" => matches!(kind, CallKind::Resource { .. }),
        _ => false,
    }
}

/// Returns whether the text may contain members that the machine writes itself. `has_result_type`
/// is true if the text mentions `resultType`.
fn mentions_stamp(kind: CallKind, has_result_type: bool, text: &[u8]) -> bool {
    let hints = matches!(kind, CallKind::Resource { .. });
    has_result_type
        || hints && contains_key(text, b"\"ttl", b'M', b"s\"")
        || hints && contains_key(text, b"\"cache", b'S', b"cope\"")
}

fn legacy_result(kind: CallKind, has_result_type: bool, result: Json) -> Json {
    let stamped = mentions_stamp(kind, has_result_type, result.as_bytes());
    let result = if stamped { without_stamp(kind, &result) } else { result };
    let CallKind::Tool { wraps, .. } = kind else { return result };
    if contains_key(result.as_bytes(), b"\"structured", b'C', b"ontent\"") {
        return wrapped_content(result, wraps);
    }
    result
}

fn without_stamp(kind: CallKind, result: &Json) -> Json {
    let mut out = Vec::new();
    let mut object = List::object(&mut out);
    result.raw().members(|key, value| {
        if !is_stamp(kind, key) {
            object.copy(key, value);
        }
    });
    object.end();
    Json::trusted(out)
}

/// Returns the added members and the object of a modern result.
fn modern_result(
    kind: CallKind,
    has_result_type: bool,
    declaration: &Declaration,
    result: Json,
) -> (Bytes, Json) {
    let text = result.as_bytes();
    let own =
        mentions_stamp(kind, has_result_type, text) || contains_key(text, b"\"", b'_', b"meta\"");
    // A cache key does not include the input, so a result that depends on input must not be cached.
    let cache = match kind {
        CallKind::Resource { retried: true } => Some(CacheHint::default()),
        CallKind::Resource { retried: false } => Some(declaration.contents_hint),
        CallKind::Tool { .. }
        | CallKind::Prompt
        | CallKind::Completion
        | CallKind::Subscription
        | CallKind::Other
        | CallKind::Forwarded(_) => None,
    };
    match kind {
        _ if own => merge(kind, declaration, cache, &result),
        CallKind::Resource { retried: true } => {
            (result_prefix(COMPLETE, declaration.server_info(), None, cache), result)
        }
        CallKind::Resource { retried: false } => {
            (declaration.cache_stamp(Cacheable::Contents).clone(), result)
        }
        CallKind::Tool { .. }
        | CallKind::Prompt
        | CallKind::Completion
        | CallKind::Subscription
        | CallKind::Other
        | CallKind::Forwarded(_) => (declaration.stamp.clone(), result),
    }
}

/// Merges the added members into a result that already contains some of them.
fn merge(
    kind: CallKind,
    declaration: &Declaration,
    mut cache: Option<CacheHint>,
    result: &Json,
) -> (Bytes, Json) {
    let mut meta = None;
    let mut result_type = COMPLETE;
    let keeps = kind == CallKind::Resource { retried: false };
    let mut rest = Vec::new();
    let mut object = List::object(&mut rest);
    result.raw().members(|key, value| match key.0 {
        b"\"_meta\"" => meta = Some(value),
        b"\"resultType\"" => result_type = value.0,
        b"\"ttlMs\"" if keeps => {
            // An invalid number of milliseconds, like an invalid scope, means that the result must
            // not be cached.
            if let Some(cache) = &mut cache {
                cache.ttl_ms = read_integer(value.0).unwrap_or_default();
            }
        }
        b"\"cacheScope\"" if keeps => {
            let public = value.0 == b"\"public\"";
            if let Some(cache) = &mut cache {
                cache.scope = if public { CacheScope::Public } else { CacheScope::Private };
            }
        }
        _ if is_stamp(kind, key) => {}
        _ => object.copy(key, value),
    });
    object.end();
    (result_prefix(result_type, declaration.server_info(), meta, cache), Json::trusted(rest))
}

/// Returns whether `text` contains `before`, `rare` and `after` in sequence; fast if the byte
/// `rare` is rare.
fn contains_key(text: &[u8], before: &[u8], rare: u8, after: &[u8]) -> bool {
    memchr::memchr_iter(rare, text).any(|at| {
        let (head, tail) = text.split_at(at);
        head.ends_with(before) && tail.get(1..).is_some_and(|tail| tail.starts_with(after))
    })
}
