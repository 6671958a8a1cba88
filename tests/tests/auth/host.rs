//! A client over HTTP with an authorizer, between the server and the world of that authorizer.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_proto::auth::{Authorizer, Config, Fetch};
use mcp_proto::client::{
    self, CacheConfig, CacheLimits, CallError, CallId, CallOptions, ClientEvent, Negotiation,
};
use mcp_proto::frame::http1::StatusHead;
use mcp_proto::http::client::{Action, ExchangeId, Request};
use mcp_proto::http::{self, Url};
use mcp_proto::types::Implementation;
use mcp_proto::{Binding, Json};
use serde_json::{Value, json};

use super::world::{SERVER, World};

/// A client, its server, and the world of its authorizer.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent setting")]
pub(crate) struct Host {
    pub(crate) client: http::Client,
    pub(crate) world: World,
    /// Operations that need no token.
    pub(crate) open: Vec<&'static str>,
    /// The operations of the requests, with the status of the answer.
    pub(crate) log: Vec<String>,
    /// Status and `Location` of redirections, by method and target. Each has the nonce `moved`.
    pub(crate) redirects: BTreeMap<String, (u16, &'static str)>,
    /// Method and target of each request, with the claims of its proof if it has one.
    pub(crate) proofs: Vec<(String, Option<Value>)>,
    pub(crate) events: Vec<ClientEvent>,
    pub(crate) is_closed: bool,
    /// True if the requests of the authorizer stay open.
    pub(crate) is_slow: bool,
    /// The open requests of the authorizer.
    pub(crate) fetches: Vec<(ExchangeId, Fetch)>,
    /// True if the server is one of HTTP+SSE.
    pub(crate) is_old: bool,
    /// The stream of such a server, once it is open; the last request for a subscription.
    pub(crate) stream: Option<ExchangeId>,
    /// True if the server accepts requests for subscriptions, and does not answer them.
    pub(crate) hangs: bool,
}

impl Host {
    pub(crate) fn new(negotiation: Negotiation) -> Self {
        Self::with(negotiation, |config| config)
    }

    pub(crate) fn with(negotiation: Negotiation, change: impl FnOnce(Config) -> Config) -> Self {
        let mut config = client::Config::new(Implementation::new("app", "1.0.0"));
        config.cache = Some(CacheConfig::memory(CacheLimits::default()));
        Self::of(config.negotiation(negotiation), change)
    }

    /// A host whose client forwards requests, as that of a bridge.
    pub(crate) fn forwarding(change: impl FnOnce(Config) -> Config) -> Self {
        let config = client::Config::new(Implementation::new("app", "1.0.0"));
        Self::of(config.negotiation(Negotiation::Auto).forwarding(), change)
    }

    fn of(config: client::Config, change: impl FnOnce(Config) -> Config) -> Self {
        let config = http::client::Config::new(Url::parse(SERVER).unwrap(), config);
        let mut client = http::Client::new(config, Box::new(|| [0; 16]));
        let mut world = World::new();
        client.set_authorizer(authorizer(change)).unwrap();
        world.now = mcp_proto::Instant::ZERO;
        Self {
            client,
            world,
            open: Vec::new(),
            log: Vec::new(),
            redirects: BTreeMap::new(),
            proofs: Vec::new(),
            events: Vec::new(),
            is_closed: false,
            is_slow: false,
            fetches: Vec::new(),
            is_old: false,
            stream: None,
            hangs: false,
        }
    }

    pub(crate) fn connect(&mut self) -> &mut Self {
        self.client.handle_opened(self.world.now);
        self.run();
        self
    }

