//! A gateway's role: a head alone, and a head with its body.

use mcp_proto::headers::{BodyError, HeaderPlan, MirroredHeaders};
use mcp_proto::{Bytes, ErrorCode, Limits};
use serde_json::json;

use super::{head, plan, told};

const VERSION: &str = "MCP-Protocol-Version:2026-07-28";
const CALL: &str = "Mcp-Method:tools/call";

#[test]
fn a_head_alone_is_claimed_by() {
    let table: &[(&[&str], &str)] = &[
        (&[VERSION, "Mcp-Method:tools/list"], "2026-07-28 tools/list"),
        (&[VERSION, "Mcp-Method:tools/list", "Mcp-Name:é"], "2026-07-28 tools/list"),
        (&[VERSION, CALL, "Mcp-Name: sql "], "2026-07-28 tools/call sql"),
        (&[VERSION, CALL, "Mcp-Name:=?base64?w6k=?="], "2026-07-28 tools/call é"),
        (&[VERSION, "Mcp-Method:x/y"], "2026-07-28 x/y"),
        (&[VERSION, CALL], "Mcp-Name Missing"),
        (&[VERSION, CALL, "Mcp-Name:a", "Mcp-Name:a"], "Mcp-Name Repeated"),
        (&[VERSION, CALL, "Mcp-Name:é"], "Mcp-Name InvalidCharacter"),
        (&[VERSION, CALL, "Mcp-Name:=?base64?*?="], "Mcp-Name InvalidBase64"),
        (&[VERSION], "Mcp-Method Missing"),
        (&[VERSION, CALL, CALL], "Mcp-Method Repeated"),
        (&[CALL, "Mcp-Name:sql"], "MCP-Protocol-Version Missing"),
        (&[VERSION, VERSION, CALL, "Mcp-Name:sql"], "MCP-Protocol-Version Repeated"),
        // Legacy servers do not compare what they are told in headers.
        (&["mcp-protocol-version:2025-11-25", CALL], "MCP-Protocol-Version Unvalidated"),
        (&["mcp-protocol-version:2025-06-18", CALL], "MCP-Protocol-Version Unvalidated"),
        // A revision that is not known: whoever serves it compares.
        (&["mcp-protocol-version:2027-01-01", "Mcp-Method:x"], "2027-01-01 x"),
    ];
    for (fields, expected) in table {
        let head = head(fields);
        let told = match head.claim() {
            Ok(claim) => [Some(claim.protocol_version), Some(claim.method), claim.name.as_deref()]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" "),
            Err(error) => told(Err(error)),
        };
        assert_eq!(told, *expected, "{fields:?}");
    }
}

#[test]
fn parameters_are_read_without_a_plan() {
    let head = head(&[
        "mcp-param-region:=?base64?w6k=?=",
        "Mcp-Param-X:1",
        "MCP-PARAM-x:2",
        "Mcp-Param-:0",
    ]);
    assert_eq!(head.param("Region").unwrap().as_deref(), Some("é"));
    assert_eq!(head.param("other").unwrap(), None);
    assert_eq!(head.param("").unwrap().as_deref(), Some("0"));
    assert_eq!(told(head.param("X").map(drop)), "Mcp-Param-X Repeated");
}

#[test]
fn fields_that_nobody_asks_for_are_passed_over() {
    let fields =
        ["", "m", "Mcp", "Mcp-", "Mcp-Param", "MCP-Protocol-Versio", "é", "Mcp-Sessiön-Id"];
    let head = MirroredHeaders::of(fields.iter().map(|name| (*name, &b"\xff"[..])));
    assert_eq!(told(head.claim().map(drop)), "MCP-Protocol-Version Missing");
}

