//! Lists are serialised once, for all connections.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot begin has failed")]

use mcp_proto::message::{self, Outgoing};
use mcp_proto::server::{Config, Declaration, Server, ServerAction};
use mcp_proto::types::{ListToolsResult, Tool};
use mcp_proto::{Instant, Json, Limits};
use mcp_service::Handler;
use mcp_tests::everything;
use serde_json::json;
use std::sync::Arc;

/// The result of `tools/list` as the machine hands it out, from a server of its own.
fn page(declaration: &Arc<Declaration>, cursor: Option<&str>) -> Json {
    let mut server = Server::new(declaration.clone(), Config::default());
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"_meta": meta, "cursor": cursor.unwrap_or_default()});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
    let request = message::parse(&request.to_string().into(), &Limits::default()).unwrap();
    server.handle_message(Instant::ZERO, request);
    match server.poll_action() {
        Some(ServerAction::Send { message: Outgoing::Result { result, .. }, .. }) => {
            result.into_json()
        }
        other => panic!("no result, but {other:?}"),
    }
}

#[test]
fn two_hundred_tools_are_sent_from_the_same_bytes_every_time() {
    let mut registry = everything::registry().unwrap();
    let declared = registry.declaration();
    let mut count = page(&declared, None).decode::<ListToolsResult>().unwrap().tools.len();
    while count < 200 {
        let tool = Tool::new(format!("more_{count}"), Json::parse(r#"{"type":"object"}"#).unwrap());
        registry.add_tool(tool, Handler::tool(|(): (), _| async { "" })).unwrap();
        count += 1;
    }
    let declaration = registry.declaration();
    let (mut cursor, mut seen) = (None, 0);
    loop {
        let (one, other) =
            (page(&declaration, cursor.as_deref()), page(&declaration, cursor.as_deref()));
        assert_eq!(one.as_bytes().as_ptr(), other.as_bytes().as_ptr(), "a copy was made");
        let list: ListToolsResult = one.decode().unwrap();
        seen += list.tools.len();
        cursor = list.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, 200);
}

/// With and without the feature `validate`.
#[test]
fn second_hour_17_a_tool_in_another_dialect_is_refused() {
    let dialect = "http://json-schema.org/draft-04/schema#";
    let schema = |text: String| Json::parse(text).unwrap();
    let plain = || schema(r#"{"type":"object"}"#.to_owned());
    let other = || schema(format!(r#"{{"$schema":"{dialect}","type":"object"}}"#));
    let handler = || Handler::tool(|(): (), _| async { "" });
    let mut registry = everything::registry().unwrap();
    let before = page(&registry.declaration(), None);
    for tool in [Tool::new("t", other()), Tool::new("t", plain()).output_schema(other())] {
        let error = registry.add_tool(tool, handler()).unwrap_err().to_string();
        let told = format!("\"t\": the dialect \"{dialect}\" is not supported; `$schema` may be");
        assert!(error.starts_with(&told), "{error}");
        for supported in ["draft/2020-12/schema", "draft-07/schema#"] {
            assert!(error.contains(supported), "{error}");
        }
    }
    assert_eq!(page(&registry.declaration(), None), before);
    registry.add_tool(Tool::new("t", plain()), handler()).unwrap();
}
