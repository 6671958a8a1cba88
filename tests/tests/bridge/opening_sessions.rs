//! Legacy servers that ask for roots while a legacy client opens its session.

use std::sync::{Arc, Mutex};

use mcp_proto::types::Implementation;
use mcp_proto::{Limits, http};
use mcp_service::BridgeConfig;
use mcp_service::runtime::bridge;
use mcp_tests::bridge::site::{INITIALIZE, VirtualSite as Site};
use mcp_tests::bridge::world::VirtualRuntime as World;

use super::cells::pipe;
use super::idle_sessions::CALL;
use super::*;

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A legacy server whose legacy client has got the answer to `initialize`.
fn opening() -> Bridged {
    let mut bridged = Bridged::new(EraPolicy::Auto, negotiation(Era::Legacy));
    answer_handshake(&mut bridged);
    bridged.client(&initialize());
    assert_eq!(only(bridged.to_client())["id"], 0);
    bridged
}

fn answer_handshake(bridged: &mut Bridged) {
    let asked = bridged.to_server().remove(0);
    bridged.server(&result(&asked, &handshake(Era::Legacy)));
    bridged.to_server();
}

/// The server asks for roots, with a text that can be found again.
fn ask_for_roots(bridged: &mut Bridged, id: u64) {
    bridged.server(&request(id, "roots/list", &json!({"mark": "kept"})));
    assert!(bridged.to_client().is_empty());
}

#[test]
fn requests_that_the_server_has_cancelled_are_not_kept() {
    let mut bridged = opening();
    let keeps = |bridged: &Bridged| format!("{bridged:?}").contains(r#"{"mark":"kept"}"#);
    for _ in 0..3 {
        ask_for_roots(&mut bridged, 7);
        assert!(keeps(&bridged));
        bridged.server(&notification("notifications/cancelled", json!({"requestId": 7})));
        assert!(!keeps(&bridged));
    }
    bridged.client(INITIALIZED);
    assert!(bridged.to_client().is_empty() && bridged.to_server().is_empty());
}

#[test]
fn server_gets_an_error_if_the_client_does_not_open_its_session_in_time() {
    let mut bridged = opening();
    ask_for_roots(&mut bridged, 7);
    let timeout = Limits::default().input_timeout;
    bridged.pass(timeout.saturating_sub(Duration::from_millis(1)));
    assert!(bridged.to_server().is_empty());
    bridged.pass(Duration::from_millis(1));
    let refused = only(bridged.to_server());
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(7), &json!(-32603)));
    assert!(refused["error"]["message"].as_str().unwrap().contains("Limits::input_timeout"));
    bridged.client(INITIALIZED);
    assert!(bridged.to_client().is_empty());
    // The session is open, and the next request does not wait.
    bridged.server(&request(8, "roots/list", &json!({})));
    assert_eq!(only(bridged.to_client())["method"], "roots/list");
}

#[test]
fn next_server_waits_until_the_session_is_open() {
    let mut bridged = opening();
    ask_for_roots(&mut bridged, 7);
    bridged.server_ends();
    bridged.replace_server(negotiation(Era::Legacy));
    answer_handshake(&mut bridged);
    ask_for_roots(&mut bridged, 8);
    bridged.client(INITIALIZED);
    let got = only(bridged.to_client());
    assert_eq!(got["method"], "roots/list");
    let roots = json!({"roots": []});
    bridged.client(&json!({"jsonrpc": "2.0", "id": got["id"], "result": roots}).to_string());
    let given = only(bridged.to_server());
    assert_eq!((&given["id"], &given["result"]), (&json!(8), &roots));
}

/// The client cannot be asked for input, which the server of the other era cannot know.
#[test]
fn error_names_the_reason_if_a_client_calls_before_it_is_initialized() {
    for era in ERAS {
        let world = World::default();
        let config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
        let bridge = bridge(&world, pipe(&world, policy(era), Arc::default()), config);
        let lines = Arc::new(Mutex::new(String::new()));
        let wire = lines.clone();
        bridge.on_wire(move |line| wire.lock().unwrap().push_str(line));
        let site = Site::new(&world, bridge.catalog(), http::Config::default());
        let talk = async {
            let initialize = INITIALIZE.replace("roots", "sampling");
            let session = site.ask(None, &initialize).await.session.unwrap();
            site.ask(Some(&session), CALL).await.text
        };
        let answer = world.run(talk).unwrap();
        // A legacy server gets the error, a modern one does not: its client gets it.
        let told = if era == Era::Legacy { lines.lock().unwrap().clone() } else { answer };
        let why = "nothing is sent to the client: the client has not sent \
                   `notifications/initialized`";
        assert!(told.contains(why), "{told}");
        assert!(!told.contains("the session has ended"), "{told}");
    }
}
