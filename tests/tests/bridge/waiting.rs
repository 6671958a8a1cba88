//! Requests that come before the server has answered its first one.

use super::*;

/// Sends calls of modern clients with these ids.
fn call(bridged: &mut Bridged, ids: impl IntoIterator<Item = u64>) {
    for id in ids {
        bridged.client(&request(id, "tools/call", &modern(json!({"name": format!("tool {id}")}))));
    }
}

/// The names of the tools whose calls the server gets when it is connected.
fn called(bridged: &mut Bridged, up: Era) -> Vec<Value> {
    let first = only(bridged.to_server());
    let answer = json!({"jsonrpc": "2.0", "id": first["id"], "result": handshake(up)});
    bridged.server(&answer.to_string());
    let sent = bridged.to_server().into_iter().filter(|line| line["method"] == "tools/call");
    sent.map(|line| line["params"]["name"].clone()).collect()
}

#[test]
fn requests_wait_for_the_server_and_cancelled_ones_are_not_sent() {
    for up in ERAS {
        let mut bridged = Bridged::new(EraPolicy::Auto, negotiation(up));
        call(&mut bridged, 1..=3);
        bridged.client(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#,
        );
        assert_eq!(called(&mut bridged, up), ["tool 1", "tool 3"], "{up:?}");
        assert_eq!(bridged.to_client(), Vec::<Value>::new());
    }
}

#[test]
fn requests_that_wait_for_the_server_are_bounded() {
    for up in ERAS {
        let mut bridged = Bridged::new(EraPolicy::Auto, negotiation(up));
        let mut config = Config::new(counting());
        config.limits.max_in_flight = 2;
        bridged.set_config(config);
        call(&mut bridged, 1..=3);
        let refused = only(bridged.to_client());
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(3), &json!(-32603)));
        let message = "Limits::max_in_flight = 2 requests wait for the server";
        assert_eq!(refused["error"]["message"], message);
        assert_eq!(called(&mut bridged, up), ["tool 1", "tool 2"], "{up:?}");
    }
}
