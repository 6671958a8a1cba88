//! Model of a bridge: the messages of its client and its server, and the requests without an
//! answer.

#![expect(clippy::panic, reason = "a violated property ends the run, and says what came")]

use std::collections::{BTreeMap, BTreeSet};

use mcp_proto::{Duration, Era, EraPolicy};
use serde_json::{Map, Value, json};

use super::super::script_bytes::ScriptBytes;
use crate::bridge::{Bridged, negotiation};

/// The methods that a client calls.
const METHODS: [&str; 6] = [
    "tools/call",
    "resources/read",
    "prompts/get",
    "resources/list",
    "completion/complete",
    "com.example/unknown",
];

/// The members of a result that one era has and the other one does not.
const OF_AN_ERA: [&str; 4] = ["resultType", "ttlMs", "cacheScope", "_meta"];

pub(super) struct BridgeModel {
    bridged: Bridged,
    down: Era,
    up: Era,
    /// The requests that the client has sent so far.
    sent: u64,
    /// Those that wait for an answer, by their ids at the client.
    waiting: BTreeMap<u64, UnansweredRequest>,
    /// Ids at the client that may get no answer any more: answered or cancelled.
    over: BTreeSet<u64>,
    /// Ids at the server that were answered or cancelled.
    answered: Vec<Value>,
    asked: u64,
    /// True if the peers have sent what no model reads.
    is_loose: bool,
}

struct UnansweredRequest {
    /// The id at the server.
    id: Value,
    has_progress: bool,
    /// The progress token at the server.
    token: Value,
}

impl BridgeModel {
    /// A bridge whose server is connected, and whose legacy client is initialized. Lines arrive in
    /// pieces of at most `chunk` bytes.
    pub(super) fn new(down: Era, up: Era, chunk: usize) -> Self {
        let mut bridged = Bridged::new(EraPolicy::Auto, negotiation(up));
        bridged.in_chunks_of(chunk);
        let mut model = Self {
            bridged,
            down,
            up,
            sent: 0,
            waiting: BTreeMap::new(),
            over: BTreeSet::new(),
            answered: Vec::new(),
            asked: 0,
            is_loose: false,
        };
        model.open();
        model
    }

