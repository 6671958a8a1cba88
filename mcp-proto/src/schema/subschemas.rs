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

/// A schema and all inner schemas, outer ones first. Few of their places are ever needed, so a JSON
/// Pointer is written on demand.
pub(super) struct Subschemas<'a>(Vec<Subschema<'a>>);

struct Subschema<'a> {
    schema: &'a Value,
    /// The number of the outer schema; 0 for the root itself.
    outer: usize,
    /// The keyword of the outer schema.
    keyword: &'a str,
    place: SubschemaPlace<'a>,
}

/// The place within the value of a keyword.
enum SubschemaPlace<'a> {
    Whole,
    Index(usize),
    Member(&'a str),
}

impl<'a> Subschemas<'a> {
    pub(super) fn of(root: &'a Value) -> Self {
        let root = Subschema { schema: root, outer: 0, keyword: "", place: SubschemaPlace::Whole };
        let mut found = alloc::vec![root];
        let mut outer = 0;
        while let Some(Subschema { schema, .. }) = found.get(outer) {
            let members = schema.as_object().into_iter().flatten();
            let inner = members.filter_map(|(name, value)| Some((keyword(name)?, name, value)));
            let mut inner: Vec<_> = inner.collect();
            // The order of the findings is that of the table.
            inner.sort_unstable_by_key(|((at, _), ..)| *at);
            for ((_, form), keyword, value) in inner {
                let at = |(place, schema)| Subschema { schema, outer, keyword, place };
                match (form, value) {
                    (SubschemaForm::Schemas, Value::Array(schemas)) => {
                        let places = (0..).map(SubschemaPlace::Index);
                        found.extend(places.zip(schemas).map(at));
                    }
                    (SubschemaForm::Members, Value::Object(members)) => {
                        let places = members.keys().map(|name| SubschemaPlace::Member(name));
                        found.extend(places.zip(members.values()).map(at));
                    }
                    (SubschemaForm::Schema | SubschemaForm::Schemas, Value::Object(_)) => {
                        found.push(at((SubschemaPlace::Whole, value)));
                    }
                    _ => {}
                }
            }
            outer += 1;
        }
        Self(found)
    }

    /// The schemas with their numbers; the root's is 0.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &'a Value)> {
        self.0.iter().map(|found| found.schema).enumerate()
    }

    /// A JSON Pointer to the schema with this number.
    pub(super) fn pointer(&self, number: usize) -> String {
        let Some(Subschema { outer, keyword, place, .. }) =
            self.0.get(number).filter(|_| number > 0)
        else {
            return String::new();
        };
        let outer = self.pointer(*outer);
        match place {
            SubschemaPlace::Whole => alloc::format!("{outer}/{keyword}"),
            SubschemaPlace::Index(at) => alloc::format!("{outer}/{keyword}/{at}"),
            SubschemaPlace::Member(name) => alloc::format!("{outer}/{keyword}/{}", token(name)),
        }
    }
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
