//! The schema of one argument of a tool.
//!
//! In: a property of an input schema, and the text of a value. Out: the value, and the type of the
//! property in words. Called by [`arguments`](crate::arguments).
//!
//! | the text is | value |
//! |---|---|
//! | JSON other than a string, and fits the property | the JSON, with all of its digits |
//! | a string that fits the property | the string |
//! | a string in JSON that fits the property, such as `"a"` | the string of the JSON |
//! | anything else | none |
//!
//! Only these keywords are checked: `type`, `enum`, `const`, `anyOf`, `oneOf`, `allOf` and a `$ref`
//! within the schema. The server checks the others. Schemas come from servers: they may be
//! malformed, or refer to themselves.

use std::cell::Cell;

use mcp_tokio::Json;
use serde_json::Value;

/// The most schemas to visit for an answer. Beyond it each value fits, and a type is not named.
const MAX_VISITS: u16 = 100;

/// The types of JSON Schema.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// A property, and the schema that contains it.
pub(crate) struct Property<'a> {
    root: &'a Value,
    schema: &'a Value,
}

impl<'a> Property<'a> {
    pub(crate) fn new(root: &'a Value, schema: &'a Value) -> Self {
        Self { root, schema }
    }

    /// The value of a text; `None` if no value of it fits.
    pub(crate) fn value(&self, text: &str) -> Option<Json> {
        let json = serde_json::from_str(text).ok().filter(|json| self.fits(json));
        let string = Value::String(text.to_owned());
        match json {
            Some(json) if !json.is_string() => Json::parse(text.to_owned()).ok(),
            _ if self.fits(&string) => Json::encode(&string).ok(),
            json => Json::encode(&json?).ok(),
        }
    }

    fn fits(&self, value: &Value) -> bool {
        self.visit().fits(self.schema, value)
    }

    /// The type in words of JSON Schema, `any` without one.
    pub(crate) fn kind(&self) -> String {
        let kinds = self.visit().kinds(self.schema);
        if kinds.is_empty() { "any".into() } else { kinds.join("|") }
    }

    /// The type with an article, or the choices.
    pub(crate) fn wanted(&self) -> String {
        let kind = self.kind();
        let is_type = |it: &str| TYPES.contains(&it) || it.starts_with("array of ");
        if !kind.split('|').all(is_type) {
            return format!("one of {kind}");
        }
        let article = if kind.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
        format!("{article} {}", kind.replace('|', " or "))
    }

    fn visit(&self) -> Visit<'a> {
        Visit { root: self.root, left: Cell::new(MAX_VISITS) }
    }
}

/// A walk through a schema.
struct Visit<'a> {
    root: &'a Value,
    /// The number of schemas that may still be visited.
    left: Cell<u16>,
}

impl<'a> Visit<'a> {
    /// Returns whether there may be another visit.
    fn enter(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0
    }

    /// The schema that a `$ref` names.
    fn target(&self, schema: &Value) -> Option<&'a Value> {
        let place = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.root.pointer(place)
    }

    fn fits(&self, schema: &Value, value: &Value) -> bool {
        let Value::Object(keywords) = schema else { return *schema != Value::Bool(false) };
        if !self.enter() {
            return true;
        }
        keywords.iter().all(|(keyword, of)| match (keyword.as_str(), of) {
            ("type", Value::String(name)) => is_a(value, name),
            ("type", Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).any(|name| is_a(value, name))
            }
            ("enum", Value::Array(choices)) => choices.iter().any(|one| is_same(one, value)),
            ("const", one) => is_same(one, value),
            ("anyOf" | "oneOf", Value::Array(all)) => all.iter().any(|it| self.fits(it, value)),
            ("allOf", Value::Array(all)) => all.iter().all(|it| self.fits(it, value)),
            ("$ref", _) => self.target(schema).is_none_or(|it| self.fits(it, value)),
            _ => true,
        })
    }

    /// The types that a value may have; none if they are not known.
    fn kinds(&self, schema: &Value) -> Vec<String> {
        let text = |it: &Value| it.as_str().map_or_else(|| it.to_string(), str::to_owned);
        let list = |keyword: &str| schema.get(keyword).and_then(Value::as_array);
        if !self.enter() {
            return Vec::new();
        }
        if let Some(choices) = list("enum") {
            return choices.iter().map(text).collect();
        }
        if let Some(one) = schema.get("const") {
            return vec![text(one)];
        }
        match (schema.get("type"), schema.get("items")) {
            (Some(Value::String(name)), Some(items)) if name == "array" => {
                let kinds = self.kinds(items).join("|");
                return vec![format!("array of {}", if kinds.is_empty() { "any" } else { &kinds })];
            }
            (Some(Value::String(name)), _) => return vec![name.clone()],
            (Some(Value::Array(names)), _) => return names.iter().map(text).collect(),
            _ => {}
        }
        if let Some(all) = list("anyOf").or_else(|| list("oneOf")) {
            let all: Vec<_> = all.iter().map(|it| self.kinds(it)).collect();
            let is_known = all.iter().all(|kinds| !kinds.is_empty());
            return if is_known { without_duplicates(all.concat()) } else { Vec::new() };
        }
        let parts = self.target(schema).into_iter().chain(list("allOf").into_iter().flatten());
        parts.map(|it| self.kinds(it)).find(|kinds| !kinds.is_empty()).unwrap_or_default()
    }
}

