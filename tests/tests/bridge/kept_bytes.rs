//! Bytes that a bridge keeps while clients give input: on each connection they stay within
//! `max_in_flight_bytes`, on all together within `max_endpoint_bytes`.

use super::inputs::{call, question};
use super::*;

const MAX: usize = 4096;

/// A bridge that keeps at most `MAX` bytes.
fn limited(down: Era, up: Era) -> Bridged {
    with_limits(down, up, |limits| limits.max_in_flight_bytes = MAX)
}

/// Arguments of this many bytes.
fn arguments(bytes: usize) -> Value {
    json!({"name": "x", "arguments": {"a": "x".repeat(bytes)}})
}

/// The limit of a bridge; three quarters are for what begins to wait for input.
const MAX_OF_ALL: usize = 8 * MAX;

/// Two connections to the server of one bridge that keeps at most `MAX_OF_ALL` bytes.
fn two(down: Era, up: Era) -> [Bridged; 2] {
    let mut config = Config::new(counting());
    config.limits.max_endpoint_bytes = MAX_OF_ALL;
    std::array::from_fn(|_| {
        let mut bridged = Bridged::new(EraPolicy::Auto, negotiation(up));
        bridged.set_config(config.for_connection(counting()));
        connect(&mut bridged, down, up);
        bridged.to_client();
        bridged
    })
}

/// Checks that an error names the limit of a connection.
fn assert_names_limit(error: &Value) {
    assert_names(error, "Limits::max_in_flight_bytes");
}

fn assert_names(error: &Value, limit: &str) {
    assert_eq!(error["code"], -32603, "{error}");
    assert!(error["message"].as_str().unwrap().contains(limit), "{error}");
}

/// The client gives the input of an `input_required` result; the server answers the call.
fn end_with_input(bridged: &mut Bridged, mut params: Value, result: &Value, asked: &Value) {
    params["requestState"] = result["requestState"].clone();
    params["inputResponses"] = json!({"input-1": {"action": "decline"}});
    bridged.client(&request(3, "tools/call", &modern(params)));
    assert_eq!(only(bridged.to_server())["id"], "q1");
    assert_eq!(answered(bridged, asked, &json!({"content": []}))["id"], 3);
}

#[test]
fn parameters_of_calls_that_wait_for_modern_clients_are_bounded() {
    let mut bridged = limited(Era::Modern, Era::Legacy);
    // A single call waits, whatever its size.
    let first = call(&mut bridged, Era::Modern, 1, arguments(2 * MAX));
    bridged.server(&question());
    let result = only(bridged.to_client())["result"].clone();
    assert_eq!(result["resultType"], "input_required");
    // The server of another call gets an error, and answers the call without the input.
    let second = call(&mut bridged, Era::Modern, 2, arguments(1));
    bridged.server(&question().replace("q1", "q2"));
    let refused = only(bridged.to_server());
    assert_eq!(refused["id"], "q2");
    assert_names_limit(&refused["error"]);
    let answer = answered(&mut bridged, &second, &json!({"content": ["without"]}));
    assert_eq!((&answer["id"], &answer["result"]["content"]), (&json!(2), &json!(["without"])));
    // The first call goes on, and leaves room for another one.
    end_with_input(&mut bridged, arguments(2 * MAX), &result, &first);
    call(&mut bridged, Era::Modern, 4, arguments(1));
    bridged.server(&question());
    assert_eq!(only(bridged.to_client())["result"]["resultType"], "input_required");
}

#[test]
fn errors_that_nobody_comes_for_are_bounded_in_bytes() {
    let mut bridged = limited(Era::Modern, Era::Legacy);
    let mut states = Vec::new();
    for id in 1..=3 {
        let asked = call(&mut bridged, Era::Modern, id, arguments(1));
        bridged.server(&question());
        states.push(only(bridged.to_client())["result"]["requestState"].clone());
        let error = json!({"code": 7, "message": "no", "data": "x".repeat(MAX / 3)});
        let line = json!({"jsonrpc": "2.0", "id": asked["id"], "error": error});
        bridged.server(&line.to_string());
        bridged.to_server();
    }
    for (at, code) in [(0, -32602), (1, 7), (2, 7)] {
        let mut params = arguments(1);
        params["requestState"] = states[at].clone();
        bridged.client(&request(9, "tools/call", &modern(params)));
        assert_eq!(only(bridged.to_client())["error"]["code"], code, "{at}");
    }
}

/// The result of a modern server that asks for this many inputs, with this state.
fn round(asked: &Value, inputs: usize, state: &str) -> String {
    let input = |at| (format!("{at}"), json!({"method": "roots/list"}));
    let inputs: serde_json::Map<_, _> = (0..inputs).map(input).collect();
    let result = json!({
        "resultType": "input_required", "inputRequests": inputs, "requestState": state,
    });
    json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string()
}

