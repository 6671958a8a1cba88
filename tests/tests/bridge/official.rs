//! Values of the official schemas in all pairs of eras: a bridge adds and removes what the eras
//! differ in, and nothing else.

use mcp_tests::spec::{REVISIONS, Schema, examples};

use super::*;

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
const MODERN: &str = "2026-07-28";

/// A legacy client of a modern server.
const LEGACY_TO_MODERN: (Era, Era) = (Era::Legacy, Era::Modern);

/// The requests, by the names of their definitions.
const METHODS: [(&str, &str); 8] = [
    ("tools/list", "ListTools"),
    ("tools/call", "CallTool"),
    ("prompts/list", "ListPrompts"),
    ("prompts/get", "GetPrompt"),
    ("resources/list", "ListResources"),
    ("resources/templates/list", "ListResourceTemplates"),
    ("resources/read", "ReadResource"),
    ("completion/complete", "Complete"),
];

/// The revisions of an era.
fn revisions(era: Era) -> impl Iterator<Item = &'static str> {
    REVISIONS.into_iter().filter(move |revision| (*revision == MODERN) == (era == Era::Modern))
}

/// Values of the definitions that `METHODS` names with this ending, with their methods.
fn values(era: Era, ending: &str) -> Vec<(&'static str, Value)> {
    let mut all = Vec::new();
    for revision in revisions(era) {
        let schema = Schema::of(revision).extended();
        for (method, name) in METHODS {
            let values = schema.values(&format!("{name}{ending}"));
            all.extend(values.into_iter().map(|value| (method, value)));
        }
    }
    for (method, name) in METHODS.into_iter().filter(|_| era == Era::Modern) {
        let examples = examples(&format!("{name}{ending}"));
        all.extend(examples.into_iter().map(|(_, value)| (method, value)));
    }
    all
}

fn remove(value: &mut Value, names: &[&str]) {
    let Some(members) = value.as_object_mut() else { return };
    for name in names {
        members.remove(*name);
    }
}

/// The members that the modern era adds to the result of a method.
fn modern_members(method: &str) -> &'static [&'static str] {
    match method {
        "tools/call" | "prompts/get" | "completion/complete" => &["resultType"],
        _ => &["resultType", "ttlMs", "cacheScope"],
    }
}

#[test]
fn official_handshakes_pass_in_all_pairs_of_eras() {
    for (down, up) in pairs() {
        for revision in revisions(up) {
            let definition = if up == Era::Modern { "DiscoverResult" } else { "InitializeResult" };
            for sent in Schema::of(revision).extended().values(definition) {
                let got = handshake_through(down, up, &sent);
                assert_eq!(
                    server_description(&got, down),
                    server_description(&sent, up),
                    "{down:?} {revision}"
                );
            }
        }
    }
}

