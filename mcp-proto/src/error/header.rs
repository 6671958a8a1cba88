//! Errors in the headers of a received message, or of a message to send.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

use super::ErrorCode;
use super::quote::{Excerpt, Quoted};

/// Reason why the headers of a message are rejected: they contradict its body, or are unusable. The
/// fault is the peer's.
///
/// `header` is the name of the header; values are shortened to 100 characters.
///
/// [Specification: Server Validation](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation)
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HeaderError {
    /// A required header is missing.
    Missing {
        /// The name of the header.
        header: Cow<'static, str>,
        /// The value in the body; `None` if the body was not read.
        expected: Option<String>,
    },
    /// A header that may occur only once occurs twice.
    Repeated {
        /// The name of the header.
        header: Cow<'static, str>,
    },
    /// A header differs from the body.
    Mismatch {
        /// The name of the header.
        header: Cow<'static, str>,
        /// The value of the header.
        found: String,
        /// The value in the body.
        expected: String,
    },
    /// A header mirrors an argument that is absent, `null`, an array or an object.
    Unexpected {
        /// The name of the header.
        header: Cow<'static, str>,
        /// The value of the header.
        found: String,
    },
    /// The bytes of a header are not text.
    NotDecodable {
        /// The name of the header.
        header: Cow<'static, str>,
        /// The reason.
        reason: ValueError,
    },
    /// An integer is not within ±(2<sup>53</sup>−1).
    OutOfRange {
        /// The name of the header.
        header: Cow<'static, str>,
        /// The place of the integer.
        place: Place,
        /// The integer, as written.
        value: String,
    },
    /// A number has a fraction where the schema requires an integer.
    NotWhole {
        /// The name of the header.
        header: Cow<'static, str>,
        /// The place of the number.
        place: Place,
        /// The number, as written.
        value: String,
    },
    /// The argument in the body is a string with half a surrogate pair, which no header can mirror.
    NotUnicode {
        /// The name of the header.
        header: Cow<'static, str>,
    },
    /// The version is a legacy one. Legacy servers do not compare headers and body, so the headers
    /// cannot be trusted.
    Unvalidated {
        /// The version.
        version: String,
    },
}

/// The place of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the header.
    Header,
    /// In the body.
    Body,
}

/// Reason why a header's bytes are not text.
///
/// [Specification: Value Encoding](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#value-encoding)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ValueError {
    /// A byte is neither visible ASCII nor a space or tab.
    InvalidCharacter,
    /// The text in `=?base64?…?=` is not Base64 in its canonical form.
    InvalidBase64,
    /// The bytes in `=?base64?…?=` are not UTF-8.
    InvalidUtf8,
}

/// Reason why a client cannot write a value into a header. The fault is the caller's, and nothing
/// may be sent.
///
/// [Specification: Custom Headers from Tool Parameters](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters)
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EmitError {
    /// An integer is not within ±(2<sup>53</sup>−1).
    OutOfRange {
        /// The name of the header.
        header: String,
        /// The integer, as written in the arguments; shortened to 100 characters.
        value: String,
    },
    /// A number has a fraction where the schema requires an integer.
    NotWhole {
        /// The name of the header.
        header: String,
        /// The number, as written in the arguments; shortened to 100 characters.
        value: String,
    },
    /// A string has half a surrogate pair.
    NotUnicode {
        /// The name of the header.
        header: String,
    },
    /// A version or method has other characters than visible ASCII and inner spaces, and there is
    /// no encoding for its header.
    NotPlain {
        /// The name of the header.
        header: &'static str,
        /// The version or method; shortened to 100 characters.
        value: String,
    },
}

impl HeaderError {
    /// The code of the JSON-RPC error for the peer: -32020.
    pub const fn code(&self) -> ErrorCode {
        ErrorCode::HEADER_MISMATCH
    }

    /// The name of the header with the fault.
    pub fn header(&self) -> &str {
        match self {
            Self::Missing { header, .. }
            | Self::Repeated { header }
            | Self::Mismatch { header, .. }
            | Self::Unexpected { header, .. }
            | Self::NotDecodable { header, .. }
            | Self::OutOfRange { header, .. }
            | Self::NotWhole { header, .. }
            | Self::NotUnicode { header } => header,
            Self::Unvalidated { .. } => "MCP-Protocol-Version",
        }
    }
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { header, expected: None } => write!(f, "{} is missing", Name(header)),
            Self::Missing { header, expected: Some(expected) } => {
                write!(f, "{} is missing; the body says {}", Name(header), Quoted(expected))
            }
            Self::Repeated { header } => write!(f, "{} stands twice", Name(header)),
            Self::Mismatch { header, found, expected } => write!(
                f,
                "{} says {}, and the body {}",
                Name(header),
                Quoted(found),
                Quoted(expected)
            ),
            Self::Unexpected { header, found } => write!(
                f,
                "{} says {}, and the body has no string, integer or boolean for it",
                Name(header),
                Quoted(found)
            ),
            Self::NotDecodable { header, reason } => write!(f, "{}: {reason}", Name(header)),
            Self::OutOfRange { header, place, value } => write!(
                f,
                "{}: the integer {} in the {place} is not within -9007199254740991 to \
                 9007199254740991",
                Name(header),
                Excerpt(value)
            ),
            Self::NotWhole { header, place, value } => write!(
                f,
                "{}: the number {} in the {place} is no integer",
                Name(header),
                Excerpt(value)
            ),
            Self::NotUnicode { header } => write!(
                f,
                "{}: the string in the body has half a surrogate pair, which no header can repeat",
                Name(header)
            ),
            Self::Unvalidated { version } => write!(
                f,
                "MCP-Protocol-Version {} does not have servers compare headers and body; trust \
                 headers from 2026-07-28 on alone",
                Quoted(version)
            ),
        }?;
        write!(f, "; see {PAGE}#server-validation")
    }
}

impl core::error::Error for HeaderError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        if let Self::NotDecodable { reason, .. } = self { Some(reason) } else { None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Header => "header",
            Self::Body => "body",
        })
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidCharacter => {
                "a header has visible ASCII, spaces and tabs alone; wrap all else in \
                 =?base64?…?="
            }
            Self::InvalidBase64 => {
                "what =?base64?…?= wraps is not Base64 with its padding, in the standard alphabet"
            }
            Self::InvalidUtf8 => "what =?base64?…?= wraps is not UTF-8",
        })
    }
}

impl core::error::Error for ValueError {}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { header, value } => write!(
                f,
                "{}: the integer {} is not within -9007199254740991 to 9007199254740991",
                Name(header),
                Excerpt(value)
            ),
            Self::NotWhole { header, value } => {
                write!(f, "{}: the number {} is no integer", Name(header), Excerpt(value))
            }
            Self::NotUnicode { header } => {
                write!(f, "{}: the string has half a surrogate pair", Name(header))
            }
            Self::NotPlain { header, value } => write!(
                f,
                "{header}: {} has other characters than visible ASCII and inner spaces",
                Quoted(value)
            ),
        }?;
        write!(f, "; see {PAGE}#value-encoding")
    }
}

impl core::error::Error for EmitError {}

const PAGE: &str =
    "https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http";

/// The name of a header; a server's schema may contain a long one.
use Excerpt as Name;
