//! Changes that a server cannot report: during a restart, without a stream, without a session.

use std::collections::HashSet;

use mcp_proto::Duration;
use mcp_proto::client::{CallOptions, Negotiation, Restart};
use mcp_proto::http::Url;
use mcp_proto::http::client::ExchangeId;
use mcp_tests::bridge::HttpRequest;

use super::*;

const LISTENS: &str = "io.modelcontextprotocol/subscriptionId";

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

pub(super) const TOOLS: &str = "notifications/tools/list_changed";

pub(super) const PROMPTS: &str = "notifications/prompts/list_changed";

pub(super) const RESOURCES: &str = "notifications/resources/list_changed";

pub(super) const UPDATED: &str = "notifications/resources/updated";

/// Longer than every delay before another attempt.
pub(super) const PAUSE: Duration = Duration::from_secs(40);

#[test]
fn restarted_legacy_server_may_have_changed_everything() {
    for down in ERAS {
        let mut bridged = restarting(down, Era::Legacy);
        subscribe_at_legacy_server(&mut bridged, down);
        bridged.server_ends();
        bridged.pass(PAUSE);
        assert_eq!(bridged.to_client(), Vec::<Value>::new());
        let asked = only(bridged.to_server());
        assert_eq!(asked["method"], "initialize");
        bridged.server(&result(&asked, &handshake(Era::Legacy)));
        assert_eq!(changes(&mut bridged), lists(down));
        let asked = bridged.to_server();
        let asked = only(asked.into_iter().filter(|it| it.get("id").is_some()).collect());
        assert_eq!(asked["method"], "resources/subscribe");
        bridged.server(&result(&asked, &json!({})));
        assert_eq!(changes(&mut bridged), [UPDATED], "{down:?}");
    }
}

#[test]
fn resource_that_a_restarted_legacy_server_refuses_may_have_changed() {
    let mut bridged = renewing();
    bridged.to_client();
    let asked = bridged.to_server();
    let id = &asked.last().unwrap()["id"];
    let error = json!({"code": -32002, "message": "no"});
    bridged.server(&json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
    assert_eq!(changes(&mut bridged), [UPDATED]);
}

#[test]
fn renewal_that_is_not_answered_is_given_up() {
    let mut bridged = renewing();
    bridged.to_client();
    let renewal = bridged.to_server().pop().unwrap();
    assert_eq!(renewal["method"], "resources/subscribe");
    bridged.pass(CallOptions::default().timeout);
    assert_eq!(only(bridged.to_server())["params"]["requestId"], renewal["id"]);
    assert_eq!(changes(&mut bridged), [UPDATED]);
}

#[test]
fn unsubscribed_resource_is_not_reported_after_a_restart() {
    let mut bridged = renewing();
    let asked = bridged.to_server();
    bridged.client(&request(10, "resources/unsubscribe", &json!({"uri": "a:1"})));
    bridged.to_client();
    bridged.server(&result(asked.last().unwrap(), &json!({})));
    assert_eq!(changes(&mut bridged), Vec::<String>::new());
}

#[test]
fn restarted_modern_server_may_have_changed_what_it_honours() {
    let mut bridged = restarting(Era::Legacy, Era::Modern);
    let uri = json!({"uri": "a:1"});
    let asked = forwarded(&mut bridged, Era::Legacy, 9, "resources/subscribe", uri);
    bridged.server(&acknowledged(&asked["id"], json!({"resourceSubscriptions": ["a:1"]})));
    assert_eq!(only(bridged.to_client())["id"], 9);
    bridged.server_ends();
    bridged.pass(PAUSE);
    let asked = only(bridged.to_server());
    assert_eq!(asked["method"], "server/discover");
    bridged.server(&result(&asked, &handshake(Era::Modern)));
    let listens = bridged.to_server();
    assert_eq!(listens.len(), 2, "{listens:?}");
    assert_eq!(bridged.to_client(), Vec::<Value>::new());
    changes_follow_acknowledgements(&mut bridged, &listens);
}

#[test]
fn subscription_of_a_modern_client_ends_when_a_modern_server_replaces_a_legacy_one() {
    let mut bridged = Bridged::with_restart(EraPolicy::Auto, Negotiation::Auto, Restart::Always);
    let asked = only(bridged.to_server());
    let error = json!({"code": -32601, "message": "unknown method"});
    bridged.server(&json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}).to_string());
    connect(&mut bridged, Era::Modern, Era::Legacy);
    subscribe_at_legacy_server(&mut bridged, Era::Modern);
    bridged.server_ends();
    bridged.pass(PAUSE);
    let asked = only(bridged.to_server());
    assert_eq!(asked["method"], "initialize");
    let data = json!({"requested": "2025-11-25", "supported": ["2026-07-28"]});
    let error = json!({"code": -32022, "message": "unsupported", "data": data});
    bridged.server(&json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}).to_string());
    let asked = only(bridged.to_server());
    assert_eq!(asked["method"], "server/discover");
    assert_eq!(bridged.to_client(), Vec::<Value>::new());
    bridged.server(&result(&asked, &handshake(Era::Modern)));
    let answer = end_of_subscription(bridged.to_client(), 9);
    assert_eq!(answer["result"]["resultType"], "complete");
}

