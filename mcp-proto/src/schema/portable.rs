//! A schemars transform that makes schemas from Rust types portable.
//!
//! In: a root schema. Out: the same schema without the findings of
//! [`check_portability`](super::check_portability). Called where schemas are derived from types.
//!
//! | rule | change |
//! |---|---|
//! | `NullableMember` | removes `null`, and a `default` that is `null` |
//! | `NonStandardFormat` | removes `format`; the bounds stay |
//! | `MissingProperties` | adds `"properties": {}` |
//! | `SingleUseDefinition` | inlines the definition |
//!
//! `$schema` is removed from all schemas, portable or not: see `types::derived`.

use alloc::borrow::ToOwned;
use alloc::string::String;

use schemars::Schema;
use schemars::transform::Transform;
use serde_json::{Map, Value};

use super::definitions::{can_merge, is_single_use, references_by_definition};
use super::portability::{
    has_nonstandard_format, is_null_type, lacks_properties, nullable_members,
};
use super::subschemas::change_all;

/// The transform.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl Transform for Portable {
    fn transform(&mut self, schema: &mut Schema) {
        let mut root = core::mem::take(schema).to_value();
        inline_definitions(&mut root);
        // Inner schemas first: once without `null`, an inner schema may replace an outer one.
        change_all(&mut root, rewrite);
        if let Ok(root) = root.try_into() {
            *schema = root;
        }
    }
}

fn rewrite(schema: &mut Map<String, Value>) {
    if has_nonstandard_format(schema) {
        schema.remove("format");
    }
    if lacks_properties(schema) {
        schema.insert("properties".to_owned(), Map::new().into());
    }
    for name in nullable_members(schema) {
        let member = schema.get_mut("properties").and_then(|members| members.get_mut(&name));
        if let Some(Value::Object(member)) = member {
            remove_null(member);
        }
    }
}

/// Removes `null` from the valid values.
pub(crate) fn remove_null(schema: &mut Map<String, Value>) {
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
    for keyword in ["anyOf", "oneOf"] {
        let Some(Value::Array(variants)) = schema.get_mut(keyword) else { continue };
        variants.retain(|variant| !is_null_type(variant));
        let only = match &mut **variants {
            [Value::Object(only)] => core::mem::take(only),
            _ => continue,
        };
        schema.remove(keyword);
        if can_merge(schema, &only) {
            merge(schema, only);
        } else {
            schema.insert(keyword.to_owned(), Value::Array(alloc::vec![only.into()]));
        }
    }
}

/// Inlines all definitions that have a single reference.
fn inline_definitions(root: &mut Value) {
    let single = |root: &Value| {
        let mut references = references_by_definition(root).into_iter();
        references.find(|(definition, sites)| is_single_use(root, definition, sites))
    };
    while let Some((definition, mut sites)) = single(root) {
        let Some(Value::Object(content)) = root.pointer_mut(&definition).map(Value::take) else {
            return;
        };
        // The reference may be within another definition, and never within this one.
        if let Some(Value::Object(site)) = sites.pop().and_then(|site| root.pointer_mut(&site)) {
            site.remove("$ref");
            merge(site, content);
        }
        remove(root, &definition);
    }
}

/// Removes a definition, and the surrounding object if it becomes empty.
fn remove(root: &mut Value, definition: &str) {
    let Value::Object(root) = root else { return };
    let Some((keyword, token)) = definition.trim_start_matches('/').split_once('/') else { return };
    let name = token.replace("~1", "/").replace("~0", "~");
    if let Some(Value::Object(definitions)) = root.get_mut(keyword) {
        definitions.remove(&name);
        if definitions.is_empty() {
            root.remove(keyword);
        }
    }
}

/// Adds the keywords of another schema; existing annotations take precedence.
fn merge(schema: &mut Map<String, Value>, other: Map<String, Value>) {
    for (keyword, value) in other {
        schema.entry(keyword).or_insert(value);
    }
}
