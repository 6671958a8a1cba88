//! Elicitation, sampling and roots: what a server asks goes to the client of its call, in its era.

use super::*;

const QUESTION: &str = r#"{"jsonrpc":"2.0","id":"q1","method":"elicitation/create",
    "params":{"message":"Sure?","requestedSchema":{"type":"object","properties":{}},"new":1.0}}"#;

pub(super) fn question() -> String {
    QUESTION.replace('\n', "")
}

pub(super) fn call(bridged: &mut Bridged, down: Era, id: u64, params: Value) -> Value {
    forwarded(bridged, down, id, "tools/call", params)
}

#[test]
fn requests_of_a_legacy_server_pass_to_a_legacy_client() {
    let mut bridged = quiet(Era::Legacy, Era::Legacy);
    let asked = call(&mut bridged, Era::Legacy, 1, json!({"name": "x"}));
    for (method, params) in [
        (
            "elicitation/create",
            json!({"message": "Sure?", "requestedSchema": {"new": 1.0}, "x": 1}),
        ),
        ("sampling/createMessage", json!({"messages": [], "maxTokens": 5, "new": [1]})),
        ("roots/list", json!({"_meta": {"a/b": 1}})),
        ("com.example/ask", json!({"any": {"thing": null}})),
    ] {
        let line = json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params});
        bridged.server(&line.to_string());
        let got = only(bridged.to_client());
        assert_eq!((&got["method"], &got["params"]), (&json!(method), &params));
        let result = json!({"action": "accept", "content": {"n": 1.0}, "new": {"x": []}});
        let line = json!({"jsonrpc": "2.0", "id": got["id"], "result": result});
        bridged.client(&line.to_string());
        let got = only(bridged.to_server());
        assert_eq!((&got["id"], &got["result"]), (&json!(method), &result));
    }
    let answer = answered(&mut bridged, &asked, &json!({"content": []}));
    assert_eq!(answer["id"], 1);
}

#[test]
fn refusal_of_a_legacy_client_passes_to_a_legacy_server() {
    let mut bridged = quiet(Era::Legacy, Era::Legacy);
    call(&mut bridged, Era::Legacy, 1, json!({"name": "x"}));
    bridged.server(&question());
    let got = only(bridged.to_client());
    let error = json!({"code": -1, "message": "no", "data": {"why": 1}});
    bridged.client(&json!({"jsonrpc": "2.0", "id": got["id"], "error": error}).to_string());
    assert_eq!(only(bridged.to_server())["error"], error);
}

/// A legacy client that has its answer to `initialize` and is not initialized, while `r2` of the
/// server waits for it. The bridge has told the server that it is initialized already.
fn opening() -> Bridged {
    let mut bridged = Bridged::new(EraPolicy::Auto, negotiation(Era::Legacy));
    let asked = bridged.to_server().remove(0);
    bridged.server(&result(&asked, &handshake(Era::Legacy)));
    bridged.to_server();
    bridged.client(&initialize());
    assert_eq!(only(bridged.to_client())["id"], 0);
    for id in ["r1", "r2"] {
        let roots = json!({"jsonrpc": "2.0", "id": id, "method": "roots/list"});
        bridged.server(&roots.to_string());
    }
    bridged.server(&notification("notifications/cancelled", json!({"requestId": "r1"})));
    assert!(bridged.to_client().is_empty() && bridged.to_server().is_empty());
    bridged
}

#[test]
fn client_that_opens_its_session_is_asked_once_it_is_initialized() {
    let mut bridged = opening();
    bridged.client(&notification("notifications/initialized", json!({})));
    let got = only(bridged.to_client());
    assert_eq!(got["method"], "roots/list");
    let roots = json!({"roots": []});
    bridged.client(&result(&got, &roots));
    let given = only(bridged.to_server());
    assert_eq!((&given["id"], &given["result"]), (&json!("r2"), &roots));
}

