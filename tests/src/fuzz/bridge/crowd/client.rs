//! A client in a crowd: what it sends is sound, and what it reads must be.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use mcp_proto::Era;
use mcp_proto::server::Server;
use mcp_proto::stdio::Connection;
use serde_json::{Map, Value, json};

const METHODS: [&str; 16] = [
    "tools/call",
    "tools/call",
    "resources/read",
    "prompts/get",
    "tools/list",
    "resources/list",
    "completion/complete",
    "com.example/unknown",
    "resources/subscribe",
    "resources/unsubscribe",
    "logging/setLevel",
    "subscriptions/listen",
    "subscriptions/listen",
    "tasks/get",
    "server/discover",
    "tools/call",
];

const URIS: [&str; 4] = ["t:1", "t:2", "t:3", "a:b"];

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The most results that ask for input which a client remembers.
const MAX_RETRIES: usize = 4;

pub(super) struct CrowdClient {
    at: usize,
    pub(super) era: Era,
    pub(super) server: Connection<Server>,
    pub(super) is_closed: bool,
    /// True if the bridge does not choose the resources that it is told of.
    pub(super) hears_all: bool,
    /// All bytes that it has got.
    pub(super) got: Vec<u8>,
    /// True once a server that was asked to open a session has done so.
    is_open: bool,
    sent: u64,
    open: BTreeMap<u64, OpenRequest>,
    /// The server's requests, and those without an answer.
    asked: BTreeSet<String>,
    open_asks: VecDeque<Value>,
    /// The resources that it has subscribed to, at any time.
    uris: BTreeSet<String>,
    retries: VecDeque<(OpenRequest, Value)>,
}

#[derive(Clone)]
struct OpenRequest {
    method: &'static str,
    params: Map<String, Value>,
    tag: String,
    has_progress: bool,
}

impl CrowdClient {
    pub(super) fn new(at: usize, era: Era, server: Connection<Server>) -> Self {
        Self {
            at,
            era,
            server,
            is_closed: false,
            hears_all: true,
            got: Vec::new(),
            is_open: era == Era::Modern,
            sent: 0,
            open: BTreeMap::new(),
            asked: BTreeSet::new(),
            open_asks: VecDeque::new(),
            uris: BTreeSet::new(),
            retries: VecDeque::new(),
        }
    }

    pub(super) fn initialize(&mut self) -> String {
        const VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2024-11-05"];
        let version = VERSIONS.get(self.at % 3).copied().unwrap_or_default();
        let params = json!({
            "protocolVersion": version,
            "capabilities": {"elicitation": {}, "sampling": {}, "roots": {}},
            "clientInfo": {"name": "client", "version": "1"},
        });
        let params = params.as_object().cloned().unwrap_or_default();
        self.send("initialize", params, String::new(), false)
    }

    pub(super) fn initialized(&self) -> String {
        let method = match self.era {
            Era::Legacy => "notifications/initialized",
            Era::Modern => "notifications/com.example",
        };
        json!({"jsonrpc": "2.0", "method": method}).to_string()
    }

    /// A request.
    pub(super) fn request(&mut self, which: u8, manner: u8) -> String {
        let method = METHODS.get(usize::from(which % 16)).copied().unwrap_or("tools/call");
        let tag = format!("tag-{}-{}.", self.at, self.sent);
        let uri = URIS.get(usize::from(manner % 4)).copied().unwrap_or_default();
        let filter = match manner / 4 % 4 {
            0 => json!({"toolsListChanged": true}),
            1 => json!({"resourceSubscriptions": [uri]}),
            2 => json!({"resourcesListChanged": true, "resourceSubscriptions": ["t:1", uri]}),
            _ => json!({}),
        };
        let params = json!({
            "name": "t", "uri": uri, "tag": tag, "level": "debug", "taskId": "k",
            "notifications": filter, "ref": {"type": "ref/prompt", "name": "p"},
        });
        let mut params = params.as_object().cloned().unwrap_or_default();
        let has_progress = manner & 16 != 0;
        let mut meta = Map::new();
        if self.era == Era::Modern {
            let offers = match manner / 32 % 4 {
                0 => json!({"elicitation": {}, "roots": {}, "sampling": {}}),
                1 => json!({"elicitation": {"form": {}, "url": {}}}),
                2 => json!({"roots": {}, "sampling": {"tools": {}}}),
                _ => json!({}),
            };
            meta.insert("io.modelcontextprotocol/protocolVersion".into(), "2026-07-28".into());
            meta.insert("io.modelcontextprotocol/clientCapabilities".into(), offers);
            if manner & 128 != 0 {
                meta.insert("io.modelcontextprotocol/logLevel".into(), "debug".into());
            }
        }
        params.insert("_meta".into(), meta.into());
        if method == "resources/subscribe" {
            self.uris.insert(uri.to_owned());
        }
        self.send(method, params, tag, has_progress)
    }

