//! A client over HTTP with an authorizer: refused requests are held and sent again, whatever they
//! are.

use mcp_proto::auth::{AuthAction, AuthState, Config, Scopes};
use mcp_proto::client::{self, CallError, ClientEvent, ConnectError, Negotiation};
use mcp_proto::frame::http1::StatusHead;
use mcp_proto::http::client::Action;
use mcp_proto::http::{self, Url};

use mcp_proto::types::{Implementation, SubscriptionFilter};
use mcp_proto::{Binding, Duration, UsageError};

use super::host::{Host, authorizer};
use super::world::{Person, SERVER};

#[test]
fn probe_is_held_and_sent_again_after_the_sign_in() {
    let mut host = Host::new(Negotiation::Auto);
    host.connect();
    assert_eq!(host.log, ["server/discover 401", "server/discover 200"]);
    assert!(host.world.heads.iter().all(|head| head["User-Agent"] == "app/1.0.0"));
    assert!(matches!(host.events[..], [.., ClientEvent::Connected(_)]), "{:?}", host.events);
    let call = host.call("x");
    host.run();
    assert!(host.result(call).unwrap().is_ok());
    assert_eq!((host.log.len(), host.pages()), (3, 1));
}

#[test]
fn stored_tokens_are_used_from_the_first_request_on() {
    let mut host = Host::new(Negotiation::Auto);
    host.connect();
    let mut later = Host::new(Negotiation::Auto);
    later.world = host.world;
    later.connect();
    assert_eq!((later.log, later.world.pages.len()), (vec!["server/discover 200".into()], 1));
}

#[test]
fn auth_a35_requests_of_a_session_are_sent_again_whatever_they_are() {
    let mut host = Host::new(Negotiation::Legacy);
    host.open = vec!["initialize"];
    host.connect();
    let call = host.call("x");
    host.run();
    assert!(host.result(call).unwrap().is_ok());
    assert_eq!(
        host.log,
        [
            "initialize 200",
            "notifications/initialized 401",
            "notifications/initialized 202",
            "GET 405",
            "tools/call x 200"
        ]
    );
    assert_eq!(host.pages(), 1);
}

#[test]
fn stream_of_a_session_is_held_and_sent_again() {
    let mut host = Host::new(Negotiation::Legacy);
    host.open = vec!["initialize", "notifications/initialized", "tools/call"];
    host.connect();
    assert_eq!(host.log[2..], ["GET 401", "GET 405"]);
    assert_eq!(host.pages(), 1);
}

#[test]
fn sse_e5_the_authorizer_is_asked_for_the_stream_and_for_calls() {
    let mut host = Host::new(Negotiation::Legacy);
    host.is_old = true;
    host.world.challenge = r#"Bearer scope="read""#.into();
    host.world.needs.insert("tools/call w".into(), "write".into());
    host.connect();
    let stream = ["initialize 405", "GET 401", "GET 200"];
    let session = ["initialize 202", "notifications/initialized 202"];
    assert_eq!(host.log, [&stream[..], &session].concat());
    let call = host.call("w");
    host.run();
    assert!(host.result(call).unwrap().is_ok(), "{:?}", host.log);
    assert_eq!(host.log[5..], ["tools/call w 403", "tools/call w 202"]);
    assert_eq!(host.pages(), 2);
}

#[test]
fn sse_e5_a_sign_in_that_fails_is_told_and_not_the_first_refusal() {
    let mut host = Host::new(Negotiation::Legacy);
    host.is_old = true;
    host.world.person = Person::Redirects("error=access_denied");
    host.connect();
    let Some(ClientEvent::Closed(Some(ConnectError::Unauthorized(error)))) = host.events.last()
    else {
        panic!("{:?}", host.events)
    };
    assert!(error.sign_in.is_some());
    assert_eq!(host.log, ["initialize 405", "GET 401"]);
}

