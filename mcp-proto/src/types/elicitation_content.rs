//! Content of a form that a user has filled in.
//!
//! In: a form and the content that a user submitted. Out: the answer, with defaults for omitted
//! fields, or the invalid fields. Called by the handlers of a client.
//!
//! [Specification: Requested Schema](https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#requested-schema)

use alloc::borrow::Cow;
use alloc::collections::btree_map::Entry;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::Serialize;
use serde_json::Number;

use super::string_format::expected;
use super::{
    ElicitAction, ElicitRequestFormParams, ElicitResult, NumberSchema, NumberType,
    PrimitiveSchemaDefinition, RequestedSchema, StringSchema,
};
use crate::json::write::List;
use crate::json::{Json, Raw};
use crate::message::ErrorData;

impl ElicitRequestFormParams {
    /// The answer of a user who submitted the form with this content, an object. An omitted field
    /// gets its default; a field that the form does not have is kept.
    ///
    /// All constraints of the fields are checked, for defaults too, except
    /// [`StringFormat::Other`](super::StringFormat::Other) and
    /// [`PrimitiveSchemaDefinition::Other`]. `null` is a value of the wrong type. To omit a field
    /// that has a default, use [`ElicitResult::accept`].
    ///
    /// Fails with [`ContentError`].
    ///
    /// ```
    /// use mcp_proto::types::{BooleanSchema, ElicitRequestFormParams, RequestedSchema, StringSchema};
    ///
    /// let mut public = BooleanSchema::new();
    /// public.default = Some(false);
    /// let fields = RequestedSchema::new()
    ///     .required("name", StringSchema::new())
    ///     .optional("public", public);
    /// let form = ElicitRequestFormParams::new("What is it called?", fields);
    ///
    /// let answer = form.accept(&serde_json::json!({ "name": "sans-io" }))?;
    /// assert_eq!(answer.content.unwrap().as_str(), r#"{"name":"sans-io","public":false}"#);
    /// let error = form.accept_defaults().unwrap_err();
    /// assert_eq!(error.to_string(), "the content does not fit the form: \"name\" is required");
    /// # Ok::<(), mcp_proto::types::ContentError>(())
    /// ```
    pub fn accept<T: Serialize + ?Sized>(&self, content: &T) -> Result<ElicitResult, ContentError> {
        let content = Json::encode(content).map_err(ContentError::NotJson)?;
        if !content.raw().is_object() {
            return Err(ContentError::NotAnObject);
        }
        complete(&self.requested_schema, &content).map(ElicitResult::accept)
    }

    /// Checks an answer to the form. If the user accepted, checks the content as
    /// [`accept`](Self::accept) does, but without adding defaults.
    ///
    /// Fails as [`accept`](Self::accept) does.
    ///
    /// [Specification: Elicitation, Security Considerations](https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#security-considerations)
    pub fn check(&self, answer: &ElicitResult) -> Result<(), ContentError> {
        match (answer.action, &answer.content) {
            (ElicitAction::Decline | ElicitAction::Cancel, _) => Ok(()),
            (ElicitAction::Accept, None) => check_all(&self.requested_schema, &BTreeMap::new()),
            (ElicitAction::Accept, Some(content)) if content.raw().is_object() => {
                check_all(&self.requested_schema, &fields(content))
            }
            (ElicitAction::Accept, Some(_)) => Err(ContentError::NotAnObject),
        }
    }

    /// The answer of a user who submitted the form unchanged, with only its defaults.
    ///
    /// Fails with [`ContentError::Fields`] if a required field has none.
    pub fn accept_defaults(&self) -> Result<ElicitResult, ContentError> {
        self.accept(&Json::EMPTY_OBJECT)
    }
}

/// Error of content that does not fit a form.
#[derive(Debug)]
#[non_exhaustive]
pub enum ContentError {
    /// The content cannot be written as JSON.
    NotJson(serde_json::Error),
    /// The content is not a JSON object.
    NotAnObject,
    /// The invalid fields, by name; at least one.
    Fields(Vec<(String, FieldError)>),
}

impl fmt::Display for ContentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson(_) => f.write_str("the content cannot be written as JSON"),
            Self::NotAnObject => f.write_str("the content must be a JSON object"),
            Self::Fields(fields) => {
                f.write_str("the content does not fit the form: ")?;
                for (at, (name, error)) in fields.iter().enumerate() {
                    let separator = if at == 0 { "" } else { "; " };
                    write!(f, "{separator}{name:?} {error}")?;
                }
                Ok(())
            }
        }
    }
}

