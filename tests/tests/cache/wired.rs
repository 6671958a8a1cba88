//! A client with a cache: which servers it asks again, and what it is given when they fail.

use mcp_proto::client::{
    CacheConfig, CacheLimits, CallError, CallOptions, Client, ClientEvent, Config, Listing,
    Negotiation,
};
use mcp_proto::frame::http1::StatusHead;
use mcp_proto::http::client::Action as HttpAction;
use mcp_proto::http::{self, Url};
use mcp_proto::stdio::Connection;
use mcp_proto::types::{Implementation, SubscriptionFilter};
use mcp_proto::{Action, Binding, Duration, Instant, Machine};
use serde_json::{Value, json};

use super::{at, json as parse};

#[test]
fn there_is_no_cache_by_default() {
    let mut server = Server::new(config(None));
    for _ in 0..2 {
        assert!(server.list(at(0)).is_ok());
    }
    assert_eq!(server.asked, 2);
}

#[test]
fn a_fresh_list_is_not_asked_for_again() {
    let mut server = Server::new(config(Some(memory())));
    let first = server.list(at(0)).unwrap();
    let again = server.list(at(9_999)).unwrap();
    assert_eq!((&first["tools"], &first["ttlMs"]), (&again["tools"], &json!(10_000)));
    assert_eq!((server.asked, &again["ttlMs"]), (1, &json!(1)));
    assert!(server.list(at(10_000)).is_ok());
    assert_eq!(server.asked, 2);
    let options = CallOptions::default().refresh();
    assert!(server.call(at(10_000), options).is_ok());
    assert_eq!(server.asked, 3);
}

/// T16: a legacy server that says how long a result is fresh says what its revision does not have.
#[test]
fn a_legacy_server_is_asked_each_time() {
    let config = config(Some(memory())).negotiation(Negotiation::Legacy);
    let mut server = Server::new(config);
    for _ in 0..2 {
        assert!(server.list(at(0)).is_ok());
    }
    assert_eq!(server.asked, 2);
}

#[test]
fn a_client_that_forwards_keeps_nothing() {
    let mut server = Server::new(config(Some(memory())).forwarding());
    for _ in 0..2 {
        assert!(server.list(at(0)).is_ok());
    }
    assert_eq!(server.asked, 2);
}

/// Whatever the name of a principal says, the cache of one client has what it has been given.
#[test]
fn another_principal_is_asked_for_separately() {
    let mut server = Server::new(config(Some(memory().principal("ada"))));
    for (principal, asked) in [
        (Some("ada"), 1),
        (Some("bob"), 2),
        (Some("ada"), 2),
        (None, 3),
        (None, 4),
        (Some("bob"), 4),
    ] {
        server.client.with(at(0), |client| client.set_principal(principal));
        assert!(server.list(at(0)).is_ok());
        assert_eq!(server.asked, asked, "{principal:?}");
    }
}

#[test]
fn a_stale_result_stands_for_a_server_that_does_not_answer() {
    const HOUR: Duration = Duration::from_secs(3600);
    let stale = || memory().stale_on_error(HOUR);
    for (cache, then, changed, answer, expected) in [
        (memory(), 20_000, false, None, None),
        (stale(), 20_000, false, None, Some(0)),
        (stale(), 20_000, false, Some(json!({ "code": -32603, "message": "no" })), None),
        (stale(), 20_000, true, None, None),
        (stale(), 3_700_000, false, None, None),
    ] {
        let case = format!("{then} {changed} {answer:?}");
        let mut server = Server::new(config(Some(cache)));
        let first = server.list(at(0)).unwrap();
        if changed {
            server.subscribe_and_change(at(1));
        }
        server.answer = answer.map_or(Answer::Nothing, Answer::Error);
        let result = server.list(at(then));
        match expected {
            Some(ttl) => {
                let result = result.unwrap();
                assert_eq!((&result["tools"], &result["ttlMs"]), (&first["tools"], &json!(ttl)));
            }
            None => assert!(
                matches!(result, Err(CallError::TimedOut | CallError::Error { .. })),
                "{case}: {result:?}"
            ),
        }
        assert_eq!(server.asked, 2, "{case}: it is asked first");
    }
}

