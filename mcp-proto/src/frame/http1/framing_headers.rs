//! Framing and connection fields of a head.
//!
//! In: fields from `httparse`. Out: the framing of the body, and whether the connection continues;
//! the same for requests and responses.

use httparse::Header;

use super::super::number;
use super::body::BodyKind;
use super::fields::{FieldSpan, FieldSpans, position};
use super::head::HttpVersion;
use super::refusal::Refusal;
use super::syntax::{is_named, is_token, trim};

/// Values of the fields that decide framing and connection reuse.
#[derive(Default)]
pub(super) struct FramingHeaders<'a> {
    pub(super) host: Option<Result<&'a [u8], Refusal>>,
    length: Option<u64>,
    coding: Option<Result<(), Refusal>>,
    pub(super) expects_continue: bool,
    close: bool,
    keep_alive: bool,
}

impl<'a> FramingHeaders<'a> {
    /// Evaluates `fields`. Fails with the first fault.
    pub(super) fn of(fields: &[Header<'a>]) -> Result<Self, Refusal> {
        let mut framing_headers = Self::default();
        fields.iter().try_for_each(|field| framing_headers.record(field.name, field.value))?;
        Ok(framing_headers)
    }

    /// Evaluates one field.
    fn record(&mut self, name: &str, value: &'a [u8]) -> Result<(), Refusal> {
        let is = |known: &str| is_named(name.as_bytes(), known.as_bytes());
        if is("host") {
            self.host = Some(self.host.map_or(Ok(value), |_| Err(Refusal::SeveralHosts)));
        } else if is("expect") {
            self.expects_continue |= has_element(value, b"100-continue");
        } else if is("connection") {
            self.close |= has_element(value, b"close");
            self.keep_alive |= has_element(value, b"keep-alive");
        } else if is("content-length") {
            once(&mut self.length, length(value)?, Refusal::SeveralLengths)?;
        } else if is("transfer-encoding") {
            for element in value.split(|byte| *byte == b',') {
                self.coding = Some(self.add_coding(trim(element)));
            }
        }
        Ok(())
    }

    /// Value of `Transfer-Encoding` after adding `coding`. Keeps the first fault.
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

    /// Framing of the body; `None` if no field defines it.
    pub(super) fn body(&self, version: HttpVersion) -> Result<Option<BodyKind>, Refusal> {
        match (self.coding, self.length) {
            (Some(_), Some(_)) => Err(Refusal::LengthAndCoding),
            (Some(_), None) if version == HttpVersion::Http10 => Err(Refusal::CodingInHttp10),
            (Some(coding), None) => coding.map(|()| Some(BodyKind::Chunked)),
            (None, length) => Ok(length.map(BodyKind::Length)),
        }
    }

    /// Returns whether the connection may continue after this message.
    pub(super) fn keeps_alive(&self, version: HttpVersion) -> bool {
        !self.close && (version == HttpVersion::Http11 || self.keep_alive)
    }
}

/// Positions of the fields of a head; `None` if a line before a field ends with a bare LF.
pub(super) fn places(bytes: &[u8], fields: &[Header<'_>]) -> Option<FieldSpans> {
    let start = bytes.as_ptr().addr();
    let place = |text: &[u8]| text.as_ptr().addr().checked_sub(start);
    let places = fields.iter().map(|Header { name, value }| {
        let name_start = place(name.as_bytes())?;
        let value_start = place(value)?;
        (bytes.get(name_start.checked_sub(2)?) == Some(&b'\r')).then(|| FieldSpan {
            name: position(name_start),
            name_end: position(name_start + name.len()),
            value: position(value_start),
            value_end: position(value_start + value.len()),
        })
    });
    places.collect()
}

/// Sets a value that may occur only once.
fn once<T>(place: &mut Option<T>, value: T, twice: Refusal) -> Result<(), Refusal> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(twice),
    }
}

/// The value of `Content-Length`: only decimal digits. A number that overflows exceeds every limit.
pub(super) fn length(value: &[u8]) -> Result<u64, Refusal> {
    number(value).ok_or(Refusal::InvalidLength)
}

/// Returns whether a list has this element, in any case.
fn has_element(list: &[u8], element: &[u8]) -> bool {
    list.split(|byte| *byte == b',').any(|one| trim(one).eq_ignore_ascii_case(element))
}
