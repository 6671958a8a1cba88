//! Structure of JSON text that arrives in pieces, in constant memory.
//!
//! In: bytes, split anywhere. Out: [`Part`]s in the order of the text. For gateways that forward a
//! text without storing it; use [`super::scan`] for a complete text.
//!
//! Containers, commas, colons and quotes must be where JSON allows them. The contents of strings,
//! numbers and literals are not checked, because they do not change the structure for any parser
//! that accepts them.

use memchr::memchr2;

use super::scan::{MAX_DEPTH, ScanError};

/// Part of a JSON text that a walker reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part<'a> {
    /// An object begins.
    Object,
    /// An array begins.
    Array,
    /// The innermost object or array ends.
    Close,
    /// A key begins.
    Key,
    /// A string that is a value begins.
    String,
    /// More of the key or the string, as it is written.
    Text(&'a [u8]),
    /// The key or the string ends.
    TextEnd,
    /// A number, `true`, `false` or `null` begins.
    Scalar,
}

/// A walk over one value.
#[derive(Clone, Debug)]
pub(crate) struct Walker {
    state: WalkState,
    /// One bit for each open container, the innermost lowest: 1 is an object.
    open: u128,
    depth: usize,
    max_depth: usize,
    /// Number of bytes read.
    at: usize,
}

/// Parts that may come next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WalkState {
    Value,
    /// A value, or the end of an empty array.
    Element,
    /// A key, or the end of an empty object.
    Member,
    Key,
    Colon,
    /// More of a key or a string.
    Text {
        is_key: bool,
        escaped: bool,
    },
    /// More of a number or a literal, or the part that may follow.
    Scalar,
    /// A comma, the end of a container, or the end of the text, after a value.
    After,
}

impl Walker {
    pub(crate) fn new(max_depth: usize) -> Self {
        Self {
            state: WalkState::Value,
            open: 0,
            depth: 0,
            max_depth: max_depth.min(MAX_DEPTH),
            at: 0,
        }
    }

    /// Continues with the next bytes, up to the first error. Do not call `walk` again after an
    /// error.
    pub(crate) fn walk<E: From<ScanError>>(
        &mut self,
        piece: &[u8],
        mut visit: impl FnMut(Part<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = piece;
        while let Some(byte) = rest.first() {
            let (part, length) = if let WalkState::Text { is_key, escaped } = self.state {
                self.text(rest, is_key, escaped)
            } else {
                (self.step(*byte)?, 1)
            };
            if let Some(part) = part {
                visit(part)?;
            }
            self.at += length;
            rest = rest.get(length..).unwrap_or_default();
        }
        Ok(())
    }

    /// The next part of a text, up to its end or to a byte that needs its own step, and the length
    /// of the part.
    fn text<'a>(
        &mut self,
        rest: &'a [u8],
        is_key: bool,
        escaped: bool,
    ) -> (Option<Part<'a>>, usize) {
        let (length, is_escape) = match rest.first() {
            Some(_) if escaped => (1, false),
            Some(b'\\') => (1, true),
            Some(b'"') => {
                self.state = if is_key { WalkState::Colon } else { WalkState::After };
                return (Some(Part::TextEnd), 1);
            }
            _ => (memchr2(b'"', b'\\', rest).unwrap_or(rest.len()), false),
        };
        self.state = WalkState::Text { is_key, escaped: is_escape };
        (rest.get(..length).map(Part::Text), length)
    }