#[test]
fn calls_in_flight_share_one_sign_in() {
    let mut host = Host::new(Negotiation::Auto);
    host.open = vec!["server/discover"];
    host.connect();
    let calls = ["a", "b", "c"].map(|name| host.call(name));
    host.run();
    assert!(calls.iter().all(|call| host.result(*call).unwrap().is_ok()));
    assert_eq!(host.pages(), 1);
}

#[test]
fn step_up_asks_for_the_union_and_sends_the_call_again() {
    let mut host = Host::new(Negotiation::Auto);
    host.world.challenge = r#"Bearer scope="read""#.into();
    host.world.needs.insert("tools/call w".into(), "write".into());
    host.connect();
    let call = host.call("w");
    host.run();
    assert!(host.result(call).unwrap().is_ok(), "{:?}", host.log);
    assert_eq!(host.log[2..], ["tools/call w 403", "tools/call w 200"]);
    let scopes: Vec<_> = host.world.pages.iter().map(|page| &page["scope"]).collect();
    assert_eq!(scopes, ["read", "read write"]);
}

#[test]
fn failed_sign_in_fails_the_calls_with_its_reason() {
    let mut host = Host::new(Negotiation::Auto);
    host.open = vec!["server/discover"];
    host.world.person = Person::Redirects("error=access_denied");
    host.connect();
    let calls = ["a", "b"].map(|name| host.call(name));
    host.run();
    for call in calls {
        let Err(CallError::Unauthorized(refusal)) = host.result(call).unwrap() else {
            panic!("{:?}", host.events)
        };
        assert_eq!(refusal.status, 401);
        assert!(refusal.sign_in.as_ref().unwrap().contains("access_denied"), "{refusal}");
    }
    // The next call asks again.
    host.world.person = Person::Consents;
    let call = host.call("c");
    host.run();
    assert!(host.result(call).unwrap().is_ok());
}

#[test]
fn call_that_waits_for_a_refresh_waits_for_a_queued_sign_in() {
    for is_refused in [false, true] {
        let mut host = Host::new(Negotiation::Auto);
        host.connect();
        host.world.pass(3600);
        let call = host.call("x");
        let now = host.world.now;
        host.client.with_authorizer(now, |it| it.authorize(now, &Scopes::words("a")));
        host.world.token_answers.push_back((503, String::new()));
        if is_refused {
            host.world.person = Person::Redirects("error=access_denied");
        }
        host.run();
        assert_eq!((host.pages(), host.world.authorized.len()), (2, 1));
        match host.result(call).unwrap() {
            Err(CallError::Unauthorized(refusal)) if is_refused => {
                assert!(refusal.sign_in.as_ref().unwrap().contains("access_denied"), "{refusal}");
            }
            result => assert!(result.is_ok() && !is_refused, "{result:?}"),
        }
    }
}

#[test]
fn failed_sign_in_fails_the_connection() {
    let mut host = Host::with(Negotiation::Auto, Config::unattended);
    host.connect();
    let Some(ClientEvent::Closed(Some(ConnectError::Unauthorized(refusal)))) = host.events.last()
    else {
        panic!("{:?}", host.events)
    };
    assert!(refusal.sign_in.is_some());
    assert_eq!(host.log, ["server/discover 401"]);
    assert!(host.is_closed);
}

#[test]
fn stream_does_not_send_a_person_to_the_page_again() {
    let mut host = Host::new(Negotiation::Legacy);
    host.open = vec!["initialize", "notifications/initialized", "tools/call"];
    host.world.person = Person::Redirects("error=access_denied");
    host.connect();
    for _ in 0..20 {
        host.pass_timeout();
    }
    assert!(host.log.iter().filter(|line| **line == "GET 401").count() > 3, "{:?}", host.log);
    assert_eq!(host.pages(), 1);
}

/// Subscribes, and ends the session. From then on all requests need a token, which the person
/// refuses.
fn lose_session(host: &mut Host) {
    host.redirects.insert("GET /mcp".into(), (404, ""));
    host.world.person = Person::Redirects("error=access_denied");
    let now = host.world.now;
    let filter = SubscriptionFilter::default().tools_list_changed();
    host.client.with(now, |it| it.subscribe(now, filter)).unwrap();
    host.connect();
    host.redirects.insert("POST /mcp".into(), (404, ""));
    host.pass_timeout();
    host.redirects.clear();
    host.open.clear();
}

