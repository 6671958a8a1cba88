//! The client's role: which headers a request has.

use mcp_proto::headers::{EmitError, HeaderPlan, standard};
use serde_json::json;

use super::{json, plan};

#[test]
fn t112_standard_headers_say_version_method_and_name() {
    let table = [
        ("tools/call", r#"{"name":"sql"}"#, "Mcp-Name: sql"),
        ("tools/call", r#"{"name":"Zürich"}"#, "Mcp-Name: =?base64?WsO8cmljaA==?="),
        ("tools/call", r#"{"name":"=?base64?a?="}"#, "Mcp-Name: =?base64?PT9iYXNlNjQ/YT89?="),
        ("tools/call", r#"{"n\u0061me":"\u0073ql"}"#, "Mcp-Name: sql"),
        ("tools/call", r#"{"name":" sql"}"#, "Mcp-Name: =?base64?IHNxbA==?="),
        ("prompts/get", r#"{"uri":"x","name":"p"}"#, "Mcp-Name: p"),
        ("resources/read", r#"{"uri":"file:///a b","name":"x"}"#, "Mcp-Name: file:///a b"),
        ("tasks/get", r#"{"taskId":"7"}"#, "Mcp-Name: 7"),
        ("tools/list", r#"{"name":"x"}"#, ""),
        ("x/y", "{}", ""),
        // The caller's affair: the server will say that the parameters are wrong.
        ("tools/call", r#"{"name":1}"#, ""),
        ("tools/call", "{}", ""),
    ];
    for (method, params, expected) in table {
        let params = json(params);
        let headers: Vec<String> = standard("2026-07-28", method, &params)
            .unwrap()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        let always = ["MCP-Protocol-Version: 2026-07-28".into(), format!("Mcp-Method: {method}")];
        assert_eq!(headers.get(..2), Some(&always[..]));
        assert_eq!(headers.get(2..).unwrap().concat(), expected, "{method} {params}");
    }
}

#[test]
fn a_method_that_no_header_can_say_is_refused() {
    let params = json("{}");
    for method in ["", " x", "x ", "é", "x\r\nHost: y", "\0"] {
        let error = standard("2026-07-28", method, &params).err().unwrap();
        assert_eq!(error, EmitError::NotPlain { header: "Mcp-Method", value: method.into() });
    }
    assert!(standard("2026-07-28\n", "x", &params).is_err());
}

#[test]
fn t121_arguments_become_headers() {
    let schema = r#"{"properties":{
        "s":{"type":"string","x-mcp-header":"S"},
        "i":{"type":"integer","x-mcp-header":"I"},
        "b":{"type":"boolean","x-mcp-header":"B"},
        "u":{"x-mcp-header":"U"},
        "o":{"properties":{"s":{"type":["string","null"],"x-mcp-header":"O"}}}}}"#;
    let plan = HeaderPlan::compile(&json(schema)).unwrap();
    let table = [
        (
            r#"{"s":"x","i":42,"b":true,"u":1,"o":{"s":"y"},"rest":9}"#,
            "S: x, I: 42, B: true, U: 1, O: y",
        ),
        (r#"{"o":{"s":"y"},"b":false,"s":"x"}"#, "S: x, B: false, O: y"),
        (r#"{"i":42.0}"#, "I: 42"),
        (r#"{"i":4.2e1}"#, "I: 42"),
        (r#"{"i":-0}"#, "I: 0"),
        (r#"{"i":-9007199254740991}"#, "I: -9007199254740991"),
        (r#"{"i":"42.0","b":"x","s":1.50,"u":1.50}"#, "S: 1.50, I: 42.0, B: x, U: 1.50"),
        (
            r#"{"s":"","u":"é","o":{"s":" "}}"#,
            "S: =?base64??=, U: =?base64?w6k=?=, O: =?base64?IA==?=",
        ),
        (r#"{"s":"a\r\nHost: b"}"#, "S: =?base64?YQ0KSG9zdDogYg==?="),
        (r#"{"s":null,"i":null,"b":null,"u":null,"o":null}"#, ""),
        (r#"{"s":[],"i":{},"o":"s"}"#, ""),
        (r#"{"s":"x","s":"y"}"#, "S: y"),
        ("{}", ""),
        ("null", ""),
    ];
    for (arguments, expected) in table {
        assert_eq!(emitted(&plan, arguments).unwrap(), expected, "{arguments}");
    }
}

#[test]
fn t121_what_no_header_can_say_is_not_sent() {
    let plan = plan(&json!({"a": {"type": "integer", "x-mcp-header": "A"}}));
    let refused = |arguments: &str| emitted(&plan, arguments).unwrap_err();
    let header = || "Mcp-Param-A".to_owned();
    for value in ["9007199254740992", "-9007199254740993", "1e16", "1e1000000"] {
        let expected = EmitError::OutOfRange { header: header(), value: value.into() };
        assert_eq!(refused(&format!(r#"{{"a":{value}}}"#)), expected);
    }
    for value in ["42.5", "42.0000000000000000000000000001", "1e-100000"] {
        let expected = EmitError::NotWhole { header: header(), value: value.into() };
        assert_eq!(refused(&format!(r#"{{"a":{value}}}"#)), expected);
    }
    let error = refused(r#"{"a":"\udc00"}"#);
    assert_eq!(error, EmitError::NotUnicode { header: header() });
    let error = refused(&format!(r#"{{"a":{}}}"#, "9".repeat(1000)));
    assert!(error.to_string().len() < 400, "{error}");
}

fn emitted(plan: &HeaderPlan, arguments: &str) -> Result<String, EmitError> {
    let arguments = json(arguments);
    let headers = plan.emit(&arguments)?;
    let lines = headers
        .iter()
        .map(|(name, value)| format!("{}: {value}", name.strip_prefix("Mcp-Param-").unwrap()));
    Ok(lines.collect::<Vec<_>>().join(", "))
}
