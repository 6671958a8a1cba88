//! Decoding of typed values, with one more rule than serde: a struct is an object.
//!
//! In: a text. Out: a value, or an error. Called by [`Json::decode`](super::Json::decode).
//!
//! Derives of serde also accept an array for a struct, `["a","1"]` for
//! `{"name":"a","version":"1"}`, which no schema allows. A struct is therefore read as a map, and
//! values that may contain structs are wrapped recursively. Types that depend on the input are not
//! wrapped: serde's own enums, and types that accept any value.

use core::fmt;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor,
};

/// Reads a typed value. The text is known to be UTF-8, so strings are not checked again.
pub(super) fn decode<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = T::deserialize(Objects(&mut deserializer))?;
    deserializer.end()?;
    Ok(value)
}

/// A wrapper of serde's types that applies the rule to all nested values.
pub(super) struct Objects<T>(pub(super) T);

macro_rules! deserialize {
    ($visitor:ident => $inside:expr, $($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, $visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method($inside)
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Objects<D> {
    type Error = D::Error;

    deserialize! { visitor => visitor,
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32
        deserialize_i64 deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32
        deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64 deserialize_char
        deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf
        deserialize_unit deserialize_identifier deserialize_ignored_any
    }

    deserialize! { visitor => Objects(visitor),
        deserialize_option deserialize_seq deserialize_map
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(Objects(visitor))
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_unit_struct(name, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_newtype_struct(name, Objects(visitor))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple(len, Objects(visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple_struct(name, len, Objects(visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }
}

/// The methods that the wrapped deserializers call; raw values also use `visit_map`.
impl<'de, V: Visitor<'de>> Visitor<'de> for Objects<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Objects(deserializer))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Objects(deserializer))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Objects(seq))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Objects(map))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Objects<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Objects(deserializer))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Objects(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Objects(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;
    use alloc::collections::BTreeMap;
    use alloc::string::String;
    use alloc::vec;
    use alloc::vec::Vec;
    use core::fmt::Debug;

    use serde::Deserialize;

    use super::*;
    use crate::json::Json;

    #[derive(Deserialize, PartialEq, Debug)]
    struct Point {
        x: u8,
        #[serde(default)]
        y: Option<i128>,
    }

    #[derive(Deserialize, PartialEq, Debug)]
    struct Line {
        line: [Option<Point>; 2],
    }

    #[derive(Deserialize, PartialEq, Debug)]
    struct Newtype(Point);

    #[derive(Deserialize, PartialEq, Debug)]
    struct Pair(Point, Point);

    #[derive(Deserialize, PartialEq, Debug)]
    struct Unit;

    #[derive(Deserialize, PartialEq, Debug)]
    enum Word {
        A,
        B(u8),
    }

    #[derive(Deserialize, PartialEq, Debug)]
    struct Flat {
        #[serde(flatten)]
        rest: BTreeMap<String, u8>,
    }

    const POINT: Point = Point { x: 1, y: None };

    #[test]
    fn arrays_are_rejected_for_structs_everywhere() {
        only_objects("*", &POINT);
        only_objects("[*]", &vec![POINT]);
        only_objects("[*,*]", &(POINT, POINT));
        only_objects("[*,*]", &Pair(POINT, POINT));
        only_objects("*", &Newtype(POINT));
        only_objects("*", &Box::new(Some(POINT)));
        only_objects(r#"{"a":*}"#, &BTreeMap::from([(String::from("a"), POINT)]));
        only_objects(r#"{"line":[null,*]}"#, &Line { line: [None, Some(POINT)] });
    }

    #[test]
    fn other_types_decode_as_with_serde() {
        same::<Option<Point>>("null");
        same::<Point>(r#"{"x":1,"y":-170141183460469231731687303715884105728,"z":[[]]}"#);
        same::<(Unit, (), bool, char, f64, Word, Word)>(r#"[null,null,true,"c",1,"A",{"B":2}]"#);
        same::<(Json, Vec<Json>)>(r#"[[1, 2.50],[{"a" : [ ]},null]]"#);
        same::<serde_json::Value>(r#"{"a":[1,{"b":null}]}"#);
        same::<Flat>(r#"{"a":1}"#);
        same::<BTreeMap<u8, String>>(r#"{"1":"\n"}"#);
        for wrong in ["1", "null", "\"x\"", "{}", r#"{"x":256}"#, r#"{"x":1,"x":1}"#, r#"{"x":1}1"#]
        {
            same::<Point>(wrong);
        }
    }

    /// Reads this value where `*` is an object, and nothing where it is an array.
    fn only_objects<T: DeserializeOwned + PartialEq + Debug>(text: &str, value: &T) {
        let read = |point| decode::<T>(&text.replace('*', point));
        assert_eq!(&read(r#"{"x":1}"#).unwrap(), value, "{text}");
        for array in ["[1]", "[1,2]", "[]"] {
            assert!(read(array).is_err(), "{text} with {array}");
        }
    }

    fn same<T: DeserializeOwned + PartialEq + Debug>(text: &str) {
        let ours = decode::<T>(text).map_err(|error| alloc::format!("{error}"));
        let serdes = serde_json::from_str(text).map_err(|error| alloc::format!("{error}"));
        assert_eq!(ours, serdes, "{text}");
    }
}