fn is_a(json: &Value, name: &str) -> bool {
    match name {
        "integer" => {
            json.is_i64() || json.is_u64() || json.as_f64().is_some_and(|it| it.fract() == 0.0)
        }
        "number" => json.is_number(),
        "string" => json.is_string(),
        "boolean" => json.is_boolean(),
        "array" => json.is_array(),
        "object" => json.is_object(),
        "null" => json.is_null(),
        _ => false,
    }
}

/// Returns whether two values are equal: `1` and `1.0` are.
fn is_same(one: &Value, other: &Value) -> bool {
    one == other || one.as_f64().is_some_and(|one| other.as_f64() == Some(one))
}

fn without_duplicates(kinds: Vec<String>) -> Vec<String> {
    let mut once: Vec<String> = Vec::new();
    for kind in kinds {
        if !once.contains(&kind) {
            once.push(kind);
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    const NULLABLE: &str = r#"{"anyOf":[{"type":"integer"},{"type":"null"}]}"#;
    const EITHER: &str = r#"{"oneOf":[{"type":"boolean"},{"type":"string"}]}"#;
    const CHOICE: &str = r#"{"enum":["a",1,null]}"#;
    const ONE: &str = r#"{"const":5.0}"#;
    const REFERENCE: &str = r##"{"$ref":"#/$defs/size","$defs":{"size":{"type":"number"}}}"##;
    const ALL: &str = r#"{"allOf":[{"description":"?"},{"type":"array","items":{"enum":[1]}}]}"#;
    const UNKNOWN: &str = r#"{"$ref":"https://example.com/schema"}"#;

    #[test]
    fn value_is_json_that_fits_or_text_that_fits() {
        for (property, text, expected) in [
            (NULLABLE, "3", Some("3")),
            (NULLABLE, "null", Some("null")),
            (NULLABLE, "x", None),
            (NULLABLE, "true", None),
            (EITHER, "true", Some("true")),
            (EITHER, "yes", Some("\"yes\"")),
            (EITHER, "1", Some("\"1\"")),
            (CHOICE, "a", Some("\"a\"")),
            (CHOICE, "\"a\"", Some("\"a\"")),
            (CHOICE, "1.0", Some("1.0")),
            (CHOICE, "null", Some("null")),
            (CHOICE, "2", None),
            (CHOICE, "b", None),
            (ONE, "5", Some("5")),
            (ONE, "five", None),
            (REFERENCE, "0.5", Some("0.5")),
            (REFERENCE, "half", None),
            (ALL, "[1]", Some("[1]")),
            (ALL, "1", None),
            (UNKNOWN, "1", Some("1")),
            (UNKNOWN, "one", Some("\"one\"")),
            ("true", "1", Some("1")),
            ("false", "1", None),
            (r#"{"type":["number","string"]}"#, "1", Some("1")),
            (r#"{"type":"integer"}"#, "12345678901234567890123", Some("12345678901234567890123")),
            (r#"{"type":7,"enum":7,"anyOf":7,"$ref":7}"#, "1", Some("1")),
        ] {
            let schema = schema(property);
            let value = Property::new(&schema, &schema).value(text);
            assert_eq!(value.as_ref().map(Json::as_str), expected, "{property}: {text}");
        }
    }

    #[test]
    fn type_is_named_in_words() {
        for (property, kind, wanted) in [
            (NULLABLE, "integer|null", "an integer or null"),
            (EITHER, "boolean|string", "a boolean or string"),
            (CHOICE, "a|1|null", "one of a|1|null"),
            (ONE, "5.0", "one of 5.0"),
            (REFERENCE, "number", "a number"),
            (ALL, "array of 1", "an array of 1"),
            (UNKNOWN, "any", "one of any"),
            (r#"{"anyOf":[{"type":"null"},{}]}"#, "any", "one of any"),
            (r#"{"anyOf":[{"type":"null"},{"const":"a"}]}"#, "null|a", "one of null|a"),
            (r#"{"anyOf":[{"type":"string"},{"type":"string"}]}"#, "string", "a string"),
            (r#"{"type":"array","items":{}}"#, "array of any", "an array of any"),
        ] {
            let schema = schema(property);
            let property = Property::new(&schema, &schema);
            assert_eq!((&*property.kind(), &*property.wanted()), (kind, wanted));
        }
    }

    #[test]
    fn schema_that_refers_to_itself_has_an_end() {
        for schema in [
            r##"{"$ref":"#"}"##,
            r##"{"allOf":[{"$ref":"#"},{"$ref":"#"}]}"##,
            r##"{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}"##,
            r##"{"type":"array","items":{"$ref":"#"}}"##,
        ] {
            let schema = self::schema(schema);
            let property = Property::new(&schema, &schema);
            assert_eq!(property.value("[]").unwrap().as_str(), "[]", "{schema}");
            assert!(property.kind().ends_with("any"), "{schema}");
        }
    }
}