    fn send(
        &mut self,
        method: &'static str,
        params: Map<String, Value>,
        tag: String,
        has_progress: bool,
    ) -> String {
        let id = self.sent;
        self.sent += 1;
        let mut sent = params.clone();
        if has_progress && let Some(meta) = sent.get_mut("_meta").and_then(Value::as_object_mut) {
            meta.insert("progressToken".into(), format!("p{id}").into());
        }
        if !self.is_closed {
            self.open.insert(id, OpenRequest { method, params, tag, has_progress });
        }
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": sent}).to_string()
    }

    pub(super) fn cancel(&mut self, number: u8) -> Option<String> {
        // Before its connection is opened a server drops what is no request.
        if !self.is_open {
            return None;
        }
        let is_probe =
            |open: &OpenRequest| ["initialize", "server/discover"].contains(&open.method);
        let is_cancellable = |(_, open): &(&u64, &OpenRequest)| !is_probe(open);
        let ids: Vec<u64> = self.open.iter().filter(is_cancellable).map(|(id, _)| *id).collect();
        let id = ids.get(usize::from(number).checked_rem(ids.len())?)?;
        self.open.remove(id);
        let params = json!({"requestId": id, "reason": "no"});
        let method = "notifications/cancelled";
        Some(json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string())
    }

    /// Answers a request of the server.
    pub(super) fn answer(&mut self, manner: u8) -> Option<String> {
        let id = self.open_asks.pop_front()?;
        let body = match manner % 5 {
            0 => json!({"action": "accept", "content": {"a": 1}}),
            1 => json!({"roots": [], "role": "assistant", "model": "m", "action": "decline"}),
            2 => {
                let content = json!({"type": "text", "text": ""});
                json!({"role": "assistant", "model": "m", "content": content})
            }
            3 => json!({}),
            _ => {
                let error = json!({"code": -1, "message": "no"});
                return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
            }
        };
        Some(json!({"jsonrpc": "2.0", "id": id, "result": body}).to_string())
    }

    /// Sends a request again, with the input that its result asks for.
    pub(super) fn retry(&mut self, manner: u8) -> Option<String> {
        // One that was used may be used again, which is refused.
        let (open, result) =
            if manner < 128 { self.retries.pop_front()? } else { self.retries.front()?.clone() };
        let mut params = open.params;
        if let Some(state) = result.get("requestState") {
            params.insert("requestState".into(), state.clone());
        }
        let answer = match manner % 4 {
            0 => json!({"action": "accept", "content": {}}),
            1 => json!({"roots": []}),
            2 => {
                json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": ""}})
            }
            _ => json!({"action": "decline"}),
        };
        let asked = result.get("inputRequests").and_then(Value::as_object);
        let keys = asked.map(|asked| asked.keys().cloned().collect()).unwrap_or_default();
        let keys: Vec<String> = if manner & 16 == 0 { keys } else { Vec::new() };
        let given: Map<String, Value> = keys.into_iter().map(|key| (key, answer.clone())).collect();
        params.insert("inputResponses".into(), given.into());
        Some(self.send(open.method, params, open.tag, open.has_progress))
    }

    /// It reads nothing more.
    pub(super) fn leaves(&mut self) {
        self.open_asks.clear();
    }

    pub(super) fn closes(&mut self) {
        assert!(!self.is_closed, "closed twice");
        self.is_closed = true;
        self.open.clear();
    }

