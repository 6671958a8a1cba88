//! The era of a stream whose `initialize` another server answers: only a result makes it legacy.

use std::sync::Arc;

use mcp_proto::server::{Config, InputRequired, Outcome, Registry, Request, Server, ServerEvent};
use mcp_proto::stdio::Connection;
use mcp_proto::types::Implementation;
use mcp_proto::{
    Action, Binding, Bytes, Duration, Era, ErrorData, Instant, Json, Limits, Machine, http,
};
use serde_json::{Value, json};

use super::{ERAS, initialize, modern, only, request};

/// A server that forwards everything, and its client.
struct Forwarder {
    now: Instant,
    server: Connection<Server>,
    /// The forwarded requests without an answer.
    forwarded: Vec<Request>,
    answers: Vec<Value>,
}

/// A way in which `initialize` ends without a result.
struct Refusal {
    name: &'static str,
    initialize: fn() -> String,
    /// Follows `initialize`.
    end: fn(&mut Forwarder),
    /// The code of the error; `None` if there is no answer.
    code: Option<i64>,
}

const REFUSALS: [Refusal; 6] = [
    Refusal { name: "a bad token", initialize: with_bad_token, end: |_| (), code: Some(-32602) },
    Refusal { name: "a full server", initialize, end: Forwarder::answer_probe, code: Some(-32603) },
    Refusal { name: "an error", initialize, end: Forwarder::refuse, code: Some(-32000) },
    Refusal { name: "a question", initialize, end: Forwarder::ask, code: Some(-32603) },
    Refusal { name: "silence", initialize, end: Forwarder::wait, code: Some(-32603) },
    Refusal { name: "a cancellation", initialize, end: Forwarder::cancel, code: None },
];

#[test]
fn refused_initialize_leaves_the_era_open() {
    for refusal in REFUSALS {
        for next in ERAS {
            let mut forwarder = Forwarder::new();
            if refusal.name == "a full server" {
                forwarder.client(&request(9, "server/discover", &modern(json!({}))));
            }
            forwarder.client(&(refusal.initialize)());
            (refusal.end)(&mut forwarder);
            let codes: Vec<_> = forwarder.take_answers().iter().map(code).collect();
            assert_eq!(codes, Vec::from_iter(refusal.code.map(Some)), "{}", refusal.name);
            assert_eq!(forwarder.era(), None, "{}", refusal.name);

            forwarder.client(&match next {
                Era::Legacy => initialize(),
                Era::Modern => request(1, "tools/list", &modern(json!({}))),
            });
            assert_eq!(forwarder.forwarded.len(), 1, "{}, {next:?}", refusal.name);
            forwarder.respond(Outcome::Complete(Json::EMPTY_OBJECT));
            assert_eq!(forwarder.era(), Some(next), "{}", refusal.name);
        }
    }
}

#[test]
fn stream_counts_as_legacy_while_initialize_is_pending() {
    let mut forwarder = Forwarder::new();
    forwarder.client(&initialize());
    for line in [request(1, "tools/list", &modern(json!({}))), request(2, "initialize", &json!({}))]
    {
        forwarder.client(&line);
        assert_eq!(code(&only(forwarder.take_answers())), Some(-32600), "{line}");
    }
    forwarder.client(&request(3, "ping", &json!({})));
    assert_eq!(only(forwarder.take_answers())["result"], json!({}));
    assert_eq!(forwarder.era(), Some(Era::Legacy));

    forwarder.respond(Outcome::Complete(Json::EMPTY_OBJECT));
    assert_eq!(only(forwarder.take_answers())["result"]["protocolVersion"], "2025-11-25");
    forwarder.client(&request(4, "tools/list", &modern(json!({}))));
    assert_eq!(code(&only(forwarder.take_answers())), Some(-32600));
}

