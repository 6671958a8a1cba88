//! Reasons to refuse a message, with explanations.

use core::fmt;

/// Reason why a request or a response is refused, or why a request is not sent. The connection must
/// end, because the start of the next message is unknown or ambiguous; request smuggling exploits
/// such ambiguity.
///
/// The text has the fault, the section of RFC 9110 or 9112 and, if there is one, the limit to
/// change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// 400: the method is not a token, or the input is not HTTP.
    Method,
    /// 400: the request line is not method, space, target, space, version.
    RequestLine,
    /// 400: the target is not one that a server can serve.
    Target,
    /// 502: the status line is not version, space, status, and a space before the reason.
    StatusLine,
    /// 502: a record of TLS in place of a status line.
    Tls,
    /// 502: the status is less than 100.
    Status,
    /// 502: 101, although no other protocol was requested.
    SwitchingProtocols,
    /// 502: more than 16 interim responses before a response.
    TooManyInterim,
    /// 502: input without a request.
    Unexpected,
    /// 500: a field that must not be set, because it defines the framing or the host of the
    /// message.
    FramingField,
    /// 414: the request line is longer than half of
    /// [`Limits::max_head_bytes`](crate::Limits::max_head_bytes).
    TargetTooLong {
        /// The limit of the head, in bytes.
        max_head_bytes: usize,
    },
    /// 505: the version is neither HTTP/1.0 nor HTTP/1.1.
    Version,
    /// 431: the head is longer than [`Limits::max_head_bytes`](crate::Limits::max_head_bytes).
    HeadTooLong {
        /// The limit, in bytes.
        max_head_bytes: usize,
    },
    /// 431: the head, or the trailer, has more fields than
    /// [`Limits::max_fields`](crate::Limits::max_fields).
    TooManyFields {
        /// The limit.
        max_fields: usize,
    },
    /// 400: a line feed without a carriage return.
    BareLineFeed,
    /// 400: a carriage return without a line feed.
    BareCarriageReturn,
    /// 400: a field continues in the next line.
    FoldedField,
    /// 400: whitespace between the name of a field and the colon.
    BlankBeforeColon,
    /// 400: the name of a field is not a token, or no colon follows it.
    FieldName,
    /// 400: NUL or another control in the value of a field.
    FieldValue,
    /// 400: HTTP/1.1 without a `Host`.
    MissingHost,
    /// 400: more than one `Host`.
    SeveralHosts,
    /// 400: a `Host`, or the authority of the target, that is not a name or address.
    InvalidHost,
    /// 400: the authority of the target is not the `Host`.
    HostMismatch,
    /// 400: `Content-Length` together with `Transfer-Encoding`.
    LengthAndCoding,
    /// 400: more than one `Content-Length`.
    SeveralLengths,
    /// 400: a `Content-Length` that is not a number.
    InvalidLength,
    /// 400: `Transfer-Encoding` in HTTP/1.0.
    CodingInHttp10,
    /// 400: a `Transfer-Encoding` that is not a list of codings.
    InvalidCoding,
    /// 400: `chunked` is not the last coding, or occurs twice.
    ChunkedNotLast,
    /// 501: a transfer coding other than `chunked`.
    UnknownCoding,
    /// 413: the body is longer than [`Limits::max_body_bytes`](crate::Limits::max_body_bytes).
    BodyTooLong {
        /// The limit, in bytes.
        max_body_bytes: usize,
    },
    /// 400: the size of a chunk is not a hexadecimal number, or is too large.
    ChunkSize,
    /// 400: an extension of a chunk with controls, or a line of 1 KiB before a chunk.
    ChunkExtension,
    /// 400: a chunk does not end after its size.
    ChunkEnd,
    /// 431: the trailer is longer than [`Limits::max_head_bytes`](crate::Limits::max_head_bytes).
    TrailerTooLong {
        /// The limit, in bytes.
        max_head_bytes: usize,
    },
}

impl Refusal {
    /// The status of the answer to the sender of the request, or to the caller that wanted to send
    /// it.
    pub fn status(&self) -> u16 {
        match self {
            Self::BodyTooLong { .. } => 413,
            Self::TargetTooLong { .. } => 414,
            Self::HeadTooLong { .. } | Self::TooManyFields { .. } | Self::TrailerTooLong { .. } => {
                431
            }
            Self::FramingField => 500,
            Self::UnknownCoding => 501,
            Self::StatusLine
            | Self::Tls
            | Self::Status
            | Self::SwitchingProtocols
            | Self::TooManyInterim
            | Self::Unexpected => 502,
            Self::Version => 505,
            Self::Method
            | Self::RequestLine
            | Self::Target
            | Self::BareLineFeed
            | Self::BareCarriageReturn
            | Self::FoldedField
            | Self::BlankBeforeColon
            | Self::FieldName
            | Self::FieldValue
            | Self::MissingHost
            | Self::SeveralHosts
            | Self::InvalidHost
            | Self::HostMismatch
            | Self::LengthAndCoding
            | Self::SeveralLengths
            | Self::InvalidLength
            | Self::CodingInHttp10
            | Self::InvalidCoding
            | Self::ChunkedNotLast
            | Self::ChunkSize
            | Self::ChunkExtension
            | Self::ChunkEnd => 400,
        }
    }

