//! Where a head ends, and what it says.
//!
//! In: bytes that may be the beginning of a head; then the whole of it. Out: the head, and how its
//! body is framed, or why it is refused. `httparse` splits lines into names and values; it lets
//! through bare line feeds, what is no URI, and all that only several fields together get wrong.

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use bytes::Bytes;
use httparse::{Header, Request, Status};

use super::body::BodyKind;
use super::buffer::Buffer;
use super::fault::fault_of;
use super::head::{Field, Fields, Head, HttpVersion, position, split_authority};
use super::reader::{Bounds, Incoming};
use super::refusal::Refusal;
use super::syntax::{is_host, is_target, is_token, is_token_byte, trim};

/// So many fields are found without memory of their own.
const FEW_FIELDS: usize = 32;

/// Looks for the end of a head, line by line, as bytes come.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Where the line begins whose end has not come.
    line: usize,
    /// Complete lines, the request line among them.
    lines: usize,
}

impl Scan {
    /// The length of the head, with the empty line behind it; `None` if more bytes are needed.
    /// What is refused does not depend on how much more has come.
    pub(super) fn find_end(
        &mut self,
        buffer: &mut Buffer,
        bounds: &Bounds,
    ) -> Result<Option<usize>, Refusal> {
        if buffer.bytes().first().is_some_and(|byte| !is_token_byte(*byte)) {
            return Err(Refusal::Method);
        }
        loop {
            let (max, too_long) = self.max_bytes(bounds);
            let Some(line_feed) = buffer.find_line_feed(max) else {
                return if buffer.len() < max { Ok(None) } else { Err(too_long) };
            };
            match buffer.bytes().get(self.line..line_feed).unwrap_or_default() {
                [b'\r'] if self.lines > 0 => return Ok(Some(line_feed + 1)),
                [b' ' | b'\t', .., b'\r'] => return Err(Refusal::FoldedField),
                [.., b'\r'] => {}
                _ => return Err(Refusal::BareLineFeed),
            }
            if self.lines > bounds.max_fields {
                return Err(Refusal::TooManyFields { max_fields: bounds.max_fields });
            }
            self.lines += 1;
            self.line = line_feed + 1;
        }
    }

    /// How many fields there are, once the end was found.
    pub(super) fn fields(&self) -> usize {
        self.lines.saturating_sub(1)
    }

    fn max_bytes(&self, bounds: &Bounds) -> (usize, Refusal) {
        let max_head_bytes = bounds.max_head_bytes;
        if self.lines == 0 {
            (max_head_bytes / 2, Refusal::TargetTooLong { max_head_bytes })
        } else {
            (max_head_bytes, Refusal::HeadTooLong { max_head_bytes })
        }
    }
}

/// Reads a whole head: lines that end with CR and LF, an empty one last.
pub(super) fn parse(text: Bytes, fields: usize, bounds: &Bounds) -> Result<Incoming, Refusal> {
    let mut few = [const { MaybeUninit::uninit() }; FEW_FIELDS];
    let mut many: Vec<MaybeUninit<Header<'_>>> = Vec::new();
    let space = if fields <= FEW_FIELDS {
        few.as_mut_slice()
    } else {
        many.resize_with(fields, MaybeUninit::uninit);
        many.as_mut_slice()
    };
    let mut request = Request::new(&mut []);
    match request.parse_with_uninit_headers(&text, space) {
        Ok(Status::Complete(end)) if end == text.len() => {}
        _ => return Err(fault_of(&text)),
    }
    let version = match request.version {
        Some(1) => HttpVersion::Http11,
        _ => HttpVersion::Http10,
    };
    let mut facts = Facts::default();
    let mut places = Fields::new();
    let start = text.as_ptr().addr();
    for Header { name, value } in request.headers.iter() {
        facts.see(name, value)?;
        let name_start = name.as_ptr().addr().saturating_sub(start);
        let value_start = value.as_ptr().addr().saturating_sub(start);
        places.push(Field {
            name: position(name_start),
            name_end: position(name_start + name.len()),
            value: position(value_start),
            value_end: position(value_start + value.len()),
        });
    }
    let (method, target) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
    let body = facts.check(method, target, version, bounds)?;
    let method_end = method.len();
    let target_end = method_end + 1 + target.len();
    let Facts { expects_continue, close, keep_alive, .. } = facts;
    let http11 = version == HttpVersion::Http11;
    Ok(Incoming::Head {
        expects_continue: expects_continue && http11 && !body.is_empty(),
        keep_alive: !close && (http11 || keep_alive),
        body,
        head: Head::parsed(text, position(method_end), position(target_end), version, places),
    })
}