#[test]
fn client_that_calls_before_it_is_initialized_is_not_asked() {
    let mut bridged = opening();
    bridged.client(&request(1, "tools/call", &json!({"name": "x"})));
    assert!(bridged.to_client().is_empty());
    let sent = bridged.to_server();
    let [called, refused] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("r2"), &json!(-32603)));
    assert_eq!(called["method"], "tools/call");
}

#[test]
fn input_for_a_client_that_never_initializes_is_refused() {
    let mut bridged = opening();
    bridged.client_ends();
    let refused = only(bridged.to_server());
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("r2"), &json!(-32603)));
}

#[test]
fn server_that_withdraws_its_request_withdraws_it_from_the_client() {
    let mut bridged = quiet(Era::Legacy, Era::Legacy);
    call(&mut bridged, Era::Legacy, 1, json!({"name": "x"}));
    bridged.server(&question());
    let got = only(bridged.to_client());
    let line =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q1"}}"#;
    bridged.server(line);
    let cancelled = only(bridged.to_client());
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], got["id"]);
}

#[test]
fn question_to_a_legacy_client_ends_with_its_call() {
    let mut bridged = quiet(Era::Legacy, Era::Legacy);
    let asked = call(&mut bridged, Era::Legacy, 1, json!({"name": "x"}));
    bridged.server(&question());
    let got = only(bridged.to_client());
    let line = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": []}});
    bridged.server(&line.to_string());
    let lines = bridged.to_client();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let cancelled = lines.iter().find(|line| line["method"] == "notifications/cancelled").unwrap();
    assert_eq!(cancelled["params"]["requestId"], got["id"]);
    let told = only(bridged.to_server());
    assert_eq!((&told["id"], &told["error"]["code"]), (&json!("q1"), &json!(-32603)));
}

#[test]
fn question_to_a_legacy_client_ends_when_its_call_is_cancelled() {
    let mut bridged = quiet(Era::Legacy, Era::Legacy);
    call(&mut bridged, Era::Legacy, 1, json!({"name": "x"}));
    bridged.server(&question());
    only(bridged.to_client());
    let line = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    bridged.client(line);
    let told = bridged.to_server();
    let answer = told.iter().find(|line| line["id"] == "q1").unwrap();
    assert_eq!(answer["error"]["code"], -32603);
}

