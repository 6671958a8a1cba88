use alloc::string::String;
use alloc::vec::Vec;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Number;

use super::codec::{exact_number, open_strings, variant};
use super::enum_schema::StringType;
use super::setters::described;
use super::{
    EnumOption, LegacyTitledEnumSchema, TitledItems, TitledMultiSelectEnumSchema,
    TitledSingleSelectEnumSchema, UntitledItems, UntitledMultiSelectEnumSchema,
    UntitledSingleSelectEnumSchema,
};
use crate::json::Json;
use crate::json::integer::optional_integer;

/// The schema of one field of a form.
///
/// The variants differ in `type`, and in the presence of `oneOf`, `enumNames`, `enum` or
/// `items.anyOf`.
///
/// [Schema: `PrimitiveSchemaDefinition`](https://modelcontextprotocol.io/specification/2026-07-28/schema#primitiveschemadefinition)
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum PrimitiveSchemaDefinition {
    /// A text.
    String(StringSchema),
    /// A number.
    Number(NumberSchema),
    /// A boolean.
    Boolean(BooleanSchema),
    /// One of several texts.
    UntitledSingleSelectEnum(UntitledSingleSelectEnumSchema),
    /// One of several texts with titles; since 2025-11-25.
    TitledSingleSelectEnum(TitledSingleSelectEnumSchema),
    /// Any number of several texts; since 2025-11-25.
    UntitledMultiSelectEnum(UntitledMultiSelectEnumSchema),
    /// Any number of several texts with titles; since 2025-11-25.
    TitledMultiSelectEnum(TitledMultiSelectEnumSchema),
    /// One of several texts, with titles in a separate list; deprecated.
    LegacyTitledEnum(LegacyTitledEnumSchema),
    /// Another schema, such as choices among numbers.
    Other(Json),
}

impl Serialize for PrimitiveSchemaDefinition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::String(schema) => schema.serialize(serializer),
            Self::Number(schema) => schema.serialize(serializer),
            Self::Boolean(schema) => schema.serialize(serializer),
            Self::UntitledSingleSelectEnum(schema) => schema.serialize(serializer),
            Self::TitledSingleSelectEnum(schema) => schema.serialize(serializer),
            Self::UntitledMultiSelectEnum(schema) => schema.serialize(serializer),
            Self::TitledMultiSelectEnum(schema) => schema.serialize(serializer),
            Self::LegacyTitledEnum(schema) => schema.serialize(serializer),
            Self::Other(json) => json.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for PrimitiveSchemaDefinition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Shape {
            r#type: Option<Json>,
            r#enum: Option<Json>,
            one_of: Option<Json>,
            enum_names: Option<IgnoredAny>,
            items: Option<Json>,
        }
        let json = Json::deserialize(deserializer)?;
        let shape: Shape = variant(&json)?;
        let name = shape.r#type.as_ref().and_then(|name| name.raw().string());
        let options = shape.one_of.as_ref().map(fits::<Vec<EnumOption>>);
        let texts = shape.r#enum.as_ref().map(fits::<Vec<String>>);
        match name.as_deref() {
            Some("string") => match (options, texts) {
                (Some(true), _) => variant(&json).map(Self::TitledSingleSelectEnum),
                (Some(false), _) | (None, Some(false)) => Ok(Self::Other(json)),
                (None, _) if shape.enum_names.is_some() => {
                    variant(&json).map(Self::LegacyTitledEnum)
                }
                (None, Some(true)) => variant(&json).map(Self::UntitledSingleSelectEnum),
                (None, None) => variant(&json).map(Self::String),
            },
            Some(_) if options.is_some() || texts.is_some() => Ok(Self::Other(json)),
            Some("number" | "integer") => variant(&json).map(Self::Number),
            Some("boolean") => variant(&json).map(Self::Boolean),
            Some("array") if shape.items.as_ref().is_some_and(fits::<TitledItems>) => {
                variant(&json).map(Self::TitledMultiSelectEnum)
            }
            Some("array") if shape.items.as_ref().is_some_and(fits::<UntitledItems>) => {
                variant(&json).map(Self::UntitledMultiSelectEnum)
            }
            _ => Ok(Self::Other(json)),
        }
    }
}

/// Returns whether choices have the type that the specification requires. Some servers send
/// numbers, or choices without titles.
fn fits<T: DeserializeOwned>(choices: &Json) -> bool {
    choices.decode_lossy::<T>().is_ok()
}

