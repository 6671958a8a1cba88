//! Arguments of handlers, and their return values.

use mcp_proto::types::{CallToolResult, ContentBlock, ImageContent, ResourceContents};
use mcp_proto::{ErrorCode, ErrorData, Json, UsageError};
use mcp_service::{Interrupt, IntoToolResult, TaskError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bench::{Bench, answer};

#[derive(Deserialize)]
struct Count {
    count: u32,
}

#[test]
fn arguments_are_typed() {
    let mut bench = Bench::new(|count: Count, _| async move { count.count.to_string() });
    bench.call_with(1, &json!({"count": 7, "more": true}));
    assert_eq!(bench.out(), [answer(1, "7")]);
}

#[test]
fn second_hour_13_whole_numbers_are_integers_however_they_are_written() {
    let mut bench = Bench::new(|count: Count, _| async move { count.count.to_string() });
    bench.call_with(1, &json!({"count": 42.0}));
    bench.call_with(2, &json!({"count": 1e2}));
    bench.call_with(3, &json!({"count": -0.0}));
    assert_eq!(bench.out(), [answer(1, "42"), answer(2, "100"), answer(3, "0")]);
}

#[test]
fn arguments_that_do_not_fit_are_told_to_the_model() {
    let mut bench = Bench::new(|count: Count, _| async move { count.count.to_string() });
    let range = "/count: expected an integer from 0 to 4294967295, found";
    for (arguments, misfit) in [
        (json!({}), "/count: is required".to_owned()),
        (json!({"cuont": 7}), "/count: is required; /cuont: did you mean `count`?".to_owned()),
        (json!({"count": "7"}), format!("{range} string \"7\"")),
        (json!({"count": -1}), format!("{range} integer -1")),
        (json!({"count": 1.5}), format!("{range} number 1.5")),
    ] {
        bench.call_with(1, &arguments);
        let [line]: [String; 1] = bench.out().try_into().unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["result"]["isError"], true, "{line}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(text, format!("The arguments do not fit the input schema: {misfit}"));
    }
}

#[test]
fn number_beyond_the_range_of_a_float_is_told_with_its_place() {
    #[derive(Deserialize)]
    struct Size {
        size: f32,
    }
    let mut bench = Bench::new(|size: Size, _| async move { size.size.to_string() });
    for size in [1e39, -1e300] {
        bench.call_with(1, &json!({ "size": size }));
        let [line]: [String; 1] = bench.out().try_into().unwrap();
        let expected = "input schema: /size: expected a number from -3.4028235e38 to 3.4028235e38";
        assert!(line.contains(expected), "{line}");
    }
}

#[test]
fn a_text() {
    assert_eq!(result("text"), answer(1, "text"));
    assert_eq!(result("text".to_owned()), answer(1, "text"));
}

#[test]
fn a_result() {
    assert_eq!(result(CallToolResult::text("text")), answer(1, "text"));
}

#[test]
fn second_hour_18_bytes_that_are_no_base64_are_not_sent() {
    let message = "the result cannot be written as JSON: the bytes are not in Base64 with the \
                   standard alphabet and padding";
    let error = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": message}});
    let answer = result(ContentBlock::image("picture.png", "image/png"));
    assert_eq!(serde_json::from_str::<Value>(&answer).unwrap(), error);
    let answer = result(ContentBlock::Image(ImageContent::of_bytes(b"\x00", "image/png")));
    assert!(answer.contains(r#""data":"AA==""#), "{answer}");
}

#[test]
fn several_blocks_are_a_result() {
    let blocks = vec![
        ContentBlock::text("a"),
        ContentBlock::image_from_bytes(b"\x00\xff", "image/png"),
        ContentBlock::audio_from_bytes(b"\x01", "audio/wav"),
        ContentBlock::resource(ResourceContents::blob_from_bytes("a:b", b"\x02")),
    ];
    let answer: Value = serde_json::from_str(&result(blocks)).unwrap();
    let expected = json!([
        {"type": "text", "text": "a"},
        {"type": "image", "data": "AP8=", "mimeType": "image/png"},
        {"type": "audio", "data": "AQ==", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "a:b", "blob": "Ag=="}},
    ]);
    assert_eq!(answer["result"]["content"], expected);
}

#[test]
fn structured_content_is_read_or_the_reason_is_told() {
    let read =
        |result: &CallToolResult| result.structured::<Vec<u8>>().map_err(|error| error.to_string());
    let content = |json: &'static str| {
        CallToolResult::default().structured_content(Json::parse(json).unwrap())
    };
    assert_eq!(read(&content("[1,2]")), Ok(vec![1, 2]));
    assert_eq!(read(&content(r#"{"result":[1]}"#)), Ok(vec![1]));
    let misfit = read(&content(r#"["x"]"#)).unwrap_err();
    assert!(misfit.starts_with("the structured content does not fit the type: "), "{misfit}");
    let none = "the result has no structured content";
    assert_eq!(read(&CallToolResult::text("a")), Err(none.into()));
    let failed = CallToolResult::error("no such city");
    assert_eq!(read(&failed), Err("the tool failed: no such city".into()));
}

#[test]
fn an_error_that_the_model_is_told() {
    let expected = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"no"}],"isError":true}}"#;
    assert_eq!(result(CallToolResult::error("no")), expected);
    assert_eq!(result(Err::<&str, _>("no".to_owned())), expected);
    assert_eq!(result(Err::<&str, _>(CallToolResult::text("no"))), expected);
    assert_eq!(result(Ok::<_, String>("yes")), answer(1, "yes"));
}

#[test]
fn an_error_that_the_model_is_not_told() {
    let expected = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}"#;
    let error = || ErrorData::new(ErrorCode::INVALID_PARAMS, "no");
    assert_eq!(result(Err::<&str, _>(error())), expected);
    assert_eq!(result(Ok::<_, ErrorData>("yes")), answer(1, "yes"));
}

#[test]
fn an_error_of_any_kind_by_a_question_mark() {
    let mut bench = Bench::new(|_: Value, _| async {
        let number: u32 = "many".parse()?;
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(number.to_string())
    });
    bench.call(1);
    let expected = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"invalid digit found in string"}],"isError":true}}"#;
    assert_eq!(bench.out(), [expected]);
}

/// `?` converts these errors in a handler that also asks.
#[test]
fn errors_of_a_context_end_a_handler_without_their_texts() {
    let usage = |_: Value, _| async { Ok::<&str, Interrupt>(Err(UsageError::Closed)?) };
    let task = |_: Value, _| async { Ok::<&str, Interrupt>(Err(TaskError::NoHost)?) };
    let error = json!({"jsonrpc": "2.0", "id": 1, "error": {
        "code": -32603, "message": "the handler failed",
    }});
    for mut bench in [Bench::new(usage), Bench::new(task)] {
        bench.call_with(1, &json!({}));
        let [line]: [String; 1] = bench.out().try_into().unwrap();
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), error);
    }
}

/// Response for the client if a handler returns `value`.
fn result(value: impl IntoToolResult + Clone + Send + Sync + 'static) -> String {
    let mut bench = Bench::new(move |_: Value, _| std::future::ready(value.clone()));
    bench.call(1);
    bench.out().join("\n")
}