    pub(crate) fn call(&mut self, name: &str) -> CallId {
        let params = Json::parse(format!(r#"{{"name":"{name}"}}"#)).unwrap();
        let now = self.world.now;
        self.client
            .with(now, |it| it.call(now, "tools/call", params, CallOptions::default()))
            .unwrap()
    }

    pub(crate) fn list_tools(&mut self) {
        let (now, params) = (self.world.now, Json::EMPTY_OBJECT);
        let list = |it: &mut client::Client| {
            it.call(now, "tools/list", params, CallOptions::default()).unwrap();
        };
        self.client.with(now, list);
        self.run();
    }

    pub(crate) fn result(&self, call: CallId) -> Option<&Result<Json, CallError>> {
        self.events.iter().find_map(|event| match event {
            ClientEvent::Response { call: id, result, .. } if *id == call => Some(result),
            _ => None,
        })
    }

    /// Passes the time until the next timer of the client, if it has one.
    pub(crate) fn pass_timeout(&mut self) {
        let Some(due) = self.client.poll_timeout() else { return };
        self.world.now = due;
        self.client.handle_timeout(due);
        self.run();
    }

    /// Closes the client.
    pub(crate) fn close(&mut self) {
        let now = self.world.now;
        self.client.with(now, |it| it.close(now));
        self.run();
    }

    /// Does all actions. Time stands still.
    pub(crate) fn run(&mut self) {
        while let Some(action) = self.client.poll_action() {
            let now = self.world.now;
            match action {
                Action::Open { exchange, request } => self.serve(exchange, &request),
                Action::Fetch { exchange, fetch } if self.is_slow => {
                    self.fetches.push((exchange, *fetch));
                }
                Action::Fetch { exchange, fetch } => self.answer(exchange, &fetch),
                Action::Abort { exchange } => self.fetches.retain(|(id, _)| *id != exchange),
                Action::Authorize(action) => {
                    if let Some(reply) = self.world.reply(action) {
                        self.client.with_authorizer(now, reply).unwrap();
                    }
                }
                Action::Event(event) => self.events.push(event),
                Action::Close => self.is_closed = true,
                _ => {}
            }
        }
    }

    /// Answers a request of the authorizer.
    pub(crate) fn answer(&mut self, exchange: ExchangeId, fetch: &Fetch) {
        let now = self.world.now;
        let (status, location, body) = self.world.answer(fetch);
        if status == 0 {
            return self.client.handle_failure(now, exchange, "no connection");
        }
        let mut head = StatusHead::new(status);
        if let Some(location) = location {
            head.push("Location", location.as_bytes());
        }
        self.client.handle_head(now, exchange, &head);
        for piece in body.into_bytes().chunks(7) {
            self.client.handle_body(now, exchange, piece.to_vec().into());
        }
        self.client.handle_end(now, exchange);
    }

    /// The server's answer to a request.
    pub(crate) fn serve(&mut self, exchange: ExchangeId, request: &Request) {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let method = body["method"].as_str().unwrap_or(request.method).to_owned();
        let name = body["params"]["name"].as_str().map(|name| format!(" {name}"));
        let operation = format!("{method}{}", name.unwrap_or_default());
        let field = |wanted: &str| {
            let mut fields = request.fields.iter();
            fields.find(|(name, _)| name == wanted).map(|(_, value)| value.to_string())
        };
        let line = format!("{} {}", request.method, request.target);
        self.proofs.push((line.clone(), field("DPoP").map(|proof| claims(&proof))));
        let now = self.world.now;
        if let Some((status, location)) = self.redirects.get(&line) {
            let mut head = StatusHead::new(*status);
            head.push("Location", location.as_bytes());
            head.push("DPoP-Nonce", b"moved");
            self.client.handle_head(now, exchange, &head);
            return self.client.handle_end(now, exchange);
        }
        let refusal = self.world.judge(field("Authorization").as_deref(), &operation);
        // The route does not exist, whoever asks.
        let is_absent = self.is_old && method == "initialize" && request.target == "/mcp";
        let is_open = is_absent || self.open.contains(&method.as_str());
        let refusal = refusal.filter(|_| !is_open);
        let (status, text) = match &refusal {
            Some(refusal) => (refusal.status, String::new()),
            None if is_absent => (405, String::new()),
            None if method == "subscriptions/listen" => return self.begin_stream(exchange),
            None if self.is_old => return self.serve_old(exchange, &operation, &body),
            None => answer(&method, &body),
        };
        self.log.push(format!("{operation} {status}"));
        let mut head = StatusHead::new(status);
        head.push("Content-Type", b"application/json");
        if method == "initialize" {
            head.push("Mcp-Session-Id", b"s1");
        }
        if let Some(refusal) = refusal {
            let challenge = match (refusal.status, self.world.needs.get(&operation)) {
                (403, Some(needed)) => {
                    format!(r#"Bearer error="insufficient_scope", scope="{needed}""#)
                }
                _ => self.world.challenge.clone(),
            };
            head.push("WWW-Authenticate", challenge.as_bytes());
        }
        self.client.handle_head(now, exchange, &head);
        self.client.handle_body(now, exchange, text.into());
        self.client.handle_end(now, exchange);
    }

    /// The answer to a request for a subscription: the head of a stream.
    fn begin_stream(&mut self, exchange: ExchangeId) {
        self.stream = Some(exchange);
        self.log.push(format!("subscriptions/listen{}", if self.hangs { "" } else { " 200" }));
        if !self.hangs {
            let mut head = StatusHead::new(200);
            head.push("Content-Type", b"text/event-stream");
            self.client.handle_head(self.world.now, exchange, &head);
        }
    }

    /// The answer of a server of HTTP+SSE to a request that it accepts.
    fn serve_old(&mut self, exchange: ExchangeId, operation: &str, body: &Value) {
        let now = self.world.now;
        let is_stream = operation == "GET";
        let mut head = StatusHead::new(if is_stream { 200 } else { 202 });
        self.log.push(format!("{operation} {}", head.status()));
        let mut event = "event: endpoint\ndata: /messages\n\n".to_owned();
        if is_stream {
            self.stream = Some(exchange);
            head.push("Content-Type", b"text/event-stream");
        } else {
            let method = body["method"].as_str().unwrap();
            let (status, text) = answer(method, body);
            event = format!("event: message\ndata: {text}\n\n");
            if status == 202 {
                event = ":\n\n".into();
            }
        }
        self.client.handle_head(now, exchange, &head);
        let stream = self.stream.unwrap();
        self.client.handle_body(now, stream, event.into());
        if !is_stream {
            self.client.handle_end(now, exchange);
        }
    }

    pub(crate) fn pages(&self) -> usize {
        self.world.pages.len()
    }
}

pub(crate) fn authorizer(change: impl FnOnce(Config) -> Config) -> Authorizer {
    let mut count = 0;
    let random = move || {
        count += 1;
        [count; 16]
    };
    Authorizer::new(change(Config::new(Url::parse(SERVER).unwrap())), Box::new(random))
}

fn answer(method: &str, body: &Value) -> (u16, String) {
    let result = match method {
        "server/discover" => json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"},
            "ttlMs": 0, "cacheScope": "private",
        }),
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "s", "version": "1"},
        }),
        "tools/list" => json!({
            "resultType": "complete", "tools": [], "ttlMs": 60_000, "cacheScope": "private",
        }),
        "GET" => return (405, String::new()),
        "DELETE" => return (200, String::new()),
        _ if body["id"].is_null() => return (202, String::new()),
        _ => json!({"resultType": "complete", "content": []}),
    };
    (200, json!({"jsonrpc": "2.0", "id": body["id"], "result": result}).to_string())
}

/// The claims of a proof.
fn claims(proof: &str) -> Value {
    let part = proof.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}
