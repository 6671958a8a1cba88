//! Decoding of objects with long strings, such as the text of a file.
//!
//! In: the text of an object that a scanner accepted. Out: a value, or `None` for an object that
//! must be decoded in the usual way. [`Json::decode_arguments`](super::Json::decode_arguments)
//! calls this.
//!
//! `serde_json` needs three passes for a string: a check of UTF-8, a search for the end in steps of
//! a word, and a copy. Here a string is checked and copied block by block, while the block is
//! cached. A tool that echoes 1 MB executes 18 % fewer instructions. Law: a value that is returned
//! is the one that [`decode`](super::decode::decode) returns (the fuzz target `message`).

use alloc::string::String;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

use super::decode::Objects;
use super::plain;
use super::scan::Scanner;

/// Values up to this length are decoded by `serde_json`. A string that is longer is a long one.
const SHORT: usize = 16 * 1024;

/// The greatest depth of a short value, well below the limits of the scanner and of `serde_json`.
const MAX_NESTING: usize = 64;

type LongResult<T> = Result<T, serde_json::Error>;

/// Reads a typed value from an object whose long values are all plain strings.
pub(super) fn decode<T: DeserializeOwned>(text: &[u8]) -> Option<T> {
    let mut members = LongMembers { rest: text.strip_prefix(b"{")?, is_first: true };
    let value = T::deserialize(LongObject(&mut members)).ok()?;
    members.rest.is_empty().then_some(value)
}

/// The error for all that is decoded in the usual way; nobody sees it.
fn give_up() -> serde_json::Error {
    Error::custom("")
}

/// The members of an object that were not read yet.
struct LongMembers<'de> {
    rest: &'de [u8],
    is_first: bool,
}

impl<'de> LongMembers<'de> {
    /// The next key, or `None` at the end of the object. Fails if the key has escapes.
    fn key(&mut self) -> LongResult<Option<&'de str>> {
        if let Some(rest) = self.rest.trim_ascii_start().strip_prefix(b"}") {
            self.rest = rest;
            return Ok(None);
        }
        self.plain_key().map(Some).ok_or_else(give_up)
    }

    fn plain_key(&mut self) -> Option<&'de str> {
        let mut rest = self.rest.trim_ascii_start();
        if !core::mem::take(&mut self.is_first) {
            rest = rest.strip_prefix(b",")?.trim_ascii_start();
        }
        let inside = rest.strip_prefix(b"\"")?;
        let (key, after) = inside.split_at_checked(plain::first_special(inside, 0))?;
        let after = after.strip_prefix(b"\"")?.trim_ascii_start().strip_prefix(b":")?;
        self.rest = after.trim_ascii_start();
        core::str::from_utf8(key).ok()
    }

    /// The text of the next value, unless it is long.
    fn short_value(&mut self) -> Option<&'de str> {
        let window = self.rest.get(..SHORT).unwrap_or(self.rest);
        let end = Scanner::new(window, MAX_NESTING).skip_value().ok()?.end();
        // A number may go on after the window.
        let (value, rest) = self.rest.split_at_checked(end).filter(|_| end < window.len())?;
        self.rest = rest;
        core::str::from_utf8(value).ok()
    }

    /// The length of the next value, if it is a string without escapes.
    fn text_bytes(&self) -> Option<usize> {
        memchr::memchr(b'"', self.rest.strip_prefix(b"\"")?)
    }

    /// Reads the next value, a string without escapes, in parts. `None` for any other value.
    fn long_text(&mut self, mut visit: impl FnMut(&str)) -> Option<()> {
        self.rest = self.rest.strip_prefix(b"\"")?;
        loop {
            let block = self.rest.get(..SHORT).unwrap_or(self.rest);
            let plain = block.get(..plain::first_special(block, 0))?;
            let text = core::str::from_utf8(plain).or_else(|error| {
                // The end of the block may be inside of a character.
                core::str::from_utf8(plain.get(..error.valid_up_to()).unwrap_or_default())
            });
            let text = text.ok()?;
            visit(text);
            self.rest = self.rest.get(text.len()..)?;
            if let Some(rest) = self.rest.strip_prefix(b"\"") {
                self.rest = rest;
                return Some(());
            }
            if text.is_empty() {
                return None;
            }
        }
    }
}

