//! Encoding of messages.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use bytes::{Bytes, BytesMut};

use super::result_value::ResultValue;
use super::{ErrorData, RequestId};
use crate::json::Json;
use crate::json::write::{self, List, Sink};

/// A message to send.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outgoing {
    /// A response with a result.
    Result {
        /// The id of the answered request.
        id: RequestId,
        /// Members to put before those of `result`, without braces; may be empty.
        stamp: Bytes,
        /// The result.
        result: ResultValue,
    },
    /// A response with an error.
    Error {
        /// The id of the answered request, if it could be read.
        id: Option<RequestId>,
        /// The error.
        error: ErrorData,
    },
    /// A notification.
    Notification {
        /// The method.
        method: Cow<'static, str>,
        /// The parameters, an object; `{}` is not written.
        params: Json,
    },
    /// A request; servers send requests only in the legacy era.
    Request {
        /// The id.
        id: RequestId,
        /// The method.
        method: Cow<'static, str>,
        /// Members to put before those of `params`, without braces; may be empty.
        stamp: Bytes,
        /// The parameters, an object; `{}` is not written.
        params: Json,
    },
    /// The answers to a batch; only in revision 2025-03-26.
    Batch(Vec<Self>),
}

impl Outgoing {
    /// A request with these parameters and no others.
    pub(crate) fn request(
        id: RequestId,
        method: impl Into<Cow<'static, str>>,
        params: Json,
    ) -> Self {
        Self::Request { id, method: method.into(), stamp: Bytes::new(), params }
    }

    /// The cancellation of a request, perhaps with a reason, which may be shortened.
    pub(crate) fn cancelled(id: &RequestId, reason: Option<&str>) -> Self {
        let mut params = Vec::new();
        let mut object = List::object(&mut params);
        object.member("requestId", id.as_bytes());
        if let Some(reason) = reason {
            object.text("reason", short_reason(reason));
        }
        object.end();
        Self::notification("notifications/cancelled", Json::trusted(params))
    }

    /// A notification that the specification defines.
    pub(crate) fn notification(method: &'static str, params: Json) -> Self {
        Self::Notification { method: method.into(), params }
    }

    /// Returns whether the message is an answer.
    pub(crate) fn is_answer(&self) -> bool {
        match self {
            Self::Result { .. } | Self::Error { .. } | Self::Batch(_) => true,
            Self::Notification { .. } | Self::Request { .. } => false,
        }
    }

    /// Estimated length of the text, in bytes, computed without writing it. For a result it is the
    /// exact length.
    pub(crate) fn size_hint(&self) -> usize {
        match self {
            Self::Result { id, stamp, result } => {
                let braces = b"{\"jsonrpc\":\"2.0\",\"id\":,\"result\":}".len();
                let result = match result {
                    ResultValue::Json(result) => stamped_length(stamp, result.as_bytes()),
                    ResultValue::Text(text) => text.stamped_length(stamp),
                };
                braces + id.as_bytes().len() + result
            }
            Self::Batch(answers) => {
                let answers = answers.iter().map(|answer| answer.size_hint().saturating_add(1));
                answers.fold(2, usize::saturating_add)
            }
            Self::Notification { params, .. } => params.as_bytes().len().saturating_add(128),
            Self::Request { stamp, params, .. } => {
                stamp.len().saturating_add(params.as_bytes().len()).saturating_add(128)
            }
            Self::Error { error, .. } => error.bytes().saturating_add(256),
        }
    }

    /// The length of the text, in bytes.
    pub(crate) fn length(&self) -> usize {
        if let Self::Result { .. } = self {
            return self.size_hint();
        }
        let mut length = Length(0);
        self.write(&mut length);
        length.0
    }

    /// The members of a result whose text is at least `min` bytes long, with the closing brace, to
    /// be sent without a copy.
    pub(crate) fn long_members(&self, min: usize) -> Option<Bytes> {
        match self {
            Self::Result { result: ResultValue::Json(result), .. }
                if result.as_bytes().len() >= min =>
            {
                result.members_text()
            }
            Self::Result { .. }
            | Self::Error { .. }
            | Self::Notification { .. }
            | Self::Request { .. }
            | Self::Batch(_) => None,
        }
    }

    /// Writes a result without its [`Outgoing::long_members`], and returns the position in `out` at
    /// which they belong.
    pub(crate) fn write_around(&self, members: &[u8], out: &mut BytesMut) -> usize {
        let Self::Result { id, stamp, .. } = self else { return out.len() };
        write_head(out, id);
        open_stamped(out, stamp, members);
        let at = out.len();
        out.push(b"}");
        at
    }

    /// Writes the message as one JSON text.
    pub(crate) fn write(&self, out: &mut impl Sink) {
        match self {
            Self::Result { id, stamp, result } => {
                write_head(out, id);
                match result {
                    ResultValue::Json(result) => write_stamped(out, stamp, result.as_bytes()),
                    ResultValue::Text(text) => text.write_stamped(out, stamp),
                }
                out.push(b"}");
            }
            Self::Error { id, error } => {
                out.push(b"{\"jsonrpc\":\"2.0\"");
                if let Some(id) = id {
                    out.push(b",\"id\":");
                    out.push(id.as_bytes());
                }
                out.push(b",\"error\":");
                write_error(out, error);
                out.push(b"}");
            }
            Self::Notification { method, params } => {
                out.push(b"{\"jsonrpc\":\"2.0\",\"method\":");
                write_call(out, method, &[], params);
            }
            Self::Request { id, method, stamp, params } => {
                out.push(b"{\"jsonrpc\":\"2.0\",\"id\":");
                out.push(id.as_bytes());
                out.push(b",\"method\":");
                write_call(out, method, stamp, params);
            }
            Self::Batch(answers) => {
                let mut list = List::array(out);
                for answer in answers {
                    answer.write(list.item());
                }
                list.end();
            }
        }
    }
}

