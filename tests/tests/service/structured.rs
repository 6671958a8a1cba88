//! Content for programs.

use mcp_proto::types::{CallToolResult, Implementation, Tool};
use mcp_proto::{Era, Json};
use mcp_service::{Handler, IntoToolResult, Registry, Structured};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use crate::client::{Client, ERAS, error};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Clone, Serialize, JsonSchema)]
struct Point {
    x: u32,
    y: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Sum {
    result: u32,
}

#[test]
fn an_object_is_content_and_text_and_its_schema_is_listed() {
    for era in ERAS {
        let (tool, result) = shown(era, Structured(Point { x: 1, y: 2 }));
        assert_eq!(tool["outputSchema"]["type"], "object", "{era:?}");
        assert_eq!(tool["outputSchema"]["required"], json!(["x", "y"]), "{era:?}");
        let content = json!([{"type": "text", "text": r#"{"x":1,"y":2}"#}]);
        let expected = json!({"content": content, "structuredContent": {"x": 1, "y": 2}});
        assert_eq!(result, json!({"result": expected}), "{era:?}");
    }
}

#[test]
fn anything_else_is_inside_of_an_object_for_legacy_clients() {
    let content = json!([{"type": "text", "text": "[1,2]"}]);
    let (tool, result) = shown(Era::Modern, Structured(vec![1, 2]));
    assert_eq!(tool["outputSchema"]["type"], "array");
    assert_eq!(result["result"], json!({"content": content, "structuredContent": [1, 2]}));

    let (tool, result) = shown(Era::Legacy, Structured(vec![1, 2]));
    assert_eq!(tool["outputSchema"]["type"], "object");
    assert_eq!(tool["outputSchema"]["properties"]["result"]["type"], "array");
    let wrapped = json!({"content": content, "structuredContent": {"result": [1, 2]}});
    assert_eq!(result["result"], wrapped);
}

#[test]
fn a_program_reads_the_same_in_both_eras() {
    for era in ERAS {
        let result = called(era, Structured(vec![1, 2]));
        assert_eq!(read(&result), Some(vec![1, 2]), "{era:?}");
        let result = called(era, Structured(7));
        assert_eq!(read(&result), Some(7), "{era:?}");
        // An object that has such a member is not taken apart.
        let result = called(era, Structured(Sum { result: 7 }));
        assert_eq!(read(&result), Some(Sum { result: 7 }), "{era:?}");
        // It cannot be told from what any object fits.
        let result = called(era, Structured(json!([1])));
        let whole = if era == Era::Legacy { json!({"result": [1]}) } else { json!([1]) };
        assert_eq!(read(&result), Some(whole));
    }
}

#[test]
fn only_what_a_legacy_server_wraps_is_unwrapped() {
    let modern = json!({"resultType": "complete", "structuredContent": {"result": 7}});
    let more = json!({"structuredContent": {"result": 7, "unit": "m"}});
    let other = json!({"structuredContent": {"results": 7}});
    let misfit = json!({"structuredContent": {"result": "seven"}});
    for mut result in [modern, more, other, misfit] {
        result["content"] = json!([]);
        assert_eq!(read::<u32>(&result), None, "{result}");
    }
}

#[test]
fn a_failure_has_no_structure_and_the_schema_is_listed_all_the_same() {
    for era in ERAS {
        let failed: Result<Structured<Point>, String> = Err("no".into());
        let (tool, result) = shown(era, failed);
        assert_eq!(tool["outputSchema"]["type"], "object", "{era:?}");
        let content = json!([{"type": "text", "text": "no"}]);
        assert_eq!(result["result"], json!({"content": content, "isError": true}), "{era:?}");
    }
}

#[test]
fn a_tool_whose_definition_is_given_lists_what_its_handler_returns() {
    let point = |_: Nothing, _| async { Structured(Point { x: 1, y: 2 }) };
    let own = json!({"type": "object", "required": ["x"]});
    let tool = || Tool::of::<Nothing>("t").unwrap();
    for (tool, required) in [
        (tool().title("Of the type"), json!(["x", "y"])),
        (tool().output_schema(Json::encode(&own).unwrap()), json!(["x"])),
    ] {
        let mut registry = Registry::new(Implementation::new("test", "1"));
        registry.tool_with(tool, point).unwrap();
        let list = Client::new(Era::Modern, registry).ask("tools/list", json!({}));
        let tool = &list["result"]["tools"][0];
        assert_eq!(tool["outputSchema"]["required"], required);
    }
}

#[test]
fn registry_without_portable_schemas_lists_those_of_schemars() {
    #[derive(Deserialize, JsonSchema)]
    struct Arguments {
        limit: Option<u8>,
    }
    let f = |arguments: Arguments, _| async move {
        Ok::<_, String>(Structured(Sum { result: arguments.limit.unwrap_or_default().into() }))
    };
    let mut registry = Registry::new(Implementation::new("test", "1"));
    registry.tool("portable", "", f).unwrap();
    registry.portable_schemas(false).tool("verbatim", "", f).unwrap();
    registry.portable_schemas(true).tool("portable-too", "", f).unwrap();
    let list = Client::new(Era::Modern, registry).ask("tools/list", json!({}));
    let verbatim = json!({
        "type": ["integer", "null"],
        "format": "uint8",
        "minimum": 0,
        "maximum": 255,
    });
    let portable = json!({"type": "integer", "minimum": 0, "maximum": 255});
    for (index, limit, format) in
        [(0, &portable, None), (1, &verbatim, Some(&json!("uint32"))), (2, &portable, None)]
    {
        let tool = &list["result"]["tools"][index];
        assert_eq!(tool["inputSchema"]["properties"]["limit"], *limit, "{tool}");
        assert_eq!(tool["outputSchema"]["properties"]["result"].get("format"), format, "{tool}");
    }
}

#[test]
fn a_text_has_no_schema() {
    let (tool, _) = shown(Era::Modern, "text");
    assert_eq!(tool.get("outputSchema"), None);
}

#[test]
fn what_is_no_json_is_an_error() {
    /// Never to be written.
    #[derive(Clone, JsonSchema)]
    struct Unwritable {}
    impl Serialize for Unwritable {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("a secret"))
        }
    }
    for era in ERAS {
        let (_, result) = shown(era, Structured(Unwritable {}));
        assert_eq!(result, error(-32603, "the result cannot be written as JSON"), "{era:?}");
    }
}

/// Structured content of a result, as a client reads it; `None` if it does not fit.
fn read<T: DeserializeOwned>(result: &Value) -> Option<T> {
    let result: CallToolResult = serde_json::from_value(result.clone()).unwrap();
    result.structured().ok()
}

/// The result of a tool that returns `value`, as it is on the wire.
fn called(era: Era, value: impl IntoToolResult + Clone + Send + Sync + 'static) -> Value {
    let mut result = shown(era, value).1["result"].take();
    if era == Era::Modern {
        result["resultType"] = json!("complete");
    }
    result
}

/// Entry in the list of a tool that returns `value`, and the response to a call of it.
fn shown(era: Era, value: impl IntoToolResult + Clone + Send + Sync + 'static) -> (Value, Value) {
    let mut registry = Registry::<Handler>::new(Implementation::new("bench", "1"));
    let handler = move |_: Nothing, _| std::future::ready(value.clone());
    registry.tool("t", "A tool", handler).unwrap();
    let mut client = Client::new(era, registry);
    let mut list = client.ask("tools/list", json!({}));
    (list["result"]["tools"][0].take(), client.ask("tools/call", json!({"name": "t"})))
}
