//! The server's role: does the head say what the body does?

use std::error::Error;

use mcp_proto::headers::{HeaderError, HeaderPlan, MirroredHeaders, ValueError, name_member};
use serde_json::json;

use super::{head, json, plan, told};

#[test]
fn the_method_says_what_is_named() {
    let table = [
        ("tools/call", Some("name")),
        ("prompts/get", Some("name")),
        ("resources/read", Some("uri")),
        ("tasks/get", Some("taskId")),
        ("tasks/update", Some("taskId")),
        ("tasks/cancel", Some("taskId")),
        ("tasks/result", None),
        ("tasks/list", None),
        ("tasks", None),
        ("tools/list", None),
        ("resources/subscribe", None),
        ("Tools/Call", None),
        ("", None),
    ];
    for (method, member) in table {
        assert_eq!(name_member(method), member, "{method}");
    }
}

#[test]
fn t118_standard_headers_are_there_once_and_equal() {
    let version = |fields: &[&'static str]| told(head(fields).check_version("2026-07-28"));
    assert_eq!(version(&["MCP-Protocol-Version:2026-07-28"]), "ok");
    assert_eq!(version(&["mcp-protocol-version: 2026-07-28\t"]), "ok");
    assert_eq!(version(&[]), "MCP-Protocol-Version Missing");
    assert_eq!(version(&["MCP-Protocol-Version:"]), "MCP-Protocol-Version Mismatch");
    assert_eq!(version(&["MCP-Protocol-Version:2025-11-25"]), "MCP-Protocol-Version Mismatch");

    let method = |fields: &[&'static str]| told(head(fields).check_method("tools/call"));
    assert_eq!(method(&["Mcp-Method:tools/call"]), "ok");
    assert_eq!(method(&["MCP-METHOD:tools/call"]), "ok");
    assert_eq!(method(&[]), "Mcp-Method Missing");
    assert_eq!(method(&["Mcp-Methods:tools/call"]), "Mcp-Method Missing");
    // The case of values matters, and they are never wrapped.
    assert_eq!(method(&["Mcp-Method:Tools/Call"]), "Mcp-Method Mismatch");
    assert_eq!(method(&["Mcp-Method:=?base64?dG9vbHMvY2FsbA==?="]), "Mcp-Method Mismatch");

    let name = |fields: &[&'static str]| told(head(fields).check_name("tools/call", Some("sql")));
    assert_eq!(name(&["Mcp-Name:sql"]), "ok");
    assert_eq!(name(&["Mcp-Name:=?base64?c3Fs?="]), "ok");
    assert_eq!(name(&[]), "Mcp-Name Missing");
    assert_eq!(name(&["Mcp-Name:SQL"]), "Mcp-Name Mismatch");
}

#[test]
fn a_name_is_looked_at_where_there_is_one() {
    let name = |method, name| told(head(&["Mcp-Name:other"]).check_name(method, name));
    assert_eq!(name("tools/list", Some("sql")), "ok");
    // No string in the body: that the parameters are wrong is said elsewhere.
    assert_eq!(name("tools/call", None), "ok");
    for method in ["tools/call", "prompts/get", "resources/read", "tasks/cancel"] {
        assert_eq!(name(method, Some("sql")), "Mcp-Name Mismatch");
        assert_eq!(name(method, Some("other")), "ok");
    }
}

#[test]
fn t112_a_wrapped_name_is_compared_by_what_it_says() {
    let name = |value: &'static str, name| {
        let field = format!("Mcp-Name:{value}");
        told(head(&[field.as_str()]).check_name("resources/read", Some(name)))
    };
    assert_eq!(name("=?base64?ZmlsZTovLy/DqQ==?=", "file:///é"), "ok");
    assert_eq!(
        name("=?base64?ZmlsZTovLy/DqQ==?=", "=?base64?ZmlsZTovLy/DqQ==?="),
        "Mcp-Name Mismatch"
    );
    assert_eq!(name("=?base64?PT9iYXNlNjQ/YT89?=", "=?base64?a?="), "ok");
    assert_eq!(name("=?base64?PT9iYXNlNjQ/YT89?=", "a"), "Mcp-Name Mismatch");
}

#[test]
fn t113_a_name_in_a_wrapper_that_is_cut_short_is_no_panic() {
    let name = |name| told(head(&["Mcp-Name:=?base64?="]).check_name("tools/call", Some(name)));
    assert_eq!(name("=?base64?="), "ok");
    assert_eq!(name(""), "Mcp-Name Mismatch");
}

#[test]
fn t114_t119_a_name_beyond_ascii_is_refused_even_if_the_bytes_are_the_same() {
    for (value, name) in [("é".as_bytes(), "é"), (b"\xff", "?"), (b"a\0", "a\0")] {
        let fields = [("Mcp-Name", value), ("Mcp-Method", value), ("MCP-Protocol-Version", value)];
        let head = MirroredHeaders::of(fields);
        assert_eq!(told(head.check_name("tools/call", Some(name))), "Mcp-Name InvalidCharacter");
        assert_eq!(told(head.check_method(name)), "Mcp-Method InvalidCharacter");
        assert_eq!(told(head.check_version(name)), "MCP-Protocol-Version InvalidCharacter");
    }
}

#[test]
fn t115_a_header_that_stands_twice_is_refused_even_if_both_say_the_same() {
    let fields = ["Mcp-Name:a", "mcp-name:a", "Mcp-Method:tools/call", "MCP-METHOD:tools/call"];
    let head = head(&[&fields[..], &["MCP-Protocol-Version:v", "Mcp-Protocol-Version:v"]].concat());
    assert_eq!(told(head.check_name("tools/call", Some("a"))), "Mcp-Name Repeated");
    assert_eq!(told(head.check_method("tools/call")), "Mcp-Method Repeated");
    assert_eq!(told(head.check_version("v")), "MCP-Protocol-Version Repeated");
    let params = |fields: &[&'static str], arguments| params("integer", fields, arguments);
    assert_eq!(params(&["Mcp-Param-A:1", "mcp-param-a:1"], r#"{"a":1}"#), "Mcp-Param-A Repeated");
    assert_eq!(params(&["Mcp-Param-A:1", "mcp-param-a:1"], "{}"), "Mcp-Param-A Repeated");
    // Of what is unknown nothing is asked.
    assert_eq!(params(&["Mcp-Param-A:1", "Mcp-Param-B:1", "Mcp-Param-B:2"], r#"{"a":1}"#), "ok");
}

#[test]
fn t116_blanks_around_the_value_of_a_parameter_do_not_count() {
    let check = |value: &str| {
        let field = format!("Mcp-Param-A:{value}");
        params("string", &[field.as_str()], r#"{"a":"x"}"#)
    };
    assert_eq!(check(" \tx\t "), "ok");
    assert_eq!(check(" =?base64?eA==?= "), "ok");
    assert_eq!(check("=?base64?IHg=?="), "Mcp-Param-A Mismatch");
}

#[test]
fn a_parameter_has_a_header_if_it_has_a_value() {
    let a = "Mcp-Param-A:";
    let table = [
        // The type, the header, the arguments.
        ("string", Some("x"), r#"{"a":"x"}"#, "ok"),
        ("string", Some("x"), r#"{"a":"\u0078"}"#, "ok"),
        ("string", Some("x"), r#"{"\u0061":"x"}"#, "ok"),
        ("string", Some("X"), r#"{"a":"x"}"#, "Mcp-Param-A Mismatch"),
        ("string", None, r#"{"a":"x"}"#, "Mcp-Param-A Missing"),
        ("string", None, r#"{"a":""}"#, "Mcp-Param-A Missing"),
        ("string", Some(""), r#"{"a":""}"#, "ok"),
        ("string", Some("=?base64??="), r#"{"a":""}"#, "ok"),
        ("string", Some("=?base64?w6k=?="), r#"{"a":"é"}"#, "ok"),
        ("string", Some("=?base64?w6k?="), r#"{"a":"é"}"#, "Mcp-Param-A InvalidBase64"),
        ("string", Some("é"), r#"{"a":"é"}"#, "Mcp-Param-A InvalidCharacter"),
        ("string", Some("é"), "{}", "Mcp-Param-A InvalidCharacter"),
        ("string", None, "{}", "ok"),
        ("string", None, r#"{"a":null}"#, "ok"),
        ("string", None, "[]", "ok"),
        ("string", Some("x"), "{}", "Mcp-Param-A Unexpected"),
        ("string", Some("null"), r#"{"a":null}"#, "Mcp-Param-A Unexpected"),
        ("string", Some(""), r#"{"a":null}"#, "Mcp-Param-A Unexpected"),
        // Neither is primitive: the schema is violated, which is said elsewhere.
        ("string", None, r#"{"a":["x"]}"#, "ok"),
        ("string", None, r#"{"a":{}}"#, "ok"),
        ("string", Some("x"), r#"{"a":["x"]}"#, "Mcp-Param-A Unexpected"),
        ("boolean", Some("true"), r#"{"a":true}"#, "ok"),
        ("boolean", Some("false"), r#"{"a":false}"#, "ok"),
        ("boolean", Some("True"), r#"{"a":true}"#, "Mcp-Param-A Mismatch"),
        ("boolean", Some("1"), r#"{"a":true}"#, "Mcp-Param-A Mismatch"),
        ("boolean", None, r#"{"a":false}"#, "Mcp-Param-A Missing"),
        // A type that the schema does not want is compared as a text.
        ("boolean", Some("true"), r#"{"a":"true"}"#, "ok"),
        ("integer", Some("true"), r#"{"a":true}"#, "ok"),
        ("integer", Some("42"), r#"{"a":"42"}"#, "ok"),
        ("integer", Some("42.0"), r#"{"a":"42"}"#, "Mcp-Param-A Mismatch"),
        ("string", Some("42"), r#"{"a":42}"#, "ok"),
        ("string", Some("42.0"), r#"{"a":42}"#, "Mcp-Param-A Mismatch"),
        // Half a surrogate pair.
        ("string", Some("x"), r#"{"a":"\ud800"}"#, "Mcp-Param-A NotUnicode"),
        ("string", None, r#"{"a":"\ud800"}"#, "Mcp-Param-A NotUnicode"),
        ("string", None, r#"{"\ud800":"x"}"#, "ok"),
        // Of keys that stand twice the last counts.
        ("string", Some("y"), r#"{"a":"x","a":"y"}"#, "ok"),
        ("string", Some("x"), r#"{"a":"x","\u0061":"y"}"#, "Mcp-Param-A Mismatch"),
        ("string", None, r#"{"a":"x","a":null}"#, "ok"),
    ];
    for (declared, value, arguments, expected) in table {
        let field = value.map(|value| format!("{a}{value}"));
        let fields: Vec<&str> = field.as_deref().into_iter().collect();
        assert_eq!(params(declared, &fields, arguments), expected, "{value:?} {arguments}");
    }
}

#[test]
fn t121_integers_are_compared_as_numbers_and_null_is_absent() {
    let table = [
        (Some("42"), "42", "ok"),
        (Some("42"), "42.0", "ok"),
        (Some("42.0"), "42", "ok"),
        (Some("4.2e1"), "4200e-2", "ok"),
        (Some("=?base64?NDI=?="), "42", "ok"),
        (Some("-0"), "0", "ok"),
        (Some("43"), "42", "Mcp-Param-A Mismatch"),
        (Some("-42"), "42", "Mcp-Param-A Mismatch"),
        (Some("forty-two"), "42", "Mcp-Param-A Mismatch"),
        (Some("042"), "42", "Mcp-Param-A Mismatch"),
        (Some(""), "0", "Mcp-Param-A Mismatch"),
        (None, "42", "Mcp-Param-A Missing"),
        (Some("9007199254740991"), "9007199254740991", "ok"),
        (Some("9007199254740993"), "9007199254740992", "Mcp-Param-A OutOfRange Body"),
        (Some("9007199254740993"), "9007199254740993", "Mcp-Param-A OutOfRange Body"),
        (Some("9007199254740993"), "1", "Mcp-Param-A OutOfRange Header"),
        (Some("1e1000000"), "1e1000000", "Mcp-Param-A OutOfRange Body"),
        (Some("42.5"), "42.5", "Mcp-Param-A NotWhole Body"),
        (Some("42.0000000000000000000000000001"), "42", "Mcp-Param-A NotWhole Header"),
        (Some("42"), "42.0000000000000000000000000001", "Mcp-Param-A NotWhole Body"),
        (None, "1e-100000", "Mcp-Param-A NotWhole Body"),
        (None, "null", "ok"),
        (Some("0"), "null", "Mcp-Param-A Unexpected"),
        (Some("null"), "null", "Mcp-Param-A Unexpected"),
    ];
    for (value, number, expected) in table {
        let field = value.map(|value| format!("Mcp-Param-A:{value}"));
        let fields: Vec<&str> = field.as_deref().into_iter().collect();
        let arguments = format!(r#"{{"a":{number}}}"#);
        for declared in [json!("integer"), json!(["integer", "null"])] {
            let plan = plan(&json!({"a": {"type": declared, "x-mcp-header": "A"}}));
            let checked = told(head(&fields).check_params(&plan, &json(&arguments)));
            assert_eq!(checked, expected, "{value:?} {number}");
        }
    }
    // Where the schema has no type, a number is what stands there.
    let plan = plan(&json!({"a": {"x-mcp-header": "A"}}));
    let check = |field, arguments| told(head(&[field]).check_params(&plan, &json(arguments)));
    assert_eq!(check("Mcp-Param-A:42.0", r#"{"a":42.0}"#), "ok");
    assert_eq!(check("Mcp-Param-A:42", r#"{"a":42.0}"#), "Mcp-Param-A Mismatch");
}

#[test]
fn arguments_are_found_along_their_paths() {
    let leaf = |name: &str| json!({"type": "string", "x-mcp-header": name});
    let plan = plan(&json!({
        "z": leaf("Z"),
        "o": {"properties": {"a": leaf("A"), "p": {"properties": {"a": leaf("B")}}}},
        "a": leaf("C"),
        // A string that has properties, too: either may come.
        "s": {"type": "string", "x-mcp-header": "S", "properties": {"t": leaf("T")}},
    }));
    let check = |fields: &[&'static str], arguments: &str| {
        let fields: Vec<String> = fields.iter().map(|field| format!("mcp-param-{field}")).collect();
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        told(head(&fields).check_params(&plan, &json(arguments)))
    };
    let all = r#"{"o":{"p":{"a":"b","x":{"a":9}},"a":"a"},"x":{"a":{"o":[]}},"z":"z","a":"c"}"#;
    assert_eq!(check(&["a:a", "b:b", "c:c", "z:z"], all), "ok");
    assert_eq!(check(&["a:a", "c:c", "z:z"], all), "Mcp-Param-B Missing");
    assert_eq!(check(&["a:b", "b:a", "c:c", "z:z"], all), "Mcp-Param-A Mismatch");
    assert_eq!(check(&["s:x"], r#"{"s":"x"}"#), "ok");
    assert_eq!(check(&["t:x"], r#"{"s":{"t":"x"}}"#), "ok");
    assert_eq!(check(&["s:x", "t:x"], r#"{"s":{"t":"x"}}"#), "Mcp-Param-S Unexpected");
    // A path ends at what is no object.
    for arguments in [r#"{"o":"a"}"#, r#"{"o":[{"a":"a"}]}"#, r#"{"o":null}"#, r#"{"o":{"p":1}}"#] {
        assert_eq!(check(&[], arguments), "ok");
        assert_eq!(check(&["a:a"], arguments), "Mcp-Param-A Unexpected");
    }
    // An object that stands twice takes all that was in the first with it.
    assert_eq!(check(&["b:b"], r#"{"o":{"a":"a"},"o":{"p":{"a":"b"}}}"#), "ok");
    assert_eq!(check(&[], r#"{"o":{"a":"a","p":{"a":"b"}},"o":1}"#), "ok");
    assert_eq!(check(&["a:a"], r#"{"o":{"a":"a"},"o":{}}"#), "Mcp-Param-A Unexpected");
}

#[test]
fn t120_a_plan_is_made_once_and_knows_no_schema() {
    let plan: HeaderPlan = {
        let schema = json!({"a": {"type": "integer", "x-mcp-header": "A"}, "rest": {"enum": ["x".repeat(10_000)]}});
        plan(&schema)
    };
    for n in 0..1000 {
        let (field, arguments) = (format!("Mcp-Param-A:{n}"), json(&format!(r#"{{"a":{n}}}"#)));
        assert_eq!(told(head(&[field.as_str()]).check_params(&plan, &arguments)), "ok");
    }
    // As many arguments as entries: both are walked once.
    let many: serde_json::Value = (0..1500)
        .map(|n| (format!("p{n}"), json!({"type": "integer", "x-mcp-header": format!("H{n}")})))
        .collect();
    let plan = super::plan(&many);
    let arguments: Vec<String> = (0..200_000).map(|n| format!(r#""q{n}":{n}"#)).collect();
    let arguments = json(&format!("{{{}}}", arguments.join(",")));
    assert_eq!(told(head(&[]).check_params(&plan, &arguments)), "ok");
}

#[test]
fn errors_teach() {
    let error = head(&["Mcp-Name:foo"]).check_name("tools/call", Some("bar")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Mcp-Name says \"foo\", and the body \"bar\"; see https://modelcontextprotocol.io/\
         specification/2026-07-28/basic/transports/streamable-http#server-validation"
    );
    let error = head(&[]).check_name("tools/call", Some("bar")).unwrap_err();
    assert!(error.to_string().starts_with("Mcp-Name is missing; the body says \"bar\"; see "));
    let error = head(&["Mcp-Name:=?base64?*?="]).check_name("tools/call", Some("bar")).unwrap_err();
    assert_eq!(error.source().unwrap().to_string(), ValueError::InvalidBase64.to_string());
}

#[test]
fn errors_show_little_of_what_is_long() {
    let long = "x".repeat(1_000_000);
    let field = format!("Mcp-Name:y{long}");
    let head = head(&[field.as_str()]);
    let error = head.check_name("tools/call", Some(&long)).unwrap_err();
    let HeaderError::Mismatch { found, expected, .. } = &error else { unreachable!("{error}") };
    assert_eq!((found.chars().count(), expected.chars().count()), (101, 101));
    assert!(error.to_string().len() < 500, "{error}");
    let digits = "9".repeat(1_000_000);
    let plan = plan(&json!({"a": {"type": "integer", "x-mcp-header": "A".repeat(60_000)}}));
    let arguments = json(&format!(r#"{{"a":{digits}}}"#));
    let error = MirroredHeaders::default().check_params(&plan, &arguments).unwrap_err();
    assert!(error.to_string().len() < 600, "{error}");
}

/// The check of a tool with one parameter, `a`, whose header is `Mcp-Param-A`.
fn params(declared: &str, fields: &[&str], arguments: &str) -> String {
    let plan = plan(&json!({"a": {"type": declared, "x-mcp-header": "A"}}));
    told(head(fields).check_params(&plan, &json(arguments)))
}
