//! Values and heads of HTTP requests, as handlers see them.

use std::sync::Arc;
use std::task::Waker;

use mcp_proto::client::Negotiation;
use mcp_proto::frame::http1::Head;
use mcp_proto::http::{Authorization, Config, Sessions};
use mcp_proto::resource_server::Claims;
use mcp_proto::server::{Extensions, InputRequired, Peer};
use mcp_proto::types::{BooleanSchema, ElicitRequestFormParams, Implementation, RequestedSchema};
use mcp_proto::{Bytes, Instant};
use mcp_service::testing::Pair;
use mcp_service::{Context, Handler, HttpClientConfig, HttpServer, Interrupt, Part, Registry};
use serde_json::{Value, json};

const ERAS: [Negotiation; 2] = [Negotiation::Auto, Negotiation::Legacy];

struct Scopes(String);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[test]
fn values_of_authorize_reach_handlers_with_each_request() {
    for (negotiation, sessions) in ways() {
        let mut pair = over_http(negotiation, sessions, true);
        let client = pair.client();
        let told = "alice, files:read, POST, node 7, no token";
        assert_eq!(called(&mut pair, "who"), told, "{negotiation:?} {sessions:?}");
        // They are those of the request, and not of the session.
        client.set_field("Authorization", "alice admin").unwrap();
        client.set_field("X-Node", "8").unwrap();
        let told = "alice, admin, POST, node 8, no token";
        assert_eq!(called(&mut pair, "who"), told, "{negotiation:?} {sessions:?}");
    }
}

#[test]
fn values_are_there_when_a_handler_runs_again_with_input() {
    for negotiation in ERAS {
        let mut pair = over_http(negotiation, Sessions::Stateful, true);
        pair.client().on_form(|form| async move { form.accept(&json!({"sure": true})).unwrap() });
        assert_eq!(called(&mut pair, "ask"), "alice, files:read, POST, node 7, no token");
    }
}

#[test]
fn values_are_there_when_a_handler_runs_again_with_its_own_state() {
    for negotiation in ERAS {
        let mut pair = over_http(negotiation, Sessions::Stateful, true);
        let told = "alice, files:read, POST, node 7, no token";
        assert_eq!(called(&mut pair, "resume"), told, "{negotiation:?}");
    }
}

#[test]
fn claims_of_a_layer_name_the_principal_unless_the_application_has() {
    let names: [fn(&Head) -> Authorization; 2] =
        [|_| Authorization::Allow(None), |_| Authorization::Allow(Some("alice".into()))];
    for (authorize, told) in names.into_iter().zip(["https://a ann", "alice"]) {
        let mut config = Config::default();
        config.authorize = Some(Arc::new(authorize));
        let server = HttpServer::new(registry(), config, || [0; 16], |_| ());
        let mut head = Head::new("POST", "/mcp");
        for (name, value) in [
            ("Host", "localhost"),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "who"),
        ] {
            head.push(name, value.as_bytes());
        }
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "who", "arguments": {}, "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {}}}});
        let mut admission = server.admit(head).unwrap();
        let claims = Claims::new("https://a", "ann");
        admission.extend(Extensions::default().with(claims));
        admission.add(Bytes::from(call.to_string())).unwrap();
        let part = admission.answer(Instant::ZERO).turn(Instant::ZERO, Waker::noop());
        let Some(Part::Whole(_, body)) = part else { panic!("{part:?}") };
        let answer: Value = serde_json::from_slice(&body).unwrap();
        let text = format!("{told}, no scopes, no head");
        assert_eq!(answer["result"]["content"][0]["text"], text, "{answer}");
    }
}

#[test]
fn nothing_is_kept_without_the_setting_and_on_a_stream() {
    for negotiation in ERAS {
        let mut pair = over_http(negotiation, Sessions::Stateful, false);
        assert_eq!(called(&mut pair, "who"), "alice, files:read, no head");
        let mut pair = Pair::new(registry()).negotiation(negotiation);
        assert_eq!(called(&mut pair, "who"), "nobody, no scopes, no head");
    }
}