#[test]
fn roots_question_to_a_legacy_client_outlives_a_call() {
    let mut bridged = quiet(Era::Legacy, Era::Legacy);
    let asked = call(&mut bridged, Era::Legacy, 1, json!({"name": "x"}));
    bridged.server(r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#);
    let got = only(bridged.to_client());
    answered(&mut bridged, &asked, &json!({"content": []}));
    let line = json!({"jsonrpc": "2.0", "id": got["id"], "result": {"roots": []}});
    bridged.client(&line.to_string());
    assert_eq!(only(bridged.to_server())["result"], json!({"roots": []}));
}

/// Calls a tool as a modern client whose legacy server asks at once; returns the result, and the
/// request that the server has got.
fn parked(bridged: &mut Bridged) -> (Value, Value) {
    let asked = call(bridged, Era::Modern, 1, json!({"name": "x", "arguments": {"a": 1}}));
    bridged.server(&question());
    let second = r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#;
    bridged.server(second);
    let result = only(bridged.to_client())["result"].clone();
    (result, asked)
}

#[test]
fn answer_of_another_type_is_refused_and_the_reference_stays_valid() {
    let mut bridged = quiet(Era::Modern, Era::Legacy);
    let (result, asked) = parked(&mut bridged);
    let retry = |responses: &Value| {
        modern(json!({
            "name": "x", "arguments": {"a": 1}, "requestState": result["requestState"],
            "inputResponses": responses,
        }))
    };
    let valid = json!({"input-1": {"action": "decline"}, "input-2": {"roots": []}});
    for (key, misfit) in [
        ("input-1", json!({"action": "perhaps"})),
        ("input-1", json!("accept")),
        ("input-2", json!({"roots": 1})),
    ] {
        let mut responses = valid.clone();
        responses[key] = misfit;
        bridged.client(&request(2, "tools/call", &retry(&responses)));
        let error = only(bridged.to_client())["error"].clone();
        assert_eq!(error["code"], -32602);
        assert!(error["message"].as_str().unwrap().contains(key), "{error}");
        assert!(bridged.to_server().is_empty());
    }
    bridged.client(&request(3, "tools/call", &retry(&valid)));
    assert_eq!(bridged.to_server().len(), 2);
    let answer = answered(&mut bridged, &asked, &json!({"content": [1]}));
    assert_eq!((&answer["id"], &answer["result"]["content"]), (&json!(3), &json!([1])));
}

#[test]
fn modern_client_brings_the_input_of_a_legacy_server_with_its_retry() {
    for answer in ["accept", "decline", "cancel"] {
        let mut bridged = quiet(Era::Modern, Era::Legacy);
        let (result, asked) = parked(&mut bridged);
        assert_eq!(result["resultType"], "input_required");
        let request = &result["inputRequests"]["input-1"];
        assert_eq!(request["method"], "elicitation/create");
        assert_eq!(request["params"]["new"], json!(1.0));
        let params = json!({
            "name": "x", "arguments": {"a": 1}, "requestState": result["requestState"],
            "inputResponses": {"input-1": {"action": answer, "new": 2}},
        });
        bridged.client(&super::request(2, "tools/call", &modern(params)));
        let got = only(bridged.to_server());
        assert_eq!(
            (&got["id"], &got["result"]),
            (&json!("q1"), &json!({"action": answer, "new": 2}))
        );
        // It has asked for something else meanwhile: another round.
        let result = only(bridged.to_client());
        assert_eq!(result["id"], 2);
        let result = result["result"].clone();
        assert_eq!(result["inputRequests"]["input-2"], json!({"method": "roots/list"}));
        let params = json!({
            "name": "x", "arguments": {"a": 1}, "requestState": result["requestState"],
            "inputResponses": {"input-2": {"roots": []}},
        });
        bridged.client(&super::request(3, "tools/call", &modern(params)));
        let got = only(bridged.to_server());
        assert_eq!((&got["id"], &got["result"]), (&json!(7), &json!({"roots": []})));
        let answer = answered(&mut bridged, &asked, &json!({"content": [1]}));
        assert_eq!((&answer["id"], &answer["result"]["content"]), (&json!(3), &json!([1])));
        assert_eq!(bridged.responses, bridged.requests);
    }
}

#[test]
fn legacy_client_is_asked_only_what_it_declares() {
    for (capabilities, is_asked) in [(json!({}), false), (json!({"elicitation": {}}), true)] {
        let mut bridged = Bridged::new(EraPolicy::Auto, negotiation(Era::Legacy));
        let initialize = initialize_with(&capabilities);
        connect_with(&mut bridged, Era::Legacy, Era::Legacy, &initialize);
        bridged.to_client();
        call(&mut bridged, Era::Legacy, 1, json!({"name": "x"}));
        bridged.server(&question());
        assert_eq!(!bridged.to_client().is_empty(), is_asked, "{capabilities}");
        let refused = bridged.to_server().pop();
        assert_eq!(refused.is_none(), is_asked, "{refused:?}");
    }
}

#[test]
fn modern_client_is_asked_only_what_it_declares() {
    let form = json!({"message": "Sure?", "requestedSchema": {}});
    let url = json!({"message": "Pay", "mode": "url", "url": "https://a.example"});
    let sampling = json!({"messages": [], "maxTokens": 5});
    let tools = json!({"messages": [], "maxTokens": 5, "tools": []});
    for (capabilities, method, params, lacks) in [
        (json!({}), "roots/list", &json!({}), Some("roots")),
        (json!({}), "elicitation/create", &form, Some("elicitation.form")),
        (json!({"elicitation": {}}), "elicitation/create", &form, None),
        (json!({"elicitation": {}}), "elicitation/create", &url, Some("elicitation.url")),
        (json!({"elicitation": {"url": {}}}), "elicitation/create", &url, None),
        (json!({"roots": {}}), "sampling/createMessage", &sampling, Some("sampling")),
        (json!({"sampling": {}}), "sampling/createMessage", &sampling, None),
        (json!({"sampling": {}}), "sampling/createMessage", &tools, Some("sampling.tools")),
    ] {
        let mut bridged = quiet(Era::Modern, Era::Legacy);
        let mut asked = modern(json!({"name": "x"}));
        asked["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        bridged.client(&request(1, "tools/call", &asked));
        let asked = only(bridged.to_server());
        let line = json!({"jsonrpc": "2.0", "id": "q", "method": method, "params": params});
        bridged.server(&line.to_string());
        let Some(lacks) = lacks else {
            assert_eq!(only(bridged.to_client())["result"]["resultType"], "input_required");
            continue;
        };
        let error = only(bridged.to_server())["error"].clone();
        let message = error["message"].as_str().unwrap();
        assert_eq!(error["code"], -32602);
        assert!(message.contains(&format!("does not declare `{lacks}`")), "{message}");
        let answer = answered(&mut bridged, &asked, &json!({"content": []}));
        assert_eq!(answer["result"]["content"], json!([]));
    }
}

#[test]
fn reference_belongs_to_its_request_and_is_good_once() {
    let mut bridged = quiet(Era::Modern, Era::Legacy);
    let (result, _) = parked(&mut bridged);
    let state = result["requestState"].clone();
    let retry = |id, name: &str, n, state: &Value| {
        let params = json!({
            "name": name, "arguments": {"a": n}, "requestState": state, "inputResponses": {},
        });
        request(id, "tools/call", &modern(params))
    };
    for (id, name, n, state) in
        [(2, "y", 1, &state), (3, "x", 2, &state), (4, "x", 1, &json!("guessed"))]
    {
        bridged.client(&retry(id, name, n, state));
        let got = only(bridged.to_client());
        assert_eq!((&got["id"], &got["error"]["code"]), (&json!(id), &json!(-32602)));
    }
    bridged.client(&retry(5, "x", 1, &state));
    let again = only(bridged.to_client());
    assert_eq!(again["result"]["resultType"], "input_required");
    bridged.client(&retry(6, "x", 1, &state));
    assert_eq!(only(bridged.to_client())["error"]["code"], -32602);
    assert_eq!(bridged.to_server(), Vec::<Value>::new());
}

#[test]
fn response_that_comes_while_nobody_waits_is_kept_for_the_retry() {
    let mut bridged = quiet(Era::Modern, Era::Legacy);
    let (result, asked) = parked(&mut bridged);
    let line = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": ["late"]}});
    bridged.server(&line.to_string());
    assert_eq!(bridged.to_client(), Vec::<Value>::new());
    let params = json!({
        "name": "x", "arguments": {"a": 1}, "requestState": result["requestState"],
        "inputResponses": {"input-1": {"action": "accept"}},
    });
    bridged.client(&request(2, "tools/call", &modern(params)));
    assert_eq!(only(bridged.to_client())["result"]["content"], json!(["late"]));
}

#[test]
fn what_a_legacy_server_asks_is_answered_at_the_latest_with_its_response() {
    let mut bridged = quiet(Era::Modern, Era::Legacy);
    let (_, asked) = parked(&mut bridged);
    let line = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": []}});
    bridged.server(&line.to_string());
    let told: Vec<_> = bridged.to_server();
    let ids: Vec<_> = told.iter().map(|it| it["id"].clone()).collect();
    assert_eq!(ids, [json!("q1"), json!(7)]);
    assert!(told.iter().all(|it| it["error"].is_object()), "{told:?}");
}

#[test]
fn responses_that_nobody_comes_for_are_bounded_in_number() {
    let mut bridged = quiet(Era::Modern, Era::Legacy);
    let most = Limits::default().max_in_flight;
    let mut states = Vec::new();
    for id in 0..=u64::try_from(most).unwrap() {
        let asked = call(&mut bridged, Era::Modern, id, json!({"name": "x"}));
        bridged.server(&question());
        states.push(only(bridged.to_client())["result"]["requestState"].clone());
        let line = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": [id]}});
        bridged.server(&line.to_string());
        bridged.to_server();
    }
    let retry = |id: u64, state: &Value| {
        let params = json!({"name": "x", "requestState": state, "inputResponses": {}});
        request(id, "tools/call", &modern(params))
    };
    bridged.client(&retry(9000, &states[0]));
    assert_eq!(only(bridged.to_client())["error"]["code"], -32602);
    bridged.client(&retry(9001, &states[1]));
    assert_eq!(only(bridged.to_client())["result"]["content"], json!([1]));
}

#[test]
fn call_whose_client_does_not_come_back_is_cancelled() {
    let mut bridged = quiet(Era::Modern, Era::Legacy);
    let (_, asked) = parked(&mut bridged);
    bridged.pass(Duration::from_secs(5 * 60));
    let cancelled = bridged.to_server();
    let is_it = |line: &&Value| line["method"] == "notifications/cancelled";
    let found = cancelled.iter().find(is_it).unwrap();
    assert_eq!(found["params"]["requestId"], asked["id"]);
}

#[test]
fn legacy_client_is_asked_what_a_modern_server_requires() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    let asked = call(&mut bridged, Era::Legacy, 1, json!({"name": "x", "arguments": {"a": 1}}));
    let mut id = asked["id"].clone();
    for round in 0..2 {
        let result = json!({
            "resultType": "input_required", "requestState": format!("state {round}"),
            "inputRequests": {
                "a": {"method": "elicitation/create", "params": {"message": "m", "new": 1.0}},
                "b": {"method": "elicitation/create", "params": {
                    "mode": "url", "url": "https://a.example", "message": "m"}},
                "c": {"method": "roots/list"},
            },
        });
        let line = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        bridged.server(&line);
        let questions = bridged.to_client();
        assert_eq!(questions.len(), 3);
        assert_eq!(questions[0]["params"], json!({"message": "m", "new": 1.0}));
        assert!(questions[1]["params"]["elicitationId"].is_string());
        for (at, question) in questions.iter().enumerate() {
            assert_eq!(bridged.to_server(), Vec::<Value>::new());
            let result = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"n": at}});
            bridged.client(&result.to_string());
        }
        let again = only(bridged.to_server());
        assert_eq!(again["method"], "tools/call");
        let params = &again["params"];
        assert_eq!((&params["name"], &params["arguments"]), (&json!("x"), &json!({"a": 1})));
        assert_eq!(params["requestState"], format!("state {round}"));
        assert_eq!(params["inputResponses"], json!({"a": {"n": 0}, "b": {"n": 1}, "c": {"n": 2}}));
        id = again["id"].clone();
    }
    let line = json!({"jsonrpc": "2.0", "id": id, "result": {
        "resultType": "complete", "content": []}});
    bridged.server(&line.to_string());
    let answer = only(bridged.to_client());
    assert_eq!((&answer["id"], &answer["result"]), (&json!(1), &json!({"content": []})));
}

