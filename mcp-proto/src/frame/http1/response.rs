//! Encoding of responses: the head, and the framing of the body.
//!
//! In: status, fields, the length of the body if it is known, and properties of the request. Out:
//! bytes, appended to `out`. There is no `Date`: a machine without a clock need not send it (RFC
//! 9110, section 6.6.1).
//!
//! [RFC 9112, section 6](https://www.rfc-editor.org/rfc/rfc9112#section-6)

use alloc::borrow::Cow;
use alloc::vec::Vec;

use smallvec::SmallVec;

use super::head::{Head, HttpVersion};
use super::syntax::{is_field_text, is_token};

/// Interim response that allows the client to send the body.
///
/// [RFC 9110, section 15.2.1](https://www.rfc-editor.org/rfc/rfc9110#section-15.2.1)
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The head of a response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResponseHead {
    /// The status; 200 to 599.
    pub status: u16,
    /// Not public, because the type belongs to a dependency.
    fields: SmallVec<[(&'static str, Cow<'static, str>); 1]>,
    /// The length of the body in bytes; `None` if it is not known yet.
    pub length: Option<u64>,
}

/// Properties of a request that decide the framing of its response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestKind {
    /// True if the method is HEAD, so that the response has no body.
    pub is_head: bool,
    /// The version of the request.
    pub version: HttpVersion,
    /// True if the connection may serve another request.
    pub keep_alive: bool,
}

/// Framing of a response body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Framing {
    /// No body, or no more body: further data is dropped.
    Nothing,
    /// This many bytes follow; excess data is dropped.
    Length(u64),
    /// Any number of chunks.
    Chunked,
    /// The end of the connection ends the body.
    Close,
}

impl ResponseHead {
    /// A response without fields and without a body.
    pub fn new(status: u16) -> Self {
        Self { status, fields: SmallVec::new(), length: Some(0) }
    }

    /// The fields, without `Connection`, `Content-Length` and `Transfer-Encoding`: these define the
    /// framing of the response, and [`encode`](Self::encode) adds them.
    pub fn fields(&self) -> &[(&'static str, Cow<'static, str>)] {
        &self.fields
    }

    /// The fields, by value.
    pub fn into_fields(self) -> impl ExactSizeIterator<Item = (&'static str, Cow<'static, str>)> {
        self.fields.into_iter()
    }

    /// Adds a field, also if there is one with this name.
    pub fn push(&mut self, name: &'static str, value: impl Into<Cow<'static, str>>) {
        self.fields.push((name, value.into()));
    }

    /// Appends the head to `out`. Omits fields with an invalid or reserved name; controls in
    /// values become spaces.
    pub fn encode(&self, request: RequestKind, out: &mut Vec<u8>) -> Framing {
        let framing = self.framing(request);
        if self.status == 200 {
            out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        } else {
            out.extend_from_slice(b"HTTP/1.1 ");
            decimal(u64::from(self.status), out);
            out.push(b' ');
            out.extend_from_slice(reason(self.status).as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        for (name, value) in &self.fields {
            field(name, value, out);
        }
        match (&framing, self.length) {
            (Framing::Length(length), _) => content_length(*length, out),
            // The length that the answer to a GET would have.
            (Framing::Nothing, Some(length)) if request.is_head && !is_bare(self.status) => {
                content_length(length, out);
            }
            (Framing::Chunked, _) => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
            (Framing::Nothing | Framing::Close, _) => {}
        }
        let keeps_alive = request.keep_alive && framing.keeps_alive();
        out.extend_from_slice(match (keeps_alive, request.version) {
            (false, _) => b"Connection: close\r\n\r\n",
            (true, HttpVersion::Http10) => b"Connection: keep-alive\r\n\r\n",
            (true, HttpVersion::Http11 | HttpVersion::Other) => b"\r\n",
        });
        framing
    }

    fn framing(&self, request: RequestKind) -> Framing {
        match self.length {
            _ if request.is_head || is_bare(self.status) => Framing::Nothing,
            // "a server MUST NOT generate content in a 205 response" (RFC 9110, 15.3.6)
            _ if self.status == 205 => Framing::Length(0),
            Some(length) => Framing::Length(length),
            None if request.version == HttpVersion::Http10 => Framing::Close,
            None => Framing::Chunked,
        }
    }
}

/// Appends the head of an answer with the status 200 and a body in JSON, and makes room for the
/// body. Appends the same bytes as [`ResponseHead::encode`]. Most answers have this head; without
/// this function a call over HTTP costs 3 % more.
pub(crate) fn json_head(length: usize, request: RequestKind, out: &mut Vec<u8>) -> Framing {
    const START: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ";
    const END: &[u8] = b"\r\n\r\n";
    let is_usual = !request.is_head && request.version == HttpVersion::Http11 && request.keep_alive;
    if !is_usual {
        let mut head = ResponseHead::new(200);
        head.length = Some(length as u64);
        head.push("Content-Type", "application/json");
        return head.encode(request, out);
    }
    let digits = length.checked_ilog10().unwrap_or(0) as usize + 1;
    // Exactly what the answer needs: a full buffer becomes `Bytes` without an allocation.
    let size = START.len() + digits + END.len() + length;
    if out.capacity() == 0 {
        *out = Vec::with_capacity(size);
    } else {
        out.reserve(size);
    }
    out.extend_from_slice(START);
    decimal(length as u64, out);
    out.extend_from_slice(END);
    Framing::Length(length as u64)
}

impl RequestKind {
    /// For a request that could not be read: the connection ends after its answer.
    pub const REFUSED: Self =
        Self { is_head: false, version: HttpVersion::Http11, keep_alive: false };

    /// Reads the properties from the head of a request.
    pub fn new(head: &Head, keep_alive: bool) -> Self {
        Self { is_head: head.raw_line().0 == b"HEAD", version: head.version(), keep_alive }
    }
}

impl Framing {
    /// Appends data of the body to `out`.
    pub fn data(&mut self, data: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Nothing => {}
            Self::Length(left) => {
                let length = usize::try_from(*left).unwrap_or(usize::MAX).min(data.len());
                out.extend_from_slice(data.get(..length).unwrap_or_default());
                *left = left.saturating_sub(length as u64);
            }
            // An empty chunk would end the body.
            Self::Chunked if data.is_empty() => {}
            Self::Chunked => {
                // Exactly what a chunk needs: a buffer without a rest becomes `Bytes` at once.
                let digits = (usize::BITS - data.len().leading_zeros()).div_ceil(4) as usize;
                out.reserve(digits + data.len() + b"\r\n\r\n".len());
                hexadecimal(data.len(), out);
                out.extend_from_slice(b"\r\n");
                out.extend_from_slice(data);
                out.extend_from_slice(b"\r\n");
            }
            Self::Close => out.extend_from_slice(data),
        }
    }

    /// Ends the body. If the body is shorter than its announced length, only the end of the
    /// connection shows that.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        *self = match self {
            Self::Nothing | Self::Length(0) => Self::Nothing,
            Self::Chunked => {
                out.extend_from_slice(b"0\r\n\r\n");
                Self::Nothing
            }
            Self::Length(_) | Self::Close => Self::Close,
        };
    }

    /// Returns whether the connection may continue after this body, if the request allows it.
    pub fn keeps_alive(&self) -> bool {
        match self {
            Self::Nothing | Self::Length(_) | Self::Chunked => true,
            Self::Close => false,
        }
    }
}

