//! Checks of JSON Schemas for parts that hosts of models reject or warn about.
//!
//! In: a schema. Out: a finding for each place that breaks a rule. Called by the program `mcp`, and
//! by tests of servers with handwritten schemas. Schemas from Rust types follow the rules.
//!
//! | rule | broken by | effect |
//! |---|---|---|
//! | [`NullableMember`] | `null` as a type of a member that is not required | Gemini: 400 |
//! | [`NonStandardFormat`] | a `format` that 2020-12 does not name, as `uint8` | Ajv: a warning |
//! | [`MissingProperties`] | `"type": "object"` without `properties` | `OpenAI`: 400 |
//! | [`SingleUseDefinition`] | a definition with one `$ref`, not within itself | Gemini: 400 |
//! | [`DefaultDialect`] | `$schema` with the dialect that is the default anyway | Gemini: 400 |
//!
//! [`NullableMember`]: PortabilityRule::NullableMember
//! [`NonStandardFormat`]: PortabilityRule::NonStandardFormat
//! [`MissingProperties`]: PortabilityRule::MissingProperties
//! [`SingleUseDefinition`]: PortabilityRule::SingleUseDefinition
//! [`DefaultDialect`]: PortabilityRule::DefaultDialect

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde_json::{Map, Value};

use super::Dialect;
use super::definitions::{is_single_use, references_by_definition};
use super::subschemas::{Subschemas, token};
use crate::json::Json;

/// The formats of JSON Schema 2020-12, Validation, section 7.3.
const FORMATS: [&str; 19] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uuid",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
    "regex",
];

/// A place of a schema that some hosts reject.
///
/// ```
/// use mcp_proto::Json;
/// use mcp_proto::schema::check_portability;
///
/// let schema = r#"{"type":"object","properties":{"port":{"type":"integer","format":"uint16"}}}"#;
/// let findings = check_portability(&Json::parse(schema)?);
/// assert_eq!(findings[0].path, "/properties/port/format");
/// # Ok::<(), mcp_proto::InvalidJson>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PortabilityFinding {
    /// A JSON Pointer into the schema.
    pub path: String,
    /// The broken rule.
    pub rule: PortabilityRule,
}

/// A rule for schemas that all known hosts accept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum PortabilityRule {
    /// A member that is not required has no `null` among its types.
    NullableMember,
    /// A `format` is one that JSON Schema 2020-12 names.
    NonStandardFormat,
    /// An object has `properties`, even if they are empty.
    MissingProperties,
    /// A definition with a single reference is inlined.
    SingleUseDefinition,
    /// `$schema` is absent if it names 2020-12, the default dialect of MCP.
    DefaultDialect,
}

impl PortabilityRule {
    /// The name of the rule for programs, such as `non-standard-format`.
    pub fn name(self) -> &'static str {
        match self {
            Self::NullableMember => "nullable-member",
            Self::NonStandardFormat => "non-standard-format",
            Self::MissingProperties => "missing-properties",
            Self::SingleUseDefinition => "single-use-definition",
            Self::DefaultDialect => "default-dialect",
        }
    }
}

/// The remedy for a broken rule.
impl fmt::Display for PortabilityRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NullableMember => {
                "`null` as a type of a member that is not required: leave the member out instead"
            }
            Self::NonStandardFormat => {
                "`format` that JSON Schema does not name: remove it, or use bounds or a pattern"
            }
            Self::MissingProperties => "object without `properties`: add `\"properties\": {}`",
            Self::SingleUseDefinition => {
                "definition with one reference: write it in the place of the `$ref`"
            }
            Self::DefaultDialect => "`$schema` names the default dialect: remove it",
        })
    }
}

/// The places of a schema that break a rule of [`PortabilityRule`].
///
/// The schema may be in any dialect. A schema of [`Tool::of`](crate::types::Tool::of) breaks no
/// rule.
pub fn check_portability(schema: &Json) -> Vec<PortabilityFinding> {
    let Ok(root) = schema.decode::<Value>() else { return Vec::new() };
    let mut findings = Vec::new();
    let mut report = |path, rule| findings.push(PortabilityFinding { path, rule });
    if root.get("$schema").is_some() && Dialect::of(schema) == Ok(Dialect::Draft202012) {
        report("/$schema".to_owned(), PortabilityRule::DefaultDialect);
    }
    let schemas = Subschemas::of(&root);
    for (number, schema) in schemas.iter() {
        let Value::Object(schema) = schema else { continue };
        if has_nonstandard_format(schema) {
            report(
                alloc::format!("{}/format", schemas.pointer(number)),
                PortabilityRule::NonStandardFormat,
            );
        }
        if lacks_properties(schema) {
            report(schemas.pointer(number), PortabilityRule::MissingProperties);
        }
        for name in nullable_members(schema) {
            let path = alloc::format!("{}/properties/{}", schemas.pointer(number), token(&name));
            report(path, PortabilityRule::NullableMember);
        }
    }
    for (path, sites) in references_by_definition(&root) {
        if is_single_use(&root, &path, &sites) {
            report(path, PortabilityRule::SingleUseDefinition);
        }
    }
    findings
}