#[test]
fn handlers_read_the_client_and_its_capabilities() {
    for negotiation in ERAS {
        for mut pair in [
            over_http(negotiation, Sessions::Stateful, false),
            Pair::new(registry()).negotiation(negotiation),
        ] {
            pair.client().on_form(|form| async move { form.accept(&json!({})).unwrap() });
            assert_eq!(called(&mut pair, "client"), "pair, forms: true", "{negotiation:?}");
        }
    }
}

#[test]
fn extensions_hold_a_value_of_each_type() {
    let mut one = Extensions::default().with(1_u8).with("a");
    assert!(Extensions::default().is_empty() && !one.is_empty());
    let shared = one.clone();
    assert_eq!(shared, one);
    one.extend(Extensions::default().with(2_u8).with(3_u16));
    assert_eq!((one.get(), one.get(), one.get()), (Some(&2_u8), Some(&3_u16), Some(&"a")));
    assert_eq!((shared.get::<u8>(), shared.get::<u16>()), (Some(&1), None));
    assert_eq!(format!("{one:?}"), "Extensions(3)");
}

fn ways() -> impl Iterator<Item = (Negotiation, Sessions)> {
    let sessions = [Sessions::Stateful, Sessions::Stateless];
    ERAS.into_iter().flat_map(move |era| sessions.map(|sessions| (era, sessions)))
}

fn over_http(negotiation: Negotiation, sessions: Sessions, keep_head: bool) -> Pair {
    let mut config = Config::default();
    config.authorize = Some(Arc::new(authorize));
    config.sessions = sessions;
    config.keep_head = keep_head;
    let server = HttpClientConfig::parse("http://localhost/mcp").unwrap();
    let server = server.field("Authorization", "alice files:read").unwrap();
    let server = server.field("X-Node", "7").unwrap();
    let pair = Pair::over_http(registry()).negotiation(negotiation);
    pair.http_config(config).http_client_config(server)
}

fn authorize(head: &Head) -> Authorization {
    let field = head.field("authorization").and_then(|field| str::from_utf8(field).ok());
    match field.and_then(|field| field.split_once(' ')) {
        Some((user, scopes)) => {
            let extensions = Extensions::default().with(Scopes(scopes.into()));
            Authorization::AllowWith(Some(user.into()), extensions)
        }
        None => Authorization::Unauthorized("Bearer".into()),
    }
}

fn registry() -> Registry<Handler> {
    let mut registry = Registry::new(Implementation::new("callers", "1"));
    let who = |_: Nothing, context: Context| async move { told(context.peer()) };
    registry.tool("who", "Says who asks", who).unwrap();
    let ask = |_: Nothing, context: Context| async move {
        let fields = RequestedSchema::new().required("sure", BooleanSchema::new());
        context.elicit("sure", ElicitRequestFormParams::new("Sure?", fields))?;
        Ok::<_, Interrupt>(told(context.peer()))
    };
    registry.tool("ask", "Asks first", ask).unwrap();
    let resume = |_: Nothing, context: Context| async move {
        if context.input().is_none() {
            return Err(InputRequired::default().state("second").into());
        }
        Ok::<_, Interrupt>(told(context.peer()))
    };
    registry.tool("resume", "Runs twice", resume).unwrap();
    let client = |_: Nothing, context: Context| async move {
        let peer = context.peer();
        let name = peer.client().map_or_else(|| "nobody".into(), |client| client.name);
        format!("{name}, forms: {}", peer.client_capabilities().elicitation.is_some())
    };
    registry.tool("client", "Says which client asks", client).unwrap();
    registry
}

fn told(peer: &Peer) -> String {
    let user = peer.principal.as_deref().unwrap_or("nobody");
    let scopes = peer.get::<Scopes>().map_or("no scopes", |scopes| &scopes.0);
    let Some(head) = peer.head() else { return format!("{user}, {scopes}, no head") };
    let node = String::from_utf8_lossy(head.field("x-node").unwrap_or_default()).into_owned();
    let token = if head.field("authorization").is_some() { "a token" } else { "no token" };
    format!("{user}, {scopes}, {}, node {node}, {token}", head.method())
}

fn called(pair: &mut Pair, tool: &str) -> String {
    let client = pair.client();
    let result = pair.run(client.call_tool(tool, &json!({}))).unwrap();
    result.content.first().and_then(|block| block.as_text()).unwrap().to_owned()
}