/// What the fields say about the message and the connection.
#[derive(Default)]
struct Facts<'a> {
    host: Option<&'a [u8]>,
    length: Option<u64>,
    coding: Option<Result<(), Refusal>>,
    expects_continue: bool,
    close: bool,
    keep_alive: bool,
}

impl<'a> Facts<'a> {
    /// Takes note of one field.
    fn see(&mut self, name: &str, value: &'a [u8]) -> Result<(), Refusal> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        match name.len() {
            4 if is("host") => once(&mut self.host, value, Refusal::SeveralHosts)?,
            6 if is("expect") => self.expects_continue |= has_element(value, b"100-continue"),
            10 if is("connection") => {
                self.close |= has_element(value, b"close");
                self.keep_alive |= has_element(value, b"keep-alive");
            }
            14 if is("content-length") => {
                once(&mut self.length, length(value)?, Refusal::SeveralLengths)?;
            }
            17 if is("transfer-encoding") => {
                for element in value.split(|byte| *byte == b',') {
                    self.coding = Some(self.add_coding(trim(element)));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What `Transfer-Encoding` is with another coding; its first fault stays.
    fn add_coding(&self, coding: &[u8]) -> Result<(), Refusal> {
        let name = coding.split(|byte| *byte == b';').next().unwrap_or_default();
        match self.coding {
            Some(Err(refusal)) => Err(refusal),
            Some(Ok(())) => Err(Refusal::ChunkedNotLast),
            None if coding.eq_ignore_ascii_case(b"chunked") => Ok(()),
            None if trim(name).eq_ignore_ascii_case(b"chunked") => Err(Refusal::InvalidCoding),
            None if is_token(trim(name)) => Err(Refusal::UnknownCoding),
            None => Err(Refusal::InvalidCoding),
        }
    }

    /// Checks what one field alone cannot get wrong, and says how the body is framed.
    fn check(
        &self,
        method: &str,
        target: &str,
        version: HttpVersion,
        bounds: &Bounds,
    ) -> Result<BodyKind, Refusal> {
        let authority = authority(method, target)?;
        match (self.host, authority) {
            (None, _) if version == HttpVersion::Http11 => return Err(Refusal::MissingHost),
            (Some(host), _) if !is_host(host) => return Err(Refusal::InvalidHost),
            (Some(host), Some(authority)) if !host.eq_ignore_ascii_case(authority.as_bytes()) => {
                return Err(Refusal::HostMismatch);
            }
            _ => {}
        }
        match (self.coding, self.length) {
            (Some(_), Some(_)) => Err(Refusal::LengthAndCoding),
            (Some(_), None) if version == HttpVersion::Http10 => Err(Refusal::CodingInHttp10),
            (Some(coding), None) => coding.map(|()| BodyKind::Chunked),
            (None, Some(length)) if length > bounds.max_body_bytes => Err(bounds.body_too_long()),
            (None, Some(length)) => Ok(BodyKind::Length(length)),
            (None, None) => Ok(BodyKind::None),
        }
    }
}

/// Puts in place what may be there once.
fn once<T>(place: &mut Option<T>, value: T, twice: Refusal) -> Result<(), Refusal> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(twice),
    }
}

/// Checks the form of a target; its authority, if it has one.
///
/// [RFC 9112, section 3.2](https://www.rfc-editor.org/rfc/rfc9112#section-3.2)
fn authority<'a>(method: &str, target: &'a str) -> Result<Option<&'a str>, Refusal> {
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

/// The value of `Content-Length`: decimal digits and nothing else. More than fit are too many for
/// any limit.
fn length(value: &[u8]) -> Result<u64, Refusal> {
    if value.is_empty() {
        return Err(Refusal::InvalidLength);
    }
    value.iter().try_fold(0_u64, |length, byte| match byte {
        b'0'..=b'9' => Ok(length.saturating_mul(10).saturating_add(u64::from(byte - b'0'))),
        _ => Err(Refusal::InvalidLength),
    })
}

/// Whether a list has this element, in any case.
fn has_element(list: &[u8], element: &[u8]) -> bool {
    list.split(|byte| *byte == b',').any(|one| trim(one).eq_ignore_ascii_case(element))
}
