//! The bridge between scripts: what passes as it came, what is translated, what is answered.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a test ends here, and says why; values are made in place"
)]

mod across;
mod arriving;
mod callers;
mod cells;
mod connections;
mod ended_calls;
mod ended_drivers;
mod ended_listens;
mod ended_processes;
mod ended_sessions;
mod ended_streams;
mod extensions;
mod faults;
mod headers;
mod idle_sessions;
mod input_rules;
mod inputs;
mod kept_bytes;
mod lasting_subscriptions;
mod lost_servers;
mod many_clients;
mod missed_changes;
mod no_stream;
mod notifications;
mod official;
mod opening_sessions;
mod openings;
mod other_era;
mod own_calls;
mod same_era;
mod slow_clients;
mod stateless;
mod subscriptions;
mod tables;
mod tasks;
mod unnamed;
mod verdicts;
mod waiting;
mod wire_faults;

use mcp_proto::bridge::Config;
use mcp_proto::{Duration, Era, EraPolicy, Limits};
use mcp_tests::bridge::{Bridged, counting, negotiation, policy};
use serde_json::{Value, json};

/// The offer of the server of the tests.
fn capabilities() -> Value {
    json!({
        "tools": {"listChanged": true},
        "resources": {"subscribe": true, "listChanged": true},
        "prompts": {"listChanged": true},
        "completions": {},
        "logging": {},
        "experimental": {"x": {"y": 1}},
        "unknown": {"kept": [1, 2.50]},
    })
}

/// A bridge whose server is connected, and whose client is of `down`; a legacy one is initialized.
fn bridged(down: Era, up: Era) -> Bridged {
    let mut bridged = Bridged::new(EraPolicy::Auto, negotiation(up));
    connect(&mut bridged, down, up);
    bridged
}

/// The first answer of the server.
fn handshake(up: Era) -> Value {
    let info = json!({"name": "server", "version": "2", "mark": "kept"});
    match up {
        Era::Legacy => json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities(), "serverInfo": info,
            "instructions": "Be kind.", "more": true,
        }),
        Era::Modern => json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": capabilities(), "instructions": "Be kind.", "more": true,
            "ttlMs": 5, "cacheScope": "public",
            "_meta": {"io.modelcontextprotocol/serverInfo": info, "a/b": 1},
        }),
    }
}

/// `initialize` of a legacy client.
fn initialize() -> String {
    initialize_with(&json!({"elicitation": {"url": {}, "form": {}}, "sampling": {}, "roots": {}}))
}

/// The same with these capabilities.
fn initialize_with(capabilities: &Value) -> String {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": capabilities,
        "clientInfo": {"name": "client", "version": "1"},
    });
    request(0, "initialize", &params)
}

/// Connects the server and the client, on byte streams.
fn connect(bridged: &mut Bridged, down: Era, up: Era) {
    connect_with(bridged, down, up, &initialize());
}

/// The same for a legacy client with this `initialize`.
fn connect_with(bridged: &mut Bridged, down: Era, up: Era, initialize: &str) {
    let answer = handshake(up);
    let asked = bridged.to_server();
    let id = &asked[0]["id"];
    bridged.server(&json!({"jsonrpc": "2.0", "id": id, "result": answer}).to_string());
    bridged.to_server();
    if down == Era::Legacy {
        bridged.client(initialize);
        if up == Era::Modern {
            let asked = bridged.to_server();
            assert_eq!(asked[0]["method"], "server/discover");
            let answer = json!({"jsonrpc": "2.0", "id": asked[0]["id"], "result": answer});
            bridged.server(&answer.to_string());
        }
        bridged.client(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        if up == Era::Modern {
            let listens = bridged.to_server();
            assert_eq!(listens[0]["method"], "subscriptions/listen");
            assert_eq!(listens[0]["id"], LISTS);
        }
    }
}

/// The same, with what the client has got by then out of the way.
fn quiet(down: Era, up: Era) -> Bridged {
    let mut bridged = bridged(down, up);
    bridged.to_client();
    bridged
}

/// The same, with a bridge that has other limits.
fn with_limits(down: Era, up: Era, set: impl FnOnce(&mut Limits)) -> Bridged {
    let mut bridged = Bridged::new(EraPolicy::Auto, negotiation(up));
    let mut config = Config::new(counting());
    set(&mut config.limits);
    bridged.set_config(config);
    connect(&mut bridged, down, up);
    bridged.to_client();
    bridged
}

fn request(id: u64, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

fn notification(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

fn result(asked: &Value, result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string()
}

/// Parameters with the envelope of a modern client.
fn modern(mut params: Value) -> Value {
    let envelope = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "client", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {
            "elicitation": {"url": {}, "form": {}}, "sampling": {}, "roots": {},
        },
    });
    let meta = &mut params["_meta"];
    if meta.is_null() {
        *meta = json!({});
    }
    meta.as_object_mut().unwrap().extend(envelope.as_object().unwrap().clone());
    params
}

/// Parameters of a client of this era.
fn of_era(era: Era, params: Value) -> Value {
    match era {
        Era::Legacy => params,
        Era::Modern => modern(params),
    }
}

/// The only line of several.
fn only(lines: Vec<Value>) -> Value {
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines.into_iter().next().unwrap()
}

/// The answer of a subscription that ends. On a pipe, a cancellation follows it.
fn end_of_subscription(lines: Vec<Value>, id: u64) -> Value {
    let [answer, cancelled] = <[Value; 2]>::try_from(lines).unwrap();
    assert_eq!(answer["id"], id);
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"], json!({"requestId": id}));
    answer
}

/// Sends a request, and returns what the server gets for it.
fn forwarded(bridged: &mut Bridged, era: Era, id: u64, method: &str, params: Value) -> Value {
    bridged.client(&request(id, method, &of_era(era, params)));
    only(bridged.to_server())
}

/// Answers a request as the server, and returns what the client gets for it.
fn answered(bridged: &mut Bridged, asked: &Value, result: &Value) -> Value {
    bridged.server(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string());
    only(bridged.to_client())
}

/// The id of the subscription that a legacy client has at a modern server from the beginning.
const LISTS: u64 = 3;

const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// Every pair of eras: of the client, and of the server.
fn pairs() -> impl Iterator<Item = (Era, Era)> {
    ERAS.into_iter().flat_map(|down| ERAS.into_iter().map(move |up| (down, up)))
}