#[test]
fn input_of_legacy_clients_is_bounded_in_all_rounds() {
    let mut bridged = limited(Era::Legacy, Era::Modern);
    let mut questions = Vec::new();
    for id in [1, 2] {
        let asked = call(&mut bridged, Era::Legacy, id, arguments(1));
        bridged.server(&round(&asked, 2, "s"));
        questions.push(bridged.to_client());
    }
    let answer = |question: &Value| {
        let result = json!({"roots": [], "x": "x".repeat(MAX * 2 / 3)});
        json!({"jsonrpc": "2.0", "id": question["id"], "result": result}).to_string()
    };
    bridged.client(&answer(&questions[0][0]));
    assert_eq!(bridged.to_client(), Vec::<Value>::new());
    bridged.client(&answer(&questions[1][0]));
    let got = bridged.to_client();
    let refused = got.iter().find(|line| line["id"] == 2).unwrap();
    assert_names_limit(&refused["error"]);
    // The other question of the refused request is withdrawn.
    assert!(got.iter().any(|line| line["params"]["requestId"] == questions[1][1]["id"]));
    // The first request is not affected.
    let line = json!({"jsonrpc": "2.0", "id": questions[0][1]["id"], "result": {"roots": []}});
    bridged.client(&line.to_string());
    assert_eq!(only(bridged.to_server())["params"]["requestState"], "s");
}

#[test]
fn states_of_modern_servers_are_bounded_in_all_rounds() {
    let mut bridged = limited(Era::Legacy, Era::Modern);
    let state = "s".repeat(MAX * 2 / 3);
    let first = call(&mut bridged, Era::Legacy, 1, arguments(1));
    bridged.server(&round(&first, 1, &state));
    let question = only(bridged.to_client());
    let second = call(&mut bridged, Era::Legacy, 2, arguments(1));
    bridged.server(&round(&second, 1, &state));
    let refused = only(bridged.to_client());
    assert_eq!(refused["id"], 2);
    assert_names_limit(&refused["error"]);
    let line = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}});
    bridged.client(&line.to_string());
    assert_eq!(only(bridged.to_server())["params"]["requestState"], state);
}

#[test]
fn calls_that_wait_for_modern_clients_are_bounded_on_all_connections() {
    let [mut one, mut other] = two(Era::Modern, Era::Legacy);
    let first = call(&mut one, Era::Modern, 1, arguments(4 * MAX));
    one.server(&question());
    let result = only(one.to_client())["result"].clone();
    assert_eq!(result["resultType"], "input_required");
    // Even the only call of another connection is refused.
    let second = call(&mut other, Era::Modern, 2, arguments(2 * MAX));
    other.server(&question());
    let refused = only(other.to_server());
    assert_eq!(refused["id"], "q1");
    assert_names(&refused["error"], "Limits::max_endpoint_bytes");
    assert_eq!(answered(&mut other, &second, &json!({"content": []}))["id"], 2);
    // The first call leaves its room at its end.
    end_with_input(&mut one, arguments(4 * MAX), &result, &first);
    call(&mut other, Era::Modern, 4, arguments(4 * MAX));
    other.server(&question());
    assert_eq!(only(other.to_client())["result"]["resultType"], "input_required");
}

#[test]
fn rounds_of_legacy_clients_are_bounded_on_all_connections() {
    let [mut one, mut other] = two(Era::Legacy, Era::Modern);
    let first = call(&mut one, Era::Legacy, 1, arguments(1));
    one.server(&round(&first, 1, &"s".repeat(4 * MAX)));
    let question = only(one.to_client());
    let second = call(&mut other, Era::Legacy, 2, arguments(1));
    other.server(&round(&second, 1, &"s".repeat(2 * MAX)));
    let refused = only(other.to_client());
    assert_names(&refused["error"], "Limits::max_endpoint_bytes");
    // An answer of the first client has no room either, and ends its call.
    let result = json!({"roots": [], "x": "x".repeat(2 * MAX)});
    let line = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
    one.client(&line.to_string());
    let refused = only(one.to_client());
    assert_eq!(refused["id"], 1);
    assert_names(&refused["error"], "Limits::max_endpoint_bytes");
    let third = call(&mut other, Era::Legacy, 3, arguments(1));
    other.server(&round(&third, 1, &"s".repeat(4 * MAX)));
    assert_eq!(only(other.to_client())["method"], "roots/list");
}

#[test]
fn late_responses_are_bounded_on_all_connections() {
    let mut both = two(Era::Modern, Era::Legacy);
    let states = both.each_mut().map(|bridged| {
        let asked = call(bridged, Era::Modern, 1, arguments(1));
        bridged.server(&question());
        let state = only(bridged.to_client())["result"]["requestState"].clone();
        let result = json!({"content": [], "x": "x".repeat(4 * MAX)});
        let line = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
        bridged.server(&line.to_string());
        bridged.to_server();
        state
    });
    let answers = both.each_mut().map(|bridged| {
        let mut params = arguments(1);
        params["requestState"] = states[0].clone();
        bridged.client(&request(9, "tools/call", &modern(params)));
        only(bridged.to_client())
    });
    assert_eq!(states[0], states[1], "both count their references");
    assert!(answers[0]["result"]["x"].is_string(), "{}", answers[0]);
    assert_eq!(answers[1]["error"]["code"], -32602, "dropped, since the first has the room");
}

#[test]
fn keys_of_the_inputs_of_modern_servers_are_bounded_in_all_rounds() {
    let mut bridged = limited(Era::Legacy, Era::Modern);
    let key = "k".repeat(MAX * 2 / 3);
    for id in [1, 2] {
        let asked = call(&mut bridged, Era::Legacy, id, arguments(1));
        bridged.server(&round(&asked, 1, "s").replace("\"0\"", &format!("\"{key}\"")));
    }
    let got = bridged.to_client();
    assert_eq!(got[0]["method"], "roots/list");
    assert_eq!(got[1]["id"], 2);
    assert_names_limit(&got[1]["error"]);
}
