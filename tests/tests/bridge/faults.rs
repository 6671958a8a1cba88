//! Everything is answered, once, whoever goes away.

use mcp_proto::client::Negotiation;

use super::missed_changes::{over_http, request_of};
use super::*;

#[test]
fn cancellation_goes_to_the_server_and_nothing_is_answered() {
    for (down, up) in pairs() {
        let mut bridged = quiet(down, up);
        let asked = forwarded(&mut bridged, down, 1, "tools/call", json!({"name": "x"}));
        let line =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        bridged.client(line);
        let cancelled = only(bridged.to_server());
        assert_eq!(cancelled["method"], "notifications/cancelled");
        assert_eq!(cancelled["params"]["requestId"], asked["id"]);
        bridged.server(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {}}).to_string());
        assert_eq!(bridged.to_client(), Vec::<Value>::new());
    }
}

#[test]
fn reason_of_a_cancellation_goes_to_the_server() {
    for (down, up) in pairs() {
        let mut bridged = quiet(down, up);
        let long = "é".repeat(1001);
        for (id, reason, sent) in [(1, "the user has left", None), (2, &long, long.get(..2000))] {
            let asked = forwarded(&mut bridged, down, id, "tools/call", json!({"name": "x"}));
            let params = json!({"requestId": id, "reason": reason});
            bridged.client(&notification("notifications/cancelled", params));
            let params = json!({"requestId": asked["id"], "reason": sent.unwrap_or(reason)});
            assert_eq!(only(bridged.to_server())["params"], params);
        }
    }
}

#[test]
fn end_of_the_server_answers_every_request_once() {
    for (down, up) in pairs() {
        let mut bridged = quiet(down, up);
        for id in 1..4 {
            forwarded(&mut bridged, down, id, "tools/call", json!({"name": "x"}));
        }
        if (down, up) != (Era::Legacy, Era::Modern) {
            bridged.client(&request(
                4,
                "subscriptions/listen",
                &of_era(
                    down,
                    json!({
                "notifications": {"toolsListChanged": true}}),
                ),
            ));
        }
        bridged.server_ends();
        let mut ids: Vec<_> =
            bridged.to_client().into_iter().filter(|line| line.get("id").is_some()).collect();
        ids.sort_by_key(|line| line["id"].as_u64());
        let ids: Vec<_> = ids.iter().map(|line| line["id"].as_u64().unwrap()).collect();
        let last = if (down, up) == (Era::Legacy, Era::Modern) { 3 } else { 4 };
        assert_eq!(ids, (1..=last).collect::<Vec<_>>(), "{down:?} {up:?}");
        bridged.client(&request(9, "tools/list", &of_era(down, json!({}))));
        assert_eq!(only(bridged.to_client())["error"]["code"], -32603);
    }
}

#[test]
fn requests_wait_until_the_server_is_known() {
    for is_known in [true, false] {
        let mut bridged = Bridged::new(EraPolicy::Auto, Negotiation::Legacy);
        let asked = only(bridged.to_server());
        bridged.client(&request(1, "tools/list", &modern(json!({}))));
        bridged.client(&request(2, "server/discover", &modern(json!({}))));
        assert_eq!(bridged.to_client(), Vec::<Value>::new());
        if is_known {
            let result =
                json!({"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}});
            bridged.server(
                &json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string(),
            );
            assert_eq!(only(bridged.to_client())["id"], 2);
            let lines = bridged.to_server();
            assert_eq!(lines.last().unwrap()["method"], "tools/list");
        } else {
            bridged.server_ends();
            let codes: Vec<_> =
                bridged.to_client().iter().map(|line| line["error"]["code"].clone()).collect();
            assert_eq!(codes, [json!(-32603), json!(-32603)]);
        }
    }
}

#[test]
fn client_that_goes_with_an_elicitation_open_leaves_nothing_behind() {
    let mut bridged = quiet(Era::Legacy, Era::Legacy);
    forwarded(&mut bridged, Era::Legacy, 1, "tools/call", json!({"name": "x"}));
    bridged.server(r#"{"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{}}"#);
    bridged.client_ends();
    bridged.pass(Duration::from_secs(3));
    let lines = bridged.to_server();
    let answers: Vec<_> = lines.iter().filter(|line| line["id"] == 5).collect();
    assert_eq!(answers.len(), 1, "{lines:?}");
    assert!(lines.iter().any(|line| line["method"] == "notifications/cancelled"), "{lines:?}");
}

#[test]
fn refused_initialize_leaves_the_connection_unopened() {
    let mut bridged = Bridged::new(EraPolicy::Auto, Negotiation::Legacy);
    bridged.to_server();
    bridged.server_ends();
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "client", "version": "1"},
    });
    for id in 1..3 {
        bridged.client(&request(id, "initialize", &params));
        let answer = only(bridged.to_client());
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(id), &json!(-32603)));
    }
}

