//! Checks of a server's tools by a client.

use mcp_proto::types::{CallToolResult, Tool};
use mcp_service::schema::{SchemaError, ToolSchemas};
use serde_json::{Value, json};

use crate::json;

#[test]
fn second_hour_17_a_client_checks_structured_content() {
    let output = json!({"type": "array", "items": {"type": "integer"}});
    let tool = Tool::new("t", json(&json!({"type": "object"}))).output_schema(json(&output));
    let schemas = ToolSchemas::of_peer(&tool).unwrap();
    let result = |content: Value| CallToolResult::text("").structured_content(json(&content));
    assert_eq!(schemas.check_result(&result(json!([1, 2.0]))), Ok(()));
    let misfits = schemas.check_result(&result(json!([1, "two", null]))).unwrap_err();
    assert_eq!(misfits.to_string(), "/1: expected an integer; /2: expected an integer");
    assert!(schemas.check_result(&CallToolResult::text("")).is_err());
    assert_eq!(schemas.check_result(&CallToolResult::error("")), Ok(()));
}

#[test]
fn second_hour_17_a_schema_of_a_peer_is_bounded() {
    // Each definition applies the one before it twice: 2^40 subschemas for one value.
    let mut doubled = json!({"$ref": "#/$defs/d30"});
    doubled["$defs"]["d0"] = json!({"type": "object"});
    for at in 1..=30 {
        let before = json!({"$ref": format!("#/$defs/d{}", at - 1)});
        doubled["$defs"][format!("d{at}")] = json!({"allOf": [before, before]});
    }
    let mut shallow = json!({"$ref": "#/$defs/d14"});
    shallow["$defs"]["d0"] = json!({"type": "object"});
    for at in 1..=14 {
        let before = json!({"$ref": format!("#/$defs/d{}", at - 1)});
        shallow["$defs"][format!("d{at}")] = json!({"allOf": [before, before]});
    }
    let mut chain = json!({"$ref": "#/$defs/d40"});
    chain["$defs"]["d0"] = json!({"type": "object"});
    for at in 1..=40 {
        chain["$defs"][format!("d{at}")] = json!({"$ref": format!("#/$defs/d{}", at - 1)});
    }
    let cases = [
        doubled,
        shallow,
        chain,
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"$ref": "other.json"}),
        json!({"properties": {"a": {"$id": "https://example.com/a"}}}),
        json!({"description": "x".repeat(64 * 1024)}),
    ];
    for schema in cases {
        let refused = ToolSchemas::of_peer(&Tool::new("t", json(&schema)));
        assert!(matches!(refused, Err(SchemaError::TooComplex { .. })), "{refused:?}");
    }
}

#[test]
fn data_in_a_schema_of_a_peer_is_no_schema() {
    let data = json!({"$id": "https://example.com/a", "$ref": "other.json", "$anchor": "b"});
    for (keyword, value) in [
        ("const", data.clone()),
        ("default", data.clone()),
        ("enum", json!([data])),
        ("examples", json!([data, [data]])),
    ] {
        let mut property = json!({"$anchor": "b"});
        property[keyword] = value;
        let schema = json!({"properties": {"a": property, "b": {"$ref": "#b"}}});
        let schemas = ToolSchemas::of_peer(&Tool::new("t", json(&schema))).unwrap();
        assert_eq!(schemas.check_arguments(&json(&json!({"a": data, "b": data}))), Ok(()));
    }
    // Names of members are no keywords.
    let named = json!({"properties": {"enum": {"$id": "a"}, "examples": {"$ref": "b"}}});
    let refused = ToolSchemas::of_peer(&Tool::new("t", json(&named)));
    assert!(matches!(refused, Err(SchemaError::TooComplex { .. })), "{refused:?}");
}

#[test]
fn references_of_a_peer_to_data_are_bounded() {
    // As in the test above, but the definitions are data that references make schemas of.
    let mut doubled = json!({"$ref": "#/examples/30", "examples": [{"type": "object"}]});
    for at in 1..=30 {
        let before = json!({"$ref": format!("#/examples/{}", at - 1)});
        let definition = json!({"allOf": [before, before]});
        doubled["examples"].as_array_mut().unwrap().push(definition);
    }
    let mut nested = doubled.clone();
    nested["$ref"] = json!("#/default/x");
    nested["default"] = json!({"x": {"properties": {"a": {"$ref": "#/examples/30"}}}});
    let foreign = json!({"$ref": "#/const", "const": {"items": {"$id": "https://example.com/a"}}});
    // The validator looks for anchors where schemas are, and not in unknown keywords.
    let mut anchored = json!({"$ref": "#d30", "x": []});
    anchored["$defs"]["d0"] = json!({"$anchor": "d0", "type": "object"});
    for at in 1..=30 {
        let before = json!({"$ref": format!("#d{}", at - 1)});
        let definition = json!({"$anchor": format!("d{at}"), "allOf": [before, before]});
        anchored["$defs"][format!("d{at}")] = definition;
        let decoy = json!({"$anchor": format!("d{at}")});
        anchored["x"].as_array_mut().unwrap().push(decoy);
    }
    for schema in [doubled, nested, foreign, anchored] {
        let refused = ToolSchemas::of_peer(&Tool::new("t", json(&schema)));
        assert!(matches!(refused, Err(SchemaError::TooComplex { .. })), "{refused:?}");
    }
}

#[test]
fn second_hour_17_usual_schemas_of_a_peer_are_within_the_bounds() {
    let tree = json!({
        "type": "object",
        "$defs": {"node <T>": {"$anchor": "node", "anyOf": [
            {"type": "null"},
            {"type": "object", "properties": {"left": {"$ref": "#node"}, "right": {"$ref": "#/$defs/node%20%3CT%3E"}}},
        ]}},
        "properties": {"root": {"$ref": "#/$defs/node%20%3CT%3E"}},
    });
    let schemas = ToolSchemas::of_peer(&Tool::new("t", json(&tree))).unwrap();
    let fits = json!({"root": {"left": null, "right": {"left": {"right": null}}}});
    assert_eq!(schemas.check_arguments(&json(&fits)), Ok(()));
    let misfits = schemas.check_arguments(&json(&json!({"root": {"left": {"right": 7}}})));
    assert!(misfits.unwrap_err().to_string().contains("/root/left/right"));
}
