//! Text to message, in one pass.
//!
//! The kind of a message follows from the keys that are present; an explicit `null` is a value,
//! not an absence.
//!
//! | `method` | `id` | `result`, `error` | kind |
//! |---|---|---|---|
//! | yes | yes | none | request |
//! | yes | no | none | notification |
//! | no | yes | one of them | response |
//! | no | no or null | `error` | an error about a message whose id could not be read |
//! | | | all else | [`Malformed`] |

use alloc::string::String;

use bytes::Bytes;
use serde::Deserialize;

use super::params::Members;
use super::{
    Batch, ErrorData, Incoming, Malformed, Message, Method, Notification, Params, Request,
    RequestId, Response,
};
use crate::error::{ErrorCode, ProtocolError};
use crate::json::scan::{MAX_DEPTH, ScanError, Scanner, Span};
use crate::json::{Json, Raw};
use crate::limits::Limits;

/// Reads one JSON text.
pub fn parse(text: &Bytes, limits: &Limits) -> Result<Incoming, Malformed> {
    if core::str::from_utf8(text).is_err() {
        return Err(unreadable(text, limits, ProtocolError::InvalidUtf8));
    }
    let mut scanner = Scanner::new(text, limits.max_depth);
    let envelope = match scanner.peek() {
        Some(b'{') => Envelope::scan(&mut scanner, text).map(Some),
        _ => scanner.value().map(|_| None),
    };
    match envelope.and_then(|envelope| scanner.end().map(|()| envelope)) {
        Ok(Some(envelope)) => envelope.message(text, limits).map(Incoming::Message),
        Ok(None) if text.trim_ascii_start().first() == Some(&b'[') => {
            Ok(Incoming::Batch(Batch(text.clone())))
        }
        Ok(None) => Err(Malformed::answerable(ProtocolError::NotAMessage, None)),
        Err(error) => {
            let error = match error {
                ScanError::Syntax(at) => ProtocolError::Syntax { at },
                ScanError::Depth => {
                    ProtocolError::TooDeep { max_depth: limits.max_depth.min(MAX_DEPTH) }
                }
            };
            Err(unreadable(text, limits, error))
        }
    }
}

/// A text that is broken, too deep or cut off, as far as it can be read: it has an id if both `id`
/// and `method` are among its top-level keys, and it is a response, which nobody answers, if
/// `result` or `error` is and `method` is not.
pub(crate) fn unreadable(text: &[u8], limits: &Limits, error: ProtocolError) -> Malformed {
    let mut scanner = Scanner::new(text, 1);
    let (mut id, mut method, mut answers) = (None, false, false);
    let _ = scanner.members(|scanner, key| {
        let name = Raw(key.of(text)).lookup(Envelope::known);
        answers |= matches!(name, Some("result" | "error"));
        let value = scanner.skim()?;
        match name {
            Some("id") => id = Some(value),
            Some("method") => method = true,
            _ => {}
        }
        Ok(())
    });
    let token = id.filter(|_| method).map(|span| span.of(text));
    let readable = token.filter(|token| {
        // What was skimmed has not been checked, and it will be echoed.
        token.len() <= limits.max_token_bytes
            && core::str::from_utf8(token).is_ok()
            && Scanner::new(token, 0).value() == Ok(Span::whole(token))
    });
    let id = readable.and_then(|token| RequestId::from_raw(Raw(token)));
    Malformed { error, id, answerable: method || !answers }
}

impl Batch {
    /// The messages, one JSON text each; `None` if there are more than `max`.
    pub(crate) fn elements(&self, max: usize) -> Option<alloc::vec::Vec<Bytes>> {
        let mut texts = alloc::vec::Vec::new();
        let mut scanner = Scanner::new(&self.0, MAX_DEPTH);
        let _ = scanner.elements(|scanner| {
            let element = scanner.value()?;
            if texts.len() <= max {
                texts.push(element.slice(&self.0));
            }
            Ok(())
        });
        (texts.len() <= max).then_some(texts)
    }
}

impl Malformed {
    pub(crate) fn answerable(error: ProtocolError, id: Option<RequestId>) -> Self {
        Self { error, id, answerable: true }
    }
}

/// The top level of an object.
#[derive(Default)]
struct Envelope {
    jsonrpc: Option<Span>,
    id: Option<Span>,
    method: Option<Span>,
    params: Option<Span>,
    result: Option<Span>,
    error: Option<Span>,
    members: Members,
    duplicate: Option<&'static str>,
}