/// The answer to the handshake of a client, whose server answers with `offer`.
fn handshake_through(down: Era, up: Era, offer: &Value) -> Value {
    let mut offer = offer.clone();
    offer["protocolVersion"] = json!("2025-11-25");
    if up == Era::Modern {
        remove(&mut offer, &["protocolVersion"]);
        offer["resultType"] = json!("complete");
        offer["supportedVersions"] = json!([MODERN]);
    }
    let mut bridged = Bridged::new(EraPolicy::Auto, negotiation(up));
    let answer = |bridged: &mut Bridged| {
        let asked = bridged.to_server().remove(0);
        bridged.server(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": offer}).to_string());
    };
    answer(&mut bridged);
    bridged.to_server();
    bridged.client(&match down {
        Era::Legacy => initialize(),
        Era::Modern => request(0, "server/discover", &modern(json!({}))),
    });
    if up == Era::Modern {
        answer(&mut bridged);
    }
    only(bridged.to_client())["result"].take()
}

/// What a server says of itself in its handshake: its members beside those of the era, and its
/// name.
fn server_description(handshake: &Value, era: Era) -> (Value, Value) {
    let info = match era {
        Era::Legacy => &handshake["serverInfo"],
        Era::Modern => &handshake["_meta"][SERVER_INFO],
    };
    let mut others = handshake.clone();
    let of_era = ["protocolVersion", "supportedVersions", "resultType", "ttlMs", "cacheScope"];
    remove(&mut others, &of_era);
    remove(&mut others, &["serverInfo", "_meta"]);
    (info.clone(), others)
}

#[test]
fn official_results_pass_in_all_pairs_of_eras() {
    for (down, up) in pairs() {
        let mut bridged = quiet(down, up);
        for (id, (method, mut sent)) in (1_u64..).zip(values(up, "Result")) {
            // Values of the schema have any text here.
            if up == Era::Modern {
                sent["resultType"] = json!("complete");
            }
            let asked = forwarded(&mut bridged, down, id, method, json!({"name": "x"}));
            let mut got = answered(&mut bridged, &asked, &sent)["result"].take();
            if (down, up) == (Era::Modern, Era::Legacy) {
                assert_eq!(got["resultType"], "complete");
                remove(&mut got, modern_members(method));
                remove(&mut got["_meta"], &[SERVER_INFO]);
            } else if (down, up) == LEGACY_TO_MODERN {
                remove(&mut sent, modern_members(method));
                remove(&mut sent["_meta"], &[SERVER_INFO]);
                wrap(&mut sent);
            }
            for value in [&mut got, &mut sent] {
                if value["_meta"].as_object().is_none_or(serde_json::Map::is_empty) {
                    remove(value, &["_meta"]);
                }
            }
            assert_eq!(got, sent, "{method} {down:?} {up:?}");
        }
    }
}

/// Puts what only the modern era has inside of an object.
fn wrap(result: &mut Value) {
    if let Some(content) = result.get_mut("structuredContent").filter(|it| !it.is_object()) {
        *content = json!({"result": content.take()});
    }
    for tool in result.get_mut("tools").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(schema) = tool.get_mut("outputSchema") else { continue };
        if schema["type"] != "object" {
            let mut wrapped = json!({"type": "object", "required": ["result"]});
            let dialect = schema.as_object_mut().and_then(|schema| schema.remove("$schema"));
            if let Some(dialect) = dialect {
                wrapped["$schema"] = dialect;
            }
            wrapped["properties"] = json!({"result": schema.take()});
            *schema = wrapped;
        }
    }
}

#[test]
fn official_requests_pass_in_all_pairs_of_eras() {
    for (down, up) in pairs() {
        let mut bridged = quiet(down, up);
        for (id, (method, mut value)) in (1_u64..).zip(values(down, "Request")) {
            let mut sent = value["params"].take();
            if sent.is_null() {
                sent = json!({});
            }
            if up == Era::Legacy {
                // These name a call that waits at the bridge.
                remove(&mut sent, &["inputResponses", "requestState"]);
            }
            bridged.client(&request(id, method, &of_era(down, sent.clone())));
            // The level of a log goes before the request.
            let asked = bridged.to_server().pop().unwrap();
            let mut got = asked["params"].clone();
            let wants_progress = |params: &Value| params["_meta"].get("progressToken").is_some();
            assert_eq!(wants_progress(&got), wants_progress(&sent));
            for params in [&mut got, &mut sent] {
                let Some(meta) = params["_meta"].as_object_mut() else { continue };
                let of_hop = ["protocolVersion", "clientInfo", "clientCapabilities", "logLevel"];
                let of_hop = of_hop.map(|key| format!("io.modelcontextprotocol/{key}"));
                meta.retain(|key, _| key != "progressToken" && !of_hop.contains(key));
                if meta.is_empty() {
                    remove(params, &["_meta"]);
                }
            }
            remove_null(&mut got);
            remove_null(&mut sent);
            assert_eq!((&asked["method"], got), (&json!(method), sent), "{down:?} {up:?}");
            answered(&mut bridged, &asked, &json!({"resultType": "complete"}));
        }
    }
}

fn remove_null(params: &mut Value) {
    if params["_meta"].is_null() {
        remove(params, &["_meta"]);
    }
}