    pub(super) fn reads(&mut self, bytes: &[u8]) {
        assert!(!self.is_closed, "bytes after the end");
        self.got.extend_from_slice(bytes);
        for line in String::from_utf8_lossy(bytes).lines() {
            let value: Value = serde_json::from_str(line).unwrap_or_default();
            assert!(value.is_object(), "no message: {line}");
            match value.get("method").and_then(Value::as_str) {
                None => self.response(&value),
                Some(method) if value.get("id").is_some() => self.request_of_server(method, &value),
                Some(method) => self.notification(method, &value),
            }
            self.check_tags(&value);
        }
    }

    fn response(&mut self, line: &Value) {
        let id = line.get("id").and_then(Value::as_u64);
        let open = id.and_then(|id| self.open.remove(&id));
        assert!(open.is_some(), "a response to nothing: {line}");
        let Some(open) = open else { return };
        let text = line.to_string();
        for tag in tags(&text) {
            assert_eq!(tag, open.tag, "the response of another request: {line}");
        }
        let result = line.get("result");
        self.is_open |= open.method == "initialize" && result.is_some();
        // Within the legacy era a result passes unchanged, whatever is in it.
        if let Some(result) = result
            && self.era == Era::Modern
            && result.get("resultType").and_then(Value::as_str) == Some("input_required")
        {
            self.retries.push_back((open, result.clone()));
            if self.retries.len() > MAX_RETRIES {
                self.retries.pop_front();
            }
        }
    }

    fn request_of_server(&mut self, method: &str, line: &Value) {
        assert_eq!(self.era, Era::Legacy, "a request to a modern client: {line}");
        let id = line.get("id").cloned().unwrap_or_default();
        assert!(self.asked.insert(id.to_string()), "an id is used twice: {line}");
        assert_ne!(method, "initialize");
        self.open_asks.push_back(id);
    }

    fn notification(&mut self, method: &str, line: &Value) {
        let params = line.get("params").cloned().unwrap_or_default();
        let subscription = params.pointer("/_meta").and_then(|meta| meta.get(SUBSCRIPTION_ID));
        if let Some(id) = subscription {
            let open = id.as_u64().and_then(|id| self.open.get(&id));
            let listens = open.is_some_and(|open| open.method == "subscriptions/listen");
            assert!(listens && self.era == Era::Modern, "no such subscription: {line}");
        }
        match method {
            "notifications/progress" => {
                let token = params.get("progressToken").and_then(Value::as_str).unwrap_or_default();
                let id = token.strip_prefix('p').and_then(|id| id.parse().ok());
                let open = id.and_then(|id: u64| self.open.get(&id));
                assert!(open.is_some_and(|open| open.has_progress), "progress of nothing: {line}");
            }
            "notifications/cancelled" => {
                let id = params.get("requestId").cloned().unwrap_or_default();
                // The server ends a subscription, whose response has come.
                let is_known = self.asked.contains(&id.to_string()) || self.era == Era::Modern;
                assert!(is_known, "nothing to cancel: {line}");
                self.open_asks.retain(|asked| *asked != id);
            }
            "notifications/resources/updated" if self.era == Era::Legacy => {
                let uri = params.get("uri").and_then(Value::as_str).unwrap_or_default();
                assert!(
                    self.hears_all || self.uris.contains(uri),
                    "nobody wants to hear of it: {line}"
                );
            }
            "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed"
            | "notifications/resources/updated" => {
                let is_asked = subscription.is_some() || self.era == Era::Legacy;
                assert!(is_asked, "nobody wants to hear of it: {line}");
            }
            _ => {}
        }
    }

    /// No client reads what is of another.
    fn check_tags(&self, line: &Value) {
        let own = format!("tag-{}-", self.at);
        for tag in tags(&line.to_string()) {
            assert!(tag.starts_with(&own), "of another client: {line}");
        }
    }

    /// All requests have their responses, `or` all but subscriptions.
    pub(super) fn check_answered(&self, also_subscriptions: bool) {
        let waits =
            |open: &&OpenRequest| also_subscriptions || open.method != "subscriptions/listen";
        let left: Vec<&str> = self.open.values().filter(waits).map(|open| open.method).collect();
        assert!(left.is_empty(), "not answered to {}: {left:?}", self.at);
    }
}

/// The tags in a text.
fn tags(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("tag-") {
        let rest = text.get(at..).unwrap_or_default();
        let tag = rest.split_once('.').map(|(tag, _)| format!("{tag}."));
        found.extend(tag);
    }
    found
}
