//! Calls that wait for a sign-in, and that nobody waits for any more.

use mcp_proto::client::{CallOptions, Client, Negotiation};
use mcp_proto::{Binding, Duration, Json};

use super::host::Host;
use super::http_client::consent;
use super::world::Person;

#[test]
fn call_that_is_held_fails_with_the_end_of_its_client() {
    for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
        let mut host = Host::new(negotiation);
        host.open = vec!["server/discover", "initialize", "notifications/initialized", "GET"];
        host.world.person = Person::Pauses;
        host.connect();
        let call = host.call("a");
        host.run();
        let now = host.world.now;
        host.client.with(now, |it| it.close(now));
        host.run();
        assert!(host.result(call).unwrap().is_err());
        let error = host.result(call).unwrap().as_ref().unwrap_err();
        assert!(!error.may_have_been_executed(), "{error:?}");
        // The end of the session waits for its token.
        host.pass_timeout();
        assert!(host.is_closed);
        assert_eq!(host.log.last().unwrap(), "tools/call a 401");
    }
}

/// One call was never sent, and the server has refused the expired token of the other one.
#[test]
fn refused_step_up_fails_the_call_that_needs_it_alone() {
    let mut host = Host::new(Negotiation::Auto);
    host.world.token_members = r#","expires_in":100"#.into();
    host.world.needs.insert("tools/call write".into(), "b".into());
    host.connect();
    host.world.person = Person::Pauses;
    let write = host.call("write");
    host.run();
    assert_eq!(host.pages(), 2);
    host.world.accepted.clear();
    let refused = host.call("a");
    host.run();
    host.world.pass(100);
    let unsent = host.call("b");
    host.run();
    assert_eq!(host.log.last().unwrap(), "tools/call a 401");
    let now = host.world.now;
    host.client.with_authorizer(now, |it| it.handle_refused_consent(now, "no".into()));
    host.run();
    assert!(host.result(write).unwrap().is_err());
    assert!(host.result(refused).unwrap().is_ok() && host.result(unsent).unwrap().is_ok());
    assert_eq!(host.world.grants(), ["authorization_code", "refresh_token"]);
    assert_eq!(host.pages(), 2);
}

/// One call was refused, the other one was never sent.
#[test]
fn cancelled_call_that_is_held_is_not_cancelled_at_a_legacy_server() {
    for is_refused in [true, false] {
        let mut host = Host::new(Negotiation::Legacy);
        host.open = vec!["initialize", "notifications/initialized", "GET"];
        host.world.person = Person::Pauses;
        host.connect();
        let refused = host.call("a");
        host.run();
        let cancelled = if is_refused { refused } else { host.call("b") };
        host.run();
        let now = host.world.now;
        host.client.with(now, |it| it.cancel(now, cancelled)).unwrap();
        consent(&mut host);
        let is_cancelled = |line: &String| line.starts_with("notifications/cancelled");
        assert!(!host.log.iter().any(is_cancelled), "{:?}", host.log);
    }
}

/// The refresh token may be good, so each attempt of the stream refreshes.
#[test]
fn stream_that_is_reopened_sends_nobody_to_the_page_again() {
    let mut host = Host::new(Negotiation::Legacy);
    host.redirects.insert("GET /mcp".into(), (503, ""));
    host.connect();
    host.world.pass(3600);
    host.world.accepted.clear();
    host.redirects.clear();
    host.world.person = Person::Redirects("error=access_denied");
    let refusal = (403, "<html>".to_owned());
    host.world.token_answers = vec![refusal; 20].into();
    let now = host.world.now;
    host.client.handle_timeout(now);
    host.run();
    for _ in 0..10 {
        host.pass_timeout();
    }
    let refreshes = host.world.grants().iter().filter(|it| **it == "refresh_token").count();
    assert!(refreshes > 3, "{:?}", host.world.grants());
    assert_eq!(host.pages(), 2);
    // A call does, also if it joins the attempt of a stream.
    host.call("x");
    host.run();
    assert_eq!(host.pages(), 3);
}

/// The server refuses the token, or the token has expired. Afterwards the server hangs. The call of
/// a bridge has no timeout of its own.
#[test]
fn renewed_subscription_that_has_waited_for_a_token_is_answered_in_a_minute_or_sent_again() {
    for has_expired in [false, true] {
        let mut host = Host::forwarding(|config| config);
        host.world.token_members = r#","expires_in":100"#.into();
        host.connect();
        let params = Json::parse(r#"{"notifications":{"toolsListChanged":true}}"#).unwrap();
        let endless = CallOptions::default().timeout(Duration::MAX).max_total(Duration::MAX);
        let now = host.world.now;
        let listen = |it: &mut Client| it.call(now, "subscriptions/listen", params, endless);
        host.client.with(now, listen).unwrap();
        host.run();
        host.hangs = true;
        if has_expired {
            host.world.pass(3600);
        } else {
            host.world.accepted.clear();
        }
        host.log.clear();
        host.client.handle_failure(host.world.now, host.stream.unwrap(), "lost");
        host.run();
        // The delay before another attempt, and the timeout of that attempt.
        for seconds in [2, 59, 1, 3, 60] {
            host.world.pass(seconds);
            host.client.handle_timeout(host.world.now);
            host.run();
        }
        let refused = if has_expired { vec![] } else { vec!["subscriptions/listen 401"] };
        assert_eq!(host.log, [refused, vec!["subscriptions/listen"; 2]].concat());
    }
}
