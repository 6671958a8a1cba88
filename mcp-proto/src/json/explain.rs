//! The places of a value that does not fit a type, and the reasons.
//!
//! In: a JSON text whose decoding failed, and the type. Out: [`DecodeError`], or nothing if this
//! reader accepts the text. Called on failure only: a valid value is read only by
//! [`decode`](super::decode).
//!
//! The text is parsed into a tree, and the type is read from the tree again. serde reports the
//! expected and the found value as data. Each container then adds its member or index to the place.
//! Values that serde buffers (flattened members, untagged enums) have the place of the buffer.
//!
//! | serde reports | place | reason |
//! |---|---|---|
//! | an invalid type, value or length | of the value | `expected a string, found integer 3` |
//! | a missing member | of the member | `is required` |
//! | an unknown member | of each unknown member | `unknown member` |
//! | an unknown variant | of the value | ``expected `a` or `b`, found `c` `` |
//! | an error of the type's own | of the value | its text |
//!
//! Ignored members are recorded as well, to hint at misspelt names. A text of more than
//! [`MAX_VALUES`] values is not explained, since its tree could take a hundred times its bytes.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::slice;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value, map};

use super::decode_error::DecodeError;
use super::key_reader::KeyReader;
use super::{count_values, integers, surrogates};

/// The most values in a text that is explained.
const MAX_VALUES: usize = 10_000;

/// Finds the reasons why `text` is not a `T`; `None` if this reader accepts it, or if it cannot be
/// parsed or has too many values.
pub(crate) fn explain<T: DeserializeOwned>(text: &str) -> Option<DecodeError> {
    if count_values(text.as_bytes()) > MAX_VALUES {
        return None;
    }
    let unicode = surrogates::rewrite(text);
    let text = unicode.as_deref().unwrap_or(text);
    let rewritten = integers::rewrite(text.as_bytes());
    let text = rewritten.as_deref().unwrap_or(text.as_bytes());
    let tree: Value = serde_json::from_slice(text).ok()?;
    T::deserialize(ValueReader(&tree)).err()
}

/// Reads a value of the tree.
#[derive(Clone, Copy)]
struct ValueReader<'de>(&'de Value);

impl<'de> ValueReader<'de> {
    fn unexpected(self) -> Unexpected<'de> {
        match self.0 {
            Value::Null => Unexpected::Unit,
            Value::Bool(value) => Unexpected::Bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), _, _) => Unexpected::Unsigned(number),
                (_, Some(number), _) => Unexpected::Signed(number),
                (_, _, Some(number)) => Unexpected::Float(number),
                (None, None, None) => Unexpected::Other("a number"),
            },
            Value::String(text) => Unexpected::Str(text),
            Value::Array(_) => Unexpected::Seq,
            Value::Object(_) => Unexpected::Map,
        }
    }

    /// Reads a struct, which is an object.
    fn fields<V: Visitor<'de>>(
        self,
        fields: &[&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let Value::Object(members) = self.0 else { return Err(self.no("an object")) };
        visitor.visit_map(MembersReader::new(members)).map_err(|error| {
            let absent = fields.iter().copied().filter(|field| !members.contains_key(*field));
            let unknown = members.keys().filter(|name| !fields.contains(&name.as_str()));
            error.with_unknown(unknown, &absent.collect::<Vec<_>>())
        })
    }

    fn no(self, expected: &str) -> DecodeError {
        DecodeError::invalid_type(self.unexpected(), &expected)
    }
}