/// The schema of a text.
///
/// ```
/// use mcp_proto::types::{StringFormat, StringSchema};
///
/// let email = StringSchema::new().title("Email").format(StringFormat::Email).max_length(254);
/// ```
///
/// [Schema: `StringSchema`](https://modelcontextprotocol.io/specification/2026-07-28/schema#stringschema)
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StringSchema {
    r#type: StringType,
    /// For display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The minimum number of characters.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub min_length: Option<u64>,
    /// The maximum number of characters.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_length: Option<u64>,
    /// The format of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<StringFormat>,
    /// The default value of the field; since 2025-11-25.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

open_strings! {
    /// The format of a text.
    StringFormat {
        /// An email address.
        Email = "email",
        /// A URI.
        Uri = "uri",
        /// A date: `2026-07-28`.
        Date = "date",
        /// A date and a time: `2026-07-28T12:00:00Z`.
        DateTime = "date-time",
    }
}

/// The schema of a number.
///
/// ```
/// use mcp_proto::types::{Number, NumberSchema};
///
/// let seats = NumberSchema::integer().minimum(1).maximum(8).default_value(2);
///
/// // A number with a fraction must be finite.
/// let mut price = NumberSchema::new().minimum(0);
/// price.default = Number::from_f64(9.5);
/// ```
///
/// [Schema: `NumberSchema`](https://modelcontextprotocol.io/specification/2026-07-28/schema#numberschema)
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NumberSchema {
    /// `number`, or `integer` for numbers without a fraction.
    pub r#type: NumberType,
    /// For display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The minimum, inclusive.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "exact_number")]
    pub minimum: Option<Number>,
    /// The maximum, inclusive.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "exact_number")]
    pub maximum: Option<Number>,
    /// The default value of the field; since 2025-11-25.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "exact_number")]
    pub default: Option<Number>,
}

/// The `type` of a schema of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NumberType {
    /// Fractions are allowed.
    #[default]
    Number,
    /// No fractions.
    Integer,
}

/// The schema of a boolean.
///
/// [Schema: `BooleanSchema`](https://modelcontextprotocol.io/specification/2026-07-28/schema#booleanschema)
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BooleanSchema {
    r#type: BooleanType,
    /// For display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The default value of the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
enum BooleanType {
    #[default]
    #[serde(rename = "boolean")]
    Boolean,
}

impl StringSchema {
    /// Sets the minimum number of characters.
    pub fn min_length(mut self, characters: u64) -> Self {
        self.min_length = Some(characters);
        self
    }

    /// Sets the maximum number of characters.
    pub fn max_length(mut self, characters: u64) -> Self {
        self.max_length = Some(characters);
        self
    }

    /// Sets the format of the text.
    pub fn format(mut self, format: StringFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// Sets the default value of the field; since 2025-11-25.
    pub fn default_value(mut self, text: impl Into<String>) -> Self {
        self.default = Some(text.into());
        self
    }
}

impl NumberSchema {
    /// A schema of numbers without a fraction.
    pub fn integer() -> Self {
        Self { r#type: NumberType::Integer, ..Self::default() }
    }

    /// Sets the minimum, inclusive.
    pub fn minimum(mut self, minimum: impl Into<Number>) -> Self {
        self.minimum = Some(minimum.into());
        self
    }

    /// Sets the maximum, inclusive.
    pub fn maximum(mut self, maximum: impl Into<Number>) -> Self {
        self.maximum = Some(maximum.into());
        self
    }

    /// Sets the default value of the field; since 2025-11-25.
    pub fn default_value(mut self, number: impl Into<Number>) -> Self {
        self.default = Some(number.into());
        self
    }
}

impl BooleanSchema {
    /// Sets the default value of the field.
    pub fn default_value(mut self, value: bool) -> Self {
        self.default = Some(value);
        self
    }
}

macro_rules! constructors {
    ($($schema:ident)*) => {
        $(impl $schema {
            /// A schema without constraints.
            pub fn new() -> Self {
                Self::default()
            }
        })*
    };
}

constructors! { StringSchema NumberSchema BooleanSchema }
described! { StringSchema NumberSchema BooleanSchema }

macro_rules! into_definition {
    ($($variant:ident($schema:ident),)*) => {
        $(impl From<$schema> for PrimitiveSchemaDefinition {
            fn from(schema: $schema) -> Self {
                Self::$variant(schema)
            }
        })*
    };
}

into_definition! {
    String(StringSchema),
    Number(NumberSchema),
    Boolean(BooleanSchema),
    UntitledSingleSelectEnum(UntitledSingleSelectEnumSchema),
    TitledSingleSelectEnum(TitledSingleSelectEnumSchema),
    UntitledMultiSelectEnum(UntitledMultiSelectEnumSchema),
    TitledMultiSelectEnum(TitledMultiSelectEnumSchema),
    LegacyTitledEnum(LegacyTitledEnumSchema),
}
