//! Schemas and arguments from Rust types.
//!
//! In: a type, and the name of the tool or prompt for errors. Out: `inputSchema`, `outputSchema`
//! or `arguments`, in JSON Schema 2020-12. Called by the constructors of tools and prompts.
//!
//! [Specification: JSON Schema Usage](https://modelcontextprotocol.io/specification/2026-07-28/basic#json-schema-usage)

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use super::PromptArgument;
use crate::error::UsageError;
use crate::headers::ANNOTATION;
use crate::json::Json;
use crate::schema::portable::{Portable, remove_null};

/// The transforms applied to a derived schema.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Derivation {
    /// The transforms of [`Portable`].
    Portable,
    /// No transforms: the schema is as schemars derives it.
    Verbatim,
}

/// The schema of the JSON that deserializes as an `A`.
pub(super) fn input_schema<A: JsonSchema>(
    name: &str,
    derivation: Derivation,
) -> Result<Json, UsageError> {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    let settings = settings.with_transform(RecursiveTransform(no_null_in_headers));
    schema::<A>(settings, name, derivation)
}

/// The schema of the JSON that a `T` serializes to.
pub(super) fn output_schema<T: JsonSchema>(
    name: &str,
    derivation: Derivation,
) -> Result<Json, UsageError> {
    schema::<T>(SchemaSettings::draft2020_12().for_serialize(), name, derivation)
}

fn schema<T: JsonSchema>(
    settings: SchemaSettings,
    name: &str,
    derivation: Derivation,
) -> Result<Json, UsageError> {
    let settings = match derivation {
        Derivation::Portable => settings.with_transform(Portable),
        Derivation::Verbatim => settings,
    };
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // `$schema` would be the default dialect, and a model has no use for the type's name.
    schema.remove("$schema");
    schema.remove("title");
    Json::encode(&schema).map_err(|_| UsageError::NotJson { name: name.to_owned() })
}

/// Removes `null` from the type of an argument that is mirrored in a header. The header of a `null`
/// is omitted, and most clients reject a list of types there.
fn no_null_in_headers(schema: &mut Schema) {
    if schema.get(ANNOTATION).is_none() {
        return;
    }
    if let Some(schema) = schema.as_object_mut() {
        remove_null(schema);
    }
}

/// The fields of an `A`: the required ones in their order, then the others.
pub(super) fn prompt_arguments<A: JsonSchema>(
    name: &str,
) -> Result<Vec<PromptArgument>, UsageError> {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<A>();
    // Prompt arguments cannot express fields that only some variants have.
    let is_struct = schema.get("type").is_some_and(|word| word == "object")
        && !["oneOf", "anyOf", "allOf"].iter().any(|key| schema.get(*key).is_some());
    if !is_struct {
        return Err(UsageError::InvalidPromptArguments { name: name.to_owned() });
    }
    let required: Vec<&str> = match schema.get("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let fields = schema.get("properties").and_then(Value::as_object);
    let mut arguments = Vec::new();
    for (field, schema) in fields.into_iter().flatten() {
        if !is_string(schema) {
            let name = name.to_owned();
            let argument = field.clone();
            return Err(UsageError::InvalidPromptArgument { name, argument });
        }
        let text = |key| schema.get(key).and_then(Value::as_str).map(String::from);
        arguments.push(PromptArgument {
            name: field.clone(),
            title: text("title"),
            description: text("description"),
            required: required.contains(&&**field),
        });
    }
    // `required` is an array and keeps the order of the fields; the others come last.
    let place = |argument: &PromptArgument| {
        required.iter().position(|name| *name == argument.name).unwrap_or(required.len())
    };
    arguments.sort_by_key(place);
    Ok(arguments)
}

/// Returns whether only strings are valid, or `null` for an optional field.
fn is_string(schema: &Value) -> bool {
    let variants = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(*key)?.as_array());
    match (variants, schema.get("type")) {
        (Some(variants), _) => {
            variants.iter().any(is_string)
                && variants.iter().all(|variant| {
                    is_string(variant) || variant.get("type").is_some_and(|word| word == "null")
                })
        }
        (None, Some(Value::Array(words))) => {
            words.iter().any(|word| word == "string")
                && words.iter().all(|word| word == "string" || word == "null")
        }
        (None, Some(word)) => word == "string",
        (None, None) => false,
    }
}
