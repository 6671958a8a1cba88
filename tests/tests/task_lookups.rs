//! Subscriptions to tasks, at a machine whose application looks up the tasks.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot begin has failed"
)]

use std::sync::Arc;

use mcp_proto::ext;
use mcp_proto::server::task::{Record, TaskId};
use mcp_proto::server::{
    Change, Config, Outcome, Registry, Request, Server, ServerEvent, TaskUpdate,
};
use mcp_proto::stdio::Connection;
use mcp_proto::types::Implementation;
use mcp_proto::{Action, Binding, Bytes, Duration, Instant, Json, Limits, Machine};
use serde_json::{Value, json};

const NOW: Instant = Instant::ZERO;
const TIMEOUT: Duration = Duration::from_secs(5);

#[test]
fn lookup_that_was_cancelled_leaves_no_subscription() {
    let mut server = Site::new(|limits| limits.max_subscriptions = 1);
    for id in 1..4 {
        assert!(server.listen(id).is_ok());
        server.send(&json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": id},
        }));
    }
}

#[test]
fn lookup_that_timed_out_leaves_no_subscription() {
    let mut server = Site::new(|limits| {
        limits.max_subscriptions = 1;
        limits.handler_timeout = TIMEOUT;
    });
    for id in 1..4 {
        assert!(server.listen(id).is_ok());
        server.connection.handle_timeout(NOW + TIMEOUT);
        let said = server.said();
        assert_eq!(said[0]["error"]["code"], -32603, "{said:?}");
    }
}

#[test]
fn lookup_that_was_refused_leaves_no_subscription() {
    let mut server = Site::new(|limits| {
        limits.max_subscriptions = 2;
        limits.max_in_flight = 1;
    });
    let first = server.listen(1).unwrap();
    let refused = server.listen(2).unwrap_err();
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
    server.respond(first);
    assert!(server.listen(3).is_ok());
}

#[test]
fn state_of_another_principals_task_is_not_sent() {
    let mut server = Site::new(|_| ());
    let first = server.listen(1).unwrap();
    server.respond(first);
    server.publish(1, Some("alice"));
    assert_eq!(server.said(), [] as [Value; 0]);
    server.publish(1, None);
    assert_eq!(server.said()[0]["method"], "notifications/tasks");
}

#[test]
fn state_that_is_published_late_is_not_sent() {
    let mut server = Site::new(|_| ());
    let first = server.listen(1).unwrap();
    server.respond(first);
    for (order, sent) in [(2, 1), (1, 0), (2, 0), (3, 1)] {
        server.publish(order, None);
        assert_eq!(server.said().len(), sent, "{order}");
    }
}

/// A server and its one client.
struct Site {
    connection: Connection<Server>,
}

impl Site {
    fn new(bound: impl FnOnce(&mut Limits)) -> Self {
        let mut registry = Registry::new(Implementation::new("tasks", "1.0.0"));
        registry.extension(ext::TASKS, Json::EMPTY_OBJECT).unwrap();
        registry.task_subscriptions(()).unwrap();
        let mut config = Config::default();
        bound(&mut config.limits);
        Self { connection: Connection::server(registry.declaration(), config) }
    }

    fn send(&mut self, message: &Value) {
        self.connection.handle_bytes(NOW, Bytes::from(format!("{message}\n")));
        self.said();
    }

    /// Subscribes to the task `t`: returns the lookup that the application is asked for, or the
    /// error.
    fn listen(&mut self, id: u64) -> Result<Request, Value> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"extensions": {ext::TASKS: {}}},
        });
        let params = json!({"notifications": {"taskIds": ["t"]}, "_meta": meta});
        let message = json!({
            "jsonrpc": "2.0",
            "id": id,
            "method": "subscriptions/listen",
            "params": params,
        });
        self.connection.handle_bytes(NOW, Bytes::from(format!("{message}\n")));
        match self.connection.poll_action() {
            Some(Action::Event(ServerEvent::Request(request))) => Ok(request),
            Some(Action::Transmit(line)) => Err(serde_json::from_slice(&line).unwrap()),
            other => panic!("{other:?}"),
        }
    }

    /// The task `t` is found.
    fn respond(&mut self, request: Request) {
        let found = Json::parse(r#"{"taskIds":["t"]}"#).unwrap();
        self.connection.with(NOW, |server| {
            server.respond(NOW, request.reply, Outcome::Complete(found));
        });
        let said = self.said();
        assert_eq!(said[0]["params"]["notifications"], json!({"taskIds": ["t"]}));
    }

    /// Publishes the state of this number of the task `t`, which belongs to this principal.
    fn publish(&mut self, order: u64, owner: Option<&str>) {
        let id = TaskId::from(String::from("t"));
        let task = Record::new(Duration::ZERO, &id, TIMEOUT, TIMEOUT).detailed();
        let update = TaskUpdate::new(task, order, owner).unwrap();
        let change = Change::TaskUpdated(Arc::new(update));
        self.connection.with(NOW, |server| server.publish(NOW, &change)).unwrap();
    }

    /// The messages until nothing is left to do.
    fn said(&mut self) -> Vec<Value> {
        let mut said = Vec::new();
        while let Some(action) = self.connection.poll_action() {
            if let Action::Transmit(lines) = action {
                let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
                said.extend(lines.map(|line| serde_json::from_slice::<Value>(line).unwrap()));
            }
        }
        said
    }
}
