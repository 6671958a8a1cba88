//! A protected server that calls the handler of a legacy request again: the claims that it sees.

use mcp_proto::server::InputRequired;
use mcp_proto::types::Implementation;
use mcp_service::{Context, HttpServer, Interrupt, Registry};
use serde_json::{Value, json};

use super::protected::{Nothing, Socket, config, known};

/// A connection of a server, and the field of a session of `alice`.
fn opened(registry: Registry) -> (Socket, String) {
    let server = HttpServer::new(registry, config(known), || [7; 16], |_| {});
    let mut socket = Socket::of(&server);
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {"roots": {}},
        "clientInfo": {"name": "test", "version": "1"}}});
    let answer = socket.post("alice", "", &initialize);
    let session = format!("Mcp-Session-Id: {}\r\n", answer.field("Mcp-Session-Id"));
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    socket.post("alice", &session, &initialized);
    (socket, session)
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
        let (mut socket, session) = opened(registry);
        let answer = socket.post(token, &session, &call());
        assert!(answer.status == 200 && answer.body.contains(expected), "{}", answer.body);
    }
}
