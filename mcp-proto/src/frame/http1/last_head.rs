//! The last head of a connection, of a request or a response, for comparison with the next one.
//!
//! A peer writes its heads with the same code, so most of them differ in the length of the body
//! only. A head that equals the last one is not parsed: a call over HTTP costs a server 10 % less,
//! and a client 2 %. On the connection of a gateway the heads of several clients take turns. There
//! the value of one field may vary, too. The second head in a row that differs from the last one
//! takes its place, so a connection with one request keeps nothing. Law: whatever a
//! [`RequestReader`](super::RequestReader) or a [`ResponseReader`](super::ResponseReader) has read
//! before, it reads the next head in the same way.
//!
//! A head with credentials is not kept, so that they are in memory no longer than their request.

use alloc::boxed::Box;
use core::ops::Range;

use super::body::BodyKind;
use super::bounds::Bounds;
use super::buffer::Buffer;
use super::fields::is_secret;
use super::framing_headers::length;
use super::head_syntax::{HeadSyntax, ParsedHead};
use super::refusal::Refusal;
use super::scan::Scan;
use super::syntax::{is_field_text, is_named, trim};

/// Maximum size of a head that is kept, in bytes.
const MAX_HEAD: usize = 1024;

/// The relation of a head to the one that is kept: the parts in which they are equal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HeadRepetition {
    /// All but the digits of `Content-Length`.
    Equal,
    /// All but these digits, and the value of the field that varies.
    Varied,
    /// Less, or it is unknown.
    Different,
}

/// The last head, if it is kept.
#[derive(Debug)]
pub(super) struct LastHead<S> {
    /// The name of a field whose value varies, in lower case; empty if there is none.
    varying: &'static str,
    last: Option<Box<KnownHead<S>>>,
    /// True if the head after it was another one.
    differed: bool,
    /// The relation of the last head that was read to the one that is kept.
    repetition: HeadRepetition,
}

#[derive(Debug)]
struct KnownHead<S> {
    /// The head, with the empty line at its end.
    text: Box<[u8]>,
    /// The digits of `Content-Length` in `text`; empty without this field.
    length: Range<usize>,
    /// The value that varies in `text`; empty without this field.
    varying: Range<usize>,
    parsed: ParsedHead<S>,
}

impl<S: HeadSyntax> LastHead<S> {
    /// No head so far. `varying` must not be the name of a field that frames the message.
    pub(super) fn new(varying: &'static str) -> Self {
        Self { varying, last: None, differed: false, repetition: HeadRepetition::Different }
    }

    /// The head at the beginning of the buffer, as [`Scan::next`] finds it.
    pub(super) fn next(
        &mut self,
        scan: &mut Scan,
        buffer: &mut Buffer,
        bounds: &Bounds,
    ) -> Result<Option<ParsedHead<S>>, Refusal> {
        if buffer.is_unsearched()
            && let Some((parsed, repetition)) =
                self.last.as_ref().and_then(|last| last.find(buffer.bytes()))
        {
            self.differed = false;
            self.repetition = repetition;
            return Ok(Some(parsed));
        }
        self.repetition = HeadRepetition::Different;
        let parsed = scan.next(buffer, bounds)?;
        if let Some(parsed) = &parsed {
            self.record(buffer.bytes(), parsed);
        }
        Ok(parsed)
    }

    /// The relation of the last head that was read to the one that is kept.
    pub(super) fn repetition(&self) -> HeadRepetition {
        self.repetition
    }

    /// Takes a head that differs from the last one.
    fn record(&mut self, bytes: &[u8], parsed: &ParsedHead<S>) {
        if core::mem::replace(&mut self.differed, true) {
            self.last = KnownHead::new(bytes, parsed, self.varying).map(Box::new);
            self.differed = false;
        }
    }
}

