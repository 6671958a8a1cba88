//! Plans: `x-mcp-header` annotations that make headers, and those that make a tool invalid.
//!
//! A schema stands for a tool's `inputSchema`; the verdict on it is one line: the entries of its
//! plan, or what is wrong and where.

use std::cell::Cell;
use std::collections::BTreeSet;

use mcp_proto::headers::{Declared, Entry, HeaderPlan, PlanError};
use mcp_proto::server::Registry;
use mcp_proto::types::{Implementation, Tool};
use mcp_proto::{Json, UsageError};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{RngSeed, TestRunner};
use serde_json::value::RawValue;
use serde_json::{Value, json};

#[test]
fn annotations_along_properties_make_entries() {
    let table = [
        (json!({"type": "object"}), ""),
        (json!(true), ""),
        (json!({"properties": {"a": string("Region")}}), "Region a Exact(String)"),
        (json!({"properties": {"a": typed("N", &json!("integer"))}}), "N a Exact(Integer)"),
        (json!({"properties": {"a": typed("B", &json!("boolean"))}}), "B a Exact(Boolean)"),
        // Names that are those of standard headers get a prefix, too.
        (json!({"properties": {"a": string("Method")}}), "Method a Exact(String)"),
        (
            json!({"properties": {"a": string("!#$%&'*+-.^_`|~09azAZ")}}),
            "!#$%&'*+-.^_`|~09azAZ a Exact(String)",
        ),
        (
            json!({"properties": {"a": {"type": "object", "properties": {
            "b": {"properties": {"c": string("C")}}}}}}),
            "C a.b.c Exact(String)",
        ),
        (
            json!({"properties": {"a": string("A"), "b": {"properties": {"a": string("B")}}}}),
            "A a Exact(String); B b.a Exact(String)",
        ),
        // What other clients reject, and the specification does not.
        (json!({"properties": {"a": typed("A", &json!(["string", "null"]))}}), "A a Union(String)"),
        (
            json!({"properties": {"a": typed("A", &json!(["null", "integer"]))}}),
            "A a Union(Integer)",
        ),
        (json!({"properties": {"a": typed("A", &json!(["boolean"]))}}), "A a Union(Boolean)"),
        (json!({"properties": {"a": {"x-mcp-header": "A"}}}), "A a Absent"),
        (
            json!({"properties": {"a": {"$ref": "#/$defs/A", "x-mcp-header": "A"}},
            "$defs": {"A": {"type": "string"}}}),
            "A a Absent",
        ),
    ];
    check(&table);
}

#[test]
fn names_and_data_are_no_annotations() {
    let a = json!({"x-mcp-header": "A"});
    let name = json!({"x-mcp-header": {"type": "number"}});
    let table = [
        (json!({"properties": {"x-mcp-header": {"type": "number"}}}), ""),
        (json!({"properties": {"x-mcp-header": string("A")}}), "A x-mcp-header Exact(String)"),
        (
            json!({"properties": {"properties": {"properties": {"type": string("A")}}}}),
            "A properties.type Exact(String)",
        ),
        (json!({"items": {"properties": name}}), ""),
        (json!({"$defs": name, "definitions": name, "patternProperties": name}), ""),
        (json!({"dependentSchemas": name, "dependencies": name}), ""),
        (json!({"dependentRequired": {"x-mcp-header": ["b"]}}), ""),
        (json!({"const": a, "default": a, "enum": [a], "examples": [a]}), ""),
        (json!({"properties": {"a": {"default": a}}}), ""),
        (json!({"required": ["x-mcp-header"]}), ""),
    ];
    check(&table);
}

#[test]
fn names_are_tokens_and_unique() {
    let names =
        ["", " ", "My Region", "Region:Primary", "Région", "Region\t1", "a\r\nb", "a/b", "(a)"];
    for name in names {
        check(&[(json!({"properties": {"a": string(name)}}), "InvalidName #/properties/a")]);
    }
    let twice = |one, other| json!({"properties": {"a": string(one), "b": string(other)}});
    let nested = json!({"properties": {"a": string("R"), "b": {"properties": {"c": string("r")}}}});
    let table = [
        (twice("Region", "Region"), "DuplicateName #/properties/b, #/properties/a"),
        (twice("Region", "REGION"), "DuplicateName #/properties/b, #/properties/a"),
        (twice("Region", "Region2"), "Region a Exact(String); Region2 b Exact(String)"),
        (nested, "DuplicateName #/properties/b/properties/c, #/properties/a"),
    ];
    check(&table);
}

