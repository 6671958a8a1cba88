//! Portable schemas from Rust types, beside those that schemars derives.

#![expect(dead_code, reason = "schemas of types are looked at, and not their values")]

use std::collections::BTreeMap;

use mcp_proto::Json;
use mcp_proto::schema::{PortabilityRule, check_portability};
use mcp_proto::types::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Serialize, Deserialize, JsonSchema)]
enum Color {
    Red,
    Green,
}

/// A point.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Point {
    x: f64,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Tree {
    children: Vec<Self>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Even {
    next: Option<Box<Odd>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Odd {
    next: Option<Box<Even>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Field<T> {
    field: T,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Two<T> {
    first: T,
    second: T,
}

#[test]
fn option_of_a_field_that_is_not_required_is_no_null() {
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Options {
        plain: Option<String>,
        #[serde(default)]
        default: Option<bool>,
        choice: Option<Color>,
        /// The place of it.
        nested: Option<Point>,
        list: Option<Vec<Option<String>>>,
    }
    let schema = json!({
        "type": "object",
        "properties": {
            "plain": {"type": "string"},
            "default": {"type": "boolean"},
            "choice": {"type": "string", "enum": ["Red", "Green"]},
            "nested": {
                "description": "The place of it.",
                "type": "object",
                "properties": {"x": {"type": "number"}},
                "required": ["x"],
            },
            "list": {"type": "array", "items": {"type": ["string", "null"]}},
        },
    });
    assert_eq!(input::<Options>(), schema);
    let broken = [
        (PortabilityRule::NullableMember.name(), 5),
        (PortabilityRule::NonStandardFormat.name(), 1),
        (PortabilityRule::SingleUseDefinition.name(), 2),
    ];
    let verbatim = Tool::of_verbatim::<Options>("t").unwrap();
    assert_eq!(broken_rules(&verbatim.input_schema), BTreeMap::from(broken));
}

#[test]
fn required_option_stays_null() {
    // What is written is `null`, since the field is not left out.
    let schema = json!({
        "type": "object",
        "properties": {"field": {"type": ["string", "null"]}},
        "required": ["field"],
    });
    assert_eq!(output::<Field<Option<String>>>(), schema);
    assert_eq!(output::<Option<bool>>(), json!({"type": ["boolean", "null"]}));
}

#[test]
fn only_formats_of_json_schema_remain() {
    #[derive(JsonSchema)]
    struct Named {
        #[schemars(extend("format" = "date-time"))]
        time: String,
        #[schemars(extend("format" = "ip"))]
        address: String,
    }
    fn field<T: JsonSchema>(expected: &Value) {
        assert_eq!(input::<Field<T>>()["properties"]["field"], *expected);
    }
    let at_least_zero = json!({"type": "integer", "minimum": 0});
    let integer = json!({"type": "integer"});
    let number = json!({"type": "number"});
    field::<u8>(&json!({"type": "integer", "minimum": 0, "maximum": 255}));
    field::<u32>(&at_least_zero);
    field::<u64>(&at_least_zero);
    field::<usize>(&at_least_zero);
    field::<i32>(&integer);
    field::<i64>(&integer);
    field::<f32>(&number);
    field::<f64>(&number);
    let named = &input::<Named>()["properties"];
    assert_eq!(named["time"], json!({"type": "string", "format": "date-time"}));
    assert_eq!(named["address"], json!({"type": "string"}));
}

#[test]
fn object_has_properties() {
    #[derive(JsonSchema)]
    struct Nothing {}
    assert_eq!(input::<Nothing>(), json!({"type": "object", "properties": {}}));
    let map = json!({
        "type": "object",
        "properties": {},
        "additionalProperties": {"type": "boolean"},
    });
    assert_eq!(output::<BTreeMap<String, bool>>(), map);
}

#[test]
fn definition_stays_if_several_references_use_it_or_it_is_recursive() {
    let definitions = |schema: Value| match schema.get("$defs") {
        Some(Value::Object(definitions)) => definitions.keys().cloned().collect(),
        _ => Vec::new(),
    };
    assert_eq!(definitions(input::<Field<Point>>()), [""; 0]);
    assert_eq!(definitions(input::<Field<Field<Vec<Point>>>>()), [""; 0]);
    assert_eq!(definitions(input::<Two<Point>>()), ["Point"]);
    assert_eq!(definitions(input::<Field<Tree>>()), ["Tree"]);
    assert_eq!(definitions(input::<Field<Even>>()).len(), 1);
    assert_eq!(definitions(input::<Field<Two<Point>>>()), ["Point"]);
}

#[test]
fn types_have_portable_schemas() {
    fn portable<T: JsonSchema>() {
        let tool = Tool::of::<T>("t").unwrap().output_of::<T>().unwrap();
        for schema in [&tool.input_schema, tool.output_schema.as_ref().unwrap()] {
            assert_eq!(check_portability(schema), [], "{schema:?}");
        }
    }
    portable::<Field<Option<u64>>>();
    portable::<Field<Tree>>();
    portable::<Tree>();
    portable::<Even>();
    portable::<Two<Point>>();
    portable::<Field<Option<Two<Option<Color>>>>>();
    portable::<Field<BTreeMap<String, Point>>>();
    portable::<Field<Option<Option<Point>>>>();
    portable::<Field<Result<Point, Color>>>();
    portable::<Field<Value>>();
}

fn broken_rules(schema: &Json) -> BTreeMap<&'static str, usize> {
    let mut rules = BTreeMap::new();
    for finding in check_portability(schema) {
        *rules.entry(finding.rule.name()).or_default() += 1;
    }
    rules
}

fn input<A: JsonSchema>() -> Value {
    Tool::of::<A>("tool").unwrap().input_schema.decode().unwrap()
}

fn output<T: JsonSchema>() -> Value {
    let tool = Tool::of::<BTreeMap<String, String>>("tool").unwrap().output_of::<T>().unwrap();
    tool.output_schema.unwrap().decode().unwrap()
}
