//! Where a head ends, and what it says.
//!
//! In: bytes that may be the beginning of a head; then the whole of it. Out: the head, and how its
//! body is framed, or why it is refused. `httparse` splits lines into names and values; it lets
//! through bare line feeds, what is no URI, and all that only several fields together get wrong.

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use httparse::{Header, Request, Status};

use super::body::BodyKind;
use super::buffer::Buffer;
use super::fault::fault_of;
use super::head::{Field, Fields, Head, HttpVersion, position, split_authority};
use super::reader::{Bounds, Incoming};
use super::refusal::Refusal;
use super::syntax::{is_host, is_named, is_target, is_token, is_token_byte, trim};

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
    /// The head at the beginning of the buffer; `None` if more bytes are needed. What is refused
    /// does not depend on how much more has come.
    pub(super) fn next(
        &mut self,
        buffer: &mut Buffer,
        bounds: &Bounds,
    ) -> Result<Option<Parsed>, Refusal> {
        // Most heads come whole, with few fields and no fault.
        if buffer.is_unsearched() {
            let max_fields = FEW_FIELDS.min(bounds.max_fields);
            if let Some(parsed) = parse(buffer.bytes(), max_fields, bounds) {
                return parsed.map(Some);
            }
        }
        let Some(end) = self.find_end(buffer, bounds)? else { return Ok(None) };
        let text = buffer.bytes().get(..end).unwrap_or_default();
        let parsed = parse(text, self.lines.saturating_sub(1), bounds);
        parsed.unwrap_or_else(|| Err(fault_of(text))).map(Some)
    }

    /// The length of the head, with the empty line behind it.
    fn find_end(&mut self, buffer: &mut Buffer, bounds: &Bounds) -> Result<Option<usize>, Refusal> {
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

    fn max_bytes(&self, bounds: &Bounds) -> (usize, Refusal) {
        let max_head_bytes = bounds.max_head_bytes;
        if self.lines == 0 {
            (max_head_bytes / 2, Refusal::TargetTooLong { max_head_bytes })
        } else {
            (max_head_bytes, Refusal::HeadTooLong { max_head_bytes })
        }
    }
}

/// Reads the head at the beginning of `bytes`, with at most `max_fields` fields. `None` if the
/// whole of it has not come, or if it is not made of lines as they must be: whoever looks at it
/// line by line knows more.
pub(super) fn parse(
    bytes: &[u8],
    max_fields: usize,
    bounds: &Bounds,
) -> Option<Result<Parsed, Refusal>> {
    let mut few = [const { MaybeUninit::uninit() }; FEW_FIELDS];
    let mut many: Vec<MaybeUninit<Header<'_>>> = Vec::new();
    let space = if let Some(few) = few.get_mut(..max_fields) {
        few
    } else {
        many.resize_with(max_fields, MaybeUninit::uninit);
        many.as_mut_slice()
    };
    let mut request = Request::new(&mut []);
    let Ok(Status::Complete(end)) = request.parse_with_uninit_headers(bytes, space) else {
        return None;
    };
    let (method, target) = (request.method?, request.path?);
    let start = bytes.as_ptr().addr();
    let place = |text: &[u8]| text.as_ptr().addr().checked_sub(start);
    let line_bytes = method.len() + target.len() + b"  HTTP/1.1\r\n".len();
    if place(method.as_bytes()) != Some(0)
        || line_bytes > bounds.max_head_bytes / 2
        || end > bounds.max_head_bytes
        || !bytes.get(..end)?.ends_with(b"\r\n\r\n")
    {
        return None;
    }
    let mut places = Fields::new();
    for Header { name, value } in request.headers.iter() {
        let (name_start, value_start) = (place(name.as_bytes())?, place(value)?);
        // The line before must not end with LF alone.
        if bytes.get(name_start.checked_sub(2)?) != Some(&b'\r') {
            return None;
        }
        places.push(Field {
            name: position(name_start),
            name_end: position(name_start + name.len()),
            value: position(value_start),
            value_end: position(value_start + value.len()),
        });
    }
    let version = match request.version {
        Some(1) => HttpVersion::Http11,
        _ => HttpVersion::Http10,
    };
    let facts = match Facts::of(request.headers) {
        Ok(facts) => facts,
        Err(refusal) => return Some(Err(refusal)),
    };
    let body = match facts.check(method, target, version, bounds) {
        Ok(body) => body,
        Err(refusal) => return Some(Err(refusal)),
    };
    let Facts { expects_continue, close, keep_alive, .. } = facts;
    let http11 = version == HttpVersion::Http11;
    Some(Ok(Parsed {
        end,
        method_end: position(method.len()),
        target_end: position(method.len() + 1 + target.len()),
        version,
        places,
        body,
        expects_continue: expects_continue && http11 && !body.is_empty(),
        keep_alive: !close && (http11 || keep_alive),
    }))
}

/// Where the parts of a head are, and what it says.
pub(super) struct Parsed {
    end: usize,
    method_end: u16,
    target_end: u16,
    version: HttpVersion,
    places: Fields,
    pub(super) body: BodyKind,
    expects_continue: bool,
    pub(super) keep_alive: bool,
}

impl Parsed {
    /// Takes the head out of the buffer that it was found in.
    pub(super) fn take(self, buffer: &mut Buffer) -> Incoming {
        let Self { end, method_end, target_end, version, places, .. } = self;
        Incoming::Head {
            head: Head::parsed(buffer.take(end), method_end, target_end, version, places),
            body: self.body,
            expects_continue: self.expects_continue,
            keep_alive: self.keep_alive,
        }
    }
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
    fn of(fields: &[Header<'a>]) -> Result<Self, Refusal> {
        let mut facts = Self::default();
        fields.iter().try_for_each(|field| facts.see(field.name, field.value))?;
        Ok(facts)
    }

    /// Takes note of one field.
    fn see(&mut self, name: &str, value: &'a [u8]) -> Result<(), Refusal> {
        let is = |known: &str| is_named(name.as_bytes(), known.as_bytes());
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
