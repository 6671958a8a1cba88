//! A reply belongs to one request of one machine.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot begin has failed")]

use mcp_proto::server::{
    Config, Notification, Outcome, Progress, Registry, Request, Server, ServerEvent,
};
use mcp_proto::stdio::Connection;
use mcp_proto::types::{Implementation, Tool};
use mcp_proto::{Action, Binding, Bytes, Instant, Json, Machine, UsageError};

const NOW: Instant = Instant::ZERO;

#[test]
fn t050_a_reply_that_strays_to_another_machine_is_dropped() {
    let (mut one, mut other) = (connection(), connection());
    let (request, others) = (call(&mut one), call(&mut other));

    let progress = Progress { progress: 1.0, total: None, message: None };
    let told = other.with(NOW, |server| {
        server.notify(NOW, request.reply.id(), Notification::Progress(progress))
    });
    assert_eq!(told, Err(UsageError::NotInFlight));

    other.with(NOW, |server| {
        server.respond(NOW, request.reply, Outcome::Complete(Json::EMPTY_OBJECT));
    });
    assert!(other.poll_action().is_none());
    assert_eq!(other.machine().dropped_replies(), 1);
    assert_eq!((one.machine().owed().count(), other.machine().owed().count()), (1, 1));

    other.with(NOW, |server| {
        server.respond(NOW, others.reply, Outcome::Complete(Json::EMPTY_OBJECT));
    });
    assert!(matches!(other.poll_action(), Some(Action::Transmit(_))));
}

/// How deep a handler's result is nested is its own affair, also if `_meta` is merged into it.
#[test]
fn a_deep_result_goes_out_whole() {
    let deep = (0..200).fold(serde_json::json!(1), |inside, _| serde_json::json!([inside]));
    let result =
        serde_json::json!({"_meta": {"k": 1}, "content": [], "structuredContent": deep, "z": 1});
    let mut connection = connection();
    let request = call(&mut connection);
    connection.with(NOW, |server| {
        server.respond(NOW, request.reply, Outcome::Complete(Json::encode(&result).unwrap()));
    });
    let Some(Action::Transmit(line)) = connection.poll_action() else { panic!("no answer") };
    let line = core::str::from_utf8(&line).unwrap();
    assert!(line.contains(&format!("{}1{}", "[".repeat(200), "]".repeat(200))), "{line}");
    assert!(line.ends_with("\"z\":1}}\n"), "{line}");
}

/// A server whose one tool is `hold`.
fn connection() -> Connection<Server> {
    let mut registry = Registry::new(Implementation::new("fixture", "1.0.0"));
    let schema = Json::parse(r#"{"type":"object"}"#).unwrap();
    registry.add_tool(Tool::new("hold", schema), ()).unwrap();
    Connection::server(registry.declaration(), Config::default())
}

/// A call that has reached its handler; every client calls it 1.
fn call(connection: &mut Connection<Server>) -> Request {
    let line = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold","_meta":{"#,
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
        r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#,
        "\n"
    );
    connection.handle_bytes(NOW, Bytes::from_static(line.as_bytes()));
    match connection.poll_action() {
        Some(Action::Event(ServerEvent::Request(request))) => request,
        other => panic!("no request, but {other:?}"),
    }
}