impl<'de> MapAccess<'de> for &mut LongMembers<'de> {
    type Error = serde_json::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> LongResult<Option<S::Value>> {
        let key = self.key()?;
        key.map(|key| seed.deserialize(BorrowedStrDeserializer::new(key))).transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> LongResult<S::Value> {
        let Some(value) = self.short_value() else {
            return seed.deserialize(LongString(self));
        };
        let mut deserializer = serde_json::Deserializer::from_str(value);
        let value = seed.deserialize(Objects(&mut deserializer))?;
        deserializer.end()?;
        Ok(value)
    }
}

/// Methods for the types that are decoded in the usual way: all that are neither objects nor
/// strings, and the given ones.
macro_rules! refuse {
    (@each $($method:ident($($name:ident: $type:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $($name: $type,)* _: V) -> LongResult<V::Value> {
            Err(give_up())
        })*
    };
    ($($method:ident($($name:ident: $type:ty),*))*) => {
        refuse! { @each
            deserialize_bool() deserialize_i8() deserialize_i16() deserialize_i32()
            deserialize_i64() deserialize_u8() deserialize_u16() deserialize_u32()
            deserialize_u64() deserialize_f32() deserialize_f64() deserialize_char()
            deserialize_bytes() deserialize_byte_buf() deserialize_unit()
            deserialize_unit_struct(_name: &'static str)
            deserialize_newtype_struct(_name: &'static str)
            deserialize_seq() deserialize_tuple(_length: usize)
            deserialize_tuple_struct(_name: &'static str, _length: usize)
            deserialize_enum(_name: &'static str, _variants: &'static [&'static str])
            deserialize_identifier()
            $($method($($name: $type),*))*
        }
    };
}

/// The deserializer of the object.
struct LongObject<'a, 'de>(&'a mut LongMembers<'de>);

impl<'de> Deserializer<'de> for LongObject<'_, 'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> LongResult<V::Value> {
        visitor.visit_map(self.0)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> LongResult<V::Value> {
        visitor.visit_map(self.0)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> LongResult<V::Value> {
        visitor.visit_map(self.0)
    }

    refuse! {
        deserialize_str() deserialize_string() deserialize_option() deserialize_ignored_any()
    }
}

/// The deserializer of a string that is not short.
struct LongString<'a, 'de>(&'a mut LongMembers<'de>);

impl<'de> Deserializer<'de> for LongString<'_, 'de> {
    type Error = serde_json::Error;

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> LongResult<V::Value> {
        let bytes = self.0.text_bytes().ok_or_else(give_up)?;
        let mut text = String::with_capacity(bytes);
        self.0.long_text(|part| text.push_str(part)).ok_or_else(give_up)?;
        visitor.visit_string(text)
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> LongResult<V::Value> {
        self.deserialize_string(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> LongResult<V::Value> {
        self.deserialize_string(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> LongResult<V::Value> {
        // Another value than a string fails in the visitor; `null` is short.
        visitor.visit_some(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> LongResult<V::Value> {
        self.0.long_text(|_| {}).ok_or_else(give_up)?;
        visitor.visit_unit()
    }

    refuse! {
        deserialize_map()
        deserialize_struct(_name: &'static str, _fields: &'static [&'static str])
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::format;
    use alloc::vec::Vec;
    use core::fmt::Debug;

    use serde::Deserialize;

    use super::*;
    use crate::json::{Json, decode::decode as decode_usually};

    #[derive(Deserialize, PartialEq, Debug)]
    struct File {
        text: String,
        #[serde(default)]
        more: Option<String>,
        #[serde(default)]
        size: u8,
    }

    #[derive(Deserialize, PartialEq, Debug)]
    struct Newtype(String);

    #[derive(Deserialize, PartialEq, Debug)]
    struct Flat {
        #[serde(flatten)]
        rest: BTreeMap<String, serde_json::Value>,
    }

    /// Decodes a text as several types; returns whether it was decoded here as a `File`.
    fn decodes_file(text: &str) -> bool {
        same::<serde_json::Value>(text);
        same::<BTreeMap<String, serde_json::Value>>(text);
        same::<BTreeMap<String, String>>(text);
        same::<BTreeMap<u8, String>>(text);
        same::<BTreeMap<String, Newtype>>(text);
        same::<BTreeMap<String, Json>>(text);
        same::<BTreeMap<String, u8>>(text);
        same::<Option<File>>(text);
        same::<Flat>(text);
        same::<Json>(text);
        same::<File>(text)
    }

    fn same<T: DeserializeOwned + PartialEq + Debug>(text: &str) -> bool {
        let Some(value) = decode::<T>(text.as_bytes()) else { return false };
        assert_eq!(value, decode_usually::<T>(text).unwrap());
        true
    }

    #[test]
    fn long_plain_strings_of_any_length_are_decoded_as_usual() {
        for character in ["x", "é", "東", "🦀"] {
            for length in [0, 9, SHORT - 3, SHORT - 2, SHORT - 1, SHORT, SHORT + 1, 3 * SHORT + 5] {
                let long = character.repeat(length);
                assert!(decodes_file(&format!(r#"{{"text":"{long}"}}"#)));
                assert!(decodes_file(&format!(
                    r#"{{"text":"a{long}","more":"ab{long}","size":7}}"#
                )));
                assert!(decodes_file(&format!(
                    r#"{{ "unknown" : "{long}" , "size" : 7,"text" :"abc{long}" , "more":null }}"#
                )));
            }
        }
    }

    #[test]
    fn all_other_values_are_decoded_as_usual_or_left_alone() {
        let long = "x".repeat(2 * SHORT);
        let array = format!("[{}0]", "0,".repeat(SHORT));
        let digits = "1".repeat(2 * SHORT);
        let deep = format!("{}{}", "[".repeat(127), "]".repeat(127));
        let values = [
            "1",
            "null",
            "{}",
            "[1,{\"a\":[]}]",
            "\"\\u0061\"",
            "\"\\n\"",
            "256",
            "1.5",
            "\"s\"",
            &array,
            &digits,
            &deep,
        ];
        let escaped = [
            format!("\"{long}\\n\""),
            format!("\"\\\"{long}\""),
            format!("\"{long}\\u00e9{long}\""),
            format!("{{\"a\":\"{long}\"}}"),
            format!("[\"{long}\"]"),
        ];
        let values: Vec<&str> = values.into_iter().chain(escaped.iter().map(|it| &**it)).collect();
        for value in values {
            for key in ["text", "size", "more", "unknown", "t\\u0065xt", "7", ""] {
                decodes_file(&format!(r#"{{"text":"{long}","{key}":{value}}}"#));
                decodes_file(&format!(r#"{{"{key}":{value},"text":"{long}"}}"#));
            }
        }
        for text in ["{}", "[]", "null", "\"x\"", "1"] {
            decodes_file(text);
        }
    }

    #[test]
    fn strings_with_escapes_are_left_alone() {
        let long = "x".repeat(2 * SHORT);
        assert!(!decodes_file(&format!(r#"{{"text":"{long}\n"}}"#)));
        assert!(!decodes_file(&format!(r#"{{"more":"{long}"}}"#)));
        assert!(decode::<File>(&[b"{\"text\":\"", long.as_bytes(), b"\xff\"}"].concat()).is_none());
    }
}
