//! The head of the last request of a connection, for comparison with the next one.
//!
//! A client writes its heads with the same code, so most of them differ in the length of the body
//! only. A head that equals the last one is not parsed: a call over HTTP costs 10 % less. The second
//! head in a row that differs from the last one takes its place, so a connection with one request
//! keeps nothing. Law: whatever a [`RequestReader`](super::RequestReader) has read before, it reads
//! the next request in the same way.
//!
//! A head with credentials is not kept, so that they are in memory no longer than their request.

use alloc::boxed::Box;
use core::ops::Range;

use super::body::BodyKind;
use super::fields::is_secret;
use super::framing_headers::length;
use super::parse::Parsed;
use super::syntax::is_named;

/// Maximum size of a head that is kept, in bytes.
const MAX_HEAD: usize = 1024;

/// The head of the last request, if it is kept.
#[derive(Debug, Default)]
pub(super) struct LastHead {
    last: Option<Box<KnownHead>>,
    /// True if the last request had another head.
    differed: bool,
}

#[derive(Debug)]
struct KnownHead {
    /// The head, with the empty line at its end.
    text: Box<[u8]>,
    /// The digits of `Content-Length` in `text`; empty without this field.
    length: Range<usize>,
    parsed: Parsed,
}

impl LastHead {
    /// The head at the beginning of `bytes`, if it equals the last one in all but the digits of
    /// `Content-Length`.
    pub(super) fn find(&mut self, bytes: &[u8]) -> Option<Parsed> {
        let parsed = self.last.as_ref()?.find(bytes)?;
        self.differed = false;
        Some(parsed)
    }

    /// Takes a head that differs from the last one.
    pub(super) fn record(&mut self, bytes: &[u8], parsed: &Parsed) {
        if core::mem::replace(&mut self.differed, true) {
            self.last = KnownHead::new(bytes, parsed).map(Box::new);
            self.differed = false;
        }
    }
}

impl KnownHead {
    /// The head at the beginning of `bytes`; `None` if it must not be kept.
    fn new(bytes: &[u8], parsed: &Parsed) -> Option<Self> {
        let text = bytes.get(..parsed.end).filter(|text| text.len() <= MAX_HEAD)?;
        let mut length = 0..0;
        for place in &parsed.places {
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

    fn find(&self, bytes: &[u8]) -> Option<Parsed> {
        let Self { text, length: digits, .. } = self;
        let head = bytes.get(..text.len())?;
        if head.get(..digits.start)? != text.get(..digits.start)?
            || head.get(digits.end..)? != text.get(digits.end..)?
        {
            return None;
        }
        let mut parsed = self.parsed.clone();
        if let BodyKind::Length(bytes) = &mut parsed.body {
            *bytes = length(head.get(digits.clone())?).ok()?;
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
