//! Messages of a legacy server in the HTTP response to a call that has ended: they are about no
//! other call.

use mcp_tests::bridge::HttpRequest;

use super::inputs::question;
use super::missed_changes::over_http;
use super::*;

#[test]
fn late_messages_of_a_call_are_not_about_another_call() {
    let mut bridged = listening(Era::Modern);
    let [ended, _other] = [1, 2].map(|id| {
        let mut params = modern(json!({"name": "x"}));
        params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
        called(&mut bridged, id, params)
    });
    answer_in_stream(&mut bridged, &ended);
    bridged.http_event(ended.exchange, &log());
    assert_eq!(bridged.to_client(), Vec::<Value>::new());
    bridged.http_event(ended.exchange, &serde_json::from_str(&question()).unwrap());
    assert_eq!(bridged.to_client(), Vec::<Value>::new());
    let refused = bridged.http_requests().pop().unwrap().message;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("q1"), &json!(-32603)));
}

#[test]
fn late_messages_of_a_call_reach_the_only_client() {
    let mut bridged = listening(Era::Legacy);
    let ended = called(&mut bridged, 1, json!({"name": "x"}));
    answer_in_stream(&mut bridged, &ended);
    bridged.http_event(ended.exchange, &log());
    assert_eq!(only(bridged.to_client())["params"]["data"], "late");
    bridged.http_event(ended.exchange, &serde_json::from_str(&question()).unwrap());
    assert_eq!(only(bridged.to_client())["method"], "elicitation/create");
}

/// A bridge to a legacy server over HTTP, whose session has its stream.
fn listening(down: Era) -> Bridged {
    let mut bridged = over_http(Era::Legacy);
    if down == Era::Legacy {
        bridged.client(&initialize());
        bridged.client(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        bridged.to_client();
    }
    let [stream] = <[HttpRequest; 1]>::try_from(bridged.http_requests()).unwrap();
    assert_eq!(stream.method, "GET");
    bridged.http_stream(stream.exchange);
    bridged
}

/// Calls a tool; returns the request that the server has got.
fn called(bridged: &mut Bridged, id: u64, params: Value) -> HttpRequest {
    bridged.client(&request(id, "tools/call", &params));
    let mut requests = bridged.http_requests().into_iter();
    requests.find(|request| request.message["method"] == "tools/call").unwrap()
}

/// The server answers a call in a stream, which it does not end.
fn answer_in_stream(bridged: &mut Bridged, asked: &HttpRequest) {
    bridged.http_stream(asked.exchange);
    let result = json!({"jsonrpc": "2.0", "id": asked.message["id"], "result": {"content": []}});
    bridged.http_event(asked.exchange, &result);
    assert_eq!(only(bridged.to_client())["id"], 1);
}

fn log() -> Value {
    let params = json!({"level": "info", "data": "late"});
    json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
}
