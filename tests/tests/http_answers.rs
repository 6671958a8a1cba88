//! What a client over HTTP makes of answers that real servers give, and the specification does not
//! tell of.

use mcp_proto::client::{self, ClientEvent, ConnectError, Negotiation};
use mcp_proto::frame::http1::StatusHead;
use mcp_proto::http::client::{Action, Config, ExchangeId};
use mcp_proto::http::{Client, Url};
use mcp_proto::types::Implementation;
use mcp_proto::{Instant, ProtocolVersion};

/// How a server refuses a request that it has not read, in an id of its own making.
const REFUSAL: &str = r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Missing session ID"}}"#;

#[test]
fn an_error_with_an_id_that_the_server_made_up_is_the_answer() {
    let mut client = client(Negotiation::Pinned(ProtocolVersion::LATEST_MODERN));
    let [Action::Open { exchange, .. }] = &*actions(&mut client) else { panic!() };
    answer(&mut client, *exchange, 400, REFUSAL);
    let actions = actions(&mut client);
    let [Action::Event(ClientEvent::Closed(Some(error))), Action::Close] = &*actions else {
        panic!("{actions:?}")
    };
    let ConnectError::Refused(error) = error else { panic!("{error:?}") };
    assert_eq!(error.message, "Missing session ID");
}

#[test]
fn it_says_that_a_server_is_legacy_and_is_no_fault() {
    let mut client = client(Negotiation::Auto);
    let [Action::Open { exchange, .. }] = &*actions(&mut client) else { panic!() };
    answer(&mut client, *exchange, 400, REFUSAL);
    let actions = actions(&mut client);
    let opened = actions.iter().find_map(|action| match action {
        Action::Open { request, .. } => core::str::from_utf8(&request.body).ok(),
        _ => None,
    });
    assert!(opened.is_some_and(|body| body.contains(r#""method":"initialize""#)), "{actions:?}");
    assert!(!actions.iter().any(|action| matches!(action, Action::Event(_))), "{actions:?}");
}

#[test]
fn with_a_status_of_success_it_is_no_answer() {
    let mut client = client(Negotiation::Pinned(ProtocolVersion::LATEST_MODERN));
    let [Action::Open { exchange, .. }] = &*actions(&mut client) else { panic!() };
    answer(&mut client, *exchange, 200, REFUSAL);
    let actions = actions(&mut client);
    let is_fault = |action: &Action| matches!(action, Action::Event(ClientEvent::PeerFault(_)));
    assert!(actions.iter().any(is_fault), "{actions:?}");
}

/// A client that has been opened.
fn client(negotiation: Negotiation) -> Client {
    let mut config = client::Config::new(Implementation::new("app", "1.0.0"));
    config.negotiation = negotiation;
    let config = Config::new(Url::parse("http://127.0.0.1/mcp").unwrap(), config);
    let mut client = Client::new(config, Box::new(|| [0; 16]));
    client.handle_opened(Instant::ZERO);
    client
}

fn actions(client: &mut Client) -> Vec<Action> {
    std::iter::from_fn(|| client.poll_action()).collect()
}

fn answer(client: &mut Client, exchange: ExchangeId, status: u16, body: &'static str) {
    let mut head = StatusHead::new(status);
    head.push("Content-Type", b"application/json");
    client.handle_head(Instant::ZERO, exchange, &head);
    client.handle_body(Instant::ZERO, exchange, body.into());
    client.handle_end(Instant::ZERO, exchange);
}
