//! Results of tools are read alike, whichever of the two readers reads them.

use mcp_proto::Json;
use mcp_proto::types::CallToolResult;

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