#[test]
fn replaced_stream_may_have_missed_changes_for_a_legacy_client() {
    let mut bridged = over_http(Era::Modern);
    bridged.client(&initialize());
    let asked = request_of(&mut bridged, "server/discover");
    bridged.http_answer(asked.exchange, 200, &[], Some(&answer(&asked, Era::Modern)));
    bridged.client(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let lists = request_of(&mut bridged, "subscriptions/listen");
    let honoured = json!({"toolsListChanged": true, "promptsListChanged": true});
    let lists = begin(&mut bridged, lists, &honoured);
    bridged.client(&request(9, "resources/subscribe", &json!({"uri": "a:1"})));
    let resource = request_of(&mut bridged, "subscriptions/listen");
    let updates = json!({"resourceSubscriptions": ["a:1"]});
    let resource = begin(&mut bridged, resource, &updates);
    assert_eq!(changes(&mut bridged), Vec::<String>::new());
    for (exchange, honoured, expected) in
        [(lists, &honoured, vec![TOOLS, PROMPTS]), (resource, &updates, vec![UPDATED])]
    {
        let mut exchange = exchange;
        for _ in 0..2 {
            bridged.http_breaks(exchange);
            bridged.pass(PAUSE);
            let again = request_of(&mut bridged, "subscriptions/listen");
            let id = again.message["id"].clone();
            exchange = begin(&mut bridged, again, honoured);
            assert_eq!(changes(&mut bridged), expected);
            // A second acknowledgement in one stream has no meaning.
            acknowledge(&mut bridged, exchange, &id, honoured);
            assert_eq!(changes(&mut bridged), Vec::<String>::new());
        }
    }
}

#[test]
fn replaced_stream_may_have_missed_changes_for_a_modern_client() {
    let mut bridged = over_http(Era::Modern);
    let params = json!({"notifications": {
        "toolsListChanged": true, "resourceSubscriptions": ["a:1", "a:2"]}});
    bridged.client(&request(9, "subscriptions/listen", &modern(params)));
    let asked = request_of(&mut bridged, "subscriptions/listen");
    let honoured = json!({"toolsListChanged": true, "resourceSubscriptions": ["a:1", "a:2"]});
    let exchange = begin(&mut bridged, asked, &honoured);
    assert_eq!(only(bridged.to_client())["method"], ACKNOWLEDGED);
    bridged.http_breaks(exchange);
    bridged.pass(PAUSE);
    let again = request_of(&mut bridged, "subscriptions/listen");
    let honoured = json!({"toolsListChanged": true, "resourceSubscriptions": ["a:1"]});
    begin(&mut bridged, again, &honoured);
    let got = bridged.to_client();
    let methods: Vec<_> = got.iter().map(|it| it["method"].as_str().unwrap()).collect();
    assert_eq!(methods, [ACKNOWLEDGED, TOOLS, UPDATED]);
    assert_eq!(got[2]["params"], json!({"uri": "a:1", "_meta": {LISTENS: 9}}));
}

#[test]
fn reported_resources_are_limited() {
    let mut bridged = over_http(Era::Modern);
    let params = json!({"notifications": {"resourceSubscriptions": ["a:1"]}});
    bridged.client(&request(9, "subscriptions/listen", &modern(params)));
    let asked = request_of(&mut bridged, "subscriptions/listen");
    let uris: Vec<_> = (0..5000).map(|number| format!("a:{number}")).collect();
    let honoured = json!({"resourceSubscriptions": uris});
    let exchange = begin(&mut bridged, asked, &honoured);
    bridged.http_breaks(exchange);
    bridged.pass(PAUSE);
    let again = request_of(&mut bridged, "subscriptions/listen");
    bridged.to_client();
    begin(&mut bridged, again, &honoured);
    let changes = changes(&mut bridged).len() - 1;
    assert_eq!(changes, Limits::default().max_subscriptions);
}

#[test]
fn stream_of_a_legacy_session_without_an_id_may_have_missed_changes() {
    for down in ERAS {
        let (mut bridged, mut exchange) = subscribed_over_http(down);
        for _ in 0..2 {
            bridged.http_breaks(exchange);
            bridged.pass(PAUSE);
            let stream = only_request(&mut bridged);
            assert_eq!(stream.method, "GET");
            assert_eq!(changes(&mut bridged), Vec::<String>::new());
            bridged.http_stream(stream.exchange);
            let mut expected = lists(down);
            expected.push(UPDATED);
            assert_eq!(changes(&mut bridged), expected);
            exchange = stream.exchange;
        }
    }
}

/// A client's queue has room for 1,024 messages.
#[test]
fn many_resources_are_reported_in_pieces() {
    const COUNT: usize = 600;
    let mut bridged = over_http(Era::Legacy);
    let stream = only_request(&mut bridged);
    bridged.http_stream(stream.exchange);
    let uris: Vec<_> = (0..COUNT).map(|number| format!("a:{number}")).collect();
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": uris});
    let params = modern(json!({"notifications": filter}));
    bridged.client(&request(9, "subscriptions/listen", &params));
    // Further requests wait for sockets.
    let mut waiting = bridged.http_requests();
    while let Some(asked) = waiting.pop() {
        let answer = json!({"jsonrpc": "2.0", "id": asked.message["id"], "result": {}});
        bridged.http_answer(asked.exchange, 200, &[], Some(&answer));
        waiting.extend(bridged.http_requests());
    }
    assert_eq!(only(bridged.to_client())["method"], ACKNOWLEDGED);
    bridged.http_breaks(stream.exchange);
    bridged.pass(PAUSE);
    let stream = only_request(&mut bridged);
    bridged.http_stream(stream.exchange);
    let mut reported = bridged.to_client();
    assert_eq!(reported.len(), 1 + 512);
    bridged.pass(Duration::from_secs(1));
    reported.extend(bridged.to_client());
    assert_eq!(reported.len(), 1 + COUNT);
    assert!(reported.iter().any(|line| line["method"] == TOOLS));
    let reported: HashSet<_> =
        reported.iter().filter_map(|it| it["params"]["uri"].as_str()).collect();
    assert_eq!(reported, uris.iter().map(String::as_str).collect());
    bridged.pass(PAUSE);
    assert_eq!(changes(&mut bridged), Vec::<String>::new());
}

#[test]
fn lost_legacy_session_may_have_missed_changes() {
    let mut bridged = over_http(Era::Legacy);
    bridged.client(&initialize());
    bridged.client(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let stream = only_request(&mut bridged);
    bridged.http_stream(stream.exchange);
    bridged.to_client();
    bridged.pass(PAUSE);
    bridged.client(&request(9, "tools/list", &json!({})));
    let asked = request_of(&mut bridged, "tools/list");
    bridged.http_answer(asked.exchange, 404, &[], None);
    let asked = request_of(&mut bridged, "initialize");
    let fields = [("Mcp-Session-Id", "other")];
    bridged.http_answer(asked.exchange, 200, &fields, Some(&answer(&asked, Era::Legacy)));
    assert_eq!(changes(&mut bridged), lists(Era::Legacy));
}

/// The subscription began at a modern server, and a legacy one has accepted it in its place.
#[test]
fn renewed_subscription_does_not_end_with_a_request_that_repeats_it() {
    let mut bridged = restarting(Era::Legacy, Era::Modern);
    let uri = json!({"uri": "a:1"});
    let asked = forwarded(&mut bridged, Era::Legacy, 9, "resources/subscribe", uri.clone());
    bridged.server(&acknowledged(&asked["id"], json!({"resourceSubscriptions": ["a:1"]})));
    bridged.server_ends();
    bridged.to_client();
    bridged.replace_server(negotiation(Era::Legacy));
    let asked = only(bridged.to_server());
    bridged.server(&result(&asked, &handshake(Era::Legacy)));
    let renewal = bridged.to_server().pop().unwrap();
    assert_eq!(renewal["method"], "resources/subscribe");
    bridged.server(&result(&renewal, &json!({})));
    let again = forwarded(&mut bridged, Era::Legacy, 10, "resources/subscribe", uri);
    bridged.client(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":10}}"#,
    );
    let cancelled = only(bridged.to_server());
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], again["id"]);
}