#[test]
fn types_are_primitive() {
    let types = [
        json!("number"),
        json!("array"),
        json!("object"),
        json!("null"),
        json!("String"),
        json!(""),
        json!(null),
        json!(5),
        json!({}),
        json!([]),
        json!(["null"]),
        json!(["number", "null"]),
        json!(["string", "integer"]),
        json!(["string", "integer", "null"]),
        json!(["string", "string"]),
        json!(["string", "null", "null"]),
        json!(["string", 1]),
    ];
    for declared in types {
        let schema = json!({"properties": {"a": typed("A", &declared)}});
        let error = compile(&schema.to_string()).unwrap_err();
        let expected =
            PlanError::InvalidType { at: "#/properties/a".into(), declared: declared.to_string() };
        assert_eq!(error, expected);
    }
}

#[test]
fn an_annotation_elsewhere_is_refused() {
    let a = || string("A");
    let one = [
        "items",
        "prefixItems",
        "contains",
        "additionalItems",
        "unevaluatedItems",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "contentSchema",
        "not",
        "if",
        "then",
        "else",
        "x-unknown",
    ];
    for keyword in one {
        misplaced(&json!({keyword: a()}), &format!("#/{keyword}"));
        misplaced(&json!({keyword: [true, a()]}), &format!("#/{keyword}/1"));
        let nested = json!({"properties": {"a": {keyword: {"properties": {"b": a()}}}}});
        misplaced(&nested, &format!("#/properties/a/{keyword}/properties/b"));
    }
    for keyword in ["oneOf", "anyOf", "allOf"] {
        misplaced(
            &json!({keyword: [{"properties": {"a": a()}}]}),
            &format!("#/{keyword}/0/properties/a"),
        );
    }
    for keyword in ["$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies"]
    {
        misplaced(&json!({keyword: {"a": a()}}), &format!("#/{keyword}/a"));
        misplaced(&json!({keyword: {"x-mcp-header": a()}}), &format!("#/{keyword}/x-mcp-header"));
    }
    misplaced(&a(), "#");
    misplaced(&json!([a()]), "#/0");
    misplaced(&json!({"properties": [a()]}), "#/properties/0");
    misplaced(&json!({"items": {"a/b~c": a()}}), "#/items/a~1b~0c");
    // Beside a good one as well, on either side of it.
    misplaced(&json!({"$defs": {"a": a()}, "properties": {"a": a()}}), "#/$defs/a");
    misplaced(&json!({"properties": {"a": a()}, "zzz": a()}), "#/zzz");
}

#[test]
fn t117_a_nested_annotation_is_an_entry_along_properties_and_invalid_elsewhere() {
    let location = json!({"type": "object", "properties": {"region": string("Region")}});
    let table = [
        (
            json!({"type": "object", "properties": {"location": location}}),
            "Region location.region Exact(String)",
        ),
        (
            json!({"type": "object", "properties": {"locations": {"type": "array", "items": location}}}),
            "Misplaced #/properties/locations/items/properties/region",
        ),
        (
            json!({"type": "object", "properties": {"location": {"$ref": "#/$defs/Location"}},
            "$defs": {"Location": location}}),
            "Misplaced #/$defs/Location/properties/region",
        ),
        (
            json!({"type": "object", "properties": {"location": {"anyOf": [location, {"type": "null"}]}}}),
            "Misplaced #/properties/location/anyOf/0/properties/region",
        ),
    ];
    check(&table);
}

#[test]
fn t117_an_annotation_that_is_no_string_is_invalid_and_no_panic() {
    for annotation in [json!(null), json!(true), json!(1), json!(["Region"]), json!({"name": "R"})]
    {
        let schema = json!({"properties": {"a": {"type": "string", "x-mcp-header": annotation}}});
        check(&[(schema, "NotAString #/properties/a")]);
    }
}