    /// Description of the fault, and the RFC section that defines the rule.
    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Method => ("the method is no token", "9110, 9.1"),
            Self::RequestLine => {
                ("a request line is method, target and version, one space between them", "9112, 3")
            }
            Self::Target => (
                "the target must be a path, an http or https URI, or `*` for OPTIONS, \
                 and all other characters must be escaped",
                "9112, 3.2",
            ),
            Self::StatusLine => {
                ("a status line is version, status and reason, one space between them", "9112, 4")
            }
            Self::Tls => ("the server speaks TLS: its URL begins with https://", "9110, 4.2.2"),
            Self::Status => ("a status is at least 100", "9110, 15"),
            Self::SwitchingProtocols => ("no other protocol was requested", "9110, 15.2.2"),
            Self::TooManyInterim => ("more than 16 interim responses", "9110, 15.2"),
            Self::Unexpected => ("there was no request for this", "9112, 6.3"),
            Self::FramingField => (
                "`Host`, `Connection`, `Content-Length` and `Transfer-Encoding` must not be set",
                "9112, 6",
            ),
            Self::TargetTooLong { .. } => ("the request line is longer than half of", "9112, 3"),
            Self::Version => ("HTTP/1.0 and HTTP/1.1 are served", "9110, 15.6.6"),
            Self::HeadTooLong { .. } => ("the head is longer than", "9110, 5.4"),
            Self::TooManyFields { .. } => ("there are more fields than", "9110, 5.4"),
            Self::BareLineFeed => ("a line must end with CR and LF, not only LF", "9112, 2.2"),
            Self::BareCarriageReturn => ("a CR without LF", "9112, 2.2"),
            Self::FoldedField => ("a field must be on one line", "9112, 5.2"),
            Self::BlankBeforeColon => {
                ("whitespace between a field's name and the colon", "9112, 5.1")
            }
            Self::FieldName => ("a field is a token, a colon and a value", "9112, 5"),
            Self::FieldValue => ("a control in the value of a field", "9110, 5.5"),
            Self::MissingHost => ("HTTP/1.1 needs a `Host`", "9112, 3.2"),
            Self::SeveralHosts => ("more than one `Host`", "9112, 3.2"),
            Self::InvalidHost => {
                ("a host is a name or an address, and perhaps a port", "9110, 7.2")
            }
            Self::HostMismatch => ("the target has another authority than `Host`", "9112, 3.2.2"),
            Self::LengthAndCoding => ("`Content-Length` beside `Transfer-Encoding`", "9112, 6.1"),
            Self::SeveralLengths => ("more than one `Content-Length`", "9112, 6.3"),
            Self::InvalidLength => ("`Content-Length` must be decimal digits", "9110, 8.6"),
            Self::CodingInHttp10 => ("HTTP/1.0 has no `Transfer-Encoding`", "9112, 6.1"),
            Self::InvalidCoding => ("`Transfer-Encoding` must be a list of codings", "9112, 6.1"),
            Self::ChunkedNotLast => {
                ("`chunked` must be the last coding, and occur once", "9112, 6.1")
            }
            Self::UnknownCoding => ("`chunked` is the only transfer coding served", "9112, 6.1"),
            Self::BodyTooLong { .. } => ("the body is longer than", "9110, 15.5.14"),
            Self::ChunkSize => ("the size of a chunk must be hexadecimal digits", "9112, 7.1"),
            Self::ChunkExtension => {
                ("the extensions of a chunk are text of less than 1 KiB", "9112, 7.1.1")
            }
            Self::ChunkEnd => ("CR and LF must follow the data of a chunk", "9112, 7.1"),
            Self::TrailerTooLong { .. } => ("the trailer is longer than", "9112, 7.1.2"),
        }
    }

    /// The exceeded limit and its value.
    fn limit(&self) -> Option<(&'static str, usize)> {
        if let Self::TargetTooLong { max_head_bytes }
        | Self::HeadTooLong { max_head_bytes }
        | Self::TrailerTooLong { max_head_bytes } = *self
        {
            Some(("max_head_bytes", max_head_bytes))
        } else if let Self::TooManyFields { max_fields } = *self {
            Some(("max_fields", max_fields))
        } else if let Self::BodyTooLong { max_body_bytes } = *self {
            Some(("max_body_bytes", max_body_bytes))
        } else {
            None
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, section) = self.words();
        write!(f, "{what}")?;
        if let Some((limit, max)) = self.limit() {
            write!(f, " Limits::{limit} = {max}")?;
        }
        write!(f, " (RFC {section})")
    }
}

impl core::error::Error for Refusal {}