/// A bridge whose server is started again when it has ended.
pub(super) fn restarting(down: Era, up: Era) -> Bridged {
    let mut bridged = Bridged::with_restart(EraPolicy::Auto, negotiation(up), Restart::Always);
    connect(&mut bridged, down, up);
    bridged.to_client();
    bridged
}

/// A bridge that subscribes again for a legacy client, at a legacy server that has restarted.
fn renewing() -> Bridged {
    let mut bridged = restarting(Era::Legacy, Era::Legacy);
    subscribe_at_legacy_server(&mut bridged, Era::Legacy);
    bridged.server_ends();
    bridged.pass(PAUSE);
    let asked = only(bridged.to_server());
    bridged.server(&result(&asked, &handshake(Era::Legacy)));
    bridged
}

/// A bridge to a server over HTTP, which is connected.
pub(super) fn over_http(up: Era) -> Bridged {
    let url = Url::parse("http://127.0.0.1:1/mcp").unwrap();
    let mut bridged = Bridged::over_http(EraPolicy::Auto, negotiation(up), url);
    let asked = only_request(&mut bridged);
    let fields = match up {
        Era::Legacy => vec![("Mcp-Session-Id", "one")],
        Era::Modern => Vec::new(),
    };
    bridged.http_answer(asked.exchange, 200, &fields, Some(&answer(&asked, up)));
    if up == Era::Legacy {
        for sent in bridged.http_requests() {
            assert_eq!(sent.method, "POST");
            bridged.http_answer(sent.exchange, 202, &[], None);
        }
    }
    bridged
}