#[test]
fn connection_for_subscriptions_alone_is_tried_again_without_a_page() {
    let mut host = Host::new(Negotiation::Legacy);
    host.open = vec!["initialize", "notifications/initialized", "ping"];
    lose_session(&mut host);
    host.log.clear();
    for _ in 0..5 {
        host.pass_timeout();
    }
    assert_eq!((host.pages(), host.log), (1, vec!["initialize 401".to_owned(); 5]));
}

#[test]
fn connection_is_tried_at_once_after_a_sign_in_that_was_asked_for() {
    let mut host = Host::new(Negotiation::Legacy);
    host.open = vec!["initialize", "notifications/initialized"];
    lose_session(&mut host);
    for _ in 0..5 {
        host.pass_timeout();
    }
    host.log.clear();
    host.world.person = Person::Consents;
    let now = host.world.now;
    host.client.with_authorizer(now, |it| it.authorize(now, &Scopes::words("a")));
    host.run();
    assert_eq!(host.log.first().map(String::as_str), Some("initialize 200"), "{:?}", host.log);
}

#[test]
fn time_of_a_call_rests_while_a_person_is_asked() {
    let mut host = Host::new(Negotiation::Auto);
    host.world.person = Person::Pauses;
    host.client.handle_opened(host.world.now);
    host.run();
    // Longer than a probe or a call may take.
    host.world.now = host.world.now + Duration::from_secs(290);
    host.client.handle_timeout(host.world.now);
    host.run();
    assert!(host.events.is_empty(), "{:?}", host.events);
    let state = host.world.pages[0]["state"].clone();
    let now = host.world.now;
    host.client.with_authorizer(now, |it| {
        it.handle_redirect(now, &format!("?code=1&state={state}"));
    });
    host.run();
    assert_eq!(host.log, ["server/discover 401", "server/discover 200"]);
}

#[test]
fn sse_time_of_the_endpoint_rests_while_a_person_is_asked() {
    let mut host = Host::new(Negotiation::Legacy);
    host.is_old = true;
    host.world.person = Person::Pauses;
    host.client.handle_opened(host.world.now);
    host.run();
    for _ in 0..29 {
        host.world.now = host.world.now + Duration::from_secs(10);
        host.client.handle_timeout(host.world.now);
        host.run();
    }
    assert!(
        host.events.iter().all(|it| !matches!(it, ClientEvent::Closed(_))),
        "{:?}",
        host.events
    );
    let state = host.world.pages[0]["state"].clone();
    let now = host.world.now;
    host.client.with_authorizer(now, |it| {
        it.handle_redirect(now, &format!("?code=1&state={state}"));
    });
    host.run();
    assert!(matches!(host.events[..], [.., ClientEvent::Connected(_)]), "{:?}", host.events);
}

#[test]
fn page_that_nobody_answers_ends_the_wait() {
    let mut host = Host::new(Negotiation::Auto);
    host.world.person = Person::Leaves;
    host.connect();
    while !host.is_closed {
        host.world.now = host.client.poll_timeout().unwrap();
        host.client.handle_timeout(host.world.now);
        host.run();
    }
    assert!(matches!(
        host.events.last(),
        Some(ClientEvent::Closed(Some(ConnectError::Unauthorized(_))))
    ));
}

#[test]
fn cancelled_call_is_not_sent_after_the_sign_in() {
    let mut host = Host::new(Negotiation::Auto);
    host.open = vec!["server/discover"];
    host.world.person = Person::Pauses;
    host.connect();
    let (cancelled, kept) = (host.call("a"), host.call("b"));
    host.run();
    let now = host.world.now;
    host.client.with(now, |it| it.cancel(now, cancelled)).unwrap();
    host.run();
    let state = host.world.pages[0]["state"].clone();
    host.client.with_authorizer(now, |it| {
        it.handle_redirect(now, &format!("?code=1&state={state}"));
    });
    host.run();
    assert!(host.result(kept).unwrap().is_ok());
    assert_eq!(host.log.iter().filter(|line| **line == "tools/call b 200").count(), 1);
    assert!(!host.log.contains(&"tools/call a 200".into()));
}

