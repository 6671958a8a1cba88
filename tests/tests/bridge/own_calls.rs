//! The bridge's own requests about resources of a legacy server: their limits, and their room.

use super::missed_changes::{PAUSE, changes, restarting};
use super::*;

/// A bridge of which at most six own requests are in flight.
fn limited(max_subscription_bytes: usize) -> Bridged {
    with_limits(Era::Modern, Era::Legacy, |limits| {
        limits.max_in_flight = 8;
        limits.max_subscription_bytes = max_subscription_bytes;
    })
}

/// Subscribes a modern client to resources, and ends the subscription; returns what the server gets
/// at the end.
fn subscribe_and_leave(bridged: &mut Bridged, uris: &[&str]) -> Vec<Value> {
    let params = modern(json!({"notifications": {"resourceSubscriptions": uris}}));
    bridged.client(&request(1, "subscriptions/listen", &params));
    let asked = bridged.to_server();
    assert_eq!(asked.len(), uris.len());
    answer(bridged, &asked);
    bridged.client(&notification("notifications/cancelled", json!({"requestId": 1})));
    bridged.to_server()
}

/// The server answers requests of the bridge.
fn answer(bridged: &mut Bridged, asked: &[Value]) {
    for asked in asked {
        bridged.server(&result(asked, &json!({})));
    }
}

fn uris(asked: &[Value]) -> Vec<&str> {
    asked.iter().map(|asked| asked["params"]["uri"].as_str().unwrap()).collect()
}

#[test]
fn bytes_of_resources_that_the_server_does_not_let_go_are_bounded() {
    let mut bridged = limited(12);
    let left = subscribe_and_leave(&mut bridged, &["a:12", "b:12"]);
    assert_eq!(uris(&left), ["a:12", "b:12"]);
    let more = subscribe_and_leave(&mut bridged, &["c:12", "d:12"]);
    assert_eq!(uris(&more), ["c:12"]);
    answer(&mut bridged, &left);
    assert_eq!(bridged.to_server(), Vec::<Value>::new());
    assert_eq!(subscribe_and_leave(&mut bridged, &["e:12", "f:12"]).len(), 2);
}

#[test]
fn resource_that_is_left_repeatedly_waits_once() {
    let mut bridged = limited(1024);
    let left = subscribe_and_leave(&mut bridged, &["a:1", "a:2", "a:3", "a:4", "a:5", "a:6"]);
    assert_eq!(left.len(), 6);
    for _ in 0..3 {
        assert_eq!(subscribe_and_leave(&mut bridged, &["a:7"]), Vec::<Value>::new());
    }
    answer(&mut bridged, &left);
    let left = bridged.to_server();
    assert_eq!(uris(&left), ["a:7"]);
    answer(&mut bridged, &left);
    assert_eq!(bridged.to_server(), Vec::<Value>::new());
}

/// Calls that wait for the next server may leave no room.
#[test]
fn subscriptions_are_renewed_once_the_calls_of_clients_leave_room() {
    let mut bridged = restarting(Era::Legacy, Era::Legacy);
    for uri in ["a:1", "a:2"] {
        let params = json!({"uri": uri});
        let asked = forwarded(&mut bridged, Era::Legacy, 9, "resources/subscribe", params);
        answered(&mut bridged, &asked, &json!({}));
    }
    bridged.server_ends();
    let max = Limits::default().max_in_flight;
    for id in (1_u64..).take(max) {
        bridged.client(&request(id, "tools/list", &json!({})));
    }
    bridged.pass(PAUSE);
    let asked = only(bridged.to_server());
    bridged.server(&result(&asked, &handshake(Era::Legacy)));
    let mut calls = bridged.to_server();
    assert_eq!(calls.remove(0)["method"], "notifications/initialized");
    assert_eq!(calls.len(), max);
    assert!(calls.iter().all(|call| call["method"] == "tools/list"));
    let is_update = |method: &String| method == "notifications/resources/updated";
    assert!(!changes(&mut bridged).iter().any(is_update));
    answer(&mut bridged, &calls[..1]);
    for uri in ["a:1", "a:2"] {
        let renewal = bridged.to_server();
        assert_eq!(uris(&renewal), [uri]);
        answer(&mut bridged, &renewal);
        assert!(changes(&mut bridged).iter().any(is_update));
    }
    assert_eq!(bridged.to_server(), Vec::<Value>::new());
}

/// The requests of the bridge and those of clients may leave no room.
#[test]
fn refused_subscription_is_not_renewed() {
    let mut bridged = restarting(Era::Legacy, Era::Legacy);
    let params = json!({"uri": "a:1"});
    let asked = forwarded(&mut bridged, Era::Legacy, 9, "resources/subscribe", params);
    answered(&mut bridged, &asked, &json!({}));
    let mut calls = restarted(&mut bridged);
    assert_eq!(uris(&calls.split_off(1)), ["a:1"], "the renewal, which the server does not answer");
    let max = Limits::default().max_in_flight;
    for id in (2_u64..).take(max - 2) {
        bridged.client(&request(id, "tools/list", &json!({})));
    }
    calls.extend(bridged.to_server());
    assert_eq!(calls.len(), max - 1);
    bridged.to_client();
    bridged.client(&request(9999, "resources/subscribe", &json!({"uri": "a:2"})));
    let refused = only(bridged.to_client());
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(9999), &json!(-32603)));
    answer(&mut bridged, &calls);
    let mut calls = restarted(&mut bridged);
    assert_eq!(uris(&calls.split_off(1)), ["a:1"]);
}

/// The server ends and is started again for a request. Returns that request, and the renewals.
fn restarted(bridged: &mut Bridged) -> Vec<Value> {
    bridged.server_ends();
    bridged.client(&request(1, "tools/list", &json!({})));
    bridged.pass(PAUSE);
    let asked = only(bridged.to_server());
    bridged.server(&result(&asked, &handshake(Era::Legacy)));
    let mut calls = bridged.to_server();
    assert_eq!(calls.remove(0)["method"], "notifications/initialized");
    assert_eq!(calls[0]["method"], "tools/list");
    calls
}
