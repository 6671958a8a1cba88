//! A modern server on a stream whose answers are a function's, for clients in virtual time.

use std::task::Waker;

use bytes::Bytes;
use mcp_proto::Instant;
use mcp_service::Drive;
use serde_json::{Value, json};

/// An answer to a method with its parameters: `{"result": …}`, `{"error": …}`, or none.
type Respond = dyn FnMut(&str, &Value) -> Option<Value>;

/// The server. It answers `server/discover` by itself.
pub struct Scripted {
    answer: Box<Respond>,
    input: Vec<u8>,
    output: Vec<u8>,
    is_closed: bool,
}

impl Scripted {
    /// A server that answers requests as `answer` says, which sees notifications too.
    pub fn new(answer: impl FnMut(&str, &Value) -> Option<Value> + 'static) -> Box<Self> {
        let (input, output) = (Vec::new(), Vec::new());
        Box::new(Self { answer: Box::new(answer), input, output, is_closed: false })
    }

    fn handle_line(&mut self, line: &[u8]) {
        let message: Value = serde_json::from_slice(line).unwrap_or_default();
        let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
        let body = if method == "server/discover" {
            let capabilities = json!({ "tools": {} });
            Some(json!({ "result": {
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private",
            } }))
        } else {
            (self.answer)(method, message.get("params").unwrap_or(&Value::Null))
        };
        let (Some(Value::Object(mut answer)), Some(id)) = (body, message.get("id")) else { return };
        answer.insert("jsonrpc".into(), json!("2.0"));
        answer.insert("id".into(), id.clone());
        self.output.extend_from_slice(Value::Object(answer).to_string().as_bytes());
        self.output.push(b'\n');
    }
}

impl Drive for Scripted {
    fn handle_bytes(&mut self, _now: Instant, data: Bytes) {
        self.input.extend_from_slice(&data);
        while let Some(end) = self.input.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.input.drain(..=end).collect();
            self.handle_line(&line);
        }
    }

    fn handle_eof(&mut self, _now: Instant) {
        self.is_closed = true;
    }

    fn handle_stop(&mut self, _now: Instant) {
        self.is_closed = true;
    }

    fn turn(&mut self, _now: Instant, _waker: &Waker) {}

    fn output(&self) -> &[u8] {
        &self.output
    }

    fn handle_written(&mut self, count: usize) {
        self.output.drain(..count);
    }

    fn handle_write_closed(&mut self) -> bool {
        false
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn wants_read(&self) -> bool {
        !self.is_closed
    }

    fn is_write_blocked(&self) -> bool {
        false
    }

    fn is_closed(&self) -> bool {
        self.is_closed
    }

    fn flush_deadline(&self) -> Option<Instant> {
        None
    }

    fn is_aborted(&self) -> bool {
        false
    }
}