/// Reports the error to the server.
impl From<ContentError> for ErrorData {
    fn from(error: ContentError) -> Self {
        Self::internal(error.to_string())
    }
}

impl core::error::Error for ContentError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::NotJson(error) => Some(error),
            Self::NotAnObject | Self::Fields(_) => None,
        }
    }
}

/// An error of a field of a form.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FieldError {
    /// The field is required, was omitted, and has no default.
    Missing,
    /// The value has the wrong type.
    WrongType {
        /// The expected type, in words.
        expected: &'static str,
    },
    /// The text has too few characters.
    TooShort {
        /// The minimum.
        min_length: u64,
    },
    /// The text has too many characters.
    TooLong {
        /// The maximum.
        max_length: u64,
    },
    /// The text does not have the format.
    WrongFormat {
        /// The expected format, in words.
        expected: &'static str,
    },
    /// The number is too small.
    TooSmall {
        /// The minimum.
        minimum: Number,
    },
    /// The number is too large.
    TooLarge {
        /// The maximum.
        maximum: Number,
    },
    /// The text is not one of the choices.
    NotAChoice,
    /// Too few texts are chosen.
    TooFew {
        /// The minimum.
        min_items: u64,
    },
    /// Too many texts are chosen.
    TooMany {
        /// The maximum.
        max_items: u64,
    },
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("is required"),
            Self::WrongType { expected } | Self::WrongFormat { expected } => {
                write!(f, "must be {expected}")
            }
            Self::TooShort { min_length } => write!(f, "must have {min_length} characters or more"),
            Self::TooLong { max_length } => write!(f, "must have {max_length} characters or fewer"),
            Self::TooSmall { minimum } => write!(f, "must be {minimum} or more"),
            Self::TooLarge { maximum } => write!(f, "must be {maximum} or less"),
            Self::NotAChoice => f.write_str("must be one of the choices"),
            Self::TooFew { min_items } => write!(f, "must have {min_items} choices or more"),
            Self::TooMany { max_items } => write!(f, "must have {max_items} choices or fewer"),
        }
    }
}

impl core::error::Error for FieldError {}

/// The content, an object, followed by the missing defaults.
fn complete(schema: &RequestedSchema, content: &Json) -> Result<Json, ContentError> {
    let defaults: Vec<_> = schema.defaults().collect();
    let mut fields = Fields::new();
    let mut text = Vec::new();
    let mut object = List::object(&mut text);
    content.raw().members(|key, value| {
        object.copy(key, value);
        // A name that is not valid Unicode is not a field of the form.
        if let Some(name) = key.string() {
            fields.insert(name, value);
        }
    });
    for (name, default) in &defaults {
        if let Entry::Vacant(field) = fields.entry(Cow::Borrowed(*name)) {
            object.member(name, default.as_bytes());
            field.insert(default.raw());
        }
    }
    object.end();
    check_all(schema, &fields).map(|()| Json::trusted(text))
}

type Fields<'a> = BTreeMap<Cow<'a, str>, Raw<'a>>;

/// The fields of content, an object.
fn fields(content: &Json) -> Fields<'_> {
    let mut fields = Fields::new();
    content.raw().members(|key, value| {
        if let Some(name) = key.string() {
            fields.insert(name, value);
        }
    });
    fields
}

fn check_all(schema: &RequestedSchema, fields: &Fields<'_>) -> Result<(), ContentError> {
    let wrong = schema.properties.iter().filter_map(|(name, schema)| {
        let error = check(schema, *fields.get(&**name)?).err()?;
        Some((name.clone(), error))
    });
    let missing = schema.required.iter().filter(|name| !fields.contains_key(&***name));
    let missing = missing.map(|name| (name.clone(), FieldError::Missing));
    let errors: Vec<_> = wrong.chain(missing).collect();
    if errors.is_empty() { Ok(()) } else { Err(ContentError::Fields(errors)) }
}

