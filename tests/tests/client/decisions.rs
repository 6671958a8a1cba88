//! Decisions of a negotiation, as the handle of a client reports them.

use mcp_proto::client::{CallError, ConnectError, Decision, Negotiation};
use mcp_proto::{EraPolicy, ErrorCode, ProtocolVersion};
use mcp_service::Client;
use mcp_service::testing::{Network, Pair};
use serde_json::Value;

use crate::bench::{Over, SECOND, Way, call, pair, text};

const OVER: [Over; 2] = [Over::Pipe, Over::Http];

#[test]
fn what_was_decided_is_told_with_its_time() {
    for over in OVER {
        let network = Network::calm().latency(SECOND, SECOND);
        let mut modern = fresh(over, EraPolicy::Auto).network(network.clone());
        let client = modern.client();
        assert_eq!(client.decisions(), []);
        modern.run(client.connected()).unwrap();
        assert_eq!(told(&client), [MODERN]);
        assert_eq!(client.decisions()[0].at, modern.now());

        let mut legacy = fresh(over, EraPolicy::LegacyOnly).network(network);
        let client = legacy.client();
        legacy.run(client.connected()).unwrap();
        assert_eq!(told(&client), LEGACY);
        let decisions = client.decisions();
        assert_eq!(decisions[1].at, legacy.now());
        assert_eq!(decisions[1].at.duration_since(decisions[0].at), 2 * SECOND);
    }
}

const MODERN: &str = "Probe: an answer of a modern server, so the server is modern [modern]";

const CONFIRMED: &str =
    "Unconfirmed: an answer of a modern server, so the server is modern [modern]";

const LEGACY: [&str; 2] = [
    "Probe: an error, so initialize is sent [legacy-by-error]",
    "Fallback: an answer with a legacy version, so the server is legacy [legacy]",
];

#[test]
fn each_decision_has_the_error_that_it_is_about() {
    for over in OVER {
        let mut modern = fresh(over, EraPolicy::Auto);
        let client = modern.client();
        modern.run(client.connected()).unwrap();
        assert_eq!(client.decision_errors(), [None]);

        let mut legacy = fresh(over, EraPolicy::LegacyOnly);
        let client = legacy.client();
        legacy.run(client.connected()).unwrap();
        let errors = client.decision_errors();
        let [Some(CallError::Error { error, .. }), None] = &*errors else {
            panic!("{errors:?}");
        };
        assert_eq!((error.code, &error.data), (ErrorCode::INVALID_REQUEST, &None));
        assert!(error.message.starts_with("era: "), "{errors:?}");
    }
}

#[test]
fn error_of_another_negotiation_is_dropped() {
    let mut pair = fresh(Over::Http, EraPolicy::LegacyOnly);
    let client = pair.client();
    assert_eq!(text(pair.run(call(&client))), "done");
    assert_eq!(client.decision_errors().len(), 2);
    pair.pass(10 * SECOND);
    pair.restart();
    assert_eq!(text(pair.run(call(&client))), "done");
    assert_eq!(client.decision_errors(), [None]);
}

#[test]
fn what_was_decided_is_told_while_it_goes_on() {
    let network = Network::calm().latency(SECOND, SECOND);
    let mut pair = fresh(Over::Pipe, EraPolicy::LegacyOnly).network(network);
    let client = pair.client();
    assert!(pair.poll(&mut Box::pin(client.connected())).is_pending());
    pair.pass(3 * SECOND);
    assert_eq!(told(&client), LEGACY[..1]);
}

#[test]
fn what_was_decided_is_told_after_it_has_failed() {
    for over in OVER {
        let modern = Negotiation::Pinned(ProtocolVersion::LATEST_MODERN);
        let mut pair = fresh(over, EraPolicy::LegacyOnly).negotiation(modern);
        let client = pair.client();
        let failed = pair.run(client.connected());
        assert!(matches!(failed, Err(ConnectError::Refused(_))), "{failed:?}");
        assert_eq!(told(&client), ["Probe: an error, so the negotiation fails [probe-refused]"]);
        pair.run(client.close());
        assert_eq!(client.decisions().len(), 1);
    }
}

#[test]
fn a_stored_verdict_is_confirmed_by_the_first_answer() {
    for over in OVER {
        let mut first = fresh(over, EraPolicy::Auto);
        first.run(first.client().connected()).unwrap();
        let mut second = fresh(over, EraPolicy::Auto).verdict(first.client().verdict());
        let client = second.client();
        second.run(client.connected()).unwrap();
        assert_eq!(client.decisions(), []);
        second.run(client.list_tools()).unwrap();
        for _ in 0..2 {
            assert_eq!(text(second.run(call(&client))), "done");
            assert_eq!(told(&client), [CONFIRMED]);
        }
    }
}

#[test]
fn another_negotiation_is_told_of_alone() {
    let mut pair = fresh(Over::Http, EraPolicy::LegacyOnly);
    let client = pair.client();
    assert_eq!(text(pair.run(call(&client))), "done");
    assert_eq!(told(&client), LEGACY);
    pair.pass(10 * SECOND);
    // It has forgotten the session.
    pair.restart();
    assert_eq!(text(pair.run(call(&client))), "done");
    assert_eq!(
        told(&client),
        ["Stored: an answer with a legacy version, so the server is legacy [legacy]"]
    );
}

fn fresh(over: Over, policy: EraPolicy) -> Pair {
    let way = Way { over, negotiation: Negotiation::Auto };
    pair(way, |_: Value, _| async { "done" }).era_policy(policy)
}

/// Steps of the negotiation, and their texts for people.
fn told(client: &Client) -> Vec<String> {
    let told = |decision: &Decision| format!("{:?}: {decision}", decision.step);
    client.decisions().iter().map(told).collect()
}