impl<S: HeadSyntax> KnownHead<S> {
    /// The head at the beginning of `bytes`; `None` if it must not be kept.
    fn new(bytes: &[u8], parsed: &ParsedHead<S>, varying: &str) -> Option<Self> {
        let text = bytes.get(..parsed.end).filter(|text| text.len() <= MAX_HEAD)?;
        let mut known =
            Self { text: text.into(), length: 0..0, varying: 0..0, parsed: parsed.clone() };
        for place in parsed.places.iter() {
            let name = text.get(usize::from(place.name)..usize::from(place.name_end))?;
            // Whether the client waits depends on the length of the body.
            if is_named(name, b"expect") || is_secret(core::str::from_utf8(name).ok()?) {
                return None;
            }
            let value = usize::from(place.value)..usize::from(place.value_end);
            if is_named(name, b"content-length") {
                known.length = value;
            } else if is_named(name, varying.as_bytes()) {
                known.varying = value;
            }
        }
        Some(known)
    }

    /// The head at the beginning of `bytes`, if it repeats this one.
    fn find(&self, bytes: &[u8]) -> Option<(ParsedHead<S>, HeadRepetition)> {
        let Self { text, length: digits, .. } = self;
        let head = bytes.get(..text.len())?;
        let is_equal = head.get(..digits.start)? == text.get(..digits.start)?
            && head.get(digits.end..)? == text.get(digits.end..)?;
        let repetition = if is_equal {
            HeadRepetition::Equal
        } else if self.varies(head) {
            HeadRepetition::Varied
        } else {
            return None;
        };
        let mut parsed = self.parsed.clone();
        if let BodyKind::Length(bytes) = &mut parsed.body {
            // A number that is too large is left to the parser.
            *bytes = length(head.get(digits.clone())?).ok().filter(|bytes| *bytes < u64::MAX)?;
        }
        Some((parsed, repetition))
    }

    /// Returns whether a head of the same length differs only in the digits and in the value that
    /// varies, which the parser would find in the same place.
    fn varies(&self, head: &[u8]) -> bool {
        let Self { text, length, varying, .. } = self;
        let (first, second) =
            if length.start < varying.start { (length, varying) } else { (varying, length) };
        let is_equal = |part: Range<usize>| head.get(part.clone()) == text.get(part);
        head.get(varying.clone()).is_some_and(|value| {
            !value.is_empty() && is_field_text(value) && trim(value).len() == value.len()
        }) && is_equal(0..first.start)
            && is_equal(first.end..second.start)
            && is_equal(second.end..text.len())
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec::Vec;

    use super::super::{Incoming, RequestReader};
    use bytes::Bytes;

    use crate::limits::Limits;

    /// Reads three requests with these fields; returns whether the head is kept.
    fn is_kept(fields: &str) -> bool {
        let mut reader = RequestReader::new(&Limits::default());
        for length in [10, 11, 99] {
            let body = "x".repeat(length);
            let text = format!(
                "POST / HTTP/1.1\r\nHost: a\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
            );
            reader.push(Bytes::from(text));
            let read: Vec<_> = core::iter::from_fn(|| reader.poll()).collect();
            let [Incoming::Head { .. }, Incoming::Body(read), Incoming::End] = &read[..] else {
                panic!("{read:?}")
            };
            assert_eq!(read.len(), length);
        }
        reader.last_head.last.is_some()
    }

    #[test]
    fn head_with_credentials_is_not_kept() {
        assert!(is_kept("Accept: a/b\r\n"));
        for fields in ["Authorization: x\r\n", "cookie: x\r\n", "Expect: 100-continue\r\n"] {
            assert!(!is_kept(fields), "{fields}");
        }
        assert!(!is_kept(&format!("X: {}\r\n", "x".repeat(super::MAX_HEAD))));
    }

    #[test]
    fn one_request_is_not_kept() {
        let mut reader = RequestReader::new(&Limits::default());
        for is_kept in [false, true] {
            reader.push(Bytes::from("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
            while reader.poll().is_some() {}
            assert_eq!(reader.last_head.last.is_some(), is_kept);
        }
    }
}