#[test]
fn t118_a_body_is_compared_in_the_order_of_a_servers_steps() {
    let body = request("tools/call", r#""name":"sql","arguments":{"n":42.0}"#);
    let (name, n) = ("Mcp-Name:sql", "Mcp-Param-N:42");
    let table: &[(&[&str], &str)] = &[
        (&[VERSION, CALL, name, n], "ok"),
        (&[n, name, CALL, VERSION, "Mcp-Param-Other:1", "Mcp-Session-Id:x"], "ok"),
        (&[], "MCP-Protocol-Version Missing"),
        (&["MCP-Protocol-Version:2025-11-25"], "MCP-Protocol-Version Mismatch"),
        (&[VERSION], "Mcp-Method Missing"),
        (&[VERSION, "Mcp-Method:tools/list"], "Mcp-Method Mismatch"),
        (&[VERSION, CALL, n], "Mcp-Name Missing"),
        (&[VERSION, CALL, "Mcp-Name:other", n], "Mcp-Name Mismatch"),
        (&[VERSION, CALL, name], "Mcp-Param-N Missing"),
        (&[VERSION, CALL, name, "Mcp-Param-N:43"], "Mcp-Param-N Mismatch"),
    ];
    for (fields, expected) in table {
        assert_eq!(checked(fields, &body), *expected, "{fields:?}");
    }
    let error = MirroredHeaders::default().check_body(&body.into(), &Limits::default(), |_| None);
    assert_eq!(error.unwrap_err().code(), ErrorCode::HEADER_MISMATCH);
    // A tool of which the gateway knows nothing.
    let body = request("tools/call", r#""name":"other","arguments":{"n":1}"#);
    assert_eq!(checked(&[VERSION, CALL, "Mcp-Name:other"], &body), "ok");
}

#[test]
fn bodies_of_all_kinds() {
    let read = "Mcp-Method:resources/read";
    let body = request("resources/read", r#""uri":"file:///é","name":"x""#);
    assert_eq!(checked(&[VERSION, read, "Mcp-Name:=?base64?ZmlsZTovLy/DqQ==?="], &body), "ok");
    assert_eq!(checked(&[VERSION, read, "Mcp-Name:x"], &body), "Mcp-Name Mismatch");
    let body = request("tasks/get", r#""taskId":"8""#);
    assert_eq!(checked(&[VERSION, "Mcp-Method:tasks/get", "Mcp-Name:8"], &body), "ok");
    let body = request("tasks/get", r#""taskId":"7","taskId":"8""#);
    assert_eq!(checked(&[VERSION, "Mcp-Method:tasks/get", "Mcp-Name:8"], &body), "shape");
    // Wrong parameters are the server's to tell.
    let body = request("tools/call", r#""name":1,"arguments":{"n":42}"#);
    assert_eq!(checked(&[VERSION, CALL], &body), "ok");
    let body = request("tools/call", r#""name":"sql""#);
    assert_eq!(checked(&[VERSION, CALL, "Mcp-Name:sql"], &body), "ok");
    assert_eq!(
        checked(&[VERSION, CALL, "Mcp-Name:sql", "Mcp-Param-N:1"], &body),
        "Mcp-Param-N Unexpected"
    );
    let table = [
        (r#"{"jsonrpc":"2.0","method":"notifications/x"}"#, "ok"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "shape"),
        ("[]", "shape"),
        ("", "json"),
        ("{", "json"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"a","name":"b"}}"#, "shape"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#, "envelope"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"_meta":{}}}"#, "envelope"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"x",
            "params":{"_meta":{"io.modelcontextprotocol/protocolVersion":1}}}"#,
            "envelope",
        ),
    ];
    for (body, expected) in table {
        assert_eq!(checked(&[VERSION, CALL], body), expected, "{body}");
    }
}

fn request(method: &str, params: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":{{{params},\"_meta\":{{\
         \"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
         \"io.modelcontextprotocol/clientCapabilities\":{{}}}}}}}}"
    )
}

fn checked(fields: &[&str], body: &str) -> String {
    let sql: HeaderPlan = plan(&json!({"n": {"type": "integer", "x-mcp-header": "N"}}));
    let body = Bytes::from(body.to_owned());
    let plan_of = |tool: &str| (tool == "sql").then_some(&sql);
    match head(fields).check_body(&body, &Limits::default(), plan_of) {
        Ok(()) => told(Ok(())),
        Err(BodyError::Header(error)) => told(Err(error)),
        Err(BodyError::Message(error)) => error.step().to_string(),
    }
}
