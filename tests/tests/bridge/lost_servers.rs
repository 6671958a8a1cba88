//! Subscriptions whose server is lost, and does not come back at once.

use mcp_proto::Duration;
use mcp_proto::client::Restart;

use super::missed_changes::{
    PAUSE, TOOLS, UPDATED, answer, begin, changes, lists, only_request, over_http, request_of,
    subscribe_at_legacy_server, subscribed_over_http,
};
use super::*;

/// The end of a modern client's subscription.
const CANCEL: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#;

/// Nothing else would start the server: the subscription is no call.
#[test]
fn subscription_of_a_modern_client_restarts_a_legacy_server() {
    let mut bridged = subscribed();
    for _ in 0..2 {
        bridged.server_ends();
        bridged.pass(PAUSE);
        let asked = only(bridged.to_server());
        assert_eq!(asked["method"], "initialize");
        bridged.server(&result(&asked, &handshake(Era::Legacy)));
        assert_eq!(changes(&mut bridged), lists(Era::Modern));
        let renewal = bridged.to_server().pop().unwrap();
        assert_eq!(renewal["method"], "resources/subscribe");
        bridged.server(&result(&renewal, &json!({})));
        assert_eq!(changes(&mut bridged), [UPDATED]);
    }
    bridged.client(CANCEL);
    bridged.to_server();
    bridged.server_ends();
    bridged.pass(PAUSE);
    assert_eq!(bridged.to_server(), Vec::<Value>::new());
}

/// The subscription ends before the delay of the restart.
#[test]
fn legacy_server_is_not_restarted_after_the_last_subscription_has_ended() {
    let mut bridged = subscribed();
    bridged.server_ends();
    bridged.to_server();
    bridged.client(CANCEL);
    bridged.pass(PAUSE);
    assert_eq!(bridged.to_server(), Vec::<Value>::new());
}

#[test]
fn lost_legacy_session_is_not_opened_again_after_the_last_subscription_has_ended() {
    let unsubscribe = request(10, "resources/unsubscribe", &json!({"uri": "a:1"}));
    let ends = [(Era::Legacy, &*unsubscribe), (Era::Legacy, ""), (Era::Modern, CANCEL)];
    for (down, end) in ends {
        let (mut bridged, exchange) = subscribed_over_http(down);
        bridged.pass(PAUSE);
        bridged.http_breaks(exchange);
        bridged.pass(PAUSE);
        let stream = only_request(&mut bridged);
        bridged.http_answer(stream.exchange, 404, &[], None);
        let asked = request_of(&mut bridged, "initialize");
        bridged.http_answer(asked.exchange, 503, &[], None);
        if end.is_empty() {
            bridged.client_ends();
        } else {
            bridged.client(end);
        }
        if end == unsubscribe {
            assert_eq!(only(bridged.to_client())["result"], json!({}));
        }
        bridged.pass(PAUSE);
        assert_eq!(bridged.http_requests().len(), 0, "{end}");
    }
}

#[test]
fn lost_legacy_session_is_opened_again_for_subscriptions_alone() {
    for down in ERAS {
        let (mut bridged, exchange) = subscribed_over_http(down);
        bridged.pass(PAUSE);
        bridged.http_breaks(exchange);
        bridged.pass(PAUSE);
        let stream = only_request(&mut bridged);
        assert_eq!(stream.method, "GET");
        bridged.http_answer(stream.exchange, 404, &[], None);
        for _ in 0..3 {
            let asked = request_of(&mut bridged, "initialize");
            bridged.http_answer(asked.exchange, 503, &[], None);
            assert_eq!(bridged.http_requests().len(), 0);
            bridged.pass(PAUSE);
        }
        let asked = request_of(&mut bridged, "initialize");
        let fields = [("Mcp-Session-Id", "other")];
        bridged.http_answer(asked.exchange, 200, &fields, Some(&answer(&asked, Era::Legacy)));
        assert_eq!(changes(&mut bridged), lists(down));
    }
}

/// The server accepts the connection, and hangs.
#[test]
fn renewed_subscription_that_is_not_answered_is_requested_again() {
    let mut bridged = over_http(Era::Modern);
    bridged.client(&initialize());
    let asked = request_of(&mut bridged, "server/discover");
    bridged.http_answer(asked.exchange, 200, &[], Some(&answer(&asked, Era::Modern)));
    bridged.client(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let lists = request_of(&mut bridged, "subscriptions/listen");
    let honoured = json!({"toolsListChanged": true});
    let exchange = begin(&mut bridged, lists, &honoured);
    bridged.http_breaks(exchange);
    bridged.pass(PAUSE);
    for _ in 0..2 {
        request_of(&mut bridged, "subscriptions/listen");
        bridged.pass(Duration::from_secs(59));
        assert_eq!(bridged.http_requests().len(), 0);
        bridged.pass(Duration::from_secs(1));
        bridged.pass(2 * PAUSE);
    }
    let again = request_of(&mut bridged, "subscriptions/listen");
    assert_eq!(changes(&mut bridged), Vec::<String>::new());
    begin(&mut bridged, again, &honoured);
    assert_eq!(changes(&mut bridged), [TOOLS]);
    // The stream itself has no deadline.
    bridged.pass(Duration::from_secs(3600));
    assert_eq!(bridged.http_requests().len(), 0);
}

/// The bridge subscribes for all its clients, and none of them waits for the answer.
#[test]
fn first_subscription_that_is_not_answered_is_requested_again() {
    let mut bridged = over_http(Era::Modern);
    bridged.client(&initialize());
    let asked = request_of(&mut bridged, "server/discover");
    bridged.http_answer(asked.exchange, 200, &[], Some(&answer(&asked, Era::Modern)));
    bridged.client(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    request_of(&mut bridged, "subscriptions/listen");
    bridged.pass(Duration::from_secs(60));
    bridged.pass(2 * PAUSE);
    let again = request_of(&mut bridged, "subscriptions/listen");
    begin(&mut bridged, again, &json!({"toolsListChanged": true}));
    bridged.pass(Duration::from_secs(3600));
    assert_eq!(bridged.http_requests().len(), 0);
}

/// A modern client that has subscribed at a legacy server, which starts again on a call.
fn subscribed() -> Bridged {
    let (auto, up) = (EraPolicy::Auto, negotiation(Era::Legacy));
    let mut bridged = Bridged::with_restart(auto, up, Restart::OnCall);
    connect(&mut bridged, Era::Modern, Era::Legacy);
    bridged.to_client();
    subscribe_at_legacy_server(&mut bridged, Era::Modern);
    bridged
}