#[test]
fn escapes_hide_nothing() {
    let table = [
        (r#"{"properties":{"a":{"type":"string","x-mcp-heade\u0072":"A"}}}"#, "A a Exact(String)"),
        (
            r#"{"properties":{"a":{"typ\u0065":"s\u0074ring","x-mcp-header":"\u0041"}}}"#,
            "A a Exact(String)",
        ),
        (r#"{"propertie\u0073":{"\u0061":{"x-mcp-header":"A"}}}"#, "A a Absent"),
        (r#"{"items":{"\u0078-mcp-header":"A"}}"#, "Misplaced #/items"),
        (
            r#"{"properties":{"a":{"type":"numbe\u0072","x-mcp-header":"A"}}}"#,
            "InvalidType #/properties/a",
        ),
        // Half a surrogate pair is no name that an argument could have.
        (r#"{"properties":{"\ud800":{"x-mcp-header":"A"}}}"#, r#"Misplaced #/properties/"\ud800""#),
        (r#"{"properties":{"a":{"x-mcp-header":"\ud800"}}}"#, "NotAString #/properties/a"),
    ];
    for (schema, expected) in table {
        assert_eq!(verdict(schema), expected, "{schema}");
    }
}

#[test]
fn a_key_that_stands_twice_is_refused_where_there_are_annotations() {
    let table = [
        (
            r#"{"properties":{"a":{"x-mcp-header":"A","x-mcp-header":"B"}}}"#,
            "DuplicateKey #/properties/a x-mcp-header",
        ),
        (
            r#"{"properties":{"a":{"x-mcp-header":1,"x-mcp-heade\u0072":"B"}}}"#,
            "DuplicateKey #/properties/a x-mcp-header",
        ),
        (
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"A","type":"number"}}}"#,
            "InvalidType #/properties/a",
        ),
        (
            r#"{"properties":{"a":{"type":"number","x-mcp-header":"A","type":"string"}}}"#,
            "DuplicateKey #/properties/a type",
        ),
        (r#"{"properties":{"a":{"x-mcp-header":"A"},"a":{}}}"#, "DuplicateKey #/properties a"),
        (r#"{"properties":{"a":{},"\u0061":{"x-mcp-header":"A"}}}"#, "DuplicateKey #/properties a"),
        (
            r#"{"properties":{"a":{"x-mcp-header":"A"}},"properties":{}}"#,
            "DuplicateKey # properties",
        ),
        // Nobody can be fooled here.
        (r#"{"properties":{"a":{},"a":{}},"type":"object","type":"object"}"#, ""),
    ];
    for (schema, expected) in table {
        assert_eq!(verdict(schema), expected, "{schema}");
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |levels: usize| {
        let open = r#"{"properties":{"a":"#.repeat(levels);
        let close = "}}".repeat(levels);
        format!("{open}{}{close}", string("A"))
    };
    assert!(compile(&nested(63)).is_ok());
    // `Json::encode` goes deeper than what can be parsed.
    let deep = RawValue::from_string(nested(63)).unwrap();
    let deeper = Json::encode(&[[deep]]).unwrap();
    assert_eq!(HeaderPlan::compile(&deeper), Err(PlanError::TooDeep));
}

#[test]
fn many_paths_through_a_long_name_do_not_fill_the_memory() {
    let fields: Vec<String> =
        (0..20_000).map(|n| format!(r#""{n}":{{"x-mcp-header":"{n}"}}"#)).collect();
    let schema = |name: &str| {
        format!(r#"{{"properties":{{"{name}":{{"properties":{{{}}}}}}}}}"#, fields.join(","))
    };
    let error = compile(&schema(&"x".repeat(100_000))).unwrap_err();
    assert_eq!(error, PlanError::TooLarge { max_bytes: 64 * 1024 });
    // As many as HTTP has room for are no trouble.
    let fields: Value = (0..100).map(|n| (n.to_string(), string(&n.to_string()))).collect();
    assert_eq!(compile(&json!({"properties": fields}).to_string()).unwrap().entries().len(), 100);
}

#[test]
fn warnings_are_about_what_other_clients_reject() {
    let text = json!({"properties": {
        "a": string("A"),
        "b": {"properties": {"c": typed("C", &json!(["string", "null"]))}},
        "d": {"x-mcp-header": "D"},
    }});
    let plan = compile(&text.to_string()).unwrap();
    let warnings: Vec<String> = plan.warnings().map(|warning| warning.to_string()).collect();
    assert_eq!(
        warnings,
        [
            "the argument \"b.c\" with the header Mcp-Param-C has a list as its `type`, \
             which TypeScript, Python and Rust clients reject",
            "the argument \"d\" with the header Mcp-Param-D has no `type`, \
             which TypeScript, Python and Rust clients reject",
        ]
    );
}

/// Of all that `everything` has, one tool is there to be left out.
#[test]
fn a_registry_tells_which_tools_most_clients_leave_out() {
    let warnings = mcp_tests::everything::registry().unwrap().warnings();
    assert_eq!(
        warnings,
        [
            "test_header_union: the argument \"maybe\" with the header Mcp-Param-Maybe has a list as \
          its `type`, which TypeScript, Python and Rust clients reject"
        ]
    );
}

#[test]
fn t120_a_registry_reads_a_schema_once_and_refuses_what_clients_must_reject() {
    let mut registry = Registry::new(Implementation::new("test", "1"));
    let tool = |schema: &Value| Tool::new("sql", Json::encode(schema).unwrap());
    let bad = json!({"type": "object", "properties": {"a": typed("A", &json!("number"))}});
    let error = registry.add_tool(tool(&bad), ()).unwrap_err();
    let reason =
        PlanError::InvalidType { at: "#/properties/a".into(), declared: "\"number\"".into() };
    assert_eq!(error, UsageError::InvalidHeader { name: "sql".into(), reason });
    assert_eq!(
        error.to_string(),
        "\"sql\": the property at #/properties/a has an `x-mcp-header` and the type \"number\"; it \
         must be a string, an integer or a boolean; see \
         https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header"
    );
    // Nothing was added: the name is free.
    let good = json!({"type": "object", "properties": {"a": string("A")}});
    registry.add_tool(tool(&good), ()).unwrap();
}

#[test]
fn errors_show_little_of_what_is_long_or_odd() {
    let name = format!("\r\n{}", "x".repeat(100_000));
    let error = compile(&json!({"properties": {"a": string(&name)}}).to_string()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(r"\r\nxxx") && !text.contains('\n') && text.len() < 1000, "{text}");
}

#[test]
fn what_is_accepted_is_what_the_schema_says() {
    let mut config = ProptestConfig::with_cases(4000);
    config.rng_seed = RngSeed::Fixed(20_260_728);
    config.failure_persistence = None;
    let (accepted, refused) = (Cell::new(0), Cell::new(0));
    let law = |text: String| {
        let Ok(plan) = compile(&text) else {
            refused.set(refused.get() + 1);
            return Ok(());
        };
        if plan.is_empty() {
            return Ok(());
        }
        accepted.set(accepted.get() + 1);
        let schema: Value = serde_json::from_str(&text).unwrap();
        let mut names = BTreeSet::new();
        for entry in plan.entries() {
            let name = entry.name();
            prop_assert!(!name.is_empty() && name.bytes().all(|b| TCHAR.contains(&b)), "{name}");
            prop_assert!(names.insert(name.to_lowercase()), "{name} twice in {text}");
            prop_assert_eq!(entry.header(), format!("Mcp-Param-{name}"));
            let found = entry.path().iter().fold(&schema, |at, name| &at["properties"][name]);
            prop_assert_eq!(&found["x-mcp-header"], name);
        }
        // Keys of maps and data are none, and this counts only them.
        prop_assert_eq!(annotations(&schema), plan.entries().len(), "{}", text);
        Ok(())
    };
    TestRunner::new(config).run(&schemas(), law).unwrap();
    assert!(accepted.get() > 200 && refused.get() > 200, "{accepted:?} {refused:?}");
}

const TCHAR: &[u8] =
    b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Number of annotations in a generated schema, at any place.
fn annotations(schema: &Value) -> usize {
    let Some(members) = schema.as_object() else { return 0 };
    let below = members.iter().map(|(key, value)| match &**key {
        "x-mcp-header" => 1,
        "properties" | "$defs" => {
            value.as_object().map_or(0, |map| map.values().map(annotations).sum())
        }
        "items" | "not" => annotations(value),
        _ => 0,
    });
    below.sum()
}

/// Texts of schemas, mostly good.
fn schemas() -> impl Strategy<Value = String> {
    let name = select(vec![
        "\"A\"",
        "\"a\"",
        "\"B\"",
        "\"C\"",
        "\"D-1\"",
        "\"E\"",
        "\"\\u0046\"",
        "\"\"",
        "\"a b\"",
        "1",
    ]);
    let declared = select(vec![
        "\"string\"",
        "\"integer\"",
        "\"boolean\"",
        "[\"string\",\"null\"]",
        "\"str\\u0069ng\"",
        "\"number\"",
    ]);
    let annotated = (name, declared, any::<bool>()).prop_map(|(name, declared, escaped)| {
        let key = if escaped { "x-mcp-\\u0068eader" } else { "x-mcp-header" };
        format!(r#"{{"type":{declared},"{key}":{name}}}"#)
    });
    let leaf = prop_oneof![
        6 => annotated,
        3 => Just(r#"{"type":"number"}"#.to_owned()),
        1 => Just(r#"{"default":{"x-mcp-header":"Z"}}"#.to_owned()),
        1 => Just("true".to_owned()),
    ];
    leaf.prop_recursive(4, 16, 3, |schema| {
        let key = select(vec!["a", "b", "c", "d", "x-mcp-header", "properties"]);
        let map = prop::collection::vec((key, schema.clone()), 1..4).prop_map(|members| {
            let members: Vec<String> =
                members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
            format!("{{{}}}", members.join(","))
        });
        prop_oneof![
            12 => map.clone().prop_map(|map| format!(r#"{{"properties":{map}}}"#)),
            1 => map.prop_map(|map| format!(r#"{{"$defs":{map}}}"#)),
            1 => schema.clone().prop_map(|schema| format!(r#"{{"items":{schema}}}"#)),
            1 => schema.prop_map(|schema| format!(r#"{{"not":{schema}}}"#)),
        ]
    })
}

fn string(name: &str) -> Value {
    typed(name, &json!("string"))
}

fn typed(name: &str, declared: &Value) -> Value {
    json!({"type": declared, "x-mcp-header": name})
}

fn check(table: &[(Value, &str)]) {
    for (schema, expected) in table {
        assert_eq!(verdict(&schema.to_string()), *expected, "{schema}");
    }
}

fn misplaced(schema: &Value, at: &str) {
    assert_eq!(verdict(&schema.to_string()), format!("Misplaced {at}"), "{schema}");
}

fn compile(schema: &str) -> Result<HeaderPlan, PlanError> {
    HeaderPlan::compile(&Json::parse(schema.to_owned()).unwrap())
}

fn verdict(schema: &str) -> String {
    let entry = |entry: &Entry| {
        let declared: Declared = entry.declared();
        format!("{} {} {declared:?}", entry.name(), entry.path().join("."))
    };
    match compile(schema) {
        Ok(plan) => plan.entries().iter().map(entry).collect::<Vec<_>>().join("; "),
        Err(PlanError::NotAString { at }) => format!("NotAString {at}"),
        Err(PlanError::InvalidName { at, .. }) => format!("InvalidName {at}"),
        Err(PlanError::DuplicateName { at, other, .. }) => format!("DuplicateName {at}, {other}"),
        Err(PlanError::InvalidType { at, .. }) => format!("InvalidType {at}"),
        Err(PlanError::Misplaced { at }) => format!("Misplaced {at}"),
        Err(PlanError::DuplicateKey { at, key }) => format!("DuplicateKey {at} {key}"),
        Err(error) => error.to_string(),
    }
}
