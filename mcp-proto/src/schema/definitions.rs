//! The definitions of a JSON Schema, and the references to them.
//!
//! In: a schema. Out: the definitions, each with the places of its references. A definition with a
//! single reference can be inlined. A reference within its own definition makes a type recursive.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value};

use super::subschemas::{Subschemas, token};
use crate::url::percent;

/// The keywords with definitions, in 2020-12 and draft-07.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// The keywords that describe a schema, and that a reference may override.
const ANNOTATIONS: [&str; 8] = [
    "title",
    "description",
    "default",
    "deprecated",
    "readOnly",
    "writeOnly",
    "examples",
    "$comment",
];

/// The keywords that change the meaning of references.
const BASES: [&str; 3] = ["$id", "$anchor", "$dynamicAnchor"];

/// The definitions by JSON Pointer, each with the places of its references.
///
/// A reference into a definition counts twice, so that the definition is not inlined. The map is
/// empty if an inner schema has its own URI or anchor.
pub(super) fn references_by_definition(root: &Value) -> BTreeMap<String, Vec<String>> {
    let mut references = BTreeMap::new();
    for keyword in DEFINITIONS {
        let names = root.get(keyword).and_then(Value::as_object).into_iter().flat_map(Map::keys);
        references
            .extend(names.map(|name| (alloc::format!("/{keyword}/{}", token(name)), Vec::new())));
    }
    if references.is_empty() {
        return references;
    }
    let schemas = Subschemas::of(root);
    for (number, schema) in schemas.iter() {
        if number > 0 && BASES.iter().any(|keyword| schema.get(*keyword).is_some()) {
            return BTreeMap::new();
        }
        let reference = schema.get("$ref").and_then(Value::as_str);
        let Some(target) = reference.and_then(|uri| uri.strip_prefix('#')) else { continue };
        let target = percent::decode_utf8(target);
        let (definition, inside) = split_target(&target);
        if let Some(sites) = references.get_mut(definition) {
            let count = if inside.is_empty() { 1 } else { 2 };
            sites.extend(core::iter::repeat_n(schemas.pointer(number), count));
        }
    }
    references
}

/// Splits a JSON Pointer after its second token, which is the name of a definition.
fn split_target(pointer: &str) -> (&str, &str) {
    let slash = pointer.match_indices('/').nth(2);
    slash.and_then(|(at, _)| pointer.split_at_checked(at)).unwrap_or((pointer, ""))
}

/// True if a definition can be inlined at the only reference to it.
pub(super) fn is_single_use(root: &Value, definition: &str, sites: &[String]) -> bool {
    let [site] = sites else { return false };
    let is_recursive =
        site.strip_prefix(definition).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    match (root.pointer(site), root.pointer(definition)) {
        (Some(Value::Object(site)), Some(Value::Object(definition))) => {
            !is_recursive && can_merge(site, definition)
        }
        _ => false,
    }
}

/// True if two schemas have no keyword in common, except for annotations and the replaced `$ref`.
pub(super) fn can_merge(site: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let mut keywords = site.keys().filter(|keyword| *keyword != "$ref");
    keywords.all(|keyword| !other.contains_key(keyword) || ANNOTATIONS.contains(&&**keyword))
}
