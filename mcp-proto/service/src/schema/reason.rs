//! Texts of misfits: where and why a value does not fit a schema.
//!
//! In: the errors of the validator. Out: [`Misfits`] of limited length. A text never contains
//! values, which may be secret.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use super::budget::is_sound;
use super::hints::Hints;
use super::misfits::{Misfit, Misfits, cut};

/// The most misfits in one text.
const MAX_MISFITS: usize = 8;

/// The deepest nesting of alternatives that are searched for the nearest one.
const MAX_NESTED: usize = 3;

/// The first errors of a check; `None` if no error is sound.
///
/// Hints for misspelt members follow, up to the limit.
pub(super) fn misfits<'a>(
    errors: impl Iterator<Item = ValidationError<'a>>,
    hints: &Hints<'_>,
) -> Option<Misfits> {
    let mut errors = errors.filter(is_sound);
    let (mut list, mut misspelt) = (Vec::new(), Vec::new());
    for error in errors.by_ref().take(MAX_MISFITS) {
        list.push(misfit(&error, 0));
        for hint in hints.about(&error) {
            if !misspelt.contains(&hint) {
                misspelt.push(hint);
            }
        }
    }
    misspelt.truncate(MAX_MISFITS - list.len());
    list.extend(misspelt);
    if list.is_empty() { None } else { Some(Misfits { list, more: errors.next().is_some() }) }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "`reason` handles the other kinds")]
fn misfit(error: &ValidationError<'_>, nested: usize) -> Misfit {
    let mut path = error.instance_path().to_string();
    let reason = match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            path.push('/');
            path.push_str(&name.replace('~', "~0").replace('/', "~1"));
            "is required".into()
        }
        kind => reason(kind, nested),
    };
    Misfit { path: cut(&path), reason }
}

/// Text about the expected value.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others do not happen with these options")]
fn reason(kind: &ValidationErrorKind, nested: usize) -> String {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::Type { kind: TypeKind::Single(name) } => {
            alloc::format!("expected {}", with_article(*name))
        }
        Kind::Type { kind: TypeKind::Multiple(names) } => {
            let names: Vec<_> = names.iter().map(with_article).collect();
            alloc::format!("expected {}", names.join(" or "))
        }
        Kind::Enum { options } => expected_one_of(options),
        Kind::Constant { expected_value } => expected("", &expected_value.to_string()),
        Kind::Minimum { limit } => expected("at least ", &limit.to_string()),
        Kind::Maximum { limit } => expected("at most ", &limit.to_string()),
        Kind::ExclusiveMinimum { limit } => expected("more than ", &limit.to_string()),
        Kind::ExclusiveMaximum { limit } => expected("less than ", &limit.to_string()),
        Kind::MultipleOf { multiple_of } => expected("a multiple of ", &multiple_of.to_string()),
        Kind::MinLength { limit } => alloc::format!("expected at least {limit} characters"),
        Kind::MaxLength { limit } => alloc::format!("expected at most {limit} characters"),
        Kind::MinItems { limit } => alloc::format!("expected at least {limit} items"),
        Kind::MaxItems { limit } => alloc::format!("expected at most {limit} items"),
        Kind::AdditionalItems { limit } => alloc::format!("expected at most {limit} items"),
        Kind::MinProperties { limit } => alloc::format!("expected at least {limit} members"),
        Kind::MaxProperties { limit } => alloc::format!("expected at most {limit} members"),
        Kind::Pattern { pattern } => expected("a match of the pattern ", pattern),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unexpected_members(unexpected)
        }
        Kind::UnevaluatedItems { .. } => "has items that the schema does not know".into(),
        Kind::UniqueItems => "expected items that differ from each other".into(),
        Kind::Contains => "has no item, or not as many, as `contains` wants".into(),
        Kind::PropertyNames { error } => {
            alloc::format!("has a member whose name does not fit: {}", reason(error.kind(), nested))
        }
        Kind::FalseSchema => "must not be there".into(),
        Kind::Not { .. } => "fits the schema of `not`".into(),
        Kind::OneOfMultipleValid { .. } => "fits more than one schema of `oneOf`".into(),
        Kind::AnyOf { context } => none_of("anyOf", context, nested),
        Kind::OneOfNotValid { context } => none_of("oneOf", context, nested),
        kind => alloc::format!("does not fit `{}`", cut(kind.keyword())),
    }
}

fn expected(what: &str, value: &str) -> String {
    alloc::format!("expected {what}{}", cut(value))
}

fn expected_one_of(options: &Value) -> String {
    let Value::Array(options) = options else { return "is not one of the choices".into() };
    let options: Vec<_> = options.iter().map(Value::to_string).collect();
    expected("one of ", &options.join(", "))
}

fn unexpected_members(names: &[String]) -> String {
    let names = names.iter().take(MAX_MISFITS).map(|name| alloc::format!("`{name}`"));
    let names: Vec<_> = names.collect();
    alloc::format!("has members that the schema does not allow: {}", cut(&names.join(", ")))
}

/// The alternative with the deepest error is most likely the intended one.
fn none_of(keyword: &str, alternatives: &[Vec<ValidationError<'static>>], nested: usize) -> String {
    let text = alloc::format!("fits no schema of `{keyword}`");
    let first =
        alternatives.iter().filter_map(|errors| errors.iter().find(|error| is_sound(error)));
    let depth = |error: &&ValidationError<'_>| error.instance_path().iter().count();
    match first.max_by_key(depth) {
        Some(nearest) if nested < MAX_NESTED => {
            alloc::format!("{text} (nearest: {})", misfit(nearest, nested + 1))
        }
        _ => text,
    }
}

fn with_article(name: JsonType) -> &'static str {
    match name {
        JsonType::Null => "null",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "an integer",
        JsonType::Number => "a number",
        JsonType::String => "a string",
        JsonType::Array => "an array",
        JsonType::Object => "an object",
    }
}
