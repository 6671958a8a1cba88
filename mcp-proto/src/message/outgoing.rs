//! Message to text.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use bytes::Bytes;

use super::{ErrorData, RequestId};
use crate::json::Json;
use crate::json::write::{self, List, Sink};

/// A message that a machine wants to be sent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outgoing {
    /// A response with a result.
    Result {
        /// The request that it answers.
        id: RequestId,
        /// Members to put before those of `result`, without braces; may be empty.
        stamp: Bytes,
        /// An object.
        result: Json,
    },
    /// A response with an error.
    Error {
        /// The request that it answers, if its id could be read.
        id: Option<RequestId>,
        /// The error.
        error: ErrorData,
    },
    /// A notification.
    Notification {
        /// Its method.
        method: Cow<'static, str>,
        /// Its parameters, an object; `{}` is not written.
        params: Json,
    },
    /// A request; a server sends some in the legacy era.
    Request {
        /// Its id.
        id: RequestId,
        /// Its method.
        method: Cow<'static, str>,
        /// Members to put before those of `params`, without braces; may be empty.
        stamp: Bytes,
        /// Its parameters, an object; `{}` is not written.
        params: Json,
    },
    /// The answers to a batch; revision 2025-03-26 alone.
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

    /// A request is no longer of interest.
    pub(crate) fn cancelled(id: &RequestId) -> Self {
        let mut params = Vec::new();
        let mut object = List::object(&mut params);
        object.member("requestId", id.as_bytes());
        object.end();
        Self::notification("notifications/cancelled", Json::trusted(params))
    }

    /// A notification of the specification's.
    pub(crate) fn notification(method: &'static str, params: Json) -> Self {
        Self::Notification { method: method.into(), params }
    }

    /// Returns whether it answers something.
    pub(crate) fn is_answer(&self) -> bool {
        match self {
            Self::Result { .. } | Self::Error { .. } | Self::Batch(_) => true,
            Self::Notification { .. } | Self::Request { .. } => false,
        }
    }

    /// Estimated length of the text, in bytes, computed without writing it.
    pub(crate) fn size_hint(&self) -> usize {
        match self {
            Self::Result { id, stamp, result } => {
                let between = usize::from(!stamp.is_empty());
                let braces = b"{\"jsonrpc\":\"2.0\",\"id\":,\"result\":}".len();
                braces + id.as_bytes().len() + stamp.len() + between + result.as_bytes().len()
            }
            Self::Batch(answers) => {
                let answers = answers.iter().map(|answer| answer.size_hint().saturating_add(1));
                answers.fold(2, usize::saturating_add)
            }
            Self::Notification { params, .. } | Self::Request { params, .. } => {
                params.as_bytes().len().saturating_add(128)
            }
            Self::Error { .. } => 256,
        }
    }

    /// Writes the message as one JSON text.
    pub(crate) fn write(&self, out: &mut impl Sink) {
        match self {
            Self::Result { id, stamp, result } => {
                out.push(b"{\"jsonrpc\":\"2.0\",\"id\":");
                out.push(id.as_bytes());
                out.push(b",\"result\":");
                write_stamped(out, stamp, result.as_bytes());
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

fn write_call(out: &mut impl Sink, method: &str, stamp: &[u8], params: &Json) {
    write::string(out, method);
    if !stamp.is_empty() || params.as_bytes() != b"{}" {
        out.push(b",\"params\":");
        write_stamped(out, stamp, params.as_bytes());
    }
    out.push(b"}");
}

fn write_stamped(out: &mut impl Sink, stamp: &[u8], object: &[u8]) {
    let inside = object.strip_prefix(b"{").unwrap_or_default();
    if stamp.is_empty() || inside.is_empty() {
        return out.push(object);
    }
    out.push(b"{");
    out.push(stamp);
    if inside.trim_ascii_start() != b"}" {
        out.push(b",");
    }
    out.push(inside);
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