#[test]
fn end_of_a_session_is_sent_at_once_with_a_good_token() {
    let mut host = Host::new(Negotiation::Legacy);
    host.connect();
    let now = host.world.now;
    host.client.with(now, |it| it.close(now));
    host.run();
    assert!(host.is_closed);
    assert_eq!(host.log.last().unwrap(), "DELETE 200");
}

#[test]
fn end_of_a_session_waits_for_a_refresh() {
    let mut host = Host::new(Negotiation::Legacy);
    host.connect();
    host.world.pass(3600);
    // The server takes the next token alone.
    host.world.accepted.clear();
    let now = host.world.now;
    host.client.with(now, |it| it.close(now));
    host.run();
    assert!(host.is_closed);
    assert_eq!(host.world.grants(), ["authorization_code", "refresh_token"]);
    assert_eq!(host.log.last().unwrap(), "DELETE 200");
}

#[test]
fn request_is_sent_four_times_at_most() {
    let mut host = Host::new(Negotiation::Auto);
    host.open = vec!["server/discover"];
    host.connect();
    host.world.accepted.clear();
    let call = host.call("x");
    let before = host.log.len();
    // A server that accepts no token at all.
    while let Some(action) = host.client.poll_action() {
        host.world.accepted.clear();
        let now = host.world.now;
        match action {
            Action::Open { exchange, request } => host.serve(exchange, &request),
            Action::Authorize(AuthAction::Changed(state)) => host.world.states.push(state),
            Action::Authorize(action) => {
                if let Some(reply) = host.world.reply(action) {
                    host.client.with_authorizer(now, reply);
                }
            }
            Action::Fetch { exchange, fetch } => {
                let (status, _, body) = host.world.answer(&fetch);
                host.client.handle_head(now, exchange, &StatusHead::new(status));
                host.client.handle_body(now, exchange, body.into());
                host.client.handle_end(now, exchange);
            }
            Action::Event(event) => host.events.push(event),
            _ => {}
        }
    }
    assert!(matches!(host.result(call), Some(Err(CallError::Unauthorized(_)))));
    assert!(host.log.len() - before <= 4, "{:?}", host.log);
    assert!(!matches!(host.world.states.last(), Some(AuthState::Failed(_))));
}

#[test]
fn field_and_authorizer_exclude_each_other() {
    let config = client::Config::new(Implementation::new("app", "1.0.0"));
    let config = http::client::Config::new(Url::parse(SERVER).unwrap(), config);
    let config = config.field("Authorization", "Bearer x").unwrap();
    let mut client = http::Client::new(config, Box::new(|| [0; 16]));
    let refused = client.set_authorizer(authorizer(|config| config));
    assert!(matches!(refused, Err(UsageError::InvalidField { .. })));
    let mut host = Host::new(Negotiation::Auto);
    let refused = host.client.set_field(host.world.now, "authorization", "Bearer x");
    assert!(matches!(refused, Err(UsageError::InvalidField { .. })));
}

#[test]
fn proof_of_the_application_and_authorizer_exclude_each_other() {
    for name in ["DPoP", "dpop"] {
        let config = client::Config::new(Implementation::new("app", "1.0.0"));
        let config = http::client::Config::new(Url::parse(SERVER).unwrap(), config);
        let config = config.field(name, "proof").unwrap();
        let mut client = http::Client::new(config, Box::new(|| [0; 16]));
        let refused = client.set_authorizer(authorizer(|config| config));
        assert!(matches!(refused, Err(UsageError::InvalidField { .. })), "{name}");
        let mut host = Host::new(Negotiation::Auto);
        let refused = host.client.set_field(host.world.now, name, "proof");
        assert!(matches!(refused, Err(UsageError::InvalidField { .. })), "{name}");
    }
}

