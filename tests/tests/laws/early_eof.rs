//! The end of input before a request begins: no handler gets a modern request. "The server MUST
//! treat a client disconnect as cancellation of that request."

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::sync::Arc;

use mcp_proto::http::{Config, Connection};
use mcp_proto::resource_server::{Claims, ProtectedResource, TokenRefusal, VerifiedToken};
use mcp_proto::server::{Registry, ServerEvent};
use mcp_proto::types::{Implementation, Tool};
use mcp_proto::{Action, Bytes, Instant, Json, Machine};

use super::http::modern;

const NOW: Instant = Instant::ZERO;
const ISSUER: &str = "https://auth.example.com";

/// What happens on a connection whose input ends while the token of its request is verified.
#[derive(Default)]
struct Seen {
    started: usize,
    sent: String,
    is_closed: bool,
}

fn verify(verified: VerifiedToken) -> Seen {
    let mut registry = Registry::new(Implementation::new("ending", "1.0.0"));
    let schema = Json::parse(r#"{"type":"object"}"#.to_owned()).unwrap();
    registry.add_tool(Tool::new("hold", schema), ()).unwrap();
    let mut config = Config::default();
    let resource = ProtectedResource::new("https://mcp.example.com/mcp", ISSUER).unwrap();
    config.protect(resource, |_| async { Err(TokenRefusal::invalid("not used")) });
    let mut connection = Connection::new(NOW, registry.declaration(), Arc::new(config));
    let call = modern("tools/call", "hold", r#""name":"hold","#);
    let call = call.replacen("\r\n", "\r\nAuthorization: Bearer alice\r\n", 1);
    connection.handle_bytes(NOW, Bytes::from(call));
    let (number, _) = connection.poll_verification().unwrap();
    connection.handle_eof(NOW);
    assert!(connection.is_verifying());
    connection.handle_verified(NOW, number, verified);
    let mut seen = Seen::default();
    while let Some(action) = connection.poll_action() {
        match action {
            Action::Transmit(bytes) => seen.sent += str::from_utf8(&bytes).unwrap(),
            Action::Event(ServerEvent::Request(_)) => seen.started += 1,
            Action::Event(_) => {}
            Action::Close => seen.is_closed = true,
        }
    }
    seen
}

#[test]
fn end_of_input_while_a_token_is_verified_cancels_the_request() {
    let seen = verify(Ok(Claims::new(ISSUER, "alice")));
    assert_eq!((seen.started, seen.sent.as_str()), (0, ""));
    assert!(seen.is_closed);
}

#[test]
fn refusal_of_a_token_is_sent_after_the_end_of_input() {
    let seen = verify(Err(TokenRefusal::invalid("the token is unknown")));
    assert!(seen.sent.starts_with("HTTP/1.1 401 "), "{}", seen.sent);
    assert!(seen.is_closed && seen.started == 0);
}
