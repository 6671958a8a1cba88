//! A protected server that calls the handler of a legacy request again: the claims that it sees.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_proto::server::InputRequired;
use mcp_proto::types::Implementation;
use mcp_service::{Context, HttpServer, Interrupt, Registry};
use serde_json::{Value, json};

use super::protected::{Nothing, Socket, config, known};

/// Two connections of a server, and the field of a session of `alice`.
fn opened(registry: Registry) -> (Socket, Socket, String) {
    let server = HttpServer::new(registry, config(known), || [7; 16], |_| {});
    let (mut socket, other) = (Socket::of(&server), Socket::of(&server));
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {"roots": {}},
        "clientInfo": {"name": "test", "version": "1"}}});
    let answer = socket.post("alice", "", &initialize);
    let session = format!("Mcp-Session-Id: {}\r\n", answer.field("Mcp-Session-Id"));
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    socket.post("alice", &session, &initialized);
    (socket, other, session)
}

fn call() -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "t", "arguments": {}}})
}

#[test]
fn handler_that_is_called_again_at_once_sees_the_claims_of_its_request() {
    let again = |_: Nothing, context: Context| async move {
        if context.input().is_none() {
            return Err(Interrupt::from(InputRequired::default().state("second")));
        }
        Ok(format!("{:?}", context.require_scopes("write").is_ok()))
    };
    for (token, expected) in [("alice", "false"), ("alice-writes", "true")] {
        let mut registry = Registry::new(Implementation::new("rounds", "1"));
        registry.tool("t", "Runs twice", again).unwrap();
        let (mut socket, _, session) = opened(registry);
        let answer = socket.post(token, &session, &call());
        assert!(answer.status == 200 && answer.body.contains(expected), "{}", answer.body);
    }
}

#[test]
fn input_with_a_token_that_has_lost_a_scope_does_not_call_the_tool_again() {
    for (token, expected) in [("alice", 1), ("alice-writes", 2)] {
        let ran = Arc::new(AtomicUsize::new(0));
        let counter = ran.clone();
        let asks = move |_: Nothing, context: Context| {
            counter.fetch_add(1, Ordering::Relaxed);
            async move {
                context.list_roots("a")?;
                Ok::<_, Interrupt>("done")
            }
        };
        let mut registry = Registry::new(Implementation::new("rounds", "1"));
        registry.tool("t", "Asks", asks).unwrap();
        registry.require_scopes("t", "write").unwrap();
        let (mut socket, mut other, session) = opened(registry);
        let asked = socket.post("alice-writes", &session, &call());
        assert!(asked.body.contains("roots/list"), "{}", asked.body);
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"roots": []}});
        assert_eq!(other.post(token, &session, &answer).status, 202);
        let rest = socket.raw("");
        assert_eq!(rest.contains("done"), expected == 2, "{rest}");
        assert_eq!(rest.contains("the token lacks scopes"), expected == 1, "{rest}");
        assert_eq!(ran.load(Ordering::Relaxed), expected);
    }
}

#[test]
fn tool_that_asks_and_lacks_scopes_ends_with_an_error_that_names_them() {
    let tool = |_: Nothing, context: Context| async move {
        context.require_scopes("write")?;
        context.list_roots("a")?;
        Ok::<_, Interrupt>("done")
    };
    let mut registry = Registry::new(Implementation::new("rounds", "1"));
    registry.tool("t", "Asks", tool).unwrap();
    let (mut socket, _, session) = opened(registry);
    let answer = socket.post("alice", &session, &call());
    assert!(answer.body.contains(r#""code":-32603"#), "{}", answer.body);
    assert!(answer.body.contains("the scopes `write`"), "{}", answer.body);
}