impl Envelope {
    fn scan(scanner: &mut Scanner<'_>, text: &[u8]) -> Result<Self, ScanError> {
        let mut envelope = Self::default();
        scanner.members(|scanner, key| {
            let name = Raw(key.of(text)).lookup(Self::known);
            if name == Some("params") && scanner.peek() == Some(b'{') {
                let mut members = Members::default();
                let span = members.scan(scanner, text)?;
                envelope.members = members;
                envelope.set("params", span);
                return Ok(());
            }
            let value = scanner.value()?;
            if let Some(name) = name {
                envelope.set(name, value);
            }
            Ok(())
        })?;
        Ok(envelope)
    }

    /// The member with this key, quotes included.
    fn known(key: &[u8]) -> Option<&'static str> {
        Some(match key {
            b"\"jsonrpc\"" => "jsonrpc",
            b"\"id\"" => "id",
            b"\"method\"" => "method",
            b"\"params\"" => "params",
            b"\"result\"" => "result",
            b"\"error\"" => "error",
            _ => return None,
        })
    }

    fn set(&mut self, key: &'static str, span: Span) {
        let place = match key {
            "jsonrpc" => &mut self.jsonrpc,
            "id" => &mut self.id,
            "method" => &mut self.method,
            "params" => &mut self.params,
            "result" => &mut self.result,
            _ => &mut self.error,
        };
        if place.replace(span).is_some() {
            self.duplicate = Some(key);
        }
    }

    fn message(self, text: &Bytes, limits: &Limits) -> Result<Message, Malformed> {
        let answers = self.result.is_some() || self.error.is_some();
        let kind = match (self.method, answers) {
            (Some(method), false) => self.call(method, text, limits),
            (None, true) => self.response(text, limits).map(Message::Response),
            _ => Err(ProtocolError::AmbiguousKind),
        };
        kind.map_err(|error| Malformed {
            error,
            id: self.request_id(text, limits).unwrap_or_default().filter(|_| !answers),
            answerable: self.method.is_some() && self.id.is_some() && !answers
                || self.method.is_none() && !answers,
        })
    }

    fn call(&self, method: Span, text: &Bytes, limits: &Limits) -> Result<Message, ProtocolError> {
        self.check(text)?;
        let id = self.request_id(text, limits)?;
        let method = Raw(method.of(text))
            .string()
            .filter(|name| !name.is_empty())
            .map(Method::from_name)
            .ok_or(ProtocolError::InvalidMethod)?;
        let params = match self.params.map(|span| Json::slice(text, span)) {
            None => Json::EMPTY_OBJECT,
            Some(json) if json.raw().is_object() => json,
            Some(_) => return Err(ProtocolError::ParamsNotObject),
        };
        let params = Params::new(params, self.members);
        Ok(match id {
            Some(id) => Message::Request(Request { id, method, params, size: text.len() }),
            None => Message::Notification(Notification { method, params }),
        })
    }

    fn response(&self, text: &Bytes, limits: &Limits) -> Result<Response, ProtocolError> {
        self.check(text)?;
        let id = match self.id.map(|span| span.of(text)) {
            Some(b"null") => None,
            _ => self.request_id(text, limits)?,
        };
        let body = match (self.result, self.error) {
            (Some(result), None) if id.is_some() => Ok(Json::slice(text, result)),
            (Some(_), None) => return Err(ProtocolError::InvalidId),
            (None, Some(error)) => Err(error_data(error.of(text))?),
            _ => return Err(ProtocolError::AmbiguousKind),
        };
        Ok(Response { id, body })
    }

    fn check(&self, text: &[u8]) -> Result<(), ProtocolError> {
        let version = self.jsonrpc.and_then(|span| Raw(span.of(text)).string());
        if version.as_deref() != Some("2.0") {
            return Err(ProtocolError::NotJsonRpc2);
        }
        let inner = self.members.duplicate.map(super::Member::name);
        match self.duplicate.or(inner) {
            Some(member) => Err(ProtocolError::DuplicateMember { member }),
            None => Ok(()),
        }
    }

    fn request_id(&self, text: &[u8], limits: &Limits) -> Result<Option<RequestId>, ProtocolError> {
        let Some(token) = self.id.map(|span| span.of(text)) else { return Ok(None) };
        if token.len() > limits.max_token_bytes {
            return Err(ProtocolError::TokenTooLong { max_token_bytes: limits.max_token_bytes });
        }
        RequestId::from_raw(Raw(token)).map(Some).ok_or(ProtocolError::InvalidId)
    }
}

fn error_data(text: &[u8]) -> Result<ErrorData, ProtocolError> {
    #[derive(Deserialize)]
    struct Fields {
        code: i64,
        message: String,
        data: Option<Json>,
    }
    // `serde` would take an array for a struct.
    let object = Some(text).filter(|text| Raw(text).is_object());
    let fields = object.and_then(|text| serde_json::from_slice(text).ok());
    let Fields { code, message, data } = fields.ok_or(ProtocolError::InvalidError)?;
    Ok(ErrorData { code: ErrorCode(code), message: message.into(), data })
}
