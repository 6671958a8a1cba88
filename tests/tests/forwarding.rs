//! A machine that forwards all requests, as that of a proxy: what it decides by itself.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot begin has failed")]

use mcp_proto::server::{
    CancelCause, Config, Notification, Outcome, Registry, Request, Server, ServerEvent,
};
use mcp_proto::stdio::Connection;
use mcp_proto::types::Implementation;
use mcp_proto::{Action, Binding, Bytes, Instant, Json, Machine, UsageError};
use serde_json::{Value, json};

const NOW: Instant = Instant::ZERO;

#[test]
fn only_log_messages_are_forwarded_before_initialized() {
    let mut connection = connection();
    let request = initialize(&mut connection, 1).unwrap();
    respond(&mut connection, request, initialized());
    transmitted(&mut connection);

    let changed = || forwarded("notifications/tools/list_changed", "{}");
    let log = forwarded("notifications/message", r#"{"level":"error","data":"x"}"#);
    let notify = |connection: &mut Connection<Server>, notification| {
        connection.with(NOW, |server| server.notify_session(NOW, notification))
    };
    assert_eq!(notify(&mut connection, changed()), Err(UsageError::NotInitialized));
    assert_eq!(notify(&mut connection, log), Ok(()));
    assert_eq!(transmitted(&mut connection)["method"], "notifications/message");

    send(&mut connection, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert!(matches!(
        connection.poll_action(),
        Some(Action::Event(ServerEvent::Notification { .. }))
    ));
    assert_eq!(notify(&mut connection, changed()), Ok(()));
    assert_eq!(transmitted(&mut connection)["method"], "notifications/tools/list_changed");
}

#[test]
fn cancellation_is_not_forwarded_to_the_client() {
    let mut connection = connection();
    let request = listen(&mut connection);
    let cancelled = forwarded("notifications/cancelled", r#"{"requestId":1}"#);
    let notified = connection.with(NOW, |server| server.notify(NOW, request.reply.id(), cancelled));
    let method = "notifications/cancelled".into();
    assert_eq!(notified, Err(UsageError::ReservedMethod { method }));
    assert!(connection.poll_action().is_none());
}

#[test]
fn parameters_of_a_forwarded_notification_are_an_object() {
    let mut connection = connection();
    let request = listen(&mut connection);
    let call = with_progress(&mut connection);
    for (about, method) in [
        (call.reply.id(), "notifications/progress"),
        (request.reply.id(), "notifications/tools/list_changed"),
    ] {
        let malformed = forwarded(method, "[]");
        let notified = connection.with(NOW, |server| server.notify(NOW, about, malformed));
        assert_eq!(notified, Err(UsageError::NotAnObject { name: method.into() }));
    }
    assert!(connection.poll_action().is_none());
}

#[test]
fn end_of_input_ends_a_forwarded_subscription_at_once() {
    let mut connection = connection();
    let request = listen(&mut connection);
    connection.handle_eof(NOW);
    let event = connection.poll_action();
    let Some(Action::Event(ServerEvent::Cancelled { about, cause })) = event else {
        panic!("{event:?}")
    };
    assert_eq!((about, cause), (request.reply.id(), CancelCause::Closed));
    let Some(Action::Transmit(lines)) = connection.poll_action() else { panic!("no result") };
    let said = serde_json::Deserializer::from_slice(&lines).into_iter::<Value>();
    let said: Vec<Value> = said.map(Result::unwrap).collect();
    let id = &said[0]["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!((&said[0]["id"], id), (&json!(1), &json!(1)), "{said:?}");
    assert_eq!((said.len(), &said[1]["params"]["requestId"]), (2, &json!(1)), "{said:?}");
    let event = connection.poll_action();
    assert!(matches!(event, Some(Action::Event(ServerEvent::SessionEnded { .. }))), "{event:?}");
    assert!(matches!(connection.poll_action(), Some(Action::Event(ServerEvent::Closed))));
}

fn connection() -> Connection<Server> {
    let mut registry = Registry::new(Implementation::new("proxy", "1.0.0"));
    registry.forward(());
    Connection::server(registry.declaration(), Config::default())
}

fn send(connection: &mut Connection<Server>, message: &Value) {
    connection.handle_bytes(NOW, Bytes::from(format!("{message}\n")));
}

/// The next message to the client.
fn transmitted(connection: &mut Connection<Server>) -> Value {
    match connection.poll_action() {
        Some(Action::Transmit(line)) => serde_json::from_slice(&line).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Sends a request: returns what reaches the application, or the error.
fn request(connection: &mut Connection<Server>, message: &Value) -> Result<Request, Value> {
    send(connection, message);
    match connection.poll_action() {
        Some(Action::Event(ServerEvent::Request(request))) => Ok(request),
        Some(Action::Transmit(line)) => Err(serde_json::from_slice(&line).unwrap()),
        other => panic!("{other:?}"),
    }
}

fn initialize(connection: &mut Connection<Server>, id: u64) -> Result<Request, Value> {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "client", "version": "1"},
    });
    let message = json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params});
    request(connection, &message)
}

/// A subscription of a modern client that has reached the application.
fn listen(connection: &mut Connection<Server>) -> Request {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
    let message =
        json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params});
    request(connection, &message).unwrap()
}

/// A call of a modern client that wants progress, and has reached the application.
fn with_progress(connection: &mut Connection<Server>) -> Request {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": "t",
    });
    let params = json!({"name": "x", "_meta": meta});
    let message = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    request(connection, &message).unwrap()
}

fn initialized() -> Outcome {
    let result = r#"{"capabilities":{},"serverInfo":{"name":"server","version":"1"}}"#;
    Outcome::Complete(Json::parse(result).unwrap())
}

fn respond(connection: &mut Connection<Server>, request: Request, outcome: Outcome) {
    connection.with(NOW, |server| server.respond(NOW, request.reply, outcome));
}

fn forwarded(method: &str, params: &'static str) -> Notification {
    Notification::Forwarded { method: method.into(), params: Json::parse(params).unwrap() }
}