/// Revisions before 2025-11-25 have no lists of blocks.
#[test]
fn legacy_client_gets_a_list_of_one_block_as_the_block() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    let asked = call(&mut bridged, Era::Legacy, 1, json!({"name": "x"}));
    let params = |content: &Value| {
        let list = json!({"role": "assistant", "content": [{"n": 1}, {"n": 2}]});
        let messages = json!([{"role": "user", "content": content, "new": 1.0}, list]);
        json!({"messages": messages, "maxTokens": 5, "new": {"content": [1]}})
    };
    let block = json!({"type": "text", "text": "a", "new": [{}]});
    let sampling = json!({"method": "sampling/createMessage", "params": params(&json!([block]))});
    let result = json!({"resultType": "input_required", "inputRequests": {"a": sampling}});
    bridged.server(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string());
    assert_eq!(only(bridged.to_client())["params"], params(&block));
}

#[test]
fn lists_of_several_blocks_are_refused_for_clients_whose_revision_has_none() {
    for (revision, is_refused) in
        [("2025-11-25", false), ("2025-06-18", true), ("2025-03-26", true), ("2024-11-05", true)]
    {
        let mut bridged = Bridged::new(EraPolicy::Auto, negotiation(Era::Modern));
        let initialize = initialize().replace("2025-11-25", revision);
        connect_with(&mut bridged, Era::Legacy, Era::Modern, &initialize);
        bridged.to_client();
        for (id, blocks) in [json!([]), json!([{"n": 1}, {"n": 2}])].iter().enumerate() {
            let id = id as u64 + 1;
            let asked = call(&mut bridged, Era::Legacy, id, json!({"name": "x"}));
            let messages = json!([{"role": "user", "content": blocks}]);
            let sampling = json!({"method": "sampling/createMessage",
                "params": {"messages": messages, "maxTokens": 5}});
            let asks = json!({"resultType": "input_required", "inputRequests": {"a": sampling}});
            bridged.server(&result(&asked, &asks));
            let got = only(bridged.to_client());
            if is_refused {
                assert_eq!((&got["id"], &got["error"]["code"]), (&json!(id), &json!(-32603)));
                let why = got["error"]["message"].as_str().unwrap();
                assert!(why.contains("2025-11-25"), "{why}");
            } else {
                assert_eq!(got["params"]["messages"], messages, "{revision}");
            }
        }
    }
}

