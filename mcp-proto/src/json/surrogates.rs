//! Halves of surrogate pairs in strings, such as `"\ud83d"`.
//!
//! In: a JSON text whose typed decoding failed. Out: the same text with every half that stands
//! alone replaced by U+FFFD, or `None` if there is none. JSON allows such an escape, but no string
//! of Rust can have its value. Programs whose strings are UTF-16 write it when they cut a string
//! inside of a pair.

use alloc::string::String;
use alloc::vec::Vec;

/// The length of an escape, such as `\ud83d`.
const ESCAPE: usize = 6;

/// The digits of the replacement character.
const REPLACEMENT: &[u8] = b"fffd";

/// Replaces lone halves. `text` is one JSON value.
pub(super) fn rewrite(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    // There is no backslash outside of strings.
    while let Some(found) = memchr::memchr(b'\\', bytes.get(at..).unwrap_or_default()) {
        at += found;
        at += match (unit(bytes, at), unit(bytes, at + ESCAPE)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 2 * ESCAPE,
            (Some(0xD800..=0xDFFF), _) => {
                out.extend_from_slice(bytes.get(out.len()..at + 2).unwrap_or_default());
                out.extend_from_slice(REPLACEMENT);
                ESCAPE
            }
            (Some(_), _) => ESCAPE,
            // The backslash and the byte that it escapes.
            (None, _) => 2,
        };
    }
    if out.is_empty() {
        return None;
    }
    out.extend_from_slice(bytes.get(out.len()..).unwrap_or_default());
    String::from_utf8(out).ok()
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
            (r#"{"\ud800\\ude00":1}"#, r#"{"\ufffd\\ude00":1}"#),
        ];
        for (text, expected) in replaced {
            assert_eq!(rewrite(text).as_deref(), Some(expected), "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(expected).is_ok(), "{expected}");
        }
        for text in [r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""\u00e9""#, "[1,\"\\n\"]", "\"\\\""] {
            assert_eq!(rewrite(text), None, "{text}");
        }
    }
}
