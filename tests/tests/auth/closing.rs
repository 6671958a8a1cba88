//! A client that closes while its authorizer has a request open.

use mcp_proto::client::Negotiation;
use mcp_proto::http::client::ExchangeId;
use mcp_proto::{Duration, Limits};

use super::host::Host;

#[test]
fn close_waits_for_the_answer_that_replaces_a_refresh_token() {
    for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
        let mut host = refreshing(negotiation);
        let before = host.world.store.clone();
        host.close();
        assert!(!host.is_closed);
        answer(&mut host);
        assert!(host.is_closed);
        assert_eq!(host.world.grants(), ["authorization_code", "refresh_token"]);
        assert_ne!(host.world.store, before);
    }
}

#[test]
fn close_waits_for_a_token_no_longer_than_for_other_requests() {
    for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
        let mut host = refreshing(negotiation);
        host.close();
        let due = host.client.poll_timeout().unwrap();
        assert_eq!(due, host.world.now + Limits::default().drain);
        host.pass_timeout();
        assert!(host.is_closed);
        assert!(host.fetches.is_empty(), "{:?}", host.fetches);
        assert_eq!(host.client.poll_timeout().filter(|at| *at <= due), None);
    }
}

#[test]
fn no_other_request_of_the_authorizer_follows_a_close() {
    let mut host = refreshing(Negotiation::Auto);
    host.close();
    // Without a close, the person is asked for another token.
    host.world.token_answers.push_back((400, r#"{"error":"invalid_grant"}"#.into()));
    answer(&mut host);
    assert!(host.is_closed);
    assert!(host.fetches.is_empty(), "{:?}", host.fetches);
}

#[test]
fn close_does_not_wait_for_metadata() {
    let mut host = Host::new(Negotiation::Auto);
    host.is_slow = true;
    host.connect();
    let [(_, fetch)] = &host.fetches[..] else { panic!("{:?}", host.fetches) };
    assert_eq!(fetch.method, "GET");
    host.close();
    assert!(host.is_closed);
}

/// The session ends with a request whose token has expired.
#[test]
fn close_opens_no_page() {
    for body in [r#"{"error":"invalid_grant"}"#, "<html>"] {
        let mut host = Host::new(Negotiation::Legacy);
        host.connect();
        assert_eq!(host.pages(), 1);
        host.world.pass(3600);
        host.world.accepted.clear();
        host.world.token_answers.push_back((400, body.into()));
        host.close();
        assert_eq!((host.pages(), host.is_closed), (1, true), "{body}");
        // A call has begun the refresh.
        let mut host = refreshing(Negotiation::Legacy);
        host.close();
        host.world.token_answers.push_back((400, body.into()));
        while !host.fetches.is_empty() {
            answer(&mut host);
        }
        assert_eq!((host.pages(), host.is_closed), (1, true), "{body}");
    }
}

/// A connected client whose authorizer refreshes its token.
fn refreshing(negotiation: Negotiation) -> Host {
    let mut host = Host::new(negotiation);
    host.connect();
    host.world.pass(3600);
    host.is_slow = true;
    host.call("x");
    host.run();
    assert_eq!(host.fetches.len(), 1);
    host
}

/// Answers the open request of the authorizer, after a second.
fn answer(host: &mut Host) {
    host.world.now = host.world.now + Duration::from_secs(1);
    let (exchange, fetch): (ExchangeId, _) = host.fetches.remove(0);
    host.answer(exchange, &fetch);
    host.run();
}
