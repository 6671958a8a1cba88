//! The head of a received response: status and fields.
//!
//! In: a complete head, or fields from another HTTP stack, one by one. Out: views, and the framing
//! of the body, or the refusal.

use alloc::vec::Vec;
use core::fmt;
use core::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response, Status};

use super::body::BodyKind;
use super::bounds::Bounds;
use super::buffer::Buffer;
use super::fields::Fields;
use super::framing_headers::{FramingHeaders, places};
use super::head::HttpVersion;
use super::head_syntax::{HeadSyntax, ParsedHead};
use super::refusal::Refusal;
use super::syntax::is_field_text;

/// First byte of a TLS record of the type `alert`, which is no start of a status line. A server of
/// TLS sends an alert to a client that speaks HTTP.
const TLS_ALERT: u8 = 0x15;

/// Status and fields of a received response.
///
/// Two heads are equal if they have the same content, whether they were parsed or built. The text
/// of a head has at most 64 KiB. A parsed head is one slice of the input, and keeps its whole
/// buffer in memory.
///
/// [RFC 9112, section 4](https://www.rfc-editor.org/rfc/rfc9112#section-4)
#[derive(Clone)]
pub struct StatusHead {
    fields: Fields,
    status: u16,
    version: HttpVersion,
}

impl StatusHead {
    /// The head of a response that another HTTP stack has read; push its fields afterwards.
    pub fn new(status: u16) -> Self {
        Self { fields: Fields::built(Vec::new()), status, version: HttpVersion::Other }
    }

    /// Appends a field of a response that another HTTP stack has read. Ignores a name that is not a
    /// token, a value with controls, and a field that makes the head longer than 64 KiB.
    pub fn push(&mut self, name: &str, value: &[u8]) {
        let _ = self.fields.push(name, value);
    }

    /// The status; 100 to 999 in a parsed head. A status over 599 counts as 500.
    ///
    /// [RFC 9110, section 15](https://www.rfc-editor.org/rfc/rfc9110#section-15)
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The version.
    pub fn version(&self) -> HttpVersion {
        self.version
    }

    /// Names and values of the fields, in order. Values have no whitespace around them.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.fields.iter()
    }

    /// The value of the first field with this name, in any case.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        self.all(name).next()
    }

    /// The values of all fields with this name, in any case.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.fields.all(name)
    }
}

impl PartialEq for StatusHead {
    fn eq(&self, other: &Self) -> bool {
        self.status == other.status
            && self.version == other.version
            && self.fields().eq(other.fields())
    }
}

impl Eq for StatusHead {}

/// Shows the status and the fields, without credentials.
impl fmt::Debug for StatusHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.status, self.version)?;
        self.fields.fmt(f)
    }
}

/// The part that only the head of a response has: its status.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResponseParts {
    pub(super) status: u16,
}

impl ParsedHead<ResponseParts> {
    /// Takes the head out of its buffer.
    pub(super) fn take(self, buffer: &mut Buffer) -> StatusHead {
        let Self { end, version, places, own: ResponseParts { status }, .. } = self;
        StatusHead { fields: Fields::parsed(buffer.take(end), places), status, version }
    }
}

impl HeadSyntax for ResponseParts {
    const NO_START_LINE: Refusal = Refusal::StatusLine;

    fn may_begin(bytes: &[u8]) -> Result<(), Refusal> {
        let begins = bytes.iter().zip(b"HTTP/").all(|(byte, expected)| byte == expected);
        match bytes {
            _ if begins => Ok(()),
            [TLS_ALERT, ..] => Err(Refusal::Tls),
            _ => Err(Refusal::StatusLine),
        }
    }

    fn max_start_line(bounds: &Bounds) -> (usize, Refusal) {
        let max_head_bytes = bounds.max_head_bytes;
        (max_head_bytes, Refusal::HeadTooLong { max_head_bytes })
    }

    fn check_start_line(line: &[u8]) -> Result<(), Refusal> {
        if line.contains(&b'\r') {
            return Err(Refusal::BareCarriageReturn);
        }
        let (version, rest) = line.split_at_checked(8).ok_or(Refusal::StatusLine)?;
        match (version, rest) {
            (b"HTTP/1.0" | b"HTTP/1.1", [b' ', status @ ..]) => {
                let (status, reason) = status.split_at_checked(3).ok_or(Refusal::StatusLine)?;
                let is_status = status.iter().all(u8::is_ascii_digit)
                    && matches!(reason, [] | [b' ', ..])
                    && is_field_text(reason);
                if is_status { Ok(()) } else { Err(Refusal::StatusLine) }
            }
            ([b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'], [b' ', ..]) => {
                Err(Refusal::Version)
            }
            _ => Err(Refusal::StatusLine),
        }
    }

    fn parse<'b>(
        bytes: &'b [u8],
        space: &mut [MaybeUninit<Header<'b>>],
        bounds: &Bounds,
    ) -> Option<Result<ParsedHead<Self>, Refusal>> {
        let mut response = Response::new(&mut []);
        let parser = ParserConfig::default();
        let parsed = parser.parse_response_with_uninit_headers(&mut response, bytes, space);
        let Ok(Status::Complete(end)) = parsed else { return None };
        // `httparse` skips empty lines.
        if !bytes.starts_with(b"HTTP/")
            || end > bounds.max_head_bytes
            || !bytes.get(..end)?.ends_with(b"\r\n\r\n")
        {
            return None;
        }
        let status = response.code?;
        let places = places(bytes, response.headers)?;
        let version = match response.version {
            Some(1) => HttpVersion::Http11,
            _ => HttpVersion::Http10,
        };
        let framing = FramingHeaders::of(response.headers).and_then(|framing_headers| {
            let body = framing_headers.body(version)?.unwrap_or(BodyKind::Close);
            Ok((body, framing_headers.keeps_alive(version)))
        });
        Some(match framing {
            _ if status < 100 => Err(Refusal::Status),
            // The length is too large for `u64`.
            Ok((BodyKind::Length(u64::MAX), _)) => Err(Refusal::InvalidLength),
            Ok((body, keep_alive)) => {
                Ok(ParsedHead { end, version, places, body, keep_alive, own: Self { status } })
            }
            Err(refusal) => Err(refusal),
        })
    }
}
