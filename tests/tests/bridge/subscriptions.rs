//! Changes of lists and resources, within an era and across.

use super::*;

const LISTENS: &str = "io.modelcontextprotocol/subscriptionId";

#[test]
fn subscription_of_a_modern_client_passes_to_a_modern_server() {
    let mut bridged = quiet(Era::Modern, Era::Modern);
    let params = json!({"notifications": {"toolsListChanged": true, "new": 1}, "more": 1});
    let asked = forwarded(&mut bridged, Era::Modern, 9, "subscriptions/listen", params.clone());
    assert_eq!(asked["params"]["notifications"], params["notifications"]);
    assert_eq!(asked["params"]["more"], 1);
    for method in [
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
        "notifications/com.example/changed",
    ] {
        let params = json!({"new": 1.0, "_meta": {LISTENS: asked["id"], "a/b": 1}});
        bridged.server(&notification(method, params));
        let got = only(bridged.to_client());
        assert_eq!(got["method"], method);
        assert_eq!(got["params"], json!({"new": 1.0, "_meta": {LISTENS: 9, "a/b": 1}}));
    }
    let result = json!({"resultType": "complete", "_meta": {LISTENS: asked["id"], "c/d": 2}});
    bridged.server(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string());
    let answer = end_of_subscription(bridged.to_client(), 9);
    assert_eq!(answer["result"]["_meta"], json!({LISTENS: 9, "c/d": 2}));
}

#[test]
fn subscription_of_a_modern_client_becomes_requests_to_a_legacy_server() {
    let mut bridged = quiet(Era::Modern, Era::Legacy);
    let params = json!({"notifications": {
        "toolsListChanged": true, "resourceSubscriptions": ["a:1", "a:2"]}});
    bridged.client(&request(9, "subscriptions/listen", &modern(params)));
    let asked = bridged.to_server();
    let uris: Vec<_> = asked.iter().map(|it| it["params"]["uri"].clone()).collect();
    assert_eq!(uris, [json!("a:1"), json!("a:2")]);
    assert_eq!(asked[0]["method"], "resources/subscribe");
    bridged.server(&json!({"jsonrpc": "2.0", "id": asked[0]["id"], "result": {}}).to_string());
    assert_eq!(bridged.to_client(), Vec::<Value>::new());
    let error = json!({"code": -32002, "message": "no"});
    bridged.server(&json!({"jsonrpc": "2.0", "id": asked[1]["id"], "error": error}).to_string());
    let ack = only(bridged.to_client());
    assert_eq!(ack["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(ack["params"]["_meta"][LISTENS], 9);
    let honoured = json!({"toolsListChanged": true, "resourceSubscriptions": ["a:1"]});
    assert_eq!(ack["params"]["notifications"], honoured);
    bridged.server(&notification("notifications/resources/updated", json!({"uri": "a:1", "n": 1})));
    let got = only(bridged.to_client());
    assert_eq!(got["params"], json!({"uri": "a:1", "n": 1, "_meta": {LISTENS: 9}}));
    bridged.server(&notification("notifications/tools/list_changed", json!({})));
    assert_eq!(only(bridged.to_client())["method"], "notifications/tools/list_changed");
    for method in ["notifications/prompts/list_changed", "notifications/resources/list_changed"] {
        bridged.server(&notification(method, json!({})));
    }
    bridged.server(&notification("notifications/resources/updated", json!({"uri": "a:3"})));
    assert_eq!(bridged.to_client(), Vec::<Value>::new());
    let cancel = notification("notifications/cancelled", json!({"requestId": 9}));
    bridged.client(&cancel);
    let asked = only(bridged.to_server());
    assert_eq!(
        (&asked["method"], &asked["params"]["uri"]),
        (&json!("resources/unsubscribe"), &json!("a:1"))
    );
}

#[test]
fn subscription_of_a_legacy_client_becomes_one_at_a_modern_server() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    let asked =
        forwarded(&mut bridged, Era::Legacy, 1, "resources/subscribe", json!({"uri": "a:1"}));
    assert_eq!(asked["method"], "subscriptions/listen");
    assert_eq!(asked["params"]["notifications"]["resourceSubscriptions"], json!(["a:1"]));
    let meta = json!({LISTENS: asked["id"]});
    let honoured = json!({"resourceSubscriptions": ["a:1"]});
    let ack = json!({"notifications": honoured, "_meta": meta});
    bridged.server(&notification("notifications/subscriptions/acknowledged", ack));
    let answer = only(bridged.to_client());
    assert_eq!((&answer["id"], &answer["result"]), (&json!(1), &json!({})));
    let params = json!({"uri": "a:1", "new": 1.0, "_meta": meta});
    bridged.server(&notification("notifications/resources/updated", params));
    assert_eq!(only(bridged.to_client())["params"], json!({"uri": "a:1", "new": 1.0}));
    bridged.client(&request(2, "resources/unsubscribe", &json!({"uri": "a:1"})));
    let cancelled = only(bridged.to_server());
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
    assert_eq!(only(bridged.to_client())["id"], 2);
}

#[test]
fn legacy_client_that_subscribes_twice_gets_each_update_once() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    let begin = |bridged: &mut Bridged, id: u64| {
        let uri = json!({"uri": "a:1"});
        forwarded(bridged, Era::Legacy, id, "resources/subscribe", uri)["id"].clone()
    };
    let (first, second) = (begin(&mut bridged, 1), begin(&mut bridged, 2));
    for (number, listen) in [(1, &first), (2, &second)] {
        let honoured = json!({"resourceSubscriptions": ["a:1"]});
        let ack = json!({"notifications": honoured, "_meta": {LISTENS: listen}});
        bridged.server(&notification("notifications/subscriptions/acknowledged", ack));
        assert_eq!(only(bridged.to_client())["id"], number);
    }
    assert_eq!(only(bridged.to_server())["params"]["requestId"], second);
    for listen in [&first, &second] {
        let params = json!({"uri": "a:1", "_meta": {LISTENS: listen}});
        bridged.server(&notification("notifications/resources/updated", params));
    }
    assert_eq!(bridged.to_client().len(), 1);
    // A third one is answered at once.
    bridged.client(&request(3, "resources/subscribe", &json!({"uri": "a:1"})));
    assert_eq!(only(bridged.to_client())["id"], 3);
    assert_eq!(bridged.to_server(), Vec::<Value>::new());
}

