//! Percent-encoding of URIs and forms.
//!
//! In: plain or encoded text. Out: encoded text, or the bytes that it stands for.
//!
//! [RFC 3986, section 2.1](https://www.rfc-editor.org/rfc/rfc3986#section-2.1)

use alloc::string::String;
use alloc::vec::Vec;

/// Appends a text. All bytes are encoded except for unreserved characters.
pub fn encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.extend(encoded(byte).map(char::from));
        }
    }
}

/// The encoding of a byte.
pub(crate) fn encoded(byte: u8) -> [u8; 3] {
    let digit = |digit: u8| if digit < 10 { b'0' + digit } else { b'A' + digit - 10 };
    [b'%', digit(byte >> 4), digit(byte & 15)]
}

/// The bytes of a text, decoded. A `%` without two hexadecimal digits is kept.
pub fn decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let escaped = escaped(rest);
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    bytes
}

/// Decodes a text; returns it unchanged if the result is not UTF-8.
pub fn decode_utf8(text: &str) -> String {
    String::from_utf8(decode(text)).unwrap_or_else(|_| text.into())
}

/// Returns whether two hexadecimal digits follow each `%`.
pub(crate) fn is_valid(text: &str) -> bool {
    let mut escapes = text.match_indices('%');
    escapes.all(|(at, _)| text.as_bytes().get(at..).and_then(escaped).is_some())
}

/// The byte whose encoding `text` starts with.
pub(crate) fn escaped(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else { return None };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    u8::try_from(digit(high)? << 4 | digit(low)?).ok()
}
