//! Schemas of choices. `new` takes the texts or options to choose from.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::setters::described;
use crate::json::integer::optional_integer;

/// One of several texts.
///
/// [Schema: `UntitledSingleSelectEnumSchema`](https://modelcontextprotocol.io/specification/2026-07-28/schema#untitledsingleselectenumschema)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UntitledSingleSelectEnumSchema {
    r#type: StringType,
    /// For display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The texts to choose from.
    pub r#enum: Vec<String>,
    /// The default choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

impl UntitledSingleSelectEnumSchema {
    /// A choice of one of these texts.
    pub fn new(texts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            r#type: StringType::String,
            title: None,
            description: None,
            r#enum: texts.into_iter().map(Into::into).collect(),
            default: None,
        }
    }
}

/// One of several texts with titles; since 2025-11-25.
///
/// [Schema: `TitledSingleSelectEnumSchema`](https://modelcontextprotocol.io/specification/2026-07-28/schema#titledsingleselectenumschema)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TitledSingleSelectEnumSchema {
    r#type: StringType,
    /// For display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The options.
    pub one_of: Vec<EnumOption>,
    /// The default choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

impl TitledSingleSelectEnumSchema {
    /// A choice of one of these options.
    pub fn new(options: impl IntoIterator<Item = EnumOption>) -> Self {
        Self {
            r#type: StringType::String,
            title: None,
            description: None,
            one_of: options.into_iter().collect(),
            default: None,
        }
    }
}

/// Any number of several texts; since 2025-11-25.
///
/// [Schema: `UntitledMultiSelectEnumSchema`](https://modelcontextprotocol.io/specification/2026-07-28/schema#untitledmultiselectenumschema)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UntitledMultiSelectEnumSchema {
    r#type: ArrayType,
    /// For display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The minimum number of choices.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub min_items: Option<u64>,
    /// The maximum number of choices.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_items: Option<u64>,
    /// The options.
    pub items: UntitledItems,
    /// The default choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<String>>,
}

impl UntitledMultiSelectEnumSchema {
    /// A choice of any number of these texts.
    pub fn new(texts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            r#type: ArrayType::Array,
            title: None,
            description: None,
            min_items: None,
            max_items: None,
            items: UntitledItems {
                r#type: StringType::String,
                r#enum: texts.into_iter().map(Into::into).collect(),
            },
            default: None,
        }
    }
}

/// The texts to choose from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UntitledItems {
    r#type: StringType,
    /// The texts.
    pub r#enum: Vec<String>,
}

/// Any number of several texts with titles; since 2025-11-25.
///
/// [Schema: `TitledMultiSelectEnumSchema`](https://modelcontextprotocol.io/specification/2026-07-28/schema#titledmultiselectenumschema)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TitledMultiSelectEnumSchema {
    r#type: ArrayType,
    /// For display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The minimum number of choices.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub min_items: Option<u64>,
    /// The maximum number of choices.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_items: Option<u64>,
    /// The options.
    pub items: TitledItems,
    /// The default choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<String>>,
}

impl TitledMultiSelectEnumSchema {
    /// A choice of any number of these options.
    pub fn new(options: impl IntoIterator<Item = EnumOption>) -> Self {
        Self {
            r#type: ArrayType::Array,
            title: None,
            description: None,
            min_items: None,
            max_items: None,
            items: TitledItems { any_of: options.into_iter().collect() },
            default: None,
        }
    }
}

/// The texts with titles to choose from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TitledItems {
    /// The options.
    pub any_of: Vec<EnumOption>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum ArrayType {
    #[serde(rename = "array")]
    Array,
}

/// A text with a title.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EnumOption {
    /// The text.
    pub r#const: String,
    /// For display.
    pub title: String,
}

impl EnumOption {
    /// A text with this title.
    pub fn new(text: impl Into<String>, title: impl Into<String>) -> Self {
        Self { r#const: text.into(), title: title.into() }
    }
}

/// One of several texts, with titles in a separate list; deprecated, but the only titles that
/// clients before 2025-11-25 support.
///
/// [Schema: `LegacyTitledEnumSchema`](https://modelcontextprotocol.io/specification/2026-07-28/schema#legacytitledenumschema)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LegacyTitledEnumSchema {
    r#type: StringType,
    /// For display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The texts to choose from.
    pub r#enum: Vec<String>,
    /// The titles, in the same order.
    pub enum_names: Vec<String>,
    /// The default choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

impl LegacyTitledEnumSchema {
    /// A choice of one of these options.
    pub fn new(options: impl IntoIterator<Item = EnumOption>) -> Self {
        let (texts, titles) =
            options.into_iter().map(|option| (option.r#const, option.title)).unzip();
        Self {
            r#type: StringType::String,
            title: None,
            description: None,
            r#enum: texts,
            enum_names: titles,
            default: None,
        }
    }
}

described! {
    UntitledSingleSelectEnumSchema
    TitledSingleSelectEnumSchema
    UntitledMultiSelectEnumSchema
    TitledMultiSelectEnumSchema
    LegacyTitledEnumSchema
}

macro_rules! defaults {
    ($($schema:ident: $default:ty;)*) => {
        $(impl $schema {
            /// Sets the default choice.
            pub fn default_value(mut self, choice: impl Into<$default>) -> Self {
                self.default = Some(choice.into());
                self
            }
        })*
    };
}

defaults! {
    UntitledSingleSelectEnumSchema: String;
    TitledSingleSelectEnumSchema: String;
    UntitledMultiSelectEnumSchema: Vec<String>;
    TitledMultiSelectEnumSchema: Vec<String>;
    LegacyTitledEnumSchema: String;
}

macro_rules! counts {
    ($($schema:ident)*) => {
        $(impl $schema {
            /// Sets the minimum number of choices.
            pub fn min_items(mut self, choices: u64) -> Self {
                self.min_items = Some(choices);
                self
            }

            /// Sets the maximum number of choices.
            pub fn max_items(mut self, choices: u64) -> Self {
                self.max_items = Some(choices);
                self
            }
        })*
    };
}

counts! { UntitledMultiSelectEnumSchema TitledMultiSelectEnumSchema }

/// The `type` of a schema of texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) enum StringType {
    #[default]
    #[serde(rename = "string")]
    String,
}
