//! Schemas from Rust types.
//!
//! In: a type, and the name of the tool for errors. Out: `inputSchema` or `outputSchema`, in
//! JSON Schema 2020-12. Called by the constructors of tools.
//!
//! [Specification: JSON Schema Usage](https://modelcontextprotocol.io/specification/2026-07-28/basic#json-schema-usage)

use alloc::borrow::ToOwned;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use crate::error::UsageError;
use crate::headers::ANNOTATION;
use crate::json::Json;

/// The schema of what is read as an `A`.
pub(super) fn input_schema<A: JsonSchema>(name: &str) -> Result<Json, UsageError> {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    schema::<A>(settings.with_transform(RecursiveTransform(no_null_in_headers)), name)
}

/// The schema of what a `T` is written as.
pub(super) fn output_schema<T: JsonSchema>(name: &str) -> Result<Json, UsageError> {
    schema::<T>(SchemaSettings::draft2020_12().for_serialize(), name)
}

fn schema<T: JsonSchema>(settings: SchemaSettings, name: &str) -> Result<Json, UsageError> {
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // The dialect is the default one, and the type's name says nothing to a model.
    schema.remove("$schema");
    schema.remove("title");
    Json::encode(&schema).map_err(|_| UsageError::NotJson { name: name.to_owned() })
}

/// Takes `null` out of the type of an argument that goes into a header. A header is left out in
/// place of it, and most clients reject a list of types there.
fn no_null_in_headers(schema: &mut Schema) {
    if schema.get(ANNOTATION).is_none() {
        return;
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|word| word != "null");
        if let [only] = &**types {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
}
