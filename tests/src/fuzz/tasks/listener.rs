//! A subscriber to the task, which is told of states in whatever order they are published.

use std::sync::Arc;

use mcp_proto::ext;
use mcp_proto::server::task::Record;
use mcp_proto::server::{Change, Config, Outcome, Registry, Server, ServerEvent, TaskUpdate};
use mcp_proto::stdio::Connection;
use mcp_proto::types::Implementation;
use mcp_proto::{Action, Binding, Bytes, Instant, Json, Machine};
use serde_json::{Value, json};

/// The server of a client that has subscribed to the task.
pub(super) struct TaskListener {
    server: Connection<Server>,
    /// The states of the task so far.
    states: Vec<Value>,
    /// Those that nobody has published.
    unpublished: Vec<Arc<TaskUpdate>>,
    /// The number of the state that the client was told of last.
    told: Option<usize>,
}

impl TaskListener {
    pub(super) fn new() -> Self {
        let mut registry = Registry::new(Implementation::new("tasks", "1.0.0"));
        registry.extension(ext::TASKS, Json::EMPTY_OBJECT).expect("an extension");
        registry.task_subscriptions(()).expect("it is declared");
        let server = Connection::server(registry.declaration(), Config::default());
        let mut listener = Self { server, states: Vec::new(), unpublished: Vec::new(), told: None };
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"extensions": {ext::TASKS: {}}},
        });
        let params = json!({"notifications": {"taskIds": ["t", "u"]}, "_meta": meta});
        let line =
            json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params});
        listener.server.handle_bytes(Instant::ZERO, Bytes::from(format!("{line}\n")));
        let said = listener.said();
        assert_eq!(said.len(), 1, "{said:?}");
        assert_eq!(said[0]["params"]["notifications"], json!({"taskIds": ["t"]}));
        listener
    }

    /// The store has another record.
    pub(super) fn written(&mut self, record: &Record) {
        self.states.push(record.detailed().decode().expect("a task"));
        self.unpublished.extend(record.update().map(Arc::new));
    }

    /// One of the states is published, not necessarily the oldest.
    pub(super) fn publish(&mut self, number: usize) {
        if let Some(at) = number.checked_rem(self.unpublished.len()) {
            let change = Change::TaskUpdated(self.unpublished.remove(at));
            let published =
                self.server.with(Instant::ZERO, |server| server.publish(Instant::ZERO, &change));
            assert!(published.is_ok(), "{published:?}");
        }
    }

    /// The client reads.
    pub(super) fn take(&mut self) {
        for said in self.said() {
            assert_eq!(said["method"], "notifications/tasks", "{said}");
            let mut task = said["params"].clone();
            task.as_object_mut().expect("an object").remove("_meta");
            let from = self.told.map_or(0, |told| told + 1);
            let later = self.states.iter().skip(from).position(|state| *state == task);
            let at = later.unwrap_or_else(|| panic!("no later state than {from}: {task}"));
            self.told = Some(from + at);
        }
    }

    /// All is published and read: the client knows the last state.
    pub(super) fn end(mut self) {
        while !self.unpublished.is_empty() {
            self.publish(self.unpublished.len() / 2);
        }
        self.take();
        let told = self.told.and_then(|told| self.states.get(told));
        assert_eq!(told, self.states.last(), "the last state");
    }

    /// The messages for the client; its subscription is looked up.
    fn said(&mut self) -> Vec<Value> {
        let mut text = Vec::new();
        while let Some(action) = self.server.poll_action() {
            match action {
                Action::Transmit(bytes) => text.extend_from_slice(&bytes),
                Action::Event(ServerEvent::Request(request)) => {
                    let found = Json::encode(&json!({"taskIds": ["t", "v"]})).expect("JSON");
                    let outcome = Outcome::Complete(found);
                    self.server.with(Instant::ZERO, |server| {
                        server.respond(Instant::ZERO, request.reply, outcome);
                    });
                }
                Action::Event(event) => panic!("{event:?}"),
                Action::Close => panic!("closed"),
            }
        }
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).expect("JSON")).collect()
    }
}
