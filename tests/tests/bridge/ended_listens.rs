//! Subscriptions of a legacy client that a modern server ends by itself.

use mcp_proto::Duration;

use super::missed_changes::{
    PAUSE, PROMPTS, TOOLS, UPDATED, acknowledged, answer, begin, changes, over_http, request_of,
};
use super::*;

/// The delay before a subscription is requested again, if it has lasted.
const DELAY: Duration = Duration::from_secs(1);

#[test]
fn ended_subscriptions_are_requested_again_over_http() {
    let mut bridged = over_http(Era::Modern);
    bridged.client(&initialize());
    let asked = request_of(&mut bridged, "server/discover");
    bridged.http_answer(asked.exchange, 200, &[], Some(&answer(&asked, Era::Modern)));
    bridged.client(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    bridged.to_client();
    for (filter, expected) in [(lists(), vec![TOOLS, PROMPTS]), (resource(), vec![UPDATED])] {
        if expected == [UPDATED] {
            bridged.client(&request(9, "resources/subscribe", &json!({"uri": "a:1"})));
        }
        let mut asked = request_of(&mut bridged, "subscriptions/listen");
        let mut id = asked.message["id"].clone();
        let mut exchange = begin(&mut bridged, asked, &filter);
        bridged.to_client();
        for _ in 0..3 {
            bridged.pass(PAUSE);
            bridged.http_event(exchange, &json!({"jsonrpc": "2.0", "id": id, "result": ended()}));
            assert_eq!(bridged.http_requests().len(), 0);
            bridged.pass(DELAY);
            asked = request_of(&mut bridged, "subscriptions/listen");
            id = asked.message["id"].clone();
            assert_eq!(changes(&mut bridged), Vec::<String>::new());
            exchange = begin(&mut bridged, asked, &filter);
            assert_eq!(changes(&mut bridged), expected);
        }
    }
}

#[test]
fn ended_subscription_is_requested_again_at_growing_intervals() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    let mut listen = subscribed(&mut bridged);
    // The server acknowledges each request and ends it at once, or refuses each request.
    for is_refused in [false, true] {
        bridged.pass(PAUSE);
        for delay in [1, 2, 4, 8, 16, 30, 30].map(Duration::from_secs) {
            bridged.server(&end(&listen, is_refused));
            bridged.pass(delay.saturating_sub(Duration::from_micros(1)));
            assert_eq!(bridged.to_server(), Vec::<Value>::new(), "{delay:?}");
            bridged.pass(Duration::from_micros(1));
            listen = only(bridged.to_server());
            if !is_refused {
                bridged.server(&acknowledged(&listen["id"], resource()));
            }
        }
        bridged.server(&acknowledged(&listen["id"], resource()));
    }
    assert!(changes(&mut bridged).iter().all(|method| method == UPDATED));
}

#[test]
fn subscription_of_which_nothing_is_honoured_is_not_requested_again() {
    for is_acknowledged in [false, true] {
        let mut bridged = quiet(Era::Legacy, Era::Modern);
        let lists = json!({"id": LISTS});
        if is_acknowledged {
            bridged.server(&acknowledged(&lists["id"], json!({})));
        }
        let listen = subscribed(&mut bridged);
        bridged.server(&end(&lists, !is_acknowledged));
        bridged.server(&end(&listen, false));
        bridged.pass(DELAY);
        let renewed = only(bridged.to_server());
        assert_eq!(renewed["params"]["notifications"], resource());
        let other = json!({"resourceSubscriptions": ["a:2"]});
        bridged.server(&acknowledged(&renewed["id"], other));
        bridged.server(&end(&renewed, false));
        bridged.pass(PAUSE);
        assert_eq!(bridged.to_server(), Vec::<Value>::new());
        assert_eq!(changes(&mut bridged), Vec::<String>::new());
    }
}