/// Requests for input of a server of this era, and their answers.
fn inputs(era: Era) -> Vec<(Value, Value)> {
    let schema = Schema::of(revisions(era).last().unwrap()).extended();
    let mut all = Vec::new();
    for (method, request, result) in [
        ("sampling/createMessage", "CreateMessageRequest", "CreateMessageResult"),
        ("elicitation/create", "ElicitRequest", "ElicitResult"),
        ("roots/list", "ListRootsRequest", "ListRootsResult"),
    ] {
        let (requests, results) = (schema.values(request), schema.values(result));
        for at in 0..requests.len().max(results.len()) {
            let mut asks = json!({"method": method});
            if let Some(params) = requests[at % requests.len()].get("params") {
                asks["params"] = params.clone();
            }
            all.push((asks, results[at % results.len()].clone()));
        }
    }
    all
}

#[test]
fn official_inputs_pass_in_all_pairs_of_eras() {
    for (down, up) in pairs() {
        let mut bridged = Bridged::new(EraPolicy::Auto, negotiation(up));
        connect_with(&mut bridged, down, up, &initialize_with(&all_inputs()));
        bridged.to_client();
        let mut ids = 1_u64..;
        for (asks, result) in inputs(up) {
            call(&mut bridged, down, ids.next().unwrap(), json!({"name": "x"}));
            let asked = only(bridged.to_server());
            let mut got = ask(&mut bridged, up, &asked["id"], &asks);
            if down == Era::Legacy {
                let line = json!({"jsonrpc": "2.0", "id": got["id"], "result": result});
                bridged.client(&line.to_string());
            } else {
                let required = got["result"].take();
                let mut params = json!({"name": "x", "inputResponses": {"input-1": result}});
                if let Some(state) = required.get("requestState") {
                    params["requestState"] = state.clone();
                }
                call(&mut bridged, down, ids.next().unwrap(), params);
                got = required["inputRequests"]["input-1"].clone();
            }
            assert_eq!(got["method"], asks["method"]);
            let [got, expected] = [&got, &asks].map(|asks| comparable(asks, down, up));
            assert_eq!(got, expected, "{down:?} {up:?}");
            let given = only(bridged.to_server());
            if up == Era::Legacy {
                assert_eq!(given["result"], result, "{down:?} {up:?}");
            } else {
                let responses = &given["params"]["inputResponses"];
                assert_eq!(responses["input-1"], result, "{down:?} {up:?}");
            }
            let called = if up == Era::Legacy { asked } else { given };
            answered(&mut bridged, &called, &json!({"resultType": "complete"}));
        }
    }
}

/// The capabilities of a client that gives every input.
fn all_inputs() -> Value {
    json!({
        "elicitation": {"url": {}, "form": {}}, "roots": {},
        "sampling": {"tools": {}, "context": {}},
    })
}

/// The client calls a tool, and declares all inputs.
fn call(bridged: &mut Bridged, down: Era, id: u64, params: Value) {
    let mut params = of_era(down, params);
    if down == Era::Modern {
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = all_inputs();
    }
    bridged.client(&request(id, "tools/call", &params));
}

/// The server asks for input during a call; returns what the client gets.
fn ask(bridged: &mut Bridged, up: Era, call: &Value, asks: &Value) -> Value {
    let line = if up == Era::Modern {
        json!({"jsonrpc": "2.0", "id": call, "result":
            {"resultType": "input_required", "inputRequests": {"input-1": asks}}})
    } else {
        let mut line = asks.clone();
        line["jsonrpc"] = json!("2.0");
        line["id"] = json!("question");
        line
    };
    bridged.server(&line.to_string());
    only(bridged.to_client())
}

/// The parameters of a request for input without what the eras differ in: only the legacy era has
/// ids of URLs, and its older revisions have no lists of blocks.
fn comparable(asks: &Value, down: Era, up: Era) -> Value {
    let mut params = asks.get("params").cloned().unwrap_or_default();
    if down != up && params.get("mode").is_some_and(|mode| mode == "url") {
        remove(&mut params, &["elicitationId"]);
    }
    let messages = params.get_mut("messages").and_then(Value::as_array_mut);
    for message in messages.into_iter().flatten().filter(|_| (down, up) == LEGACY_TO_MODERN) {
        if let Some([block]) = message["content"].as_array().map(Vec::as_slice) {
            message["content"] = block.clone();
        }
    }
    params
}