fn check(schema: &PrimitiveSchemaDefinition, value: Raw<'_>) -> Result<(), FieldError> {
    match schema {
        PrimitiveSchemaDefinition::String(schema) => string(schema, value),
        PrimitiveSchemaDefinition::Number(schema) => number(schema, value),
        PrimitiveSchemaDefinition::Boolean(_) => match value.0 {
            b"true" | b"false" => Ok(()),
            _ => Err(FieldError::WrongType { expected: "true or false" }),
        },
        PrimitiveSchemaDefinition::UntitledSingleSelectEnum(schema) => {
            one_of(schema.r#enum.iter().map(|text| &**text), value)
        }
        PrimitiveSchemaDefinition::TitledSingleSelectEnum(schema) => {
            one_of(schema.one_of.iter().map(|option| &*option.r#const), value)
        }
        PrimitiveSchemaDefinition::LegacyTitledEnum(schema) => {
            one_of(schema.r#enum.iter().map(|text| &**text), value)
        }
        PrimitiveSchemaDefinition::UntitledMultiSelectEnum(schema) => {
            let count = any_of(schema.items.r#enum.iter().map(|text| &**text), value)?;
            choices(count, schema.min_items, schema.max_items)
        }
        PrimitiveSchemaDefinition::TitledMultiSelectEnum(schema) => {
            let options = schema.items.any_of.iter();
            let count = any_of(options.map(|option| &*option.r#const), value)?;
            choices(count, schema.min_items, schema.max_items)
        }
        PrimitiveSchemaDefinition::Other(_) => Ok(()),
    }
}

fn string(schema: &StringSchema, value: Raw<'_>) -> Result<(), FieldError> {
    let text = text(value)?;
    let length = text.chars().count() as u64;
    match (schema.min_length, schema.max_length) {
        (Some(min_length), _) if length < min_length => Err(FieldError::TooShort { min_length }),
        (_, Some(max_length)) if length > max_length => Err(FieldError::TooLong { max_length }),
        _ => {
            let expected = schema.format.as_ref().and_then(|format| expected(format, &text));
            expected.map_or(Ok(()), |expected| Err(FieldError::WrongFormat { expected }))
        }
    }
}

fn number(schema: &NumberSchema, value: Raw<'_>) -> Result<(), FieldError> {
    let number = serde_json::from_slice::<Number>(value.0);
    let number = number.map_err(|_| FieldError::WrongType { expected: "a number" })?;
    // As in JSON Schema, `5.0` is an integer.
    let has_fraction = |number: f64| number % 1.0 != 0.0;
    if schema.r#type == NumberType::Integer && number.as_f64().is_some_and(has_fraction) {
        return Err(FieldError::WrongType { expected: "a number without a fraction" });
    }
    match (&schema.minimum, &schema.maximum) {
        (Some(minimum), _) if is_less(&number, minimum) => {
            Err(FieldError::TooSmall { minimum: minimum.clone() })
        }
        (_, Some(maximum)) if is_less(maximum, &number) => {
            Err(FieldError::TooLarge { maximum: maximum.clone() })
        }
        _ => Ok(()),
    }
}

/// Compares integers exactly: as `f64`, neighbours above 2^53 are equal.
fn is_less(one: &Number, other: &Number) -> bool {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => one < other,
        _ => one.as_f64() < other.as_f64(),
    }
}

fn one_of<'a>(mut texts: impl Iterator<Item = &'a str>, value: Raw<'_>) -> Result<(), FieldError> {
    let chosen = text(value)?;
    if texts.any(|text| text == chosen) { Ok(()) } else { Err(FieldError::NotAChoice) }
}

/// Returns the number of chosen texts.
fn any_of<'a>(texts: impl Iterator<Item = &'a str>, value: Raw<'_>) -> Result<u64, FieldError> {
    if !value.is_array() {
        return Err(FieldError::WrongType { expected: "a list of strings" });
    }
    let texts: BTreeSet<&str> = texts.collect();
    let mut count = 0;
    let mut result = Ok(());
    value.elements(|chosen| {
        count += 1;
        let known = text(chosen).map(|chosen| texts.contains(&*chosen));
        if result.is_ok() && known != Ok(true) {
            result = Err(known.err().unwrap_or(FieldError::NotAChoice));
        }
    });
    result.map(|()| count)
}

fn choices(count: u64, min_items: Option<u64>, max_items: Option<u64>) -> Result<(), FieldError> {
    match (min_items, max_items) {
        (Some(min_items), _) if count < min_items => Err(FieldError::TooFew { min_items }),
        (_, Some(max_items)) if count > max_items => Err(FieldError::TooMany { max_items }),
        _ => Ok(()),
    }
}

fn text(value: Raw<'_>) -> Result<Cow<'_, str>, FieldError> {
    value.string().ok_or(FieldError::WrongType { expected: "a string" })
}
