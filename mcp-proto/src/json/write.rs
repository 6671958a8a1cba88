//! Encoder for JSON of a fixed shape.

use alloc::vec::Vec;

use bytes::BytesMut;
use smallvec::SmallVec;

use super::{Json, Raw, plain};

/// The text of a number.
pub(crate) type Digits = SmallVec<[u8; 24]>;

/// Destination of JSON.
pub trait Sink {
    /// Appends bytes.
    fn push(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

impl Sink for BytesMut {
    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// An object whose only member is a string.
pub fn text_object(key: &str, value: &str) -> Json {
    let mut out = Vec::with_capacity(key.len() + value.len() + r#"{"":""}"#.len());
    let mut object = List::object(&mut out);
    object.text(key, value);
    object.end();
    Json::trusted(out)
}

/// Returns whether `text` needs no escape in a JSON string.
pub(crate) fn is_plain(text: &str) -> bool {
    plain::first_special(text.as_bytes(), 0) == text.len()
}

/// Writes `text` as a JSON string.
pub fn string(out: &mut impl Sink, text: &str) {
    out.push(b"\"");
    escaped(out, text.as_bytes());
    out.push(b"\"");
}

/// Writes `text`, which is UTF-8, as the inside of a JSON string.
pub fn escaped(out: &mut impl Sink, text: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut rest = text;
    loop {
        let (plain, special) =
            rest.split_at_checked(plain::first_special(rest, 0)).unwrap_or_default();
        out.push(plain);
        match special.first() {
            Some(b'"') => out.push(b"\\\""),
            Some(b'\\') => out.push(b"\\\\"),
            Some(b'\n') => out.push(b"\\n"),
            Some(b'\r') => out.push(b"\\r"),
            Some(b'\t') => out.push(b"\\t"),
            Some(control) => {
                let digit = |n: u8| HEX.get(usize::from(n & 15)).copied().unwrap_or(b'0');
                out.push(&[b'\\', b'u', b'0', b'0', digit(control >> 4), digit(*control)]);
            }
            None => break,
        }
        rest = special.get(1..).unwrap_or_default();
    }
}

/// The decimal digits of an integer.
pub(crate) fn digits(number: i64) -> Digits {
    let mut text = [b'-'; 20];
    let mut start = text.len();
    let mut rest = number.unsigned_abs();
    for place in text.iter_mut().rev() {
        // A digit fits into a byte.
        *place = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        start -= 1;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    start -= usize::from(number < 0);
    Digits::from_slice(text.get(start..).unwrap_or_default())
}

/// Writes an object member by member, or an array element by element.
pub struct List<'a, S: Sink> {
    out: &'a mut S,
    close: &'static [u8],
    empty: bool,
}

impl<'a, S: Sink> List<'a, S> {
    /// Begins an object.
    pub fn object(out: &'a mut S) -> Self {
        out.push(b"{");
        Self { out, close: b"}", empty: true }
    }

    /// Begins an array.
    pub fn array(out: &'a mut S) -> Self {
        out.push(b"[");
        Self { out, close: b"]", empty: true }
    }

    /// Writes a member whose value is JSON, which is written unchanged.
    pub fn member(&mut self, key: &str, value: &[u8]) {
        self.key(key);
        self.out.push(value);
    }

    /// Writes a member whose value is a string.
    pub fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        string(self.out, value);
    }

    /// Copies a member of another object, key and value as written.
    pub fn copy(&mut self, key: Raw<'_>, value: Raw<'_>) {
        let out = self.item();
        out.push(key.0);
        out.push(b":");
        out.push(value.0);
    }

    /// Writes the key of a member; write the value to [`List::out`].
    pub fn key(&mut self, key: &str) {
        string(self.item(), key);
        self.out.push(b":");
    }

    /// Writes the comma before the next item; write the item to the result.
    pub fn item(&mut self) -> &mut S {
        if !core::mem::take(&mut self.empty) {
            self.out.push(b",");
        }
        self.out
    }

    /// The destination for the value of a member whose key is written.
    pub fn out(&mut self) -> &mut S {
        self.out
    }

    /// Returns whether nothing was written between the brackets.
    pub fn is_empty(&self) -> bool {
        self.empty
    }

    /// Ends the object or the array.
    pub fn end(self) {
        self.out.push(self.close);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    #[test]
    fn strings_round_trip() {
        for text in ["", "plain", "a\"b\\c\nd\re\tf\u{1}g\u{1f}", "Zürich 東京 \u{2028}", "\\"] {
            let mut out = Vec::new();
            string(&mut out, text);
            assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }

    #[test]
    fn integers_are_written_as_by_the_standard_library() {
        for number in [0, 7, -7, 10, 1_234_567_890, i64::MAX, i64::MIN] {
            assert_eq!(*digits(number), *alloc::format!("{number}").as_bytes());
        }
    }

    #[test]
    fn lists_have_commas_between_their_items() {
        let mut out = Vec::new();
        let mut object = List::object(&mut out);
        object.member("a", b"1");
        object.text("b", "x");
        object.end();
        List::array(&mut out).end();
        assert_eq!(out, br#"{"a":1,"b":"x"}[]"#);
    }
}
