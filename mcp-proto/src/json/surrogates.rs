//! Halves of surrogate pairs in strings, such as `"\ud83d"`.
//!
//! In: a JSON text whose typed decoding failed. Out: the same text with every half that stands
//! alone in a value replaced by U+FFFD, or `None` if there is none. JSON allows such an escape, but
//! no string of Rust can have its value. Programs whose strings are UTF-16 write it when they cut a
//! string inside of a pair. Keys stay as they are: two of them could become one.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::integers::string_length;

/// The length of an escape, such as `\ud83d`.
const ESCAPE: usize = 6;

/// The digits of the replacement character.
const REPLACEMENT: &[u8] = b"fffd";

/// Replaces lone halves. `text` is one JSON value.
pub(super) fn rewrite(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'"', bytes.get(at..).unwrap_or_default()) {
        let start = at + found;
        at = start + string_length(bytes.get(start..).unwrap_or_default());
        let next = bytes.get(at..).unwrap_or_default().trim_ascii_start().first();
        if next != Some(&b':') {
            replace(bytes, start..at, &mut out);
        }
    }
    if out.is_empty() {
        return None;
    }
    out.extend_from_slice(bytes.get(out.len()..).unwrap_or_default());
    String::from_utf8(out).ok()
}

/// Replaces the lone halves in one string. `out` has the beginning of the new text.
fn replace(text: &[u8], string: Range<usize>, out: &mut Vec<u8>) {
    let text = text.get(..string.end).unwrap_or_default();
    let mut at = string.start;
    while let Some(found) = memchr::memchr(b'\\', text.get(at..).unwrap_or_default()) {
        at += found;
        at += match (unit(text, at), unit(text, at + ESCAPE)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 2 * ESCAPE,
            (Some(0xD800..=0xDFFF), _) => {
                out.extend_from_slice(text.get(out.len()..at + 2).unwrap_or_default());
                out.extend_from_slice(REPLACEMENT);
                ESCAPE
            }
            (Some(_), _) => ESCAPE,
            // The backslash and the byte that it escapes.
            (None, _) => 2,
        };
    }
}

/// The UTF-16 code unit that is escaped here.
fn unit(text: &[u8], at: usize) -> Option<u16> {
    let Some([b'\\', b'u', digits @ ..]) = text.get(at..at.checked_add(ESCAPE)?) else {
        return None;
    };
    digits.iter().try_fold(0, |unit, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(unit << 4 | u16::try_from(digit).ok()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_halves_become_replacement_characters() {
        let replaced = [
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#"["a\uDE00","\ud83d\ud83d\ude00"]"#, r#"["a\ufffd","\ufffd\ud83d\ude00"]"#),
            (r#""é\\\udC00\n\ud800\u0041""#, r#""é\\\ufffd\n\ufffd\u0041""#),
            (r#"{"\ud800" :"\ud800\\ude00"}"#, r#"{"\ud800" :"\ufffd\\ude00"}"#),
        ];
        for (text, expected) in replaced {
            assert_eq!(rewrite(text).as_deref(), Some(expected), "{text}");
        }
        for text in
            [r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""\u00e9""#, r#"{"\ud800":"\n"}"#, "1", "\""]
        {
            assert_eq!(rewrite(text), None, "{text}");
        }
    }
}