    /// Handles one byte outside of a text.
    fn step(&mut self, byte: u8) -> Result<Option<Part<'static>>, ScanError> {
        let is_blank = matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        self.state =
            match (self.state, byte) {
                (
                    WalkState::Scalar,
                    b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'+' | b'-' | b'.',
                ) => WalkState::Scalar,
                (WalkState::Scalar, _) if is_blank => WalkState::After,
                (state, _) if is_blank => state,
                (WalkState::Colon, b':') => WalkState::Value,
                (WalkState::After | WalkState::Scalar, b',') if self.depth > 0 => {
                    if self.in_object() { WalkState::Key } else { WalkState::Value }
                }
                (WalkState::Member, b'}') | (WalkState::Element, b']') => {
                    return Ok(Some(self.close()));
                }
                (WalkState::After | WalkState::Scalar, b'}' | b']')
                    if self.depth > 0 && self.in_object() == (byte == b'}') =>
                {
                    return Ok(Some(self.close()));
                }
                (WalkState::Member | WalkState::Key, b'"') => {
                    self.state = WalkState::Text { is_key: true, escaped: false };
                    return Ok(Some(Part::Key));
                }
                (WalkState::Value | WalkState::Element, _) => return self.begin(byte).map(Some),
                _ => return Err(ScanError::Syntax(self.at)),
            };
        Ok(None)
    }

    fn begin(&mut self, byte: u8) -> Result<Part<'static>, ScanError> {
        let (state, part) = match byte {
            b'{' => (WalkState::Member, Part::Object),
            b'[' => (WalkState::Element, Part::Array),
            b'"' => (WalkState::Text { is_key: false, escaped: false }, Part::String),
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => (WalkState::Scalar, Part::Scalar),
            _ => return Err(ScanError::Syntax(self.at)),
        };
        if let Part::Object | Part::Array = part {
            if self.depth >= self.max_depth {
                return Err(ScanError::Depth);
            }
            self.depth += 1;
            self.open = self.open << 1 | u128::from(part == Part::Object);
        }
        self.state = state;
        Ok(part)
    }

    fn close(&mut self) -> Part<'static> {
        self.depth -= 1;
        self.open >>= 1;
        self.state = WalkState::After;
        Part::Close
    }

    fn in_object(&self) -> bool {
        self.open & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::scan::Scanner;
    use alloc::string::String;

    /// Parts of a text as letters. Containers begin with `{` or `[` and end with `^`; texts begin
    /// with `k` or `s`; numbers and literals are `1`, and an error is `!`.
    fn parts(pieces: &[&[u8]]) -> String {
        let mut walker = Walker::new(4);
        let mut told = String::new();
        for piece in pieces {
            let result = walker.walk(piece, |part| {
                match part {
                    Part::Object => told.push('{'),
                    Part::Array => told.push('['),
                    Part::Close => told.push('^'),
                    Part::Key => told.push('k'),
                    Part::String => told.push('s'),
                    Part::Text(text) => told.push_str(core::str::from_utf8(text).unwrap()),
                    Part::TextEnd => told.push('"'),
                    Part::Scalar => told.push('1'),
                }
                Ok::<(), ScanError>(())
            });
            if result.is_err() {
                told.push('!');
                break;
            }
        }
        told
    }

    #[test]
    fn parts_do_not_depend_on_chunks() {
        for (text, expected) in [
            (r#" {"a" : [1, "b\"\\", {}, []] , "c":null}"#, r#"{ka"[1sb\"\\"{^[^^kc"1^"#),
            (r"[true,-1.5e+3]", "[11^"),
            (r#"{"\u0061":"]}"}"#, r#"{k\u0061"s]}"^"#),
            ("7", "1"),
        ] {
            assert_eq!(parts(&[text.as_bytes()]), expected);
            let bytes: alloc::vec::Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(parts(&bytes), expected);
        }
    }

    #[test]
    fn structural_errors_are_those_of_the_scanner() {
        for text in [
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "{,}",
            "{\"a\":1,}",
            "[}",
            "{]",
            "[1 2]",
            "{} {}",
            "{}]",
            "{a:1}",
            "{'a':1}",
            "[/**/]",
            "\u{feff}{}",
            "{\"a\":1 \"b\":2}",
            "[[[[[]]]]]",
            ",",
            "1,2",
            "{\"a\":1]",
            "[1}",
        ] {
            assert!(parts(&[text.as_bytes()]).ends_with('!'), "{text}");
            let mut scanner = Scanner::new(text.as_bytes(), 4);
            let whole = scanner.skip_value().and_then(|_| scanner.end());
            assert!(whole.is_err(), "{text}");
        }
    }
}