    fn open(&mut self) {
        self.introduce();
        if self.down == Era::Legacy {
            let params = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"elicitation": {}, "sampling": {}, "roots": {}},
                "clientInfo": {"name": "client", "version": "1"},
            });
            self.bridged.client(
                &json!({"jsonrpc": "2.0", "id": "open", "method": "initialize", "params": params})
                    .to_string(),
            );
            self.introduce();
            let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            self.bridged.client(&initialized.to_string());
        }
        self.bridged.to_client();
        self.bridged.to_server();
    }

    /// Answers, as the server, the question who it is.
    fn introduce(&mut self) {
        let info = json!({"name": "server", "version": "1"});
        let capabilities = json!({"tools": {}, "resources": {}, "prompts": {}, "logging": {}});
        for asked in self.bridged.to_server() {
            let result = match self.up {
                Era::Legacy => json!({
                    "protocolVersion": "2025-11-25", "capabilities": capabilities,
                    "serverInfo": info,
                }),
                Era::Modern => json!({
                    "resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private",
                    "_meta": {"io.modelcontextprotocol/serverInfo": info},
                }),
            };
            if asked.get("id").is_some() {
                let answer = json!({"jsonrpc": "2.0", "id": asked.get("id"), "result": result});
                self.bridged.server(&answer.to_string());
            }
        }
    }

    /// The client sends a request, which the server gets.
    pub(super) fn request(&mut self, bytes: &mut ScriptBytes<'_>) {
        self.sent += 1;
        let id = self.sent;
        let method = bytes.pick(&METHODS).copied().unwrap_or("tools/call");
        let mut params = bytes.object(2);
        params.insert("name".into(), "x".into());
        params.insert("uri".into(), "a:b".into());
        let expected = params.clone();
        let kept = json!({"com.example/key": bytes.value(1)});
        let has_progress = bytes.next() & 1 == 1;
        let mut meta = kept.clone();
        if let Some(meta) = meta.as_object_mut() {
            if has_progress {
                meta.insert("progressToken".into(), format!("p{id}").into());
            }
            if self.down == Era::Modern {
                meta.extend(envelope());
            }
        }
        params.insert("_meta".into(), meta);
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.bridged.client(&line.to_string());
        let got = self.bridged.to_server();
        let answers = self.take_answers();
        if self.is_loose {
            return;
        }
        let [got] = got.as_slice() else {
            // What is too much is answered at once.
            assert!(got.is_empty() && answers.len() == 1, "{line} became {got:?}, {answers:?}");
            assert!(answers.iter().all(|answer| answer.get("error").is_some()), "{answers:?}");
            return;
        };
        assert_eq!(answers, Vec::<Value>::new());
        assert_eq!(got.get("method"), Some(&json!(method)));
        let (params, meta) = without_meta(got.get("params"));
        assert_eq!(params, expected, "{line} became {got}");
        assert_eq!(own(&meta), own(kept.as_object().unwrap_or(&Map::new())), "{line} became {got}");
        let token = meta.get("progressToken").cloned().unwrap_or_default();
        assert_eq!(token.is_null(), !has_progress, "{got}");
        let upstream = got.get("id").cloned().unwrap_or_default();
        let is_known = self.waiting.values().any(|waiting| waiting.id == upstream);
        assert!(!is_known && !self.answered.contains(&upstream), "id twice: {got}");
        self.waiting.insert(id, UnansweredRequest { id: upstream, has_progress, token });
    }

    /// The server answers a request with a result, which the client gets.
    pub(super) fn respond(&mut self, bytes: &mut ScriptBytes<'_>) {
        let Some((id, waiting)) = self.take(bytes) else { return };
        let mut result = bytes.object(2);
        if self.up == Era::Modern {
            result.insert("resultType".into(), "complete".into());
        }
        let line = json!({"jsonrpc": "2.0", "id": waiting.id, "result": result});
        self.answered.push(waiting.id);
        self.bridged.server(&line.to_string());
        let Some(answer) = self.only_answer(id, &line) else { return };
        let got = answer.get("result").and_then(Value::as_object).cloned().unwrap_or_default();
        if self.down == self.up {
            assert_eq!(got, result, "{line} became {answer}");
        } else {
            assert_eq!(plain(got), plain(result), "{line} became {answer}");
        }
    }

    /// The server answers a request with an error, which the client gets.
    pub(super) fn refuse(&mut self, bytes: &mut ScriptBytes<'_>) {
        const CODES: [i64; 6] = [-32602, -32603, -32002, -32601, 1, -32042];
        let Some((id, waiting)) = self.take(bytes) else { return };
        let code = bytes.pick(&CODES).copied().unwrap_or(-32603);
        let error = json!({"code": code, "message": "so", "data": bytes.value(2)});
        let line = json!({"jsonrpc": "2.0", "id": waiting.id, "error": error});
        self.answered.push(waiting.id);
        self.bridged.server(&line.to_string());
        let Some(answer) = self.only_answer(id, &line) else { return };
        let got = answer.get("error").cloned().unwrap_or_default();
        if self.down == self.up {
            assert_eq!(got, error, "{line} became {answer}");
        } else {
            let same = |name| got.get(name) == error.get(name);
            assert!(same("message") && same("data"), "{line} became {answer}");
        }
    }

    /// The client cancels a request: the server is told, and nothing is answered.
    pub(super) fn cancel(&mut self, bytes: &mut ScriptBytes<'_>) {
        let Some((id, waiting)) = self.take(bytes) else { return };
        let line = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id},
        });
        self.bridged.client(&line.to_string());
        self.over.insert(id);
        let told = self.bridged.to_server();
        let is_it = |line: &&Value| line.pointer("/params/requestId") == Some(&waiting.id);
        if !self.is_loose {
            assert_eq!(told.iter().filter(is_it).count(), 1, "{told:?}");
        }
        self.answered.push(waiting.id);
        self.take_answers();
    }

    /// The server tells of progress.
    pub(super) fn progress(&mut self, bytes: &mut ScriptBytes<'_>) {
        let wants = self.waiting.iter().filter(|(_, waiting)| waiting.has_progress);
        let tokens: Vec<_> = wants.map(|(id, waiting)| (*id, waiting.token.clone())).collect();
        let Some((id, token)) = bytes.pick(&tokens).cloned() else { return };
        let mut params = bytes.object(1);
        params.insert("progressToken".into(), token);
        params.insert("progress".into(), 1.into());
        let method = "notifications/progress";
        let line = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.bridged.server(&line.to_string());
        let told = self.bridged.to_client();
        if self.is_loose {
            return self.check(&told);
        }
        params.insert("progressToken".into(), format!("p{id}").into());
        let expected = json!({"jsonrpc": "2.0", "method": method, "params": params});
        assert_eq!(told, [expected], "{line}");
    }

    /// A legacy server asks its client.
    pub(super) fn ask(&mut self, bytes: &mut ScriptBytes<'_>) {
        if (self.down, self.up) != (Era::Legacy, Era::Legacy) {
            return;
        }
        self.asked += 1;
        let id = format!("ask {}", self.asked);
        let params = Value::Object(bytes.object(2));
        let method = "elicitation/create";
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.bridged.server(&line.to_string());
        let asked = self.bridged.to_client();
        if self.is_loose {
            return self.check(&asked);
        }
        let [asked] = asked.as_slice() else { panic!("{line} became {asked:?}") };
        assert_eq!(asked.get("method"), Some(&json!(method)));
        // Without members they may be left out.
        assert_eq!(asked.get("params").unwrap_or(&json!({})), &params);
        let result = Value::Object(bytes.object(2));
        let answer = json!({"jsonrpc": "2.0", "id": asked.get("id"), "result": result});
        self.bridged.client(&answer.to_string());
        let got = self.bridged.to_server();
        let [got] = got.as_slice() else { panic!("{answer} became {got:?}") };
        assert_eq!((got.get("id"), got.get("result")), (Some(&json!(id)), Some(&result)));
    }

    /// Time passes. A request that takes too long is answered with an error.
    pub(super) fn pass(&mut self, bytes: &mut ScriptBytes<'_>) {
        let millis = 1 << (u64::from(bytes.next()) % 20);
        self.bridged.pass(Duration::from_millis(millis));
        self.bridged.to_server();
        self.settle();
    }

    /// The server answers once more, which nobody gets.
    pub(super) fn repeat(&mut self, bytes: &mut ScriptBytes<'_>) {
        let Some(id) = bytes.pick(&self.answered).cloned() else { return };
        let line = json!({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete"}});
        self.bridged.server(&line.to_string());
        if !self.is_loose {
            assert_eq!(self.take_answers(), Vec::<Value>::new());
        }
    }

    /// Either peer sends anything. What comes of that is not known, but that nothing is answered
    /// twice.
    pub(super) fn babble(&mut self, bytes: &mut ScriptBytes<'_>) {
        let (who, length) = (bytes.next(), usize::from(bytes.next()));
        let text = String::from_utf8_lossy(bytes.take(length)).replace('\n', " ");
        self.is_loose = true;
        if who & 1 == 0 {
            self.bridged.client(&text);
        } else {
            self.bridged.server(&text);
        }
        self.bridged.to_server();
        self.settle();
    }

    /// The server ends: whoever waits gets an answer, and whoever comes then too. Returns all bytes
    /// that the client has got, and all that the server has got.
    pub(super) fn end(mut self) -> [Vec<u8>; 2] {
        self.bridged.server_ends();
        self.bridged.to_server();
        self.settle();
        if !self.is_loose {
            let left: Vec<_> = self.waiting.keys().collect();
            assert!(left.is_empty(), "not answered: {left:?}");
            assert!(self.bridged.responses <= self.bridged.requests);
        }
        self.bridged.into_sent()
    }

    /// Takes answers to requests that wait; whatever they are.
    fn settle(&mut self) {
        for answer in self.take_answers() {
            let id = answer.get("id").and_then(Value::as_u64);
            if let Some(waiting) = id.and_then(|id| self.waiting.remove(&id)) {
                self.answered.push(waiting.id);
            }
        }
    }

    /// A request that waits.
    fn take(&mut self, bytes: &mut ScriptBytes<'_>) -> Option<(u64, UnansweredRequest)> {
        let ids: Vec<u64> = self.waiting.keys().copied().collect();
        let id = *bytes.pick(&ids)?;
        self.waiting.remove(&id).map(|waiting| (id, waiting))
    }

    /// The one answer that has come, to this request.
    fn only_answer(&mut self, id: u64, line: &Value) -> Option<Value> {
        let answers = self.take_answers();
        if self.is_loose {
            return None;
        }
        let [answer] = answers.as_slice() else { panic!("{line} became {answers:?}") };
        assert_eq!(answer.get("id"), Some(&json!(id)));
        Some(answer.clone())
    }

    /// The answers that the client has got.
    fn take_answers(&mut self) -> Vec<Value> {
        let mut lines = self.bridged.to_client();
        self.check(&lines);
        lines.retain(|line| line.get("method").is_none());
        lines
    }

    /// Nothing is answered twice, nor after it was cancelled.
    fn check(&mut self, lines: &[Value]) {
        let answers = lines.iter().filter(|line| line.get("method").is_none());
        for id in answers.filter_map(|line| line.get("id").and_then(Value::as_u64)) {
            // A babbling client may use any id, again and again.
            assert!(self.over.insert(id) || self.is_loose, "{id} is answered twice");
        }
    }
}

/// The members of `_meta` that a modern client sends with each request.
fn envelope() -> Map<String, Value> {
    let envelope = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "client", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    });
    envelope.as_object().cloned().unwrap_or_default()
}

/// Parameters, and their `_meta`.
fn without_meta(params: Option<&Value>) -> (Map<String, Value>, Map<String, Value>) {
    let mut params = params.and_then(Value::as_object).cloned().unwrap_or_default();
    let meta = params.remove("_meta").unwrap_or_default();
    (params, meta.as_object().cloned().unwrap_or_default())
}

/// The members of `_meta` that belong to no hop.
fn own(meta: &Map<String, Value>) -> Map<String, Value> {
    let is_own = |key: &str| key != "progressToken" && !key.starts_with("io.modelcontextprotocol/");
    meta.iter().filter(|(key, _)| is_own(key)).map(|(key, it)| (key.clone(), it.clone())).collect()
}

/// A result without what belongs to an era.
fn plain(mut result: Map<String, Value>) -> Map<String, Value> {
    for member in OF_AN_ERA {
        result.remove(member);
    }
    result
}
