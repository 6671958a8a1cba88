//! Messages of a legacy server on a byte stream that name no call, while its modern client has
//! several: they belong to the client, in answer to the newest call.

use super::inputs::{call, question};
use super::*;

/// Calls two tools as a modern client; returns what the server has got.
fn two_calls(bridged: &mut Bridged) -> [Value; 2] {
    [(1, "x"), (2, "y")].map(|(id, name)| call(bridged, Era::Modern, id, json!({"name": name})))
}

/// The retry of a call, with an answer to the input that its result asks for.
fn retry(id: u64, name: &str, asked: &Value) -> String {
    let params = json!({
        "name": name, "requestState": asked["result"]["requestState"],
        "inputResponses": {"input-1": {"action": "accept"}},
    });
    request(id, "tools/call", &modern(params))
}

#[test]
fn question_is_asked_in_answer_to_the_newest_call() {
    let mut bridged = quiet(Era::Modern, Era::Legacy);
    let [first, second] = two_calls(&mut bridged);
    bridged.server(&question());
    let asked = only(bridged.to_client());
    assert_eq!(
        (&asked["id"], &asked["result"]["resultType"]),
        (&json!(2), &json!("input_required"))
    );
    bridged.client(&retry(3, "y", &asked));
    let given = only(bridged.to_server());
    assert_eq!((&given["id"], &given["result"]["action"]), (&json!("q1"), &json!("accept")));
    for (asked, id) in [(first, 1), (second, 3)] {
        let answer = answered(&mut bridged, &asked, &json!({"content": [id]}));
        assert_eq!((&answer["id"], &answer["result"]["content"]), (&json!(id), &json!([id])));
    }
    assert_eq!(bridged.responses, bridged.requests);
}

#[test]
fn question_moves_to_another_call_if_its_call_ends() {
    for is_cancelled in [false, true] {
        let mut bridged = quiet(Era::Modern, Era::Legacy);
        let [first, second] = two_calls(&mut bridged);
        bridged.server(&question());
        let asked = only(bridged.to_client());
        assert_eq!(asked["id"], 2);
        if is_cancelled {
            bridged.pass(Duration::from_secs(5 * 60));
            let cancelled = only(bridged.to_server());
            assert_eq!(cancelled["params"]["requestId"], second["id"]);
        } else {
            let result = json!({"jsonrpc": "2.0", "id": second["id"], "result": {"content": [2]}});
            bridged.server(&result.to_string());
        }
        let again = only(bridged.to_client());
        assert_eq!(again["id"], 1);
        let input = &again["result"]["inputRequests"]["input-1"];
        assert_eq!(input, &asked["result"]["inputRequests"]["input-1"]);
        assert!(bridged.to_server().is_empty());
        if !is_cancelled {
            // Its own answer waits, and the server gets no other one.
            bridged.client(&retry(3, "y", &asked));
            assert_eq!(only(bridged.to_client())["result"]["content"], json!([2]));
            assert!(bridged.to_server().is_empty());
        }
        bridged.client(&retry(4, "x", &again));
        assert_eq!(only(bridged.to_server())["id"], "q1");
        let answer = answered(&mut bridged, &first, &json!({"content": [1]}));
        assert_eq!((&answer["id"], &answer["result"]["content"]), (&json!(4), &json!([1])));
    }
}

#[test]
fn question_ends_with_the_last_call_of_its_client() {
    let mut bridged = quiet(Era::Modern, Era::Legacy);
    let calls = two_calls(&mut bridged);
    bridged.server(&question());
    bridged.to_client();
    for asked in calls.iter().rev() {
        assert!(bridged.to_server().is_empty());
        let result = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": []}});
        bridged.server(&result.to_string());
    }
    let refused = only(bridged.to_server());
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("q1"), &json!(-32603)));
}

#[test]
fn question_moves_to_no_call_that_does_not_declare_it() {
    let mut bridged = quiet(Era::Modern, Era::Legacy);
    let mut params = modern(json!({"name": "x"}));
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    bridged.client(&request(1, "tools/call", &params));
    bridged.to_server();
    let second = call(&mut bridged, Era::Modern, 2, json!({"name": "y"}));
    bridged.server(&question());
    assert_eq!(only(bridged.to_client())["id"], 2);
    let result = json!({"jsonrpc": "2.0", "id": second["id"], "result": {"content": []}});
    bridged.server(&result.to_string());
    assert!(bridged.to_client().is_empty());
    let refused = only(bridged.to_server());
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("q1"), &json!(-32603)));
}

#[test]
fn call_that_waits_for_its_client_does_not_get_the_questions_of_others() {
    let mut bridged = quiet(Era::Modern, Era::Legacy);
    call(&mut bridged, Era::Modern, 1, json!({"name": "x"}));
    bridged.server(&question());
    assert_eq!(only(bridged.to_client())["id"], 1);
    call(&mut bridged, Era::Modern, 2, json!({"name": "y"}));
    bridged.server(&question().replace("q1", "q2"));
    let asked = only(bridged.to_client());
    assert_eq!(
        (&asked["id"], &asked["result"]["resultType"]),
        (&json!(2), &json!("input_required"))
    );
    bridged.client(&retry(3, "y", &asked));
    assert_eq!(only(bridged.to_server())["id"], "q2");
}

#[test]
fn log_message_goes_to_the_newest_call() {
    let mut bridged = quiet(Era::Modern, Era::Legacy);
    for id in [1, 2] {
        let mut params = modern(json!({"name": "x"}));
        params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
        bridged.client(&request(id, "tools/call", &params));
    }
    bridged.to_server();
    let log = json!({"jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "info", "data": "hello"}});
    bridged.server(&log.to_string());
    let logged = only(bridged.to_client());
    assert_eq!(logged["params"]["data"], "hello");
}