/// A client of a legacy server that has subscribed, and the exchange of the server's stream.
pub(super) fn subscribed_over_http(down: Era) -> (Bridged, ExchangeId) {
    let mut bridged = over_http(Era::Legacy);
    if down == Era::Legacy {
        bridged.client(&initialize());
        bridged.client(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }
    let stream = only_request(&mut bridged);
    assert_eq!(stream.method, "GET");
    bridged.http_stream(stream.exchange);
    bridged.client(&subscription(down));
    let asked = request_of(&mut bridged, "resources/subscribe");
    let answer = json!({"jsonrpc": "2.0", "id": asked.message["id"], "result": {}});
    bridged.http_answer(asked.exchange, 200, &[], Some(&answer));
    bridged.to_client();
    (bridged, stream.exchange)
}

/// The request of a client that subscribes to `a:1`; of a modern client also to the tools.
fn subscription(down: Era) -> String {
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["a:1"]});
    match down {
        Era::Legacy => request(9, "resources/subscribe", &json!({"uri": "a:1"})),
        Era::Modern => {
            request(9, "subscriptions/listen", &modern(json!({"notifications": filter})))
        }
    }
}

pub(super) fn subscribe_at_legacy_server(bridged: &mut Bridged, down: Era) {
    bridged.client(&subscription(down));
    let asked = only(bridged.to_server());
    assert_eq!(asked["method"], "resources/subscribe");
    bridged.server(&result(&asked, &json!({})));
    only(bridged.to_client());
}

/// The changes of lists that a client of a legacy server is notified of.
pub(super) fn lists(down: Era) -> Vec<&'static str> {
    match down {
        Era::Legacy => vec![TOOLS, PROMPTS, RESOURCES],
        Era::Modern => vec![TOOLS],
    }
}

/// The server acknowledges a renewed subscription to lists and one to a resource; each is followed
/// by the changes that it honours.
pub(super) fn changes_follow_acknowledgements(bridged: &mut Bridged, listens: &[Value]) {
    let honoured = json!({"toolsListChanged": true, "resourcesListChanged": true});
    bridged.server(&acknowledged(&listens[0]["id"], honoured));
    assert_eq!(changes(bridged), [TOOLS, RESOURCES]);
    bridged.server(&acknowledged(&listens[1]["id"], json!({"resourceSubscriptions": ["a:1"]})));
    assert_eq!(changes(bridged), [UPDATED]);
}

/// The methods of the notifications that the client has got.
pub(super) fn changes(bridged: &mut Bridged) -> Vec<String> {
    let lines = bridged.to_client().into_iter();
    lines.filter_map(|line| line["method"].as_str().map(Into::into)).collect()
}

pub(super) fn acknowledged(listen: &Value, honoured: Value) -> String {
    let params = json!({"notifications": honoured, "_meta": {LISTENS: listen}});
    json!({"jsonrpc": "2.0", "method": ACKNOWLEDGED, "params": params}).to_string()
}

/// The first answer of a server over HTTP.
pub(super) fn answer(asked: &HttpRequest, up: Era) -> Value {
    json!({"jsonrpc": "2.0", "id": asked.message["id"], "result": handshake(up)})
}

/// The server begins the stream of a subscription, and acknowledges it.
pub(super) fn begin(bridged: &mut Bridged, asked: HttpRequest, honoured: &Value) -> ExchangeId {
    bridged.http_stream(asked.exchange);
    acknowledge(bridged, asked.exchange, &asked.message["id"], honoured);
    asked.exchange
}

fn acknowledge(bridged: &mut Bridged, exchange: ExchangeId, listen: &Value, honoured: &Value) {
    let message = acknowledged(listen, honoured.clone());
    bridged.http_event(exchange, &serde_json::from_str(&message).unwrap());
}

pub(super) fn only_request(bridged: &mut Bridged) -> HttpRequest {
    let mut requests = bridged.http_requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    requests.remove(0)
}

/// The only request, which has this method.
pub(super) fn request_of(bridged: &mut Bridged, method: &str) -> HttpRequest {
    let request = only_request(bridged);
    assert_eq!(request.message["method"], method);
    request
}
