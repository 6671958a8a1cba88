//! Replies and inputs belong to one machine, and nothing is sent to a client that is gone.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot begin has failed")]

use std::sync::Arc;

use mcp_proto::server::{
    Change, Config, Declaration, InputId, List, Notification, Outcome, Progress, Registry, Request,
    Server, ServerEvent,
};
use mcp_proto::stdio::{Connection, Lines};
use mcp_proto::stream::{self, Framing, FramingError};
use mcp_proto::types::{Implementation, InputRequest, Tool};
use mcp_proto::{
    Action, Binding, Bytes, BytesMut, Duration, Instant, Json, Limits, Machine, UsageError,
};

const NOW: Instant = Instant::ZERO;
const TIMEOUT: Duration = Duration::from_secs(1);

#[test]
fn t050_a_reply_that_strays_to_another_machine_is_dropped() {
    let (mut one, mut other) = (connection(), connection());
    let (request, others) = (call(&mut one), call(&mut other));

    let progress = Progress::new(1);
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

#[test]
fn no_change_is_sent_after_the_end() {
    let mut connection = legacy();
    connection.handle_eof(NOW);
    while connection.poll_action().is_some() {}
    connection.with(NOW, Server::publish_all);
    assert!(connection.poll_action().is_none());
}

#[test]
fn withdrawn_input_has_no_answer_and_belongs_to_one_machine() {
    let (mut one, mut other) = (legacy(), legacy());
    let input = ask(&mut one);
    ask(&mut other);
    let strayed = other.with(NOW, |server| server.cancel_input(NOW, input));
    assert_eq!(strayed, Err(UsageError::NotInFlight));
    assert!(other.poll_timeout().is_some());

    assert_eq!(one.with(NOW, |server| server.cancel_input(NOW, input)), Ok(()));
    let said = transmissions(&mut one);
    assert!(said.contains("notifications/cancelled"), "{said}");
    assert_eq!(one.poll_timeout(), None);
    one.handle_timeout(NOW + 2 * TIMEOUT);
    assert!(one.poll_action().is_none());
}

/// Only clients of 2025-11-25 get this notification, but the error is the same with all clients.
#[test]
fn a_completed_elicitation_without_an_object_is_refused_whoever_the_client_is() {
    let mut connection = connection();
    let request = call(&mut connection);
    let mut notify = |params: &'static str| {
        let method = "notifications/elicitation/complete".to_owned();
        let other = Notification::Other { method, params: Json::parse(params).unwrap() };
        connection.with(NOW, |server| server.notify(NOW, request.reply.id(), other))
    };
    let name = "notifications/elicitation/complete".to_owned();
    assert_eq!(notify(r#"["e"]"#), Err(UsageError::NotAnObject { name }));
    assert_eq!(notify(r#"{"elicitationId":"e"}"#), Ok(()));
    assert!(connection.poll_action().is_none());
}

#[test]
fn nothing_is_sent_to_a_client_that_has_disconnected() {
    let mut connection = connection();
    let request = call(&mut connection);
    let listen = modern(2, "subscriptions/listen", r#""notifications":{"toolsListChanged":true},"#);
    connection.handle_bytes(NOW, listen);
    transmissions(&mut connection);
    connection.with(NOW, |server| {
        server.respond(NOW, request.reply, Outcome::Complete(Json::EMPTY_OBJECT));
        server.publish(NOW, &Change::ListChanged(List::Tools)).unwrap();
        server.handle_disconnect(NOW);
    });
    assert!(matches!(connection.poll_action(), Some(Action::Event(ServerEvent::Closed))));
    assert!(matches!(connection.poll_action(), Some(Action::Close)));
    assert!(connection.poll_action().is_none());
}

/// A handler's result may be nested to any depth, also if `_meta` is merged into it.
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

/// What is handed on as it is makes the same bytes as what is copied.
#[test]
fn a_long_result_goes_out_without_a_copy() {
    let text = "x".repeat(100_000);
    let results = [
        (format!(r#"{{"content":[],"text":"{text}"}}"#), true),
        (format!(r#"{{ "content":[],"text":"{text}" }}"#), true),
        (format!(r#"{{"text":"{text}","_meta":{{"k":1}},"content":[]}}"#), false),
        (format!("{{\"content\":[],\n\"text\":\"{text}\"\r}}"), false),
        (format!("{{{}}}", " ".repeat(100_000)), true),
        (r#"{"content":[],"text":"short"}"#.to_owned(), false),
    ];
    for (result, is_shared) in results {
        let result = Json::parse(result).unwrap();
        let parts = transmitted::<Lines>(&result);
        assert_eq!(parts.concat(), transmitted::<Copied>(&result).concat());
        assert!(parts.concat().ends_with(b"}\n"));
        let buffer = result.as_bytes().as_ptr_range();
        let shared = parts.iter().filter(|part| buffer.contains(&part.as_ptr())).count();
        assert_eq!(shared, usize::from(is_shared), "{:.40}", result.as_str());
    }
}

/// Lines without parts that are handed on as they are.
struct Copied(Lines);

impl Framing for Copied {
    fn new(limits: &Limits) -> Self {
        Self(Lines::new(limits))
    }

    fn push(&mut self, data: Bytes) {
        self.0.push(data);
    }

    fn next_message(&mut self) -> Option<Result<Bytes, FramingError>> {
        self.0.next_message()
    }

    fn finish(&mut self) -> Option<Result<Bytes, FramingError>> {
        self.0.finish()
    }

    fn write(out: &mut BytesMut, text: impl FnOnce(&mut BytesMut)) {
        Lines::write(out, text);
    }
}

/// What is transmitted if a call has this result, between two errors.
fn transmitted<F: Framing>(result: &Json) -> Vec<Bytes> {
    let mut connection = stream::Connection::<Server, F>::server(declaration(), Config::default());
    let request = call(&mut connection);
    let unknown = Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"unknown\"}\n");
    connection.handle_bytes(NOW, unknown.clone());
    connection.with(NOW, |server| {
        server.respond(NOW, request.reply, Outcome::Complete(result.clone()));
    });
    connection.handle_bytes(NOW, unknown);
    let mut parts = Vec::new();
    while let Some(Action::Transmit(part)) = connection.poll_action() {
        assert!(!part.is_empty());
        parts.push(part);
    }
    assert_eq!(String::from_utf8(parts.concat()).unwrap().lines().count(), 3);
    parts
}

/// A server whose one tool is `hold`.
fn connection() -> Connection<Server> {
    Connection::server(declaration(), Config::default())
}

fn declaration() -> Arc<Declaration> {
    let mut registry = Registry::new(Implementation::new("fixture", "1.0.0"));
    let schema = Json::parse(r#"{"type":"object"}"#).unwrap();
    registry.add_tool(Tool::new("hold", schema), ()).unwrap();
    registry.list_changed(List::Tools);
    registry.declaration()
}

/// A server whose client opened a session of a legacy revision.
fn legacy() -> Connection<Server> {
    let mut connection = connection();
    connection.handle_bytes(NOW, Bytes::from_static(INITIALIZE.as_bytes()));
    transmissions(&mut connection);
    connection
}

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{"roots":{}},"clientInfo":{"name":"client","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n"
);

/// Asks the client for its roots.
fn ask(connection: &mut Connection<Server>) -> InputId {
    let request = InputRequest::list_roots();
    connection.with(NOW, |server| server.request_input(NOW, request, TIMEOUT)).unwrap()
}

/// All that is transmitted until nothing is left to do.
fn transmissions(connection: &mut Connection<Server>) -> String {
    let mut said = Vec::new();
    while let Some(Action::Transmit(part)) = connection.poll_action() {
        said.extend_from_slice(&part);
    }
    String::from_utf8(said).unwrap()
}

/// A request of a modern client.
fn modern(id: u64, method: &str, params: &str) -> Bytes {
    let envelope = concat!(
        r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
        r#""io.modelcontextprotocol/clientCapabilities":{}}"#
    );
    let line = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}{envelope}}}}}\n"
    );
    Bytes::from(line)
}

/// A call that has reached its handler; every client calls it 1.
fn call<F: Framing>(connection: &mut stream::Connection<Server, F>) -> Request {
    connection.handle_bytes(NOW, modern(1, "tools/call", r#""name":"hold","#));
    match connection.poll_action() {
        Some(Action::Event(ServerEvent::Request(request))) => request,
        other => panic!("no request, but {other:?}"),
    }
}
