//! The law of connections: whatever an application calls and a server asks, a client over HTTP has
//! at most `Limits::max_client_connections` exchanges open, answers get through, and nothing is
//! lost.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends"
)]

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use mcp_proto::client::{self, CallOptions, ClientEvent, Negotiation};
use mcp_proto::frame::http1::StatusHead;
use mcp_proto::http::client::{Action, Config, ExchangeId, Request};
use mcp_proto::http::{Client, Url};
use mcp_proto::types::Implementation;
use mcp_proto::{Binding, Bytes, Duration, Instant, Json};
use serde_json::{Value, json};

const CALLS: usize = 1_000;
const PINGS: usize = 1_027;
const MAX: usize = 32;

/// A client, and a server that answers when it is told to.
struct Site {
    client: Client,
    now: Instant,
    open: VecDeque<(ExchangeId, Arc<Request>)>,
    most: usize,
    responses: usize,
    accepted: usize,
}

impl Site {
    /// A client of a legacy server whose GET stream is open.
    fn new() -> (Self, ExchangeId) {
        let mut config = client::Config::new(Implementation::new("law", "1"));
        config.negotiation = Negotiation::Legacy;
        config.limits.max_in_flight = 4096;
        let url = Url::parse("http://localhost/mcp").unwrap();
        let client = Client::new(Config::new(url, config), Box::new(|| [0; 16]));
        let (now, open) = (Instant::ZERO, VecDeque::new());
        let mut site = Self { client, now, open, most: 0, responses: 0, accepted: 0 };
        site.client.handle_opened(now);
        site.act();
        let server = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
            "serverInfo": { "name": "law", "version": "1" } });
        site.answer_next(&server);
        site.answer_next(&Value::Null);
        let (get, request) = site.open.pop_front().unwrap();
        assert_eq!(request.method, "GET");
        site.head(get, 200, "text/event-stream");
        (site, get)
    }

    /// Takes what the client wants done.
    fn act(&mut self) {
        while let Some(action) = self.client.poll_action() {
            match action {
                Action::Open { exchange, request } => self.open.push_back((exchange, request)),
                Action::Event(ClientEvent::Response { result, .. }) => {
                    result.unwrap();
                    self.responses += 1;
                }
                Action::Event(ClientEvent::Connected(_)) => {}
                other @ (Action::Abort { .. } | Action::Event(_) | Action::Close | _) => {
                    panic!("{other:?}")
                }
            }
        }
        self.most = self.most.max(self.open.len());
    }

    fn head(&mut self, exchange: ExchangeId, status: u16, media: &str) {
        let mut head = StatusHead::new(status);
        head.push("Content-Type", media.as_bytes());
        self.client.handle_head(self.now, exchange, &head);
        self.act();
    }

    /// Answers the oldest request that is open: with a result, or with 202.
    fn answer_next(&mut self, result: &Value) {
        let (exchange, request) = self.open.pop_front().unwrap();
        let message: Value = serde_json::from_slice(&request.body).unwrap();
        if message.get("method").is_some() && message.get("id").is_some() {
            self.head(exchange, 200, "application/json");
            let body = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
            let body = Bytes::from(serde_json::to_vec(&body).unwrap());
            self.client.handle_body(self.now, exchange, body);
        } else {
            self.accepted += usize::from(message.get("result").is_some());
            self.head(exchange, 202, "text/plain");
        }
        self.client.handle_end(self.now, exchange);
        self.act();
    }
}

#[test]
fn second_hour_23_a_client_opens_32_connections_at_most_and_answers_first() {
    let (mut site, get) = Site::new();
    for _ in 0..CALLS {
        let options = CallOptions::default();
        site.client
            .with(site.now, |client| {
                client.call(site.now, "tools/call", Json::EMPTY_OBJECT, options)
            })
            .unwrap();
    }
    site.act();
    // The GET is the 24th; the others are for answers.
    assert_eq!(site.open.len(), MAX - MAX / 4 - 1);
    for id in 0..PINGS {
        let ping = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
        let event = format!("data: {ping}\n\n");
        site.client.handle_body(site.now, get, event.into());
    }
    site.act();
    assert_eq!(site.open.len() + 1, MAX, "answers need not wait for calls");
    let is_answer = |(_, request): &(ExchangeId, Arc<Request>)| {
        serde_json::from_slice::<Value>(&request.body).unwrap().get("result").is_some()
    };
    // No call is answered before all pings are.
    while site.accepted < PINGS {
        let at = site.open.iter().position(is_answer).unwrap();
        site.open.swap(0, at);
        site.answer_next(&Value::Null);
    }
    assert_eq!(site.responses, 0);
    // The time of a call that waits has not begun.
    site.now = site.now + Duration::from_secs(50);
    site.client.handle_timeout(site.now);
    site.act();
    let mut seen = BTreeSet::new();
    while let Some((_, request)) = site.open.front() {
        assert!(seen.insert(request.body.clone()), "a call is sent once");
        site.answer_next(&json!({ "content": [] }));
        site.now = site.now + Duration::from_secs(1) / 10;
        site.client.handle_timeout(site.now);
        site.act();
    }
    assert_eq!((site.responses, seen.len()), (CALLS, CALLS));
    assert!(site.most < MAX, "{} and the GET", site.most);
}