#[test]
fn client_that_subscribes_twice_may_cancel_one_request() {
    for is_refused in [false, true] {
        let mut bridged = quiet(Era::Legacy, Era::Modern);
        let [first, second] = [1, 2].map(|id| {
            let uri = json!({"uri": "a:1"});
            forwarded(&mut bridged, Era::Legacy, id, "resources/subscribe", uri)["id"].clone()
        });
        let acknowledge = |listen: &Value, honoured: Value| {
            let ack = json!({"notifications": honoured, "_meta": {LISTENS: listen}});
            notification("notifications/subscriptions/acknowledged", ack)
        };
        if is_refused {
            bridged.server(&acknowledge(&second, json!({})));
            assert_eq!(only(bridged.to_client())["error"]["code"], -32602);
        } else {
            bridged.client(&notification("notifications/cancelled", json!({"requestId": 2})));
        }
        bridged.server(&acknowledge(&first, json!({"resourceSubscriptions": ["a:1"]})));
        assert_eq!(only(bridged.to_client())["id"], 1);
        bridged.to_server();
        // The subscription that is left is one like any other: it begins again.
        let end = json!({"jsonrpc": "2.0", "id": first, "result": {"resultType": "complete"}});
        bridged.server(&end.to_string());
        bridged.pass(Duration::from_secs(1));
        let again = only(bridged.to_server());
        assert_eq!(again["method"], "subscriptions/listen");
    }
}

#[test]
fn pending_subscriptions_are_answered_when_their_resource_is_unsubscribed() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    let mut listens = Vec::new();
    for (id, uri) in [(1, "a:1"), (2, "a:2"), (3, "a:1")] {
        let uri = json!({"uri": uri});
        listens.push(forwarded(&mut bridged, Era::Legacy, id, "resources/subscribe", uri));
    }
    bridged.client(&request(4, "resources/unsubscribe", &json!({"uri": "a:1"})));
    let answers = bridged.to_client();
    let ids: Vec<_> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [1, 3, 4]);
    assert!(answers.iter().all(|answer| answer["result"] == json!({})), "{answers:?}");
    let cancelled = bridged.to_server();
    let ids: Vec<_> = cancelled.iter().map(|it| &it["params"]["requestId"]).collect();
    assert_eq!(ids, [&listens[0]["id"], &listens[2]["id"]]);
    // Acknowledgements that are late have no effect; the other subscription begins.
    for (listen, uri) in listens.iter().zip(["a:1", "a:2", "a:1"]) {
        let honoured = json!({"resourceSubscriptions": [uri]});
        let ack = json!({"notifications": honoured, "_meta": {LISTENS: listen["id"]}});
        bridged.server(&notification("notifications/subscriptions/acknowledged", ack));
    }
    assert_eq!(only(bridged.to_client())["id"], 2);
}

