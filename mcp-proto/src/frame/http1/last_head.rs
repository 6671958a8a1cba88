//! The last head of a connection, of a request or a response, for comparison with the next one.
//!
//! A peer writes its heads with the same code, so most of them differ in the length of the body
//! only. A head that equals the last one is not parsed: a call over HTTP costs a server 10 % less,
//! and a client 2 %. The second head in a row that differs from the last one takes its place, so a
//! connection with one request keeps nothing. Law: whatever a
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
use super::syntax::is_named;

/// Maximum size of a head that is kept, in bytes.
const MAX_HEAD: usize = 1024;

/// The last head, if it is kept.
#[derive(Debug)]
pub(super) struct LastHead<S> {
    last: Option<Box<KnownHead<S>>>,
    /// True if the head after it was another one.
    differed: bool,
    /// True if the last head that was read equals the one that is kept.
    repeats: bool,
}

#[derive(Debug)]
struct KnownHead<S> {
    /// The head, with the empty line at its end.
    text: Box<[u8]>,
    /// The digits of `Content-Length` in `text`; empty without this field.
    length: Range<usize>,
    parsed: ParsedHead<S>,
}

impl<S> Default for LastHead<S> {
    fn default() -> Self {
        Self { last: None, differed: false, repeats: false }
    }
}

impl<S: HeadSyntax> LastHead<S> {
    /// The head at the beginning of the buffer, as [`Scan::next`] finds it.
    pub(super) fn next(
        &mut self,
        scan: &mut Scan,
        buffer: &mut Buffer,
        bounds: &Bounds,
    ) -> Result<Option<ParsedHead<S>>, Refusal> {
        if buffer.is_unsearched()
            && let Some(parsed) = self.find(buffer.bytes())
        {
            self.repeats = true;
            return Ok(Some(parsed));
        }
        self.repeats = false;
        let parsed = scan.next(buffer, bounds)?;
        if let Some(parsed) = &parsed {
            self.record(buffer.bytes(), parsed);
        }
        Ok(parsed)
    }

    /// Returns whether the last head equals the one before in all but the digits of
    /// `Content-Length`.
    pub(super) fn repeats(&self) -> bool {
        self.repeats
    }

    /// The head at the beginning of `bytes`, if it equals the last one in all but the digits of
    /// `Content-Length`.
    fn find(&mut self, bytes: &[u8]) -> Option<ParsedHead<S>> {
        let parsed = self.last.as_ref()?.find(bytes)?;
        self.differed = false;
        Some(parsed)
    }

    /// Takes a head that differs from the last one.
    fn record(&mut self, bytes: &[u8], parsed: &ParsedHead<S>) {
        if core::mem::replace(&mut self.differed, true) {
            self.last = KnownHead::new(bytes, parsed).map(Box::new);
            self.differed = false;
        }
    }
}

impl<S: HeadSyntax> KnownHead<S> {
    /// The head at the beginning of `bytes`; `None` if it must not be kept.
    fn new(bytes: &[u8], parsed: &ParsedHead<S>) -> Option<Self> {
        let text = bytes.get(..parsed.end).filter(|text| text.len() <= MAX_HEAD)?;
        let mut length = 0..0;
        for place in parsed.places.iter() {
            let name = text.get(usize::from(place.name)..usize::from(place.name_end))?;
            // Whether the client waits depends on the length of the body.
            if is_named(name, b"expect") || is_secret(core::str::from_utf8(name).ok()?) {
                return None;
            }
            if is_named(name, b"content-length") {
                length = usize::from(place.value)..usize::from(place.value_end);
            }
        }
        Some(Self { text: text.into(), length, parsed: parsed.clone() })
    }

    fn find(&self, bytes: &[u8]) -> Option<ParsedHead<S>> {
        let Self { text, length: digits, .. } = self;
        let head = bytes.get(..text.len())?;
        if head.get(..digits.start)? != text.get(..digits.start)?
            || head.get(digits.end..)? != text.get(digits.end..)?
        {
            return None;
        }
        let mut parsed = self.parsed.clone();
        if let BodyKind::Length(bytes) = &mut parsed.body {
            // A number that is too large is left to the parser.
            *bytes = length(head.get(digits.clone())?).ok().filter(|bytes| *bytes < u64::MAX)?;
        }
        Some(parsed)
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