#[test]
fn a_stale_result_is_only_for_the_principal_that_has_sent_the_request() {
    let cache = memory().principal("bob").stale_on_error(Duration::from_secs(3600));
    let mut server = Server::new(config(Some(cache)));
    assert!(server.list(at(0)).is_ok());
    server.answer = Answer::Nothing;
    for (sender, is_stale) in [("ada", false), ("bob", true)] {
        let options = CallOptions::default();
        server.client.with(at(20_000), |client| {
            client.set_principal(Some(sender));
            client.list(at(20_000), Listing::Tools, options).unwrap();
        });
        assert!(server.run(at(20_000)).is_none());
        let other = if sender == "ada" { "bob" } else { "ada" };
        server.client.with(at(20_000), |client| client.set_principal(Some(other)));
        let result = server.result(at(20_000));
        assert_eq!(result.is_ok(), is_stale, "{sender}: {result:?}");
    }
}

/// A server that refuses can be reached. It has changed, so the client negotiates again.
#[test]
fn a_stale_result_does_not_stand_for_a_server_that_refuses() {
    for (refusal, is_stale) in [(401, false), (403, false), (404, false), (503, true)] {
        let config = config(Some(memory().stale_on_error(Duration::from_secs(3600))));
        let url = Url::parse("https://s.example/mcp").unwrap();
        let config = http::client::Config::new(url, config);
        let mut client = http::Client::new(config, Box::new(|| [0; 16]));
        client.handle_opened(at(0));
        assert!(list_over_http(&mut client, at(0), None).is_ok());
        let result = list_over_http(&mut client, at(20_000), Some(refusal));
        assert_eq!(result.is_ok(), is_stale, "{refusal} {result:?}");
    }
}

/// The subscription is sent after the list: what changed in between is not reported.
#[test]
fn a_list_is_fetched_again_after_a_subscription_has_begun() {
    let mut server = Server::new(config(Some(memory())));
    assert!(server.list(at(0)).is_ok());
    for asked in [2, 3] {
        server.subscribe(at(1));
        for _ in 0..2 {
            assert!(server.list(at(2)).is_ok());
            assert_eq!(server.asked, asked);
        }
        // The server stops: it ends the subscription, and another server follows.
        let end = json!({ "jsonrpc": "2.0", "id": server.listen, "result": {
            "resultType": "complete",
        } });
        server.client.handle_bytes(at(3), format!("{end}\n").into());
        assert!(server.run(at(3)).is_none());
    }
}

#[test]
fn a_subscription_drops_only_what_it_covers() {
    let mut server = Server::new(config(Some(memory())));
    assert!(server.list(at(0)).is_ok());
    let filter = SubscriptionFilter::new().prompts_list_changed().resource("a:b");
    server.client.with(at(1), |client| client.subscribe(at(1), filter).unwrap());
    assert!(server.run(at(1)).is_none());
    assert!(server.list(at(2)).is_ok());
    assert_eq!(server.asked, 1);
}

/// Lists the tools of a server over HTTP, which may refuse all requests.
fn list_over_http(
    client: &mut http::Client,
    now: Instant,
    refusal: Option<u16>,
) -> Result<mcp_proto::Json, CallError> {
    let mut result = None;
    client.with(now, |it| it.list(now, Listing::Tools, CallOptions::default()).unwrap());
    while let Some(action) = client.poll_action() {
        if let HttpAction::Event(ClientEvent::Response { result: it, .. }) = action {
            result = Some(it);
        } else if let HttpAction::Open { exchange, request } = action {
            let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            let (status, text) = match (refusal, body["method"].as_str()) {
                (Some(_), Some("tools/list")) => (400, "Unsupported protocol version".into()),
                (Some(status), _) => (status, String::new()),
                (None, _) => {
                    let result = json!({
                        "resultType": "complete", "supportedVersions": ["2026-07-28"],
                        "capabilities": {"tools": {}}, "tools": [],
                        "ttlMs": 10_000, "cacheScope": "private",
                    });
                    let id = &body["id"];
                    (200, json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string())
                }
            };
            let mut head = StatusHead::new(status);
            head.push("Content-Type", b"application/json");
            client.handle_head(now, exchange, &head);
            client.handle_body(now, exchange, text.into());
            client.handle_end(now, exchange);
        }
    }
    result.unwrap()
}

fn memory() -> CacheConfig {
    CacheConfig::memory(CacheLimits::default())
}