#[test]
fn rounds_of_a_call_of_a_legacy_client_are_bounded() {
    let limit = |limits: &mut Limits| limits.max_input_rounds = 2;
    let mut bridged = with_limits(Era::Legacy, Era::Modern, limit);
    let mut asked = call(&mut bridged, Era::Legacy, 1, json!({"name": "x"}));
    let answer = |bridged: &mut Bridged, id: &Value| {
        let result = json!({
            "resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}},
        });
        bridged.server(&json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
        only(bridged.to_client())
    };
    for _ in 0..2 {
        let question = answer(&mut bridged, &asked["id"]);
        assert_eq!(question["method"], "roots/list");
        let roots = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}});
        bridged.client(&roots.to_string());
        asked = only(bridged.to_server());
    }
    let failed = answer(&mut bridged, &asked["id"]);
    let why = "Limits::max_input_rounds = 2 are over";
    assert_eq!((&failed["id"], &failed["error"]["message"]), (&json!(1), &json!(why)));
    assert_eq!(bridged.to_server(), Vec::<Value>::new());
}

#[test]
fn progress_of_a_legacy_client_increases_over_all_rounds() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    let params = json!({"name": "x", "_meta": {"progressToken": "mine"}});
    bridged.client(&request(1, "tools/call", &params));
    let mut asked = only(bridged.to_server());
    for expected in [vec![0.5, 1.0], vec![2.0], vec![3.0]] {
        let mut told = Vec::new();
        // The handler runs from its beginning in each round.
        for progress in
            [0.5, 1.0, 2.0, 3.0].into_iter().take_while(|it| expected.last() >= Some(it))
        {
            let params = json!({
                "progressToken": asked["params"]["_meta"]["progressToken"], "progress": progress,
            });
            let line = json!({
                "jsonrpc": "2.0", "method": "notifications/progress", "params": params,
            });
            bridged.server(&line.to_string());
            told.extend(bridged.to_client().iter().map(|line| line["params"]["progress"].clone()));
        }
        assert_eq!(told, expected);
        let result = json!({
            "resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}},
        });
        bridged.server(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string());
        let question = only(bridged.to_client());
        let line = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}});
        bridged.client(&line.to_string());
        asked = only(bridged.to_server());
    }
}

