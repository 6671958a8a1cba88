//! Results of tools: the two readers read alike, and errors name the places that do not fit.

use mcp_proto::Json;
use mcp_proto::types::{CallToolResult, ElicitResult};
use serde::Deserialize;

/// Members of results: usual ones, and each kind that differs from them.
const MEMBERS: [&str; 31] = [
    r#""content":[]"#,
    r#""content":[{"type":"text","text":"a"},{"type":"text","text":"\u00e9\"\\"}]"#,
    r#""content":[{"type":"text","text":"a"} ]"#,
    r#""content":[{"type":"text","text": "a" }]"#,
    r#""structuredContent": [] "#,
    r#""content":[{"type":"text","text":"a"}]"#,
    r#""content" : [ {"text":"\u00e9\n\"", "type" : "text"} , {"type":"text","text":""} ]"#,
    r#""content":[{"type":"text","text":"\ud800"}]"#,
    r#""content":[{"type":"text","text":7}]"#,
    r#""content":[{"type":"text"}]"#,
    r#""content":[{"text":"a"}]"#,
    r#""content":[{"type":"text","text":"a","text":"b"}]"#,
    r#""content":[{"type":"text","type":"text","text":"b"}]"#,
    r#""content":[{"type":"text","text":"a","annotations":{"priority":1}}]"#,
    r#""content":[{"type":"text","text":"a","_meta":{"b":1},"other":null}]"#,
    r#""content":[{"type":"image","data":"QQ==","mimeType":"image/png"}]"#,
    r#""content":[{"type":"t\u0065xt","text":"a"}]"#,
    r#""content":[[]]"#,
    r#""content":{}"#,
    r#""content":null"#,
    r#""isError":true"#,
    r#""isError": false"#,
    r#""isError":null"#,
    r#""is\u0045rror":true"#,
    r#""resultType":"complete""#,
    r#""resultType":"other""#,
    r#""structuredContent":null"#,
    r#""structuredContent":{"a": [1, "\ud800"]}"#,
    r#""_meta":{"a":{}}"#,
    r#""_meta":null"#,
    r#""other":[{}]"#,
];

fn reads_alike(text: String) {
    let json = Json::parse(text).unwrap();
    let read = CallToolResult::from_json(&json).map_err(|error| error.to_string());
    let decoded = json.decode_lossy::<CallToolResult>().map_err(|error| error.to_string());
    assert_eq!(read, decoded, "{json:?}");
}

#[test]
fn a_result_is_read_as_serde_reads_it() {
    let empty = [""];
    for first in MEMBERS.iter().chain(&empty) {
        for second in MEMBERS.iter().chain(&empty) {
            for third in MEMBERS.iter().chain(&empty) {
                let members = [*first, *second, *third];
                let members: Vec<&str> =
                    members.into_iter().filter(|member| !member.is_empty()).collect();
                reads_alike(format!("{{{}}}", members.join(",")));
            }
        }
    }
    for other in ["[]", "null", "7", "\"content\"", "[[{\"type\":\"text\",\"text\":\"a\"}]]"] {
        reads_alike(other.into());
    }
}

#[test]
fn content_that_does_not_fit_is_named_by_its_places() {
    #[derive(Debug, Deserialize)]
    struct Address {
        _street: String,
        _zip: u32,
    }

    let content = Json::parse(r#"{"_street":"Main","_zip":"no"}"#).unwrap();
    let place = r#"/_zip: expected an integer from 0 to 4294967295, found string "no""#;
    let answer = ElicitResult::accept(content.clone());
    let error = answer.accepted::<Address>().unwrap().unwrap_err();
    assert_eq!(error.to_string(), place);
    let result = CallToolResult::default().structured_content(content);
    let error = result.structured::<Address>().unwrap_err();
    assert_eq!(error.to_string(), format!("the structured content does not fit the type: {place}"));

    let missing = ElicitResult::accept(Json::EMPTY_OBJECT).accepted::<Address>().unwrap();
    assert_eq!(missing.unwrap_err().to_string(), "/_street: is required");
}

#[test]
fn structured_content_of_a_failed_tool_is_its_failure() {
    let content = Json::parse(r#"{"code":7}"#).unwrap();
    let failed = CallToolResult::error("no such city").structured_content(content);
    let error = failed.structured::<serde_json::Value>().unwrap_err();
    assert_eq!(error.to_string(), "the tool failed: no such city");
}
