//! Sessions that end: by the client, by their time, by a server that forgets them.

use mcp_proto::client::{CallError, Change, List, Negotiation};
use mcp_proto::types::LoggingLevel;
use mcp_service::HttpClientConfig;
use mcp_service::testing::Network;
use serde_json::json;

use super::site::{
    ERAS, MINUTE, SECOND, echo, echoing, filter, hear, pair, said, sent, take, text, updated,
    walking,
};

const LEGACY: Negotiation = Negotiation::Legacy;

#[test]
fn a_server_that_is_started_anew_is_met_anew() {
    for negotiation in ERAS {
        let (mut pair, notes, catalog) = pair(negotiation);
        let client = pair.client();
        let heard = hear(&client);
        pair.run(client.set_log_level(LoggingLevel::Info)).unwrap();
        let mut subscription = pair.run(client.subscribe(filter())).unwrap();
        let mut call = client.call_tool("think", &json!({}));
        assert!(pair.poll(&mut call).is_pending());
        pair.restart();
        assert_eq!(pair.starts(), 2);
        let lost = pair.run(call);
        assert!(
            matches!(lost, Err(CallError::Connection(_) | CallError::SessionExpired)),
            "{lost:?}"
        );
        pair.pass(5 * SECOND);
        assert_eq!(echo(&mut pair, "again"), "again");
        assert_eq!(take(&notes).last().unwrap(), "again");
        assert_eq!(pair.sessions(), usize::from(negotiation == LEGACY));
        // It is told of changes, and of logs, as before.
        take(&heard);
        assert_eq!(text(pair.run(walking(&client, 1, 1))), "1 steps");
        assert_eq!(take(&heard), ["\"there\""]);
        // So it is of what may have changed while the server was down.
        assert_eq!(pair.run(subscription.changed()), Some(Change::ListChanged(List::Tools)));
        assert_eq!(pair.run(subscription.changed()), Some(updated()));
        catalog.publish(&updated()).unwrap();
        assert_eq!(pair.run(subscription.changed()), Some(updated()));
    }
}

#[test]
fn a_session_that_was_forgotten_is_replaced_and_the_call_repeated() {
    let (pair, notes, _) = pair(LEGACY);
    let mut client_config = HttpClientConfig::parse("http://localhost/mcp").unwrap();
    client_config.listens = false;
    let mut pair = pair.http_client_config(client_config);
    assert_eq!(echo(&mut pair, "one"), "one");
    pair.restart();
    let call = echoing(&pair.client(), "two");
    assert_eq!(text(pair.run(call)), "two");
    assert_eq!(echo(&mut pair, "three"), "three");
    assert_eq!(take(&notes), ["one", "two", "three"]);
    assert_eq!((pair.sessions(), said(&pair, "initialize")), (1, 2));
}

#[test]
fn a_session_that_nobody_uses_ends() {
    let (pair, ..) = pair(LEGACY);
    let mut client_config = HttpClientConfig::parse("http://localhost/mcp").unwrap();
    client_config.listens = false;
    let mut pair = pair.http_client_config(client_config);
    assert_eq!(echo(&mut pair, "one"), "one");
    pair.pass(29 * MINUTE);
    assert_eq!(echo(&mut pair, "two"), "two");
    pair.pass(29 * MINUTE);
    assert_eq!(pair.sessions(), 1);
    pair.pass(2 * MINUTE);
    assert_eq!((pair.sessions(), pair.connections()), (0, 0));
    assert_eq!(echo(&mut pair, "three"), "three");
    assert_eq!((pair.sessions(), said(&pair, "initialize")), (1, 2));
}

#[test]
fn a_session_that_somebody_listens_to_does_not_end() {
    let (mut pair, ..) = pair(LEGACY);
    assert_eq!(echo(&mut pair, "one"), "one");
    pair.pass(24 * 60 * MINUTE);
    assert_eq!((pair.sessions(), pair.connections()), (1, 1));
    assert_eq!(echo(&mut pair, "two"), "two");
}

#[test]
fn closing_does_not_wait_for_a_server_that_is_gone() {
    for negotiation in ERAS {
        for refused in [true, false] {
            let (pair, ..) = pair(negotiation);
            let network = Network::calm().latency(SECOND, SECOND);
            let mut pair = pair.network(network);
            let client = pair.client();
            assert_eq!(echo(&mut pair, "one"), "one");
            pair.pass(5 * SECOND);
            if refused {
                pair.refuse(MINUTE);
            }
            let before = pair.now();
            pair.run(client.close());
            assert!(pair.now() <= before + 2 * SECOND, "{:?}", pair.now());
            pair.pass(5 * SECOND);
            let is_left = negotiation == LEGACY && refused;
            assert_eq!(pair.sessions(), usize::from(is_left));
            pair.pass(31 * MINUTE);
            assert_eq!((pair.sessions(), pair.connections()), (0, 0));
            assert_eq!(sent(&pair, "DELETE "), usize::from(negotiation == LEGACY && !refused));
        }
    }
}

#[test]
fn a_server_that_forgets_again_and_again_is_given_up_only_if_it_is_of_no_use() {
    let (mut pair, notes, _) = pair(LEGACY);
    for round in 0..5 {
        pair.restart();
        pair.pass(MINUTE);
        assert_eq!(echo(&mut pair, &round.to_string()), round.to_string());
    }
    assert_eq!(take(&notes).len(), 5);
    assert_eq!(pair.sessions(), 1);
}