#[test]
fn refused_initialize_leaves_no_session_behind() {
    for result in [true, false] {
        for is_direct in [true, false] {
            let mut registry = Registry::new(Implementation::new("forwarder", "1.0.0"));
            registry.forward(());
            let (now, config) = (Instant::ZERO, Arc::new(http::Config::default()));
            let ids = Box::new(|| [7; 16]);
            let mut endpoint = http::Endpoint::new(registry.declaration(), config.clone(), ids);
            let mut connection = http::Connection::new(now, registry.declaration(), config);
            connection.handle_bytes(now, post(&initialize()));
            connection.visit(now, &mut endpoint, &());
            let mut reply = None;
            while let Some(action) = endpoint.poll_action() {
                if let http::EndpointAction::Event(ServerEvent::Request(request)) = action {
                    reply = Some(request.reply);
                }
            }
            let outcome = if result {
                Outcome::Complete(Json::EMPTY_OBJECT)
            } else {
                Outcome::Error(ErrorData::new(mcp_proto::ErrorCode(-32000), "no"))
            };
            if is_direct {
                connection.visit_with(now, &mut endpoint, &(), reply.unwrap(), outcome);
            } else {
                endpoint.respond(now, reply.unwrap(), outcome);
                connection.visit(now, &mut endpoint, &());
            }
            let mut said = Vec::new();
            while let Some(action) = connection.poll_action() {
                if let Action::Transmit(bytes) = action {
                    said.extend_from_slice(&bytes);
                }
            }
            endpoint.handle_timeout(now);
            let said = String::from_utf8(said).unwrap();
            assert_eq!(said.contains("\"code\":-32000"), !result, "{said}");
            assert_eq!(said.contains("Mcp-Session-Id: "), result, "{said}");
            assert_eq!(endpoint.sessions(), usize::from(result), "{said}");
        }
    }
}

/// A POST of a legacy client.
fn post(body: &str) -> Bytes {
    let length = body.len();
    Bytes::from(format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {length}\r\n\r\n{body}"
    ))
}

impl Forwarder {
    /// One that takes a single request at a time.
    fn new() -> Self {
        let mut registry = Registry::new(Implementation::new("forwarder", "1.0.0"));
        registry.forward(());
        let mut limits = Limits::default();
        limits.max_in_flight = 1;
        let mut config = Config::default();
        config.limits = limits;
        let server = Connection::server(registry.declaration(), config);
        Self { now: Instant::ZERO, server, forwarded: Vec::new(), answers: Vec::new() }
    }

    /// The client sends a line.
    fn client(&mut self, line: &str) {
        self.server.handle_bytes(self.now, Bytes::from(format!("{line}\n")));
        self.poll();
    }

    /// The oldest request gets its outcome.
    fn respond(&mut self, outcome: Outcome) {
        let (now, request) = (self.now, self.forwarded.remove(0));
        self.server.with(now, |server| server.respond(now, request.reply, outcome));
        self.poll();
    }

    /// Answers the request that takes all room, whose answer does not count.
    fn answer_probe(&mut self) {
        let refused = self.take_answers();
        self.respond(Outcome::Complete(Json::EMPTY_OBJECT));
        self.answers = refused;
    }

    fn refuse(&mut self) {
        self.respond(Outcome::Error(ErrorData::new(mcp_proto::ErrorCode(-32000), "no")));
    }

    fn ask(&mut self) {
        self.respond(Outcome::InputRequired(InputRequired::default().state("x")));
    }

    fn wait(&mut self) {
        self.now = self.now + Duration::from_secs(60 * 60);
        self.server.handle_timeout(self.now);
        self.forwarded.clear();
        self.poll();
    }

    fn cancel(&mut self) {
        self.client(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}"#,
        );
        self.forwarded.clear();
    }

    fn take_answers(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.answers)
    }

    fn era(&self) -> Option<Era> {
        self.server.machine().era()
    }

    fn poll(&mut self) {
        while let Some(action) = self.server.poll_action() {
            match action {
                Action::Transmit(line) => {
                    self.answers.push(serde_json::from_slice(&line).unwrap());
                }
                Action::Event(ServerEvent::Request(request)) => self.forwarded.push(request),
                Action::Event(_) | Action::Close => {}
            }
        }
    }
}

/// `initialize` with a token that is neither a string nor an integer.
fn with_bad_token() -> String {
    let mut initialize: Value = serde_json::from_str(&initialize()).unwrap();
    initialize["params"]["_meta"] = json!({"progressToken": {}});
    initialize.to_string()
}

fn code(answer: &Value) -> Option<i64> {
    answer["error"]["code"].as_i64()
}
