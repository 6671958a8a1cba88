//! Parser for messages, in one pass.
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
use serde::{Deserialize, Deserializer};

use super::params::Members;
use super::{
    Batch, ErrorData, Incoming, Malformed, Message, Method, Notification, Params, Request,
    RequestId, Response,
};
use crate::error::{ErrorCode, ProtocolError};
use crate::json::integer::integer;
use crate::json::scan::{MAX_DEPTH, ScanError, Scanner, Span};
use crate::json::{Json, Raw};
use crate::limits::Limits;

/// Parses one JSON text.
///
/// Fails with a [`Malformed`], which has the error to answer with, and the id if it could be read.
pub fn parse(text: &Bytes, limits: &Limits) -> Result<Incoming, Malformed> {
    check_encoding(text, limits)?;
    match Envelope::read(text, limits)? {
        Ok(envelope) => envelope.message(text, limits).map(Incoming::Message),
        Err(batch) => Ok(Incoming::Batch(batch)),
    }
}

/// Checks that a text is UTF-8.
pub(super) fn check_encoding(text: &[u8], limits: &Limits) -> Result<(), Malformed> {
    // Most texts are ASCII, which is much cheaper to check.
    if !text.is_ascii() && core::str::from_utf8(text).is_err() {
        return Err(unreadable(text, limits, ProtocolError::InvalidUtf8));
    }
    Ok(())
}

/// Reads an invalid, too deep or incomplete text as far as possible. The id is returned if the
/// top-level keys include a single `id`, and `method`, `result` or `error`. The text counts as a
/// response, which gets no answer, if it has `result` or `error` and no `method`.
pub(crate) fn unreadable(text: &[u8], limits: &Limits, error: ProtocolError) -> Malformed {
    let mut scanner = Scanner::new(text, 1);
    let mut id = None;
    let mut twice = false;
    let mut method = false;
    let mut answers = false;
    let _ = scanner.members(|scanner, key| {
        let key = Raw(key.of(text)).lookup(EnvelopeKey::of);
        answers |= matches!(key, Some(EnvelopeKey::Result | EnvelopeKey::Error));
        let value = scanner.skip_unchecked()?;
        match key {
            Some(EnvelopeKey::Id) if id.is_some() => twice = true,
            Some(EnvelopeKey::Id) => id = Some(value),
            Some(EnvelopeKey::Method) => method = true,
            _ => {}
        }
        Ok(())
    });
    let token = id.filter(|_| (method || answers) && !twice).map(|span| span.of(text));
    let readable = token.filter(|token| {
        // The skipped text was not checked, and will be echoed.
        token.len() <= limits.max_id_bytes
            && core::str::from_utf8(token).is_ok()
            && Scanner::new(token, 0).skip_value() == Ok(Span::whole(token))
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
            let element = scanner.skip_value()?;
            if texts.len() <= max {
                texts.push(element.slice(&self.0));
            }
            Ok(())
        });
        (texts.len() <= max).then_some(texts)
    }
}

/// A top-level member that is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EnvelopeKey {
    JsonRpc,
    Id,
    Method,
    Params,
    Result,
    Error,
}

impl EnvelopeKey {
    pub(super) const COUNT: usize = Self::Error as usize + 1;

    /// The member with this key, quotes included.
    fn of(key: &[u8]) -> Option<Self> {
        Some(match key {
            b"\"jsonrpc\"" => Self::JsonRpc,
            b"\"id\"" => Self::Id,
            b"\"method\"" => Self::Method,
            b"\"params\"" => Self::Params,
            b"\"result\"" => Self::Result,
            b"\"error\"" => Self::Error,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::JsonRpc => "jsonrpc",
            Self::Id => "id",
            Self::Method => "method",
            Self::Params => "params",
            Self::Result => "result",
            Self::Error => "error",
        }
    }
}

/// The top level of an object.
#[derive(Default)]
pub(super) struct Envelope {
    pub(super) places: [Span; EnvelopeKey::COUNT],
    pub(super) members: Members,
    /// The last duplicate member, or `id` if `id` is duplicate.
    pub(super) duplicate: Option<EnvelopeKey>,
    /// True if [`Envelope::check`] has passed for a text that is equal outside of the variables.
    pub(super) is_checked: bool,
    /// The method of such a text.
    pub(super) known_method: Option<Method>,
}

impl Envelope {
    /// Scans a text that is UTF-8; the error of the result is an array of messages.
    pub(super) fn read(text: &Bytes, limits: &Limits) -> Result<Result<Self, Batch>, Malformed> {
        let mut scanner = Scanner::new(text, limits.max_depth);
        let envelope = match scanner.peek() {
            Some(b'{') => Self::scan(&mut scanner, text).map(Some),
            _ => scanner.skip_value().map(|_| None),
        };
        match envelope.and_then(|envelope| scanner.end().map(|()| envelope)) {
            Ok(Some(envelope)) => Ok(Ok(envelope)),
            Ok(None) if text.trim_ascii_start().first() == Some(&b'[') => {
                Ok(Err(Batch(text.clone())))
            }
            Ok(None) => {
                Err(Malformed { error: ProtocolError::NotAMessage, id: None, answerable: true })
            }
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

    fn scan(scanner: &mut Scanner<'_>, text: &[u8]) -> Result<Self, ScanError> {
        let mut envelope = Self::default();
        scanner.members(|scanner, key| {
            let key = Raw(key.of(text)).lookup(EnvelopeKey::of);
            if key == Some(EnvelopeKey::Params) {
                envelope.members = Members::default();
            }
            let value = if key == Some(EnvelopeKey::Params) && scanner.peek() == Some(b'{') {
                envelope.members.scan(scanner, text)?
            } else {
                scanner.skip_value()?
            };
            if let Some(key) = key {
                envelope.set(key, value);
            }
            Ok(())
        })?;
        Ok(envelope)
    }

    fn set(&mut self, key: EnvelopeKey, span: Span) {
        if let Some(place) = self.places.get_mut(key as usize) {
            if !place.is_empty() && self.duplicate != Some(EnvelopeKey::Id) {
                self.duplicate = Some(key);
            }
            *place = span;
        }
    }

    /// Span of a member; `None` if the member is absent.
    pub(super) fn place(&self, key: EnvelopeKey) -> Option<Span> {
        self.places.get(key as usize).copied().filter(|span| !span.is_empty())
    }

    fn has(&self, key: EnvelopeKey) -> bool {
        self.place(key).is_some()
    }

    /// A member as it was written.
    fn get<'a>(&self, key: EnvelopeKey, text: &'a [u8]) -> Option<Raw<'a>> {
        self.place(key).map(|span| Raw(span.of(text)))
    }