#[test]
fn resource_that_a_modern_server_does_not_honour_is_refused() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    let asked =
        forwarded(&mut bridged, Era::Legacy, 1, "resources/subscribe", json!({"uri": "a:1"}));
    let ack = json!({"notifications": {}, "_meta": {LISTENS: asked["id"]}});
    bridged.server(&notification("notifications/subscriptions/acknowledged", ack));
    assert_eq!(only(bridged.to_client())["error"]["code"], -32602);
}

#[test]
fn resources_that_are_refused_do_not_count_as_subscriptions() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    for id in 1..=2000 {
        let uri = json!({"uri": format!("a:{id}")});
        let asked = forwarded(&mut bridged, Era::Legacy, id, "resources/subscribe", uri);
        let ack = json!({"notifications": {}, "_meta": {LISTENS: asked["id"]}});
        bridged.server(&notification("notifications/subscriptions/acknowledged", ack));
        assert_eq!(only(bridged.to_client())["error"]["code"], -32602, "{id}");
        bridged.to_server();
    }
}

#[test]
fn legacy_client_hears_of_lists() {
    for up in ERAS {
        let mut bridged = bridged(Era::Legacy, up);
        bridged.to_client();
        let meta = match up {
            Era::Legacy => json!({"a/b": 1}),
            Era::Modern => json!({"a/b": 1, LISTENS: LISTS}),
        };
        for method in [
            "notifications/tools/list_changed",
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
        ] {
            bridged.server(&notification(method, json!({"_meta": meta, "new": 1})));
            let got = only(bridged.to_client());
            assert_eq!(got["method"], method);
            assert_eq!(got["params"], json!({"_meta": {"a/b": 1}, "new": 1}));
        }
    }
}

#[test]
fn subscriptions_within_the_legacy_era_pass() {
    let mut bridged = quiet(Era::Legacy, Era::Legacy);
    for method in ["resources/subscribe", "resources/unsubscribe", "logging/setLevel"] {
        let params = json!({"uri": "a:1", "level": "info", "new": 1.0});
        let asked = forwarded(&mut bridged, Era::Legacy, 1, method, params.clone());
        assert_eq!((&asked["method"], &asked["params"]), (&json!(method), &params));
        let answer = answered(&mut bridged, &asked, &json!({"new": 1}));
        assert_eq!(answer["result"], json!({"new": 1}));
    }
}

/// A server may have seen the request, so the bridge unsubscribes.
#[test]
fn cancelled_subscription_within_the_legacy_era_does_not_count() {
    let limit = |limits: &mut Limits| limits.max_subscriptions = 2;
    let mut bridged = with_limits(Era::Legacy, Era::Legacy, limit);
    let subscribe = |bridged: &mut Bridged, id: u64, uri: &str| {
        forwarded(bridged, Era::Legacy, id, "resources/subscribe", json!({"uri": uri}))
    };
    let asked = subscribe(&mut bridged, 1, "a:kept");
    answered(&mut bridged, &asked, &json!({}));
    for (id, uri, is_left) in [(2, "a:2", true), (3, "a:3", true), (4, "a:kept", false)] {
        subscribe(&mut bridged, id, uri);
        bridged.client(&notification("notifications/cancelled", json!({"requestId": id})));
        let sent = bridged.to_server();
        let methods: Vec<_> = sent.iter().map(|line| line["method"].as_str().unwrap()).collect();
        let expected = ["notifications/cancelled", "resources/unsubscribe"];
        assert_eq!(methods, expected[..=usize::from(is_left)], "{uri}");
    }
    // The client has requested it twice.
    let [_, other] = [5, 6].map(|id| subscribe(&mut bridged, id, "a:5"));
    bridged.client(&notification("notifications/cancelled", json!({"requestId": 5})));
    assert_eq!(only(bridged.to_server())["method"], "notifications/cancelled");
    assert_eq!(answered(&mut bridged, &other, &json!({}))["result"], json!({}));
}

#[test]
fn error_names_the_limit_of_subscriptions_that_would_be_exceeded() {
    for down in ERAS {
        let mut bridged = with_limits(down, Era::Legacy, |limits| {
            (limits.max_subscriptions, limits.max_subscription_bytes) = (2, 20);
        });
        let mut subscribe = |id: u64, uri: &str| {
            let (method, params) = match down {
                Era::Legacy => ("resources/subscribe", json!({"uri": uri})),
                Era::Modern => {
                    let filter = json!({"resourceSubscriptions": [uri]});
                    ("subscriptions/listen", modern(json!({"notifications": filter})))
                }
            };
            bridged.client(&request(id, method, &params));
            bridged.to_server().iter().for_each(|asked| bridged.server(&result(asked, &json!({}))));
            only(bridged.to_client())["error"]["message"].as_str().unwrap_or_default().to_owned()
        };
        assert_eq!(subscribe(1, "a:1"), "");
        assert!(
            subscribe(2, "a:a-longer-resource").contains("Limits::max_subscription_bytes = 20 ")
        );
        assert_eq!(subscribe(3, "a:3"), "");
        assert!(subscribe(4, "a:4").contains("Limits::max_subscriptions = 2 "));
    }
}