#[test]
fn both_ends_at_once_leave_one_response_each() {
    for (down, up) in pairs() {
        for client_first in [true, false] {
            let mut bridged = quiet(down, up);
            for id in 1..4 {
                forwarded(&mut bridged, down, id, "tools/call", json!({"name": "x"}));
            }
            if up == Era::Legacy {
                bridged.server(
                    r#"{"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{}}"#,
                );
            }
            if client_first {
                bridged.client_ends();
                bridged.server_ends();
            } else {
                bridged.server_ends();
                bridged.client_ends();
            }
            bridged.pass(Duration::from_secs(600));
            let lines = bridged.to_client();
            let answers: Vec<_> =
                lines.iter().filter(|line| line.get("method").is_none()).collect();
            for id in 1..4 {
                let count = answers.iter().filter(|line| line["id"] == id).count();
                assert_eq!(count, 1, "{down:?} {up:?} {client_first}: {lines:?}");
            }
            assert_eq!(answers.len(), 3, "{lines:?}");
        }
    }
}

#[test]
fn silent_server_is_given_up_once_and_answers_too_late() {
    for (down, up) in pairs() {
        let mut bridged = quiet(down, up);
        let asked = forwarded(&mut bridged, down, 1, "tools/call", json!({"name": "x"}));
        bridged.pass(Limits::default().handler_timeout);
        let answer = only(bridged.to_client());
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32603)));
        let cancelled = only(bridged.to_server());
        assert_eq!(cancelled["params"]["requestId"], asked["id"]);
        let late = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": []}});
        bridged.server(&late.to_string());
        assert_eq!(bridged.to_client(), Vec::<Value>::new());
    }
}

#[test]
fn flood_of_questions_is_answered_and_bounded() {
    const QUESTIONS: usize = 5000;
    for (down, up) in [(Era::Legacy, Era::Legacy), (Era::Modern, Era::Legacy)] {
        let mut bridged = quiet(down, up);
        forwarded(&mut bridged, down, 1, "tools/call", json!({"name": "x"}));
        for id in 0..QUESTIONS {
            let line = json!({"jsonrpc": "2.0", "id": id, "method": "roots/list", "params": {}});
            bridged.server(&line.to_string());
        }
        let asked = bridged.to_client().len();
        assert!(asked <= Limits::default().max_in_flight, "{asked} questions");
        bridged.client_ends();
        bridged.pass(Duration::from_secs(600));
        let lines = bridged.to_server();
        let mut answered = vec![0; QUESTIONS];
        for line in lines.iter().filter(|line| line.get("method").is_none()) {
            answered[usize::try_from(line["id"].as_u64().unwrap()).unwrap()] += 1;
        }
        assert!(answered.iter().all(|count| *count == 1), "{down:?}: {asked}");
    }
}

#[test]
fn answer_over_http_without_a_response_is_named() {
    for status in [200, 500] {
        let mut bridged = over_http(Era::Modern);
        bridged.client(&request(1, "tools/call", &modern(json!({"name": "x"}))));
        let asked = request_of(&mut bridged, "tools/call");
        bridged.http_answer(asked.exchange, status, &[], None);
        let error = only(bridged.to_client())["error"].clone();
        let message = format!("the server's answer with HTTP status {status} has no response");
        assert_eq!(error, json!({"code": -32603, "message": message}));
    }
}
