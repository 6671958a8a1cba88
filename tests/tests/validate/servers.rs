//! Tools of servers, in both eras.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_proto::ErrorCode;
use mcp_proto::UsageError;
use mcp_proto::client::{CallError, Negotiation};
use mcp_proto::schema::SchemaError;
use mcp_proto::types::{
    CallToolResult, ElicitRequestFormParams, ElicitResult, Implementation, NumberSchema,
    RequestedSchema, Tool,
};
use mcp_service::testing::Pair;
use mcp_service::{Catalog, Context, Handler, Interrupt, Registry};
use serde_json::{Value, json};

use crate::json;

const ERAS: [Negotiation; 2] = [Negotiation::Auto, Negotiation::Legacy];

#[test]
fn second_hour_17_arguments_that_do_not_fit_are_told_to_the_model() {
    for negotiation in ERAS {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = calls.clone();
        let mut registry = registry();
        registry
            .tool_with(Tool::new("file", json(&input())), move |_: Value, _| {
                counted.fetch_add(1, Ordering::Relaxed);
                async { "filed" }
            })
            .unwrap();
        registry.validate("file").unwrap();
        let mut pair = Pair::new(registry).negotiation(negotiation);

        let arguments = json!({"tags": ["a", 7], "count": 12.5, "kind": "note", "other": 1});
        let result = pair.run(pair.client().call_tool("file", &arguments)).unwrap();
        assert!(result.is_error);
        assert_eq!(
            result.content[0].as_text(),
            Some(
                "The arguments do not fit the input schema: /count: expected an integer; /kind: \
                 expected one of \"letter\", \"bill\"; /tags/1: expected a string; has members that \
                 the schema does not allow: `other`; /title: is required"
            )
        );
        assert_eq!(calls.load(Ordering::Relaxed), 0, "the handler was called");

        let arguments = json!({"title": "x", "tags": ["a"], "count": 12.0, "kind": "bill"});
        let result = pair.run(pair.client().call_tool("file", &arguments)).unwrap();
        assert!(!result.is_error);
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn second_hour_17_structured_content_that_does_not_fit_is_the_servers_fault() {
    let output = json!({"type": "object", "properties": {"celsius": {"type": "number"}}});
    let content = |content: Value| CallToolResult::text("7").structured_content(json(&content));
    let missing = "`structuredContent` is missing, and the tool has an output schema";
    let cases = [
        (content(json!({"celsius": 7})), None),
        (content(json!({"celsius": "a secret"})), Some("/celsius: expected a number")),
        (CallToolResult::text("7"), Some(missing)),
        (CallToolResult::error("no thermometer"), None),
    ];
    for negotiation in ERAS {
        for (returned, fault) in &cases {
            let mut registry = registry();
            let tool = Tool::new("measure", json(&json!({"type": "object"})));
            let result = returned.clone();
            registry
                .tool_with(tool.output_schema(json(&output)), move |_: Value, context: Context| {
                    let result = result.clone();
                    async move {
                        context.sleep(std::time::Duration::from_millis(1)).await;
                        result
                    }
                })
                .unwrap();
            registry.validate_all().unwrap();
            let mut pair = Pair::new(registry).negotiation(negotiation);
            match (pair.run(pair.client().call_tool("measure", &())), fault) {
                (Ok(result), None) => assert_eq!(result.content, returned.content),
                (Err(CallError::Error { error, .. }), Some(fault)) => {
                    assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
                    assert!(error.message.ends_with(fault), "{}", error.message);
                    assert!(!error.message.contains("secret"), "{}", error.message);
                }
                (result, fault) => panic!("{result:?}, {fault:?}"),
            }
        }
    }
}

#[test]
fn second_hour_17_content_of_a_form_is_checked_by_the_server() {
    for negotiation in ERAS {
        for (age, answered) in [(17, false), (18, true)] {
            let mut registry = registry();
            let tool = Tool::new("enter", json(&json!({"type": "object"})));
            registry.tool_with(tool, enter).unwrap().validate_all().unwrap();
            let mut pair = Pair::new(registry).negotiation(negotiation);
            // A client that checks nothing.
            pair.client().on_form(move |_| async move {
                ElicitResult::accept(json(&json!({ "age": age })))
            });
            match pair.run(pair.client().call_tool("enter", &())) {
                Ok(result) => assert!(answered, "{result:?}"),
                Err(CallError::Error { error, .. }) => {
                    assert!(!answered, "{error}");
                    let fault = "the input `age`: the content does not fit the form: \"age\" must be 18 or more";
                    assert!(error.message.ends_with(fault), "{}", error.message);
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn second_hour_17_a_tool_that_is_not_named_is_not_validated() {
    let mut registry = registry();
    for name in ["strict", "lax"] {
        let tool = Tool::new(name, json(&input()));
        registry.tool_with(tool, |_: Value, _| async { "called" }).unwrap();
    }
    registry.validate("strict").unwrap();
    let mut pair = Pair::new(registry);
    for (name, refused) in [("strict", true), ("lax", false)] {
        let result = pair.run(pair.client().call_tool(name, &())).unwrap();
        assert_eq!(result.is_error, refused, "{name}");
    }
}

#[test]
fn second_hour_17_tools_that_are_added_later_are_validated_as_well() {
    let mut registry = registry();
    registry.validate_all().unwrap();
    let catalog = Catalog::from(registry);
    let mut pair = Pair::new(catalog.clone());
    let add = |registry: &mut Registry<Handler>| {
        let tool = Tool::new("file", json(&input()));
        registry.add_tool(tool, Handler::tool(|_: Value, _| async { "called" })).map(drop)
    };
    catalog.update(add).unwrap();
    assert!(pair.run(pair.client().call_tool("file", &())).unwrap().is_error);
}

#[test]
fn second_hour_17_a_schema_that_does_not_compile_is_refused_at_registration() {
    let cases = [
        (json!({"type": "object", "minProperties": "one"}), "minProperties"),
        (json!({"type": "object", "$ref": "https://example.com/schema.json"}), "example.com"),
        (json!({"type": "object", "$ref": "#/$defs/nothing"}), "nothing"),
        (json!({"type": "object", "properties": {"a": {"pattern": "(?=a)"}}}), "(?=a)"),
        (json!({"type": "object", "properties": {"a": {"pattern": "(a)\\1"}}}), "\\1"),
    ];
    for (schema, fault) in cases {
        let tool = Tool::new("t", json(&schema));
        let add = |registry: &mut Registry<Handler>| {
            registry.tool_with(tool.clone(), |_: Value, _| async { "called" }).map(drop)
        };
        let mut registry = registry();
        add(&mut registry).unwrap();
        for error in [registry.validate("t").unwrap_err(), registry.validate_all().unwrap_err()] {
            let UsageError::UnusableSchema { reason: SchemaError::Invalid { reason }, .. } = error
            else {
                panic!("{error}")
            };
            assert!(reason.contains(fault), "{reason}");
        }
        // It is registered, and not validated.
        let mut pair = Pair::new(registry.clone());
        assert!(!pair.run(pair.client().call_tool("t", &())).unwrap().is_error);

        registry.remove_tool("t");
        registry.validate_all().unwrap();
        add(&mut registry).unwrap_err();
        assert_eq!(registry.remove_tool("t").map(drop), None);
    }
    let unknown = UsageError::UnknownTool { name: "u".into() };
    assert_eq!(registry().validate("u").unwrap_err(), unknown);
}

async fn enter(_: Value, context: Context) -> Result<String, Interrupt> {
    let mut age = NumberSchema::new();
    age.minimum = Some(18.into());
    let form = ElicitRequestFormParams::new("?", RequestedSchema::new().required("age", age));
    context.elicit("age", form)?;
    Ok("in".into())
}

fn input() -> Value {
    json!({
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "count": {"type": "integer"},
            "kind": {"enum": ["letter", "bill"]},
        },
        "required": ["title"],
        "additionalProperties": false,
    })
}

fn registry() -> Registry<Handler> {
    Registry::new(Implementation::new("office", "1"))
}

#[test]
fn mounted_clones_of_a_registry_are_validated_apart() {
    let mut plugin = registry();
    let long = Tool::new("long", json(&json!({"type": "object", "required": ["text"]})));
    plugin.tool_with(long, |_: Value, _| async { "called" }).unwrap();
    let mut validated = plugin.clone();
    validated.validate("long").unwrap();
    let mut host = registry();
    host.mount("a_", plugin.clone()).unwrap();
    host.mount("b_", validated).unwrap();
    host.mount("c_", plugin).unwrap();
    let mut pair = Pair::new(host);
    let client = pair.client();
    for (tool, is_refused) in [("a_long", false), ("b_long", true), ("c_long", false)] {
        let result = pair.run(client.call_tool(tool, &json!({}))).unwrap();
        assert_eq!(result.is_error, is_refused, "{tool}");
    }
}