/// Returns whether responses with this status never have a body or a `Content-Length`.
fn is_bare(status: u16) -> bool {
    matches!(status, 100..=199 | 204 | 304)
}

fn field(name: &str, value: &str, out: &mut Vec<u8>) {
    // Most answers have this field, which is valid.
    if (name, value) == ("Content-Type", "application/json") {
        return out.extend_from_slice(b"Content-Type: application/json\r\n");
    }
    let framing = ["connection", "content-length", "transfer-encoding"];
    if !is_token(name.as_bytes()) || framing.iter().any(|one| name.eq_ignore_ascii_case(one)) {
        return;
    }
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    if is_field_text(value.as_bytes()) {
        out.extend_from_slice(value.as_bytes());
    } else {
        out.extend(value.bytes().map(|byte| if is_field_text(&[byte]) { byte } else { b' ' }));
    }
    out.extend_from_slice(b"\r\n");
}

pub(super) fn content_length(length: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"Content-Length: ");
    decimal(length, out);
    out.extend_from_slice(b"\r\n");
}

fn decimal(number: u64, out: &mut Vec<u8>) {
    digits(number, 10, out);
}

fn hexadecimal(number: usize, out: &mut Vec<u8>) {
    digits(number as u64, 16, out);
}

fn digits(mut number: u64, radix: u64, out: &mut Vec<u8>) {
    let start = out.len();
    loop {
        let digit = usize::try_from(number % radix).unwrap_or_default();
        out.extend(b"0123456789abcdef".get(digit));
        number /= radix;
        if number == 0 {
            break;
        }
    }
    out.get_mut(start..).unwrap_or_default().reverse();
}

/// The reason phrase of a status; empty for a status that RFC 9110 does not define.
fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_of_json_is_the_same_with_and_without_its_function() {
        for (is_head, keep_alive) in [(false, true), (false, false), (true, true), (true, false)] {
            for version in [HttpVersion::Http10, HttpVersion::Http11, HttpVersion::Other] {
                let request = RequestKind { is_head, version, keep_alive };
                for length in (0..120).chain([999, 1000, 65_535, 1_000_000]) {
                    let mut head = ResponseHead::new(200);
                    head.length = Some(length as u64);
                    head.push("Content-Type", "application/json");
                    let (mut expected, mut written) = (Vec::new(), Vec::new());
                    let framing = head.encode(request, &mut expected);
                    assert_eq!(json_head(length, request, &mut written), framing);
                    assert_eq!(written, expected, "{request:?} {length}");
                }
            }
        }
    }
}