fn config(cache: Option<CacheConfig>) -> Config {
    let mut config = Config::new(Implementation::new("a", "1"));
    config.cache = cache;
    config
}

/// A client, and a server that answers at once.
struct Server {
    client: Connection<Client>,
    answer: Answer,
    /// Number of requests for the tools.
    asked: usize,
    listen: Value,
}

enum Answer {
    Tools,
    Error(Value),
    Nothing,
}

impl Server {
    fn new(config: Config) -> Self {
        let mut client = Connection::client(config);
        client.handle_opened(at(0));
        let (answer, listen) = (Answer::Tools, Value::Null);
        let mut server = Self { client, answer, asked: 0, listen };
        assert!(server.run(at(0)).is_none());
        server
    }

    fn list(&mut self, now: Instant) -> Result<Value, CallError> {
        self.client
            .with(now, |client| client.list(now, Listing::Tools, CallOptions::default()).unwrap());
        self.result(now)
    }

    fn call(&mut self, now: Instant, options: CallOptions) -> Result<Value, CallError> {
        self.client
            .with(now, |client| client.call(now, "tools/list", parse("{}"), options).unwrap());
        self.result(now)
    }

    /// The response to a call, which may take as long as calls take.
    fn result(&mut self, now: Instant) -> Result<Value, CallError> {
        let mut response = self.run(now);
        while response.is_none() {
            let then = self.client.poll_timeout().unwrap();
            self.client.handle_timeout(then);
            response = self.run(then);
        }
        response.unwrap()
    }

    /// Lets the server answer all that the client sends; returns the response to a call.
    fn run(&mut self, now: Instant) -> Option<Result<Value, CallError>> {
        let mut response = None;
        while let Some(action) = self.client.poll_action() {
            match action {
                Action::Transmit(bytes) => {
                    self.handle(now, &serde_json::from_slice(&bytes).unwrap());
                }
                Action::Event(ClientEvent::Response { result, .. }) => {
                    let decode = |result: mcp_proto::Json| result.decode().unwrap();
                    response = Some(result.map(decode));
                }
                Action::Event(_) | Action::Close => {}
            }
        }
        response
    }

    fn handle(&mut self, now: Instant, message: &Value) {
        let capabilities = json!({ "tools": { "listChanged": true } });
        let body = match message["method"].as_str().unwrap() {
            "server/discover" => json!({ "result": {
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private",
            } }),
            "initialize" => json!({ "result": {
                "protocolVersion": "2025-11-25", "capabilities": capabilities,
                "serverInfo": { "name": "s", "version": "1" },
            } }),
            "tools/list" => {
                self.asked += 1;
                match &self.answer {
                    Answer::Tools => json!({ "result": {
                        "resultType": "complete", "ttlMs": 10_000, "cacheScope": "private",
                        "tools": [{ "name": self.asked.to_string(), "inputSchema": {} }],
                    } }),
                    Answer::Error(error) => json!({ "error": error }),
                    Answer::Nothing => return,
                }
            }
            "subscriptions/listen" => {
                self.listen = message["id"].clone();
                let granted = json!({ "toolsListChanged": true });
                return self.notify(now, "subscriptions/acknowledged", granted);
            }
            _ => return,
        };
        let mut answer = json!({ "jsonrpc": "2.0", "id": message["id"] });
        answer.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        self.client.handle_bytes(now, format!("{answer}\n").into());
    }

    fn subscribe(&mut self, now: Instant) {
        let filter = SubscriptionFilter::new().tools_list_changed();
        self.client.with(now, |client| client.subscribe(now, filter).unwrap());
        assert!(self.run(now).is_none());
    }

    fn subscribe_and_change(&mut self, now: Instant) {
        self.subscribe(now);
        self.notify(now, "tools/list_changed", Value::Null);
        assert!(self.run(now).is_none());
    }

    fn notify(&mut self, now: Instant, name: &str, notifications: Value) {
        let mut meta = json!({});
        meta["io.modelcontextprotocol/subscriptionId"] = self.listen.clone();
        let mut params = json!({ "_meta": meta });
        if !notifications.is_null() {
            params["notifications"] = notifications;
        }
        let method = format!("notifications/{name}");
        let line = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.client.handle_bytes(now, format!("{line}\n").into());
    }
}
