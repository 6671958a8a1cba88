//! What derives cannot do: unions, open sets, numbers, ids.
//!
//! A union is read as raw [`Json`] first, and then as the variant that its members name: serde's
//! own tagged and untagged enums buffer in a form that cannot hold raw JSON.

use alloc::borrow::Cow;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::Json;
use crate::message::RequestId;

/// Implements serde for an enum whose variants are told apart by the member `type`; it keeps what
/// has another type in its variant `Other`.
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
                let json = crate::json::Json::deserialize(deserializer)?;
                match super::codec::type_tag(&json).as_deref() {
                    $(Some($tag) => super::codec::variant(&json).map(Self::$variant),)*
                    Some(_) => Ok(Self::Other(json)),
                    None => Err(serde::de::Error::missing_field("type")),
                }
            }
        }
    };
}

/// An enum of strings that may grow; it keeps what it does not know in its variant `Other`.
macro_rules! open_strings {
    (
        $(#[$about:meta])*
        $name:ident { $($(#[$about_one:meta])* $variant:ident = $text:literal,)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$about_one])* $variant,)*
            /// Another one.
            Other(alloc::string::String),
        }

        impl $name {
            /// Its name.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(name) => name,
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = <alloc::string::String as serde::Deserialize>::deserialize(deserializer)?;
                Ok(match &*name {
                    $($text => Self::$variant,)*
                    _ => Self::Other(name),
                })
            }
        }
    };
}

pub(super) use {open_strings, tagged_by_type};

/// Reads a raw value as the variant that it was found to be.
pub(super) fn variant<T: serde::de::DeserializeOwned, E: Error>(json: &Json) -> Result<T, E> {
    json.decode().map_err(E::custom)
}

/// The member `type` of an object, if it is a string.
pub(super) fn type_tag(json: &Json) -> Option<Cow<'_, str>> {
    let mut tag = None;
    json.raw().members(|key, value| {
        if key.string().as_deref() == Some("type") {
            tag = value.string();
        }
    });
    tag
}

/// Whether a flag is left out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
pub(super) fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Reads an optional value for which `null` is a value too.
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