/// Counts bytes.
struct Length(usize);

impl Sink for Length {
    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        self.0 = self.0.saturating_add(bytes.len());
    }
}

/// The most characters of the reason of a cancellation: reasons are for logs, and many may wait.
const MAX_REASON_CHARS: usize = 1000;

/// The reason of a cancellation, without what exceeds [`MAX_REASON_CHARS`].
pub(crate) fn short_reason(reason: &str) -> &str {
    reason.char_indices().nth(MAX_REASON_CHARS).map_or(reason, |(end, _)| reason.split_at(end).0)
}

fn write_call(out: &mut impl Sink, method: &str, stamp: &[u8], params: &Json) {
    match method {
        // The most frequent ones, without a search for what to escape.
        "notifications/progress" => out.push(b"\"notifications/progress\""),
        "tools/call" => out.push(b"\"tools/call\""),
        _ => write::string(out, method),
    }
    if !stamp.is_empty() || params.as_bytes() != b"{}" {
        out.push(b",\"params\":");
        write_stamped(out, stamp, params.as_bytes());
    }
    out.push(b"}");
}

/// Writes a response up to its result.
fn write_head(out: &mut impl Sink, id: &RequestId) {
    out.push(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.push(id.as_bytes());
    out.push(b",\"result\":");
}

fn write_stamped(out: &mut impl Sink, stamp: &[u8], object: &[u8]) {
    let inside = object.strip_prefix(b"{").unwrap_or_default();
    if stamp.is_empty() || inside.is_empty() {
        return out.push(object);
    }
    open_stamped(out, stamp, inside);
    out.push(inside);
}

/// The number of bytes that [`write_stamped`] writes.
fn stamped_length(stamp: &[u8], object: &[u8]) -> usize {
    match object.strip_prefix(b"{").unwrap_or_default() {
        b"" => object.len(),
        inside => object.len() + stamp.len() + usize::from(is_followed(stamp, inside)),
    }
}

/// Writes the part of an object before `members`, which include the closing brace.
fn open_stamped(out: &mut impl Sink, stamp: &[u8], members: &[u8]) {
    out.push(b"{");
    out.push(stamp);
    if is_followed(stamp, members) {
        out.push(b",");
    }
}

/// Returns whether a comma belongs between a stamp and `members`.
fn is_followed(stamp: &[u8], members: &[u8]) -> bool {
    !stamp.is_empty() && members.trim_ascii_start() != b"}"
}

fn write_error(out: &mut impl Sink, error: &ErrorData) {
    let mut object = List::object(out);
    object.member("code", alloc::format!("{}", error.code.0).as_bytes());
    object.text("message", &error.message);
    if let Some(data) = &error.data {
        object.member("data", data.as_bytes());
    }
    object.end();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::PlainText;

    #[test]
    fn length_is_that_of_the_text() {
        let stamps = [&b""[..], b"\"resultType\":\"complete\""];
        let objects = ["{}", "{ }", "{\"a\":1}", "{\n\"a\":\"\\u00e9\"}", "[]", "null"];
        let objects = objects.map(Json::constant);
        let mut messages = Vec::new();
        for (stamp, object) in
            stamps.iter().flat_map(|one| objects.iter().map(move |two| (one, two)))
        {
            let (id, stamp) = (RequestId::string("a\"b"), Bytes::from_static(stamp));
            let (result, params) = (object.clone(), object.clone());
            let text = ResultValue::Text(PlainText::new("Zürich").unwrap());
            for result in [result.into(), text] {
                messages.push(Outgoing::Result { id: id.clone(), stamp: stamp.clone(), result });
            }
            messages.push(Outgoing::Request { id, method: "a/\"b".into(), stamp, params });
            messages.push(Outgoing::notification("notifications/progress", object.clone()));
        }
        let error = ErrorData::internal("a\nb");
        messages.push(Outgoing::Error { id: None, error: error.clone() });
        messages.push(Outgoing::Error { id: Some(RequestId::number(7)), error });
        messages.push(Outgoing::Batch(messages.clone()));
        for message in messages {
            let mut text = Vec::new();
            message.write(&mut text);
            assert_eq!(message.length(), text.len(), "{message:?}");
        }
    }

    #[test]
    fn result_around_its_long_members_is_the_whole_result() {
        let stamps = ["", "\"resultType\":\"complete\"", "\"a\":1,\"b\":{\"c\":[]}"];
        let inside = ["", " ", "\"a\":1", "\n\"a\" : \"é\"\t", "\"a\":{\"b\":[1,{}]},\"c\":\"}\""];
        for (stamp, inside) in stamps.iter().flat_map(|one| inside.map(|two| (*one, two))) {
            for before in ["", "earlier"] {
                let object = Json::parse(alloc::format!("{{{inside}}}")).unwrap();
                let stamp = Bytes::from_static(stamp.as_bytes());
                let id = RequestId::string("a\"b");
                let message = Outgoing::Result { id, stamp, result: object.clone().into() };
                let mut whole = before.as_bytes().to_vec();
                message.write(&mut whole);

                let mut around = BytesMut::from(before);
                let members = message.long_members(object.as_bytes().len()).unwrap();
                let at = message.write_around(&members, &mut around);
                let after = around.split_off(at);
                assert_eq!([&around[..], &members, &after].concat(), whole);
                assert_eq!(message.long_members(object.as_bytes().len() + 1), None);
            }
        }
    }
}
