//! Legacy servers over HTTP without a stream for messages outside of calls: they report no changes,
//! so modern clients cannot subscribe to any.

use mcp_tests::bridge::HttpRequest;

use super::missed_changes::{over_http, request_of};
use super::*;

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

#[test]
fn subscription_ends_when_the_server_has_no_stream() {
    for is_acknowledged in [true, false] {
        let (mut bridged, stream) = connected();
        let asked = listen(&mut bridged, 9);
        if is_acknowledged {
            let answer = json!({"jsonrpc": "2.0", "id": asked.message["id"], "result": {}});
            bridged.http_answer(asked.exchange, 200, &[], Some(&answer));
            let notifications = only(bridged.to_client())["params"]["notifications"].take();
            let honoured = json!({"toolsListChanged": true, "resourceSubscriptions": ["a:1"]});
            assert_eq!(notifications, honoured);
        }
        bridged.http_answer(stream.exchange, 405, &[], None);
        let mut got = bridged.to_client();
        if !is_acknowledged {
            let nothing = got.remove(0);
            assert_eq!(nothing["method"], ACKNOWLEDGED);
            assert_eq!(nothing["params"]["notifications"], json!({}));
            // The answer is late.
            let answer = json!({"jsonrpc": "2.0", "id": asked.message["id"], "result": {}});
            bridged.http_answer(asked.exchange, 200, &[], Some(&answer));
        }
        let answer = end_of_subscription(got, 9);
        assert_eq!(answer["result"]["resultType"], "complete");
        assert_eq!(bridged.to_client(), Vec::<Value>::new());
    }
}

#[test]
fn resources_of_an_ended_subscription_are_unsubscribed() {
    let (mut bridged, stream) = connected();
    let asked = listen(&mut bridged, 9);
    let answer = json!({"jsonrpc": "2.0", "id": asked.message["id"], "result": {}});
    bridged.http_answer(asked.exchange, 200, &[], Some(&answer));
    bridged.http_answer(stream.exchange, 405, &[], None);
    let asked = request_of(&mut bridged, "resources/unsubscribe");
    assert_eq!(asked.message["params"], json!({"uri": "a:1"}));
}

#[test]
fn nothing_is_honoured_without_a_stream() {
    let (mut bridged, stream) = connected();
    bridged.http_answer(stream.exchange, 405, &[], None);
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["a:1"]});
    let params = modern(json!({"notifications": filter}));
    bridged.client(&request(9, "subscriptions/listen", &params));
    assert!(bridged.http_requests().is_empty());
    let mut got = bridged.to_client();
    let nothing = got.remove(0);
    assert_eq!(nothing["method"], ACKNOWLEDGED);
    assert_eq!(nothing["params"]["notifications"], json!({}));
    end_of_subscription(got, 9);
}

#[test]
fn another_session_may_have_a_stream() {
    let (mut bridged, stream) = connected();
    bridged.http_answer(stream.exchange, 405, &[], None);
    bridged.client(&request(1, "tools/list", &modern(json!({}))));
    let asked = request_of(&mut bridged, "tools/list");
    bridged.http_answer(asked.exchange, 404, &[], None);
    let asked = request_of(&mut bridged, "initialize");
    let answer = json!({
        "jsonrpc": "2.0", "id": asked.message["id"], "result": handshake(Era::Legacy),
    });
    let fields = [("Mcp-Session-Id", "other")];
    bridged.http_answer(asked.exchange, 200, &fields, Some(&answer));
    // The server accepts `notifications/initialized`.
    for sent in bridged.http_requests() {
        bridged.http_answer(sent.exchange, 202, &[], None);
    }
    bridged.http_requests();
    listen(&mut bridged, 9);
}

/// A bridge with a session, and the request for its stream.
fn connected() -> (Bridged, HttpRequest) {
    let mut bridged = over_http(Era::Legacy);
    let [stream] = <[HttpRequest; 1]>::try_from(bridged.http_requests()).unwrap();
    assert_eq!(stream.method, "GET");
    (bridged, stream)
}

/// Subscribes as a modern client; returns the request for the resource.
fn listen(bridged: &mut Bridged, id: u64) -> HttpRequest {
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["a:1"]});
    let params = modern(json!({"notifications": filter}));
    bridged.client(&request(id, "subscriptions/listen", &params));
    request_of(bridged, "resources/subscribe")
}