    /// A member, shared with the text.
    fn json(&self, key: EnvelopeKey, text: &Bytes) -> Option<Json> {
        self.place(key).map(|span| Json::slice(text, span))
    }

    pub(super) fn message(mut self, text: &Bytes, limits: &Limits) -> Result<Message, Malformed> {
        let answers = self.has(EnvelopeKey::Result) || self.has(EnvelopeKey::Error);
        let kind = match (self.has(EnvelopeKey::Method), answers) {
            (true, false) => self.call(text, limits),
            (false, true) => self.response(text, limits).map(Message::Response),
            (true, true) | (false, false) => Err(ProtocolError::AmbiguousKind),
        };
        kind.map_err(|error| {
            // A text with `method` is a request, whatever else it has. A duplicate id identifies no
            // request.
            let is_response = answers && !self.has(EnvelopeKey::Method);
            let id = self.request_id(text, limits).unwrap_or_default();
            let id = id.filter(|_| self.duplicate != Some(EnvelopeKey::Id));
            Malformed {
                error,
                id,
                answerable: !is_response
                    && (self.has(EnvelopeKey::Id) || !self.has(EnvelopeKey::Method)),
            }
        })
    }

    fn call(&mut self, text: &Bytes, limits: &Limits) -> Result<Message, ProtocolError> {
        self.check(text)?;
        let id = self.request_id(text, limits)?;
        let method = self.known_method.take().or_else(|| self.method(text));
        let method = method.ok_or(ProtocolError::InvalidMethod)?;
        let params = match self.json(EnvelopeKey::Params, text) {
            None => Json::EMPTY_OBJECT,
            Some(json) if json.raw().is_object() => json,
            Some(_) => return Err(ProtocolError::ParamsNotObject),
        };
        let params = Params::new(params, core::mem::take(&mut self.members));
        Ok(match id {
            Some(id) => Message::Request(Request { id, method, params, size: text.len() }),
            None => Message::Notification(Notification { method, params }),
        })
    }

    fn response(&self, text: &Bytes, limits: &Limits) -> Result<Response, ProtocolError> {
        self.check(text)?;
        let id = match self.get(EnvelopeKey::Id, text) {
            Some(Raw(b"null")) => None,
            _ => self.request_id(text, limits)?,
        };
        let members = [EnvelopeKey::Result, EnvelopeKey::Error].map(|key| self.json(key, text));
        let body = match members.into() {
            (Some(result), None) if id.is_some() => Ok(result),
            (Some(_), None) => return Err(ProtocolError::InvalidId),
            (None, Some(error)) => Err(error_data(&error)?),
            _ => return Err(ProtocolError::AmbiguousKind),
        };
        Ok(Response { id, body })
    }

    /// The method, if it is valid.
    pub(super) fn method(&self, text: &[u8]) -> Option<Method> {
        self.get(EnvelopeKey::Method, text).and_then(Method::from_raw)
    }

    /// Checks the version, and that no member is duplicate.
    pub(super) fn check(&self, text: &[u8]) -> Result<(), ProtocolError> {
        if self.is_checked {
            return Ok(());
        }
        let version = self.get(EnvelopeKey::JsonRpc, text);
        let is_2_0 = |raw: Raw<'_>| raw.0 == b"\"2.0\"" || raw.string().as_deref() == Some("2.0");
        if !version.is_some_and(is_2_0) {
            return Err(ProtocolError::NotJsonRpc2);
        }
        let inner = self.members.duplicate.map(super::Member::name);
        match self.duplicate.map(EnvelopeKey::name).or(inner) {
            Some(member) => Err(ProtocolError::DuplicateMember { member }),
            None => Ok(()),
        }
    }

    fn request_id(&self, text: &[u8], limits: &Limits) -> Result<Option<RequestId>, ProtocolError> {
        let Some(token) = self.get(EnvelopeKey::Id, text) else { return Ok(None) };
        if token.0.len() > limits.max_id_bytes {
            return Err(ProtocolError::TokenTooLong { max_id_bytes: limits.max_id_bytes });
        }
        RequestId::from_raw(token).map(Some).ok_or(ProtocolError::InvalidId)
    }
}

fn error_data(error: &Json) -> Result<ErrorData, ProtocolError> {
    #[derive(Deserialize)]
    struct Fields {
        #[serde(deserialize_with = "integer")]
        code: i64,
        message: String,
        /// `null` is data too, which a bridge forwards.
        #[serde(default, deserialize_with = "present")]
        data: Option<Json>,
    }
    fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
        Json::deserialize(deserializer).map(Some)
    }
    let fields = error.decode_lossy::<Fields>();
    let Fields { code, message, data } = fields.map_err(|_| ProtocolError::InvalidError)?;
    Ok(ErrorData { code: ErrorCode(code), message: message.into(), data })
}
