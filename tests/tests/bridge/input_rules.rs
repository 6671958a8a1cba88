//! Requests for input that an era does not allow are refused.

use super::*;

/// The result of a modern server may ask for elicitation, sampling and roots.
#[test]
fn modern_client_is_asked_only_what_a_result_may_ask() {
    let mut bridged = quiet(Era::Modern, Era::Legacy);
    let asked = forwarded(&mut bridged, Era::Modern, 1, "tools/call", json!({"name": "x"}));
    let line = json!({"jsonrpc": "2.0", "id": "q", "method": "com.example/ask", "params": {}});
    bridged.server(&line.to_string());
    let refused = only(bridged.to_server());
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("q"), &json!(-32601)));
    let answer = answered(&mut bridged, &asked, &json!({"content": []}));
    assert_eq!((&answer["id"], &answer["result"]["content"]), (&json!(1), &json!([])));
}

/// Of other requests the bridge keeps no parameters to send again.
#[test]
fn request_that_cannot_have_input_fails_if_a_modern_server_asks_for_some() {
    for method in ["completion/complete", "tools/list"] {
        let mut bridged = quiet(Era::Legacy, Era::Modern);
        let params = json!({"ref": {"type": "ref/prompt", "name": "p"}, "cursor": "c"});
        let asked = forwarded(&mut bridged, Era::Legacy, 1, method, params);
        let result = json!({
            "resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}},
        });
        let answer = answered(&mut bridged, &asked, &result);
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32603)));
        assert_eq!(bridged.to_server(), Vec::<Value>::new());
    }
}

/// The connection to the server declares more than this client, as a shared one may.
#[test]
fn modern_client_is_asked_only_what_it_declares_by_a_modern_server() {
    for (capabilities, is_asked) in [
        (json!({}), false),
        (json!({"elicitation": {"url": {}}}), false),
        (json!({"elicitation": {}}), true),
    ] {
        let mut bridged = quiet(Era::Modern, Era::Modern);
        let mut params = modern(json!({"name": "x"}));
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        bridged.client(&request(1, "tools/call", &params));
        let asked = only(bridged.to_server());
        let form = json!({"message": "Sure?", "requestedSchema": {}});
        let result = json!({
            "resultType": "input_required", "requestState": "s",
            "inputRequests": {"a": {"method": "elicitation/create", "params": form}},
        });
        let answer = answered(&mut bridged, &asked, &result);
        if is_asked {
            assert_eq!(answer["result"], result);
            continue;
        }
        let required = json!({"requiredCapabilities": {"elicitation": {"form": {}}}});
        assert_eq!(
            (&answer["error"]["code"], &answer["error"]["data"]),
            (&json!(-32021), &required)
        );
    }
}

/// Only the messages of sampling are for a model.
#[test]
fn client_without_lists_of_blocks_gets_them_in_requests_of_other_methods() {
    let mut bridged = Bridged::new(EraPolicy::Auto, negotiation(Era::Modern));
    let initialize = initialize().replace("2025-11-25", "2025-06-18");
    connect_with(&mut bridged, Era::Legacy, Era::Modern, &initialize);
    bridged.to_client();
    let asked = forwarded(&mut bridged, Era::Legacy, 1, "tools/call", json!({"name": "x"}));
    let params = json!({"messages": [{"content": [{"n": 1}, {"n": 2}]}]});
    let result = json!({
        "resultType": "input_required",
        "inputRequests": {"a": {"method": "com.example/ask", "params": params}},
    });
    let got = answered(&mut bridged, &asked, &result);
    assert_eq!((&got["method"], &got["params"]), (&json!("com.example/ask"), &params));
}