#[test]
fn resources_that_are_left_together_leave_room_for_calls() {
    let limit = |limits: &mut Limits| limits.max_in_flight = 8;
    let mut bridged = with_limits(Era::Modern, Era::Legacy, limit);
    let uris: Vec<_> = (0..10).map(|number| format!("a:{number}")).collect();
    let params = modern(json!({"notifications": {"resourceSubscriptions": uris}}));
    bridged.client(&request(1, "subscriptions/listen", &params));
    for asked in bridged.to_server() {
        bridged.server(&result(&asked, &json!({})));
    }
    bridged.client(&notification("notifications/cancelled", json!({"requestId": 1})));
    let mut sent = bridged.to_server();
    assert_eq!(sent.len(), 6);
    // A resource that is needed again stays.
    let params = modern(json!({"notifications": {"resourceSubscriptions": ["a:9"]}}));
    bridged.client(&request(2, "subscriptions/listen", &params));
    let subscribe = only(bridged.to_server());
    bridged.server(&result(&subscribe, &json!({})));
    let mut left = Vec::new();
    while let Some(asked) = sent.pop() {
        assert_eq!(asked["method"], "resources/unsubscribe");
        left.push(asked["params"]["uri"].clone());
        bridged.server(&result(&asked, &json!({})));
        sent.extend(bridged.to_server());
    }
    left.sort_by_key(Value::to_string);
    assert_eq!(json!(left), json!(uris[..9]));
}

/// Over HTTP a server may read the first `resources/subscribe` before `resources/unsubscribe`.
#[test]
fn resource_is_subscribed_to_again_after_it_is_left() {
    for is_wanted_again in [false, true] {
        let mut bridged = quiet(Era::Modern, Era::Legacy);
        let params = modern(json!({"notifications": {"resourceSubscriptions": ["a:1"]}}));
        bridged.client(&request(1, "subscriptions/listen", &params));
        let subscribe = only(bridged.to_server());
        bridged.server(&json!({"jsonrpc": "2.0", "id": subscribe["id"], "result": {}}).to_string());
        bridged.client(&notification("notifications/cancelled", json!({"requestId": 1})));
        let mut left = only(bridged.to_server());
        assert_eq!(left["method"], "resources/unsubscribe");
        bridged.to_client();
        if is_wanted_again {
            bridged.client(&request(2, "subscriptions/listen", &params));
            let subscribe = only(bridged.to_server());
            let answer = json!({"jsonrpc": "2.0", "id": subscribe["id"], "result": {}});
            bridged.server(&answer.to_string());
            assert_eq!(bridged.to_client().len(), 1);
        }
        left["result"] = json!({});
        for removed in ["method", "params"] {
            left.as_object_mut().unwrap().remove(removed);
        }
        bridged.server(&left.to_string());
        let again = bridged.to_server();
        assert_eq!(again.len(), usize::from(is_wanted_again), "{again:?}");
        for subscribe in again {
            assert_eq!(subscribe["method"], "resources/subscribe");
            let answer = json!({"jsonrpc": "2.0", "id": subscribe["id"], "result": {}});
            bridged.server(&answer.to_string());
            assert_eq!(only(bridged.to_client())["method"], "notifications/resources/updated");
        }
    }
}

/// Nothing else ends these calls, and each has a place among `Limits::max_in_flight`.
#[test]
fn requests_of_the_bridge_itself_are_given_up() {
    let mut bridged = quiet(Era::Modern, Era::Legacy);
    let params = json!({"notifications": {"resourceSubscriptions": ["a:1"]}});
    bridged.client(&request(1, "subscriptions/listen", &modern(params)));
    let subscribe = only(bridged.to_server());
    bridged.client(&notification("notifications/cancelled", json!({"requestId": 1})));
    let unsubscribe = only(bridged.to_server());
    assert_eq!(unsubscribe["method"], "resources/unsubscribe");
    bridged.pass(mcp_proto::client::CallOptions::default().timeout);
    let given_up: Vec<_> =
        bridged.to_server().iter().map(|it| it["params"]["requestId"].clone()).collect();
    assert_eq!(given_up, [subscribe["id"].clone(), unsubscribe["id"].clone()]);
}