#[test]
fn client_that_comes_while_the_lists_wait_hides_no_change() {
    for is_refused in [false, true] {
        let mut bridged = quiet(Era::Legacy, Era::Modern);
        let mut listen = json!({"id": LISTS});
        bridged.server(&acknowledged(&listen["id"], lists()));
        bridged.server(&end(&listen, false));
        bridged.client(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        listen = only(bridged.to_server());
        if is_refused {
            bridged.pass(DELAY);
            bridged.server(&end(&listen, true));
            bridged.pass(2 * DELAY);
            listen = only(bridged.to_server());
        }
        assert_eq!(changes(&mut bridged), Vec::<String>::new());
        bridged.server(&acknowledged(&listen["id"], lists()));
        assert_eq!(changes(&mut bridged), [TOOLS, PROMPTS]);
    }
}

#[test]
fn unsubscribed_resource_is_not_requested_again() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    let listen = subscribed(&mut bridged);
    bridged.server(&end(&listen, false));
    bridged.client(&request(10, "resources/unsubscribe", &json!({"uri": "a:1"})));
    assert_eq!(only(bridged.to_client())["result"], json!({}));
    bridged.pass(PAUSE);
    assert_eq!(bridged.to_server(), Vec::<Value>::new());
}

#[test]
fn ended_session_requests_nothing_again() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    let listen = subscribed(&mut bridged);
    bridged.server(&end(&listen, false));
    bridged.client_ends();
    bridged.pass(PAUSE);
    let asked = bridged.to_server();
    assert!(asked.iter().all(|line| line["method"] != "subscriptions/listen"), "{asked:?}");
}

#[test]
fn client_may_subscribe_again_before_the_bridge_does() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    let listen = subscribed(&mut bridged);
    bridged.server(&end(&listen, false));
    bridged.client(&request(10, "resources/subscribe", &json!({"uri": "a:1"})));
    assert_eq!(only(bridged.to_client())["result"], json!({}));
    assert_eq!(bridged.to_server(), Vec::<Value>::new());
    bridged.pass(DELAY);
    let listen = only(bridged.to_server());
    bridged.server(&acknowledged(&listen["id"], resource()));
    assert_eq!(changes(&mut bridged), [UPDATED]);
}

#[test]
fn full_connection_delays_a_repeated_subscription() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    let listen = subscribed(&mut bridged);
    bridged.server(&end(&listen, false));
    let mut calls = Vec::new();
    for id in 100..5000 {
        bridged.client(&request(id, "tools/call", &json!({"name": "x"})));
        calls.extend(bridged.to_server());
    }
    bridged.pass(DELAY);
    assert_eq!(bridged.to_server(), Vec::<Value>::new());
    bridged.server(&result(&calls[0], &json!({"resultType": "complete"})));
    bridged.pass(DELAY * 2);
    assert_eq!(only(bridged.to_server())["method"], "subscriptions/listen");
}

/// A legacy client subscribes to `a:1`. Returns the request to the server.
fn subscribed(bridged: &mut Bridged) -> Value {
    let uri = json!({"uri": "a:1"});
    let listen = forwarded(bridged, Era::Legacy, 9, "resources/subscribe", uri);
    bridged.server(&acknowledged(&listen["id"], resource()));
    assert_eq!(only(bridged.to_client())["id"], 9);
    listen
}

/// The server ends a subscription, with a result or an error.
fn end(listen: &Value, is_refused: bool) -> String {
    let error = json!({"code": -32603, "message": "no"});
    let (member, value) = if is_refused { ("error", error) } else { ("result", ended()) };
    json!({"jsonrpc": "2.0", "id": listen["id"], member: value}).to_string()
}

fn ended() -> Value {
    json!({"resultType": "complete"})
}

fn lists() -> Value {
    json!({"toolsListChanged": true, "promptsListChanged": true})
}

fn resource() -> Value {
    json!({"resourceSubscriptions": ["a:1"]})
}
