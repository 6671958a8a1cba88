//! Limits for schemas of peers.
//!
//! Keywords such as `allOf` and `$ref` apply other subschemas to the same value. A few lines of
//! them can make the validator apply millions of subschemas to one value, or overflow its stack. So
//! the subschemas that apply to one value are counted before the schema is compiled. For the
//! children of a value, the visits of a check are limited.
//!
//! [Specification: Composition-Keyword Resource Use](https://modelcontextprotocol.io/specification/2026-07-28/basic#composition-keyword-resource-use)

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::ptr;

use serde_json::{Map, Value};

use mcp_proto::Json;
use mcp_proto::internals::percent;
use mcp_proto::schema::SchemaError;

/// The most bytes of a schema.
const MAX_BYTES: usize = 64 * 1024;

/// The deepest nesting of subschemas that apply to the same value.
const MAX_DEPTH: usize = 32;

/// The most subschemas that apply to one value.
const MAX_COUNT: usize = 10_000;

/// The most subschemas that apply to the name of a member. Their visits are not counted.
pub(super) const MAX_NAME_COUNT: usize = 16;

/// Fails if the text of a schema is too long.
pub(super) fn check_size(schema: &Json) -> Result<(), SchemaError> {
    match schema.as_bytes().len() {
        0..=MAX_BYTES => Ok(()),
        _ => Err(too_complex("it has more than 64 KiB")),
    }
}

/// Fails if too many subschemas can apply to one value.
pub(super) fn check(root: &Value) -> Result<(), SchemaError> {
    let schemas = collect(root);
    let mut cost = Cost { root, anchors: BTreeMap::new(), counts: BTreeMap::new() };
    for (at, schema) in schemas.iter().enumerate() {
        if at > 0 && schema.get("$id").is_some_and(Value::is_string) {
            return Err(too_complex("a subschema has an `$id` of its own"));
        }
        for name in ["$anchor", "$dynamicAnchor"] {
            if let Some(name) = schema.get(name).and_then(Value::as_str) {
                let before = cost.anchors.insert(name, *schema);
                // The validator may use another one of them than the count does.
                if before.is_some_and(|before| !ptr::eq(before, *schema)) {
                    return Err(too_complex("two subschemas have the same anchor"));
                }
            }
        }
    }
    for schema in schemas {
        cost.count(schema, 0)?;
        if let Some(Value::Object(names)) = schema.get("propertyNames")
            && cost.count(names, 0)? > MAX_NAME_COUNT
        {
            return Err(too_complex("more than 16 subschemas apply to the name of a member"));
        }
    }
    Ok(())
}

/// Collects all objects of a document that may be schemas, the root first.
///
/// Unknown keywords may have schemas. The values of `const`, `default`, `enum` and `examples` are
/// data, but a reference can make a schema of any object.
fn collect(root: &Value) -> Vec<&Map<String, Value>> {
    let mut schemas = Vec::new();
    let mut addresses = BTreeSet::new();
    let mut values = alloc::vec![root];
    while let Some(value) = values.pop() {
        values.extend(value.as_array().into_iter().flatten());
        let schema = value.as_object().filter(|schema| addresses.insert(ptr::from_ref(*schema)));
        let Some(schema) = schema else { continue };
        schemas.push(schema);
        for (keyword, value) in schema {
            match (&**keyword, value) {
                ("const" | "default" | "enum" | "examples", _) => {}
                (
                    "$defs" | "definitions" | "dependencies" | "dependentSchemas"
                    | "patternProperties" | "properties",
                    Value::Object(named),
                ) => values.extend(named.values()),
                ("$ref" | "$dynamicRef", Value::String(reference)) => {
                    let target = reference.strip_prefix('#').and_then(|at| pointed_at(root, at));
                    values.extend(target.filter(|target| target.is_object()));
                }
                _ => values.push(value),
            }
        }
    }
    schemas
}

/// The value that the pointer in a fragment names.
fn pointed_at<'a>(root: &'a Value, fragment: &str) -> Option<&'a Value> {
    root.pointer(&percent::decode_utf8(fragment))
}

/// A document, and the counts of its subschemas.
struct Cost<'a> {
    root: &'a Value,
    anchors: BTreeMap<&'a str, &'a Map<String, Value>>,
    /// Number of subschemas that apply to the value that a schema applies to, by the schema's
    /// address.
    counts: BTreeMap<usize, usize>,
}

impl<'a> Cost<'a> {
    /// Number of subschemas that apply to a value together with this one, including itself. A
    /// schema that applies itself to the same value exceeds the depth.
    fn count(
        &mut self,
        schema: &'a Map<String, Value>,
        depth: usize,
    ) -> Result<usize, SchemaError> {
        let address = ptr::from_ref(schema) as usize;
        if depth >= MAX_DEPTH {
            return Err(too_complex("more than 32 subschemas apply inside of each other"));
        }
        if let Some(count) = self.counts.get(&address) {
            return Ok(*count);
        }
        let mut count = 1_usize;
        for applied in self.applied(schema)? {
            count = count.saturating_add(self.count(applied, depth + 1)?);
        }
        if count > MAX_COUNT {
            return Err(too_complex("more than 10,000 subschemas apply to one value"));
        }
        self.counts.insert(address, count);
        Ok(count)
    }

    /// The subschemas that a schema applies to the same value.
    fn applied(
        &self,
        schema: &'a Map<String, Value>,
    ) -> Result<Vec<&'a Map<String, Value>>, SchemaError> {
        let mut applied = Vec::new();
        for (keyword, value) in schema {
            match (&**keyword, value) {
                ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                    applied.extend(schemas.iter().filter_map(Value::as_object));
                }
                ("not" | "if" | "then" | "else", Value::Object(schema)) => applied.push(schema),
                ("dependentSchemas" | "dependencies", Value::Object(schemas)) => {
                    applied.extend(schemas.values().filter_map(Value::as_object));
                }
                ("$ref" | "$dynamicRef", Value::String(reference)) => {
                    applied.extend(self.target(reference)?);
                }
                _ => {}
            }
        }
        Ok(applied)
    }

    /// The schema that a reference names. `None` if there is none, which the compiler reports, or
    /// if it is `true` or `false`.
    fn target(&self, reference: &str) -> Result<Option<&'a Map<String, Value>>, SchemaError> {
        let Some(fragment) = reference.strip_prefix('#') else {
            return Err(too_complex(
                "a `$ref` is neither a pointer (`#/…`) nor an anchor (`#name`)",
            ));
        };
        if fragment.is_empty() || fragment.starts_with('/') {
            return Ok(pointed_at(self.root, fragment).and_then(Value::as_object));
        }
        Ok(self.anchors.get(fragment).copied())
    }
}

fn too_complex(reason: &'static str) -> SchemaError {
    SchemaError::TooComplex { reason }
}
