//! Content for programs.

use mcp_proto::Era;
use mcp_proto::server::Registry;
use mcp_proto::service::{Handler, IntoToolResult, Structured};
use mcp_proto::types::Implementation;
use schemars::JsonSchema;
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

/// How a tool that returns `value` is listed, and what comes of calling it.
fn shown(era: Era, value: impl IntoToolResult + Clone + Send + Sync + 'static) -> (Value, Value) {
    let mut registry = Registry::<Handler>::new(Implementation::new("bench", "1"));
    let handler = move |_: Nothing, _| std::future::ready(value.clone());
    registry.tool("t", "A tool", handler).unwrap();
    let mut client = Client::new(era, registry);
    let mut list = client.ask("tools/list", json!({}));
    (list["result"]["tools"][0].take(), client.ask("tools/call", json!({"name": "t"})))
}