#[test]
fn call_that_is_held_is_sent_in_the_next_session() {
    let mut host = Host::new(Negotiation::Legacy);
    host.world.needs.insert("tools/call w".into(), "write".into());
    host.connect();
    host.world.person = Person::Pauses;
    let (held, lost) = (host.call("w"), host.call("x"));
    // The server has forgotten the session of the second call.
    let Some(Action::Open { exchange, request }) = host.client.poll_action() else { panic!() };
    host.serve(exchange, &request);
    while let Some(action) = host.client.poll_action() {
        if let Action::Open { exchange, .. } = action {
            let now = host.world.now;
            host.client.handle_head(now, exchange, &StatusHead::new(404));
            host.client.handle_end(now, exchange);
            break;
        }
    }
    host.run();
    assert!(host.result(lost).unwrap().is_ok() && host.result(held).is_none());
    consent(&mut host);
    assert!(host.result(held).unwrap().is_ok());
    let of_session = |line: &&String| line.starts_with("initialize 200");
    assert_eq!(host.log.iter().filter(of_session).count(), 2, "{:?}", host.log);
    assert_eq!(host.log.iter().filter(|line| **line == "tools/call w 200").count(), 1);
}

#[test]
fn sse_call_that_is_held_is_sent_on_the_next_stream() {
    let mut host = Host::new(Negotiation::Legacy);
    host.is_old = true;
    host.world.needs.insert("tools/call w".into(), "write".into());
    host.connect();
    host.world.person = Person::Pauses;
    let call = host.call("w");
    host.run();
    let (now, stream) = (host.world.now, host.stream.unwrap());
    host.client.handle_end(now, stream);
    host.run();
    assert!(host.result(call).is_none());
    consent(&mut host);
    for _ in 0..3 {
        host.pass_timeout();
    }
    assert!(host.result(call).unwrap().is_ok(), "{:?}", host.log);
    assert_eq!(host.log.iter().filter(|line| **line == "tools/call w 202").count(), 1);
}

/// The person who was asked last consents.
pub(super) fn consent(host: &mut Host) {
    let state = host.world.pages.last().unwrap()["state"].clone();
    let now = host.world.now;
    host.client.with_authorizer(now, |it| {
        it.handle_redirect(now, &format!("?code=1&state={state}"));
    });
    host.run();
}

#[test]
fn operation_that_was_accepted_may_ask_for_more_scopes_again() {
    let mut host = Host::new(Negotiation::Auto);
    host.connect();
    for scope in ["a", "b", "c", "d", "e"] {
        host.world.needs.insert("tools/call w".into(), scope.into());
        let call = host.call("w");
        host.run();
        assert!(host.result(call).unwrap().is_ok(), "{scope}: {:?}", host.log);
    }
    assert_eq!(host.pages(), 6);
}

/// Another tool that succeeds does not bring back the page, nor does the page of one tool count for
/// another tool. A legacy request names its tool in the body only.
#[test]
fn step_ups_are_counted_for_each_tool() {
    for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
        let mut host = Host::new(negotiation);
        host.connect();
        for tool in ["tools/call w", "tools/call v"] {
            host.world.needs.insert(tool.into(), tool.replace("tools/call ", ""));
        }
        host.world.person = Person::Redirects("error=access_denied");
        for _ in 0..5 {
            let [denied, allowed] = ["w", "r"].map(|name| {
                let call = host.call(name);
                host.run();
                host.result(call).unwrap().is_ok()
            });
            assert!(!denied && allowed, "{:?}", host.log);
        }
        assert_eq!(host.pages(), 1 + 3, "{negotiation:?}");
        host.world.person = Person::Consents;
        let call = host.call("v");
        host.run();
        assert!(host.result(call).unwrap().is_ok(), "{:?}", host.log);
    }
}
