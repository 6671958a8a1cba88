//! Parser for the head of a request.
//!
//! In: a complete head. Out: the head and the framing of its body, or the refusal. `httparse`
//! splits lines into names and values. `httparse` accepts bare line feeds, invalid targets, and
//! invalid combinations of fields, which are checked here.

use core::mem::MaybeUninit;

use httparse::{Header, Request, Status};

use super::body::BodyKind;
use super::bounds::Bounds;
use super::buffer::Buffer;
use super::fields::position;
use super::framing_headers::{FramingHeaders, places};
use super::head::{Head, HttpVersion, split_authority};
use super::head_syntax::{HeadSyntax, ParsedHead};
use super::incoming::Incoming;
use super::refusal::Refusal;
use super::syntax::{is_host, is_target, is_token, is_token_byte};

/// Parts that only the head of a request has.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestParts {
    method_end: u16,
    target_end: u16,
    expects_continue: bool,
}

impl ParsedHead<RequestParts> {
    /// Takes the head out of its buffer.
    pub(super) fn take(self, buffer: &mut Buffer) -> Incoming {
        let Self { end, version, places, body, keep_alive, own } = self;
        let RequestParts { method_end, target_end, expects_continue } = own;
        let head = Head::parsed(buffer.take(end), method_end, target_end, version, places);
        Incoming::Head { head, body, expects_continue, keep_alive }
    }
}

impl HeadSyntax for RequestParts {
    const NO_START_LINE: Refusal = Refusal::RequestLine;

    fn may_begin(bytes: &[u8]) -> Result<(), Refusal> {
        let is_token = bytes.first().is_none_or(|byte| is_token_byte(*byte));
        if is_token { Ok(()) } else { Err(Refusal::Method) }
    }

    fn max_start_line(bounds: &Bounds) -> (usize, Refusal) {
        let max_head_bytes = bounds.max_head_bytes;
        (max_head_bytes / 2, Refusal::TargetTooLong { max_head_bytes })
    }

    fn check_start_line(line: &[u8]) -> Result<(), Refusal> {
        let mut parts = line.split(|byte| *byte == b' ');
        let method = parts.next().unwrap_or_default();
        let target = parts.next();
        let version = parts.next();
        let rest = parts.next();
        if line.contains(&b'\r') {
            return Err(Refusal::BareCarriageReturn);
        }
        if !is_token(method) {
            return Err(Refusal::Method);
        }
        let (Some(target), Some(version), None) = (target, version, rest) else {
            return Err(Refusal::RequestLine);
        };
        match version {
            _ if target.is_empty() => Err(Refusal::RequestLine),
            b"HTTP/1.0" | b"HTTP/1.1" if target.iter().all(u8::is_ascii_graphic) => Ok(()),
            b"HTTP/1.0" | b"HTTP/1.1" => Err(Refusal::Target),
            [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => Err(Refusal::Version),
            _ => Err(Refusal::RequestLine),
        }
    }

    fn parse<'b>(
        bytes: &'b [u8],
        space: &mut [MaybeUninit<Header<'b>>],
        bounds: &Bounds,
    ) -> Option<Result<ParsedHead<Self>, Refusal>> {
        let mut request = Request::new(&mut []);
        let Ok(Status::Complete(end)) = request.parse_with_uninit_headers(bytes, space) else {
            return None;
        };
        let method = request.method?;
        let target = request.path?;
        let line_bytes = method.len() + target.len() + b"  HTTP/1.1\r\n".len();
        if method.as_ptr() != bytes.as_ptr()
            || line_bytes > bounds.max_head_bytes / 2
            || end > bounds.max_head_bytes
            || !bytes.get(..end)?.ends_with(b"\r\n\r\n")
        {
            return None;
        }
        let places = places(bytes, request.headers)?;
        let version = match request.version {
            Some(1) => HttpVersion::Http11,
            _ => HttpVersion::Http10,
        };
        let framing_headers = match FramingHeaders::of(request.headers) {
            Ok(framing_headers) => framing_headers,
            Err(refusal) => return Some(Err(refusal)),
        };
        let body = match check(&framing_headers, method, target, version) {
            Ok(body) => body,
            Err(refusal) => return Some(Err(refusal)),
        };
        let waits = framing_headers.expects_continue && version == HttpVersion::Http11;
        let own = Self {
            method_end: position(method.len()),
            target_end: position(method.len() + 1 + target.len()),
            expects_continue: waits && body.is_wanted(bounds),
        };
        let keep_alive = framing_headers.keeps_alive(version);
        Some(Ok(ParsedHead { end, version, places, body, keep_alive, own }))
    }
}

/// Checks combinations of fields; returns the framing of the body.
fn check(
    framing_headers: &FramingHeaders<'_>,
    method: &str,
    target: &str,
    version: HttpVersion,
) -> Result<BodyKind, Refusal> {
    let host = framing_headers.host.transpose()?;
    let authority = authority(method, target)?;
    match (host, authority) {
        (None, _) if version == HttpVersion::Http11 => return Err(Refusal::MissingHost),
        (Some(host), _) if !is_host(host) => return Err(Refusal::InvalidHost),
        (Some(host), Some(authority)) if !host.eq_ignore_ascii_case(authority.as_bytes()) => {
            return Err(Refusal::HostMismatch);
        }
        _ => {}
    }
    Ok(framing_headers.body(version)?.unwrap_or(BodyKind::None))
}

/// Checks the form of a target; returns its authority, if it has one.
///
/// [RFC 9112, section 3.2](https://www.rfc-editor.org/rfc/rfc9112#section-3.2)
pub(super) fn authority<'a>(method: &str, target: &'a str) -> Result<Option<&'a str>, Refusal> {
    if !is_target(target.as_bytes()) {
        return Err(Refusal::Target);
    }
    if target.starts_with('/') || target == "*" && method == "OPTIONS" {
        return Ok(None);
    }
    let is_web = |(scheme, _): (&str, &str)| {
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    };
    if !target.split_once("://").is_some_and(is_web) {
        return Err(Refusal::Target);
    }
    let (authority, _) = split_authority(target).ok_or(Refusal::Target)?;
    if authority.is_empty() || authority.starts_with(':') || !is_host(authority.as_bytes()) {
        return Err(Refusal::InvalidHost);
    }
    Ok(Some(authority))
}
