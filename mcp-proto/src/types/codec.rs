//! Serde implementations that derive cannot generate: unions, open enums, numbers, ids.
//!
//! A union is read as raw [`Json`] first, and then as the variant that its members indicate. If the
//! first member is the tag, the variant is read directly. Serde's own tagged and untagged enums
//! buffer in a form that cannot contain raw JSON.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use serde::de::{Error, MapAccess};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Number;
use serde_json::value::RawValue;

use crate::error::ErrorCode;
use crate::json::Json;
use crate::json::integer::integer;
use crate::json::write::List;
use crate::message::{ErrorData, RequestId};

/// Implements serde for an enum tagged by the member `type`. An object with an unknown type becomes
/// the variant `Other`.
macro_rules! tagged_by_type {
    ($name:ident { $($tag:literal => $variant:ident($of:ty),)* }) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                #[derive(serde::Serialize)]
                #[serde(tag = "type")]
                enum Tagged<'a> {
                    $(#[serde(rename = $tag)] $variant(&'a $of),)*
                }
                match self {
                    $(Self::$variant(of) => Tagged::$variant(of).serialize(serializer),)*
                    Self::Other(json) => json.serialize(serializer),
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Block;

                impl<'de> serde::de::Visitor<'de> for Block {
                    type Value = $name;

                    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                        f.write_str("an object with a `type`")
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        map: A,
                    ) -> Result<$name, A::Error> {
                        use super::codec::Tagged;
                        use serde::de::value::MapAccessDeserializer;
                        match super::codec::tagged(map, &[$($tag),*])? {
                            Tagged::Known(tag, rest) => {
                                let rest = MapAccessDeserializer::new(rest);
                                match tag {
                                    $($tag => <$of>::deserialize(rest).map($name::$variant),)*
                                    _ => Err(serde::de::Error::unknown_variant(tag, &[$($tag),*])),
                                }
                            }
                            Tagged::Whole(tag, json) => match &*tag {
                                $($tag => super::codec::variant(&json).map($name::$variant),)*
                                _ => Ok($name::Other(json)),
                            },
                        }
                    }
                }

                deserializer.deserialize_map(Block)
            }
        }
    };
}

/// Defines an enum of strings that may grow. An unknown string becomes the variant `Other`.
macro_rules! open_strings {
    (
        $(#[$about:meta])*
        $name:ident { $($(#[$about_one:meta])* $variant:ident = $text:literal,)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$about_one])* $variant,)*
            /// Any other value.
            Other(alloc::string::String),
        }

        impl $name {
            /// The string on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(name) => name,
                }
            }

            /// The value without a copy of the text, if it is a known one.
            fn known(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        /// The string on the wire.
        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::known(text).unwrap_or_else(|| Self::Other(text.into()))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let super::codec::BorrowedText(name) = serde::Deserialize::deserialize(deserializer)?;
                Ok(Self::known(&name).unwrap_or_else(|| Self::Other(name.into_owned())))
            }
        }
    };
}

pub(super) use {open_strings, tagged_by_type};

/// Decodes raw JSON as the content of a variant.
pub(super) fn variant<T: serde::de::DeserializeOwned, E: Error>(json: &Json) -> Result<T, E> {
    json.decode().map_err(E::custom)
}

/// A string, borrowed if it is written without escapes.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct BorrowedText<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// An object that is tagged by its member `type`.
pub(super) enum Tagged<A> {
    /// The first member is a known tag; the other members are still to be read.
    Known(&'static str, A),
    /// The tag and the whole object.
    Whole(String, Json),
}

/// Reads an object up to its tag if the tag is the first member and `known`, otherwise to the end.
pub(super) fn tagged<'de, A: MapAccess<'de>>(
    mut map: A,
    known: &[&'static str],
) -> Result<Tagged<A>, A::Error> {
    let mut tag = None;
    let mut next = map.next_key()?;
    if let Some(BorrowedText(key)) = &next
        && key == "type"
    {
        let BorrowedText(value) = map.next_value()?;
        if let Some(known) = known.iter().find(|known| **known == value) {
            return Ok(Tagged::Known(known, map));
        }
        tag = Some(value.into_owned());
        next = map.next_key()?;
    }
    let mut text = Vec::new();
    let mut whole = List::object(&mut text);
    if let Some(tag) = &tag {
        whole.text("type", tag);
    }
    while let Some(BorrowedText(key)) = next {
        if key == "type" {
            let BorrowedText(value) = map.next_value()?;
            whole.text("type", &value);
            tag = Some(value.into_owned());
        } else {
            let value: Json = map.next_value()?;
            whole.member(&key, value.as_bytes());
        }
        next = map.next_key()?;
    }
    whole.end();
    let tag = tag.ok_or_else(|| A::Error::missing_field("type"))?;
    Ok(Tagged::Whole(tag, Json::trusted(text)))
}

/// Returns whether a flag is omitted from the output.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
pub(super) fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Reads a member for which `null` means its default. It also needs `default`, to be optional.
pub(super) fn or_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads an optional member for which `null` is a value, too.
pub(super) fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

/// Writes a number without a fraction as an integer: `50`, not `50.0`, which some peers refuse.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "the comparison is whether the cast has lost anything"
)]
pub(super) fn number<T, S>(value: &T, serializer: S) -> Result<S::Ok, S::Error>
where
    T: Copy + Into<Option<f64>>,
    S: Serializer,
{
    const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;
    let Some(number) = (*value).into() else { return serializer.serialize_none() };
    let integer = number as i64;
    if integer as f64 == number && integer.unsigned_abs() <= EXACT {
        serializer.serialize_i64(integer)
    } else {
        serializer.serialize_f64(number)
    }
}

/// Writes a number as [`number`] does; an integer keeps all of its digits.
#[expect(clippy::ref_option, reason = "serde calls it with a reference")]
pub(super) fn exact_number<S: Serializer>(
    value: &Option<Number>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) if !value.is_f64() => value.serialize(serializer),
        value => number(&value.as_ref().and_then(Number::as_f64), serializer),
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue =
            serde_json::from_str(self.as_str()).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Json::deserialize(deserializer)?;
        Self::from_raw(json.raw()).ok_or_else(|| Error::custom("expected a string or an integer"))
    }
}

impl Serialize for ErrorData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut error = serializer.serialize_struct("ErrorData", 3)?;
        error.serialize_field("code", &self.code.0)?;
        error.serialize_field("message", &self.message)?;
        match &self.data {
            Some(data) => error.serialize_field("data", data)?,
            None => error.skip_field("data")?,
        }
        error.end()
    }
}

impl<'de> Deserialize<'de> for ErrorData {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Members {
            #[serde(deserialize_with = "integer")]
            code: i64,
            message: String,
            data: Option<Json>,
        }
        let Members { code, message, data } = Members::deserialize(deserializer)?;
        Ok(Self { code: ErrorCode(code), message: message.into(), data })
    }
}