/// Reads integers of 128 bits. In the tree, those beyond 64 bits are floats; only their place
/// matters here, so they need not be exact.
macro_rules! wide {
    ($($method:ident => $visit:ident($integer:ty))*) => {
        $(#[allow(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            clippy::float_cmp,
            reason = "the comparison is whether the casts have lost anything"
        )]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            match self.0.as_f64() {
                Some(number) if self.0.is_f64() && number as $integer as f64 == number => {
                    visitor.$visit(number as $integer)
                }
                _ => self.deserialize_any(visitor),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for ValueReader<'de> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), _, _) => visitor.visit_u64(number),
                (_, Some(number), _) => visitor.visit_i64(number),
                (_, _, Some(number)) => visitor.visit_f64(number),
                (None, None, None) => Err(self.no("a number that can be read")),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(elements) => {
                let mut elements = ElementsReader { rest: elements.iter(), index: 0 };
                let value = visitor.visit_seq(&mut elements)?;
                match elements.rest.len() {
                    0 => Ok(value),
                    more => {
                        let text = alloc::format!("{more} elements too many");
                        Err(Error::custom(text))
                    }
                }
            }
            Value::Object(members) => visitor.visit_map(MembersReader::new(members)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    /// `serde_json` refuses numbers beyond the range.
    #[expect(clippy::cast_possible_truncation, reason = "the check is for what is beyond")]
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.0.as_f64() {
            Some(number) if (number as f32).is_infinite() => {
                Err(self.no(&alloc::format!("a number from {:?} to {:?}", f32::MIN, f32::MAX)))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    wide! { deserialize_i128 => visit_i128(i128) deserialize_u128 => visit_u128(u128) }

    /// A raw value is a newtype struct with a private name, which only `serde_json` can read.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        if name.starts_with('$') {
            return self.0.deserialize_newtype_struct(name, visitor).map_err(Error::custom);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.fields(fields, visitor)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "no other value is an enum")]
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(VariantReader { name, content: None }),
            Value::Object(members) if members.len() == 1 => match members.iter().next() {
                Some((name, content)) => {
                    visitor.visit_enum(VariantReader { name, content: Some(content) })
                }
                None => Err(self.no("an object with one member")),
            },
            _ => Err(self.no("a string or an object with one member")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

struct ElementsReader<'de> {
    rest: slice::Iter<'de, Value>,
    index: usize,
}

impl<'de> SeqAccess<'de> for &mut ElementsReader<'de> {
    type Error = DecodeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, DecodeError> {
        let Some(element) = self.rest.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(ValueReader(element)).map(Some).map_err(|e| e.inside(&index.to_string()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct MembersReader<'de> {
    rest: map::Iter<'de>,
    /// The member whose name has been read.
    current: Option<(&'de String, &'de Value)>,
}

impl<'de> MembersReader<'de> {
    fn new(members: &'de Map<String, Value>) -> Self {
        Self { rest: members.iter(), current: None }
    }
}

impl<'de> MapAccess<'de> for MembersReader<'de> {
    type Error = DecodeError;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, DecodeError> {
        self.current = self.rest.next();
        let Some((name, _)) = self.current else { return Ok(None) };
        seed.deserialize(KeyReader(name)).map(Some).map_err(|error| error.at_key(name))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, DecodeError> {
        let Some((name, value)) = self.current.take() else {
            return Err(Error::custom("a value without a name"));
        };
        seed.deserialize(ValueReader(value)).map_err(|error| error.inside(name))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct VariantReader<'de> {
    name: &'de str,
    content: Option<&'de Value>,
}

impl<'de> EnumAccess<'de> for VariantReader<'de> {
    type Error = DecodeError;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self), DecodeError> {
        Ok((seed.deserialize(KeyReader(self.name))?, self))
    }
}

impl<'de> VariantReader<'de> {
    fn content(&self) -> Result<&'de Value, DecodeError> {
        self.content.ok_or_else(|| {
            Error::custom(format_args!("expected an object with the member `{}`", self.name))
        })
    }
}

impl<'de> VariantAccess<'de> for VariantReader<'de> {
    type Error = DecodeError;

    fn unit_variant(self) -> Result<(), DecodeError> {
        match self.content {
            None | Some(Value::Null) => Ok(()),
            Some(value) => Err(ValueReader(value).no("null").inside(self.name)),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<S::Value, DecodeError> {
        seed.deserialize(ValueReader(self.content()?)).map_err(|error| error.inside(self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, DecodeError> {
        let content = ValueReader(self.content()?);
        content.deserialize_any(visitor).map_err(|error| error.inside(self.name))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        ValueReader(self.content()?)
            .fields(fields, visitor)
            .map_err(|error| error.inside(self.name))
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;
    use crate::json::Json;

    #[test]
    fn misfit_has_its_place_and_the_expected_type() {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "nothing of it is read")]
        struct Strict {
            limit: Option<u8>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        #[expect(dead_code, reason = "nothing of it is read")]
        enum ValueKind {
            Plain,
            Sized(u8),
            Named { name: String },
        }
        #[derive(Deserialize)]
        #[expect(dead_code, reason = "nothing of it is read")]
        struct Search {
            #[serde(default)]
            tags: Vec<String>,
            #[serde(default)]
            counts: BTreeMap<u8, bool>,
            strict: Option<Strict>,
            kind: Option<ValueKind>,
            raw: Option<Json>,
            pair: Option<(u8, String)>,
            amounts: Option<(u128, i128)>,
            query: String,
        }
        let told = |text: &'static str| {
            let json = Json::parse(text).unwrap();
            assert!(json.decode_arguments::<Search>().is_err(), "{text}");
            explain::<Search>(json.as_str()).map(|error| alloc::format!("{error}"))
        };
        for (text, expected) in [
            (r#"{"tags":["a",3]}"#, "/tags/1: expected a string, found integer 3"),
            (r#"{"tags":{}}"#, "/tags: expected an array, found an object"),
            (r#"{"tags":null}"#, "/tags: expected an array, found null"),
            (r#"{"query":1.5}"#, "/query: expected a string, found number 1.5"),
            (r#"{"query":2.0}"#, "/query: expected a string, found integer 2"),
            (r#"{"counts":{"7":1}}"#, "/counts/7: expected true or false, found integer 1"),
            (
                r#"{"counts":{"a/b":true}}"#,
                "/counts/a~1b: expected an integer from 0 to 255, found string \"a/b\"",
            ),
            (
                r#"{"strict":{"limit":256}}"#,
                "/strict/limit: expected an integer from 0 to 255, found integer 256",
            ),
            (
                r#"{"strict":{"limt":1,"more":2}}"#,
                "/strict/limt: unknown member; /strict/more: unknown member",
            ),
            (r#"{"kind":"plane"}"#, "/kind: expected `plain`, `sized` or `named`, found `plane`"),
            (
                r#"{"kind":{"sized":"x"}}"#,
                "/kind/sized: expected an integer from 0 to 255, found string \"x\"",
            ),
            (r#"{"kind":{"named":{}}}"#, "/kind/named/name: is required"),
            (
                r#"{"kind":7}"#,
                "/kind: expected a string or an object with one member, found integer 7",
            ),
            (r#"{"pair":[1,"a",3]}"#, "/pair: 1 elements too many"),
            (r#"{"raw":[1,{}],"ignored":1}"#, "/query: is required"),
            (
                r#"{"amounts":[340282366920938463463374607431768211455,-1e30],"query":1}"#,
                "/query: expected a string, found integer 1",
            ),
            (
                r#"{"amounts":[0,1.5],"query":1}"#,
                "/amounts/1: expected an integer, found number 1.5",
            ),
            ("[]", "expected an object, found an array"),
        ] {
            assert_eq!(told(text).as_deref(), Some(expected), "{text}");
        }
        // The tree keeps only one of duplicate members.
        assert_eq!(told(r#"{"query":"","query":""}"#), None);
    }
}
