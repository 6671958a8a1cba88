//! Reader of the names of members, for errors that name their places.
//!
//! In: a name. Out: the key of a map, or its error. Called by [`explain`](super::explain).

use serde::de::{Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::decode_error::DecodeError;

/// Reads the name of a member, which may be a key of another type.
#[derive(Clone, Copy)]
pub(super) struct KeyReader<'de>(pub(super) &'de str);

/// Parses the keys of maps: in JSON, numbers are strings there.
macro_rules! parsed {
    ($($method:ident => $visit:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            match self.0.parse() {
                Ok(key) => visitor.$visit(key),
                Err(_) => visitor.visit_borrowed_str(self.0),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for KeyReader<'de> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_borrowed_str(self.0)
    }

    parsed! {
        deserialize_bool => visit_bool
        deserialize_i8 => visit_i8 deserialize_i16 => visit_i16 deserialize_i32 => visit_i32
        deserialize_i64 => visit_i64 deserialize_i128 => visit_i128
        deserialize_u8 => visit_u8 deserialize_u16 => visit_u16 deserialize_u32 => visit_u32
        deserialize_u64 => visit_u64 deserialize_u128 => visit_u128
        deserialize_f32 => visit_f32 deserialize_f64 => visit_f64
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_enum(self.0.into_deserializer())
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}
