//! The subschemas of a JSON Schema, by their places.
//!
//! In: a schema. Out: JSON Pointers to the schema and to all inner schemas. Values that are data,
//! such as those of `default` and `enum`, are not schemas.

use alloc::string::String;
use alloc::vec::Vec;

#[cfg(feature = "schemars")]
use serde_json::Map;
use serde_json::Value;

/// The form of a keyword's value.
#[derive(Clone, Copy)]
enum SubschemaForm {
    Schema,
    /// One schema, or an array of schemas.
    Schemas,
    /// An object whose members are schemas.
    Members,
}

/// The keywords with subschemas, of 2020-12 and draft-07.
const KEYWORDS: [(&str, SubschemaForm); 21] = [
    ("not", SubschemaForm::Schema),
    ("if", SubschemaForm::Schema),
    ("then", SubschemaForm::Schema),
    ("else", SubschemaForm::Schema),
    ("contains", SubschemaForm::Schema),
    ("additionalProperties", SubschemaForm::Schema),
    ("unevaluatedProperties", SubschemaForm::Schema),
    ("propertyNames", SubschemaForm::Schema),
    ("additionalItems", SubschemaForm::Schema),
    ("unevaluatedItems", SubschemaForm::Schema),
    ("contentSchema", SubschemaForm::Schema),
    ("items", SubschemaForm::Schemas),
    ("prefixItems", SubschemaForm::Schemas),
    ("allOf", SubschemaForm::Schemas),
    ("anyOf", SubschemaForm::Schemas),
    ("oneOf", SubschemaForm::Schemas),
    ("properties", SubschemaForm::Members),
    ("patternProperties", SubschemaForm::Members),
    ("dependentSchemas", SubschemaForm::Members),
    ("$defs", SubschemaForm::Members),
    ("definitions", SubschemaForm::Members),
];

/// The place of a keyword in [`KEYWORDS`], and the form of its value.
fn keyword(name: &str) -> Option<(usize, SubschemaForm)> {
    let mut keywords = KEYWORDS.iter().enumerate();
    keywords.find(|(_, (keyword, _))| *keyword == name).map(|(at, (_, form))| (at, *form))
}

/// A schema and all inner schemas, outer ones first, with JSON Pointers to them.
pub(super) fn subschemas(root: &Value) -> Vec<(String, &Value)> {
    let mut found = alloc::vec![(String::new(), root)];
    let mut next = 0;
    while let Some((path, schema)) = found.get(next).cloned() {
        next += 1;
        let members = schema.as_object().into_iter().flatten();
        let inner = members.filter_map(|(name, value)| Some((keyword(name)?, name, value)));
        let mut inner: Vec<_> = inner.collect();
        // The order of the findings is that of the table.
        inner.sort_unstable_by_key(|((at, _), ..)| *at);
        for ((_, form), name, value) in inner {
            let path = alloc::format!("{path}/{name}");
            match (form, value) {
                (SubschemaForm::Schemas, Value::Array(schemas)) => {
                    let paths = (0..schemas.len()).map(|at| alloc::format!("{path}/{at}"));
                    found.extend(paths.zip(schemas));
                }
                (SubschemaForm::Members, Value::Object(members)) => {
                    let paths = members.keys().map(|name| alloc::format!("{path}/{}", token(name)));
                    found.extend(paths.zip(members.values()));
                }
                (SubschemaForm::Schema | SubschemaForm::Schemas, Value::Object(_)) => {
                    found.push((path, value));
                }
                _ => {}
            }
        }
    }
    found
}

/// Changes a schema and all inner schemas, inner ones first.
#[cfg(feature = "schemars")]
pub(super) fn change_all(schema: &mut Value, change: fn(&mut Map<String, Value>)) {
    let Value::Object(schema) = schema else { return };
    for (name, value) in schema.iter_mut() {
        match (keyword(name), value) {
            (Some((_, SubschemaForm::Schemas)), Value::Array(schemas)) => {
                for schema in schemas {
                    change_all(schema, change);
                }
            }
            (Some((_, SubschemaForm::Members)), Value::Object(members)) => {
                for schema in members.values_mut() {
                    change_all(schema, change);
                }
            }
            (Some((_, SubschemaForm::Schema | SubschemaForm::Schemas)), value) => {
                change_all(value, change);
            }
            _ => {}
        }
    }
    change(schema);
}

/// A name as a token of a JSON Pointer.
pub(super) fn token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