#[test]
fn refusal_of_a_legacy_client_ends_the_request_at_a_modern_server() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    let asked = call(&mut bridged, Era::Legacy, 1, json!({"name": "x"}));
    let result = json!({"resultType": "input_required", "inputRequests": {
        "a": {"method": "roots/list"}, "b": {"method": "roots/list"}}});
    bridged.server(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string());
    let questions = bridged.to_client();
    let error = json!({"code": -32601, "message": "no"});
    let line = json!({"jsonrpc": "2.0", "id": questions[0]["id"], "error": error});
    bridged.client(&line.to_string());
    let got = bridged.to_client();
    assert_eq!(got.len(), 2, "{got:?}");
    let cancelled = got.iter().find(|line| line["method"] == "notifications/cancelled").unwrap();
    assert_eq!(cancelled["params"]["requestId"], questions[1]["id"]);
    let answer = got.iter().find(|line| line["id"] == 1).unwrap();
    assert_eq!(answer["error"]["code"], -32603);
}

#[test]
fn null_for_the_state_of_a_modern_server_is_none() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    let asked = call(&mut bridged, Era::Legacy, 1, json!({"name": "x"}));
    let result = json!({"resultType": "input_required", "requestState": null, "inputRequests": {
        "a": {"method": "roots/list"}}});
    bridged.server(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string());
    let question = only(bridged.to_client());
    let line = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}});
    bridged.client(&line.to_string());
    let again = only(bridged.to_server());
    assert_eq!(again["params"].get("requestState"), None);
    assert_eq!(again["params"]["inputResponses"], json!({"a": {"roots": []}}));
}