/// True if 2020-12 does not define the `format`.
pub(super) fn has_nonstandard_format(schema: &Map<String, Value>) -> bool {
    let format = schema.get("format").and_then(Value::as_str);
    format.is_some_and(|format| !FORMATS.contains(&format))
}

/// True for an object without `properties`.
pub(super) fn lacks_properties(schema: &Map<String, Value>) -> bool {
    schema.get("type").is_some_and(|word| word == "object") && !schema.contains_key("properties")
}

/// The members of an object that are not required and may be `null` or something else.
pub(super) fn nullable_members(schema: &Map<String, Value>) -> Vec<String> {
    let Some(Value::Object(members)) = schema.get("properties") else { return Vec::new() };
    let required = schema.get("required").and_then(Value::as_array);
    let required: BTreeSet<&str> =
        required.into_iter().flatten().filter_map(Value::as_str).collect();
    members
        .iter()
        .filter(|(name, schema)| !required.contains(&***name) && admits_null(schema))
        .map(|(name, _)| name.clone())
        .collect()
}

fn admits_null(schema: &Value) -> bool {
    let has_null = |key, is_null: fn(&Value) -> bool| {
        let choices = schema.get(key).and_then(Value::as_array);
        choices.is_some_and(|choices| choices.iter().any(is_null) && !choices.iter().all(is_null))
    };
    has_null("type", |word| word == "null")
        || has_null("anyOf", is_null_type)
        || has_null("oneOf", is_null_type)
}

/// True for `{"type": "null"}`.
pub(super) fn is_null_type(schema: &Value) -> bool {
    schema.get("type").is_some_and(|word| word == "null")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn findings_name_place_and_rule() {
        use PortabilityRule as Rule;
        let object = |members: Value| json!({"type": "object", "properties": members});
        let recursive = json!({"type": "array", "items": {"$ref": "#/$defs/Tree"}});
        for (schema, expected) in [
            (object(json!({})), None),
            (json!({"type": "object"}), Some(("", Rule::MissingProperties))),
            (
                object(json!({"a/b": {"type": "object"}})),
                Some(("/properties/a~1b", Rule::MissingProperties)),
            ),
            (
                object(json!({"a": {"type": ["string", "null"]}})),
                Some(("/properties/a", Rule::NullableMember)),
            ),
            (
                object(json!({"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}})),
                Some(("/properties/a", Rule::NullableMember)),
            ),
            (
                json!({"items": {"anyOf": [{}, {"properties": {"a": {"type": "object"}}}]}}),
                Some(("/items/anyOf/1/properties/a", Rule::MissingProperties)),
            ),
            (object(json!({"a": {"type": ["string", "integer"]}})), None),
            (object(json!({"a": {"type": "null"}})), None),
            (json!({"items": {"type": ["string", "null"]}}), None),
            (
                json!({"items": {"type": "integer", "format": "int32"}}),
                Some(("/items/format", Rule::NonStandardFormat)),
            ),
            (object(json!({"a": {"type": "string", "format": "date-time"}})), None),
            (object(json!({"format": {"type": "string", "default": {"format": "x"}}})), None),
            (
                json!({"items": {"$ref": "#/$defs/A%20b"}, "$defs": {"A b": {"type": "string"}}}),
                Some(("/$defs/A b", Rule::SingleUseDefinition)),
            ),
            (
                json!({"items": {"$ref": "#/definitions/A"}, "definitions": {"A": {}}}),
                Some(("/definitions/A", Rule::SingleUseDefinition)),
            ),
            (json!({"items": {"$ref": "#/$defs/Tree"}, "$defs": {"Tree": recursive}}), None),
            (
                json!({"$schema": "https://json-schema.org/draft/2020-12/schema"}),
                Some(("/$schema", Rule::DefaultDialect)),
            ),
            (json!({"$schema": "http://json-schema.org/draft-07/schema#"}), None),
            (json!(true), None),
        ] {
            let findings = check_portability(&Json::encode(&schema).unwrap());
            let expected =
                expected.map(|(path, rule)| PortabilityFinding { path: path.into(), rule });
            assert_eq!(findings, expected.into_iter().collect::<Vec<_>>(), "{schema}");
        }
    }

    #[test]
    fn a_required_member_may_be_null() {
        let schema = r#"{"properties":{"a":{"type":["string","null"]}},"required":["a"]}"#;
        assert_eq!(check_portability(&Json::parse(schema).unwrap()), []);
    }
}