#[test]
fn rounds_of_a_modern_server_pass_to_a_modern_client() {
    let mut bridged = quiet(Era::Modern, Era::Modern);
    let asked = call(&mut bridged, Era::Modern, 1, json!({"name": "x"}));
    let result = json!({
        "resultType": "input_required", "requestState": "s", "new": 1,
        "inputRequests": {"a": {"method": "com.example/unknown", "params": {"n": 1.0}}},
    });
    assert_eq!(answered(&mut bridged, &asked, &result)["result"], result);
    let params = json!({"name": "x", "requestState": "s", "inputResponses": {"a": {"n": [2.0]}}});
    let asked = call(&mut bridged, Era::Modern, 2, params);
    assert_eq!(asked["params"]["requestState"], "s");
    assert_eq!(asked["params"]["inputResponses"], json!({"a": {"n": [2.0]}}));
}

#[test]
fn round_with_too_many_inputs_ends_its_call_only() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    let most = Limits::default().max_in_flight;
    let round = |asked: &Value, count: usize| {
        let input = |at| (format!("{at}"), json!({"method": "roots/list"}));
        let inputs: serde_json::Map<_, _> = (0..count).map(input).collect();
        let result = json!({"resultType": "input_required", "inputRequests": inputs});
        json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string()
    };
    let [first, second, third] =
        [1, 2, 3].map(|id| call(&mut bridged, Era::Legacy, id, json!({"name": "x"})));
    bridged.server(&round(&first, most + 1));
    let answer = only(bridged.to_client());
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32603)));
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains(&format!("Limits::max_in_flight = {most}")), "{message}");
    // The rounds of all calls count together.
    bridged.server(&round(&second, most));
    assert_eq!(bridged.to_client().len(), most);
    bridged.server(&round(&third, 1));
    let answer = only(bridged.to_client());
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(3), &json!(-32603)));
    let fourth = call(&mut bridged, Era::Legacy, 4, json!({"name": "x"}));
    let answer = answered(&mut bridged, &fourth, &json!({"content": []}));
    assert_eq!((&answer["id"], &answer["result"]["content"]), (&json!(4), &json!([])));
}
