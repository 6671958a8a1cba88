//! Tokens: A20 to A38.

use mcp_proto::Duration;
use mcp_proto::auth::{
    Access, AuthAction, AuthError, AuthState, Config, RefusalAdvice, SentRequest,
};
use mcp_proto::http::Unauthorized;

use super::world::{ISSUER, ISSUER_PLACE, Person, World};

const INVALID_GRANT: &str = r#"{"error":"invalid_grant"}"#;

fn signed_in() -> World {
    let mut world = World::new();
    world.request("x").unwrap();
    world
}

#[test]
fn auth_a20_parallel_requests_wait_for_one_refresh() {
    let mut world = signed_in();
    world.pass(3600);
    for _ in 0..10 {
        assert_eq!(world.access(), Access::Wait);
    }
    world.run().unwrap();
    assert!(matches!(world.access(), Access::Ready(_)));
    assert_eq!(world.grants(), ["authorization_code", "refresh_token"]);
}

#[test]
fn refresh_names_the_scopes_of_the_sign_in_only_if_wanted() {
    for repeats in [false, true] {
        let mut world = World::with(move |config| {
            let config = config.scopes("read write");
            if repeats { config.repeats_scopes() } else { config }
        });
        world.request("x").unwrap();
        world.pass(3600);
        world.request("x").unwrap();
        assert_eq!(world.grants(), ["authorization_code", "refresh_token"]);
        let scope = world.forms[1].get("scope").map(String::as_str);
        assert_eq!(scope, repeats.then_some("read write"), "{repeats}");
    }
}

/// "The requested scope MUST NOT include any scope not originally granted" (RFC 6749, section 6).
#[test]
fn refresh_repeats_the_granted_scopes_also_after_a_restart() {
    let narrowed = [
        ("read write", "read", "read"),
        ("read write", "", "read write"),
        ("read offline_access", "read profile", "read profile offline_access"),
    ];
    for (requested, granted, expected) in narrowed {
        let settings = move |config: Config| config.scopes(requested).repeats_scopes();
        let mut world = World::with(settings);
        world.token_members = format!(r#","expires_in":3600,"scope":"{granted}""#);
        world.request("x").unwrap();
        // A refresh may name fewer scopes for its access token; the grant stays the same.
        world.token_members = r#","expires_in":3600,"scope":"read""#.into();
        world.pass(3600);
        world.request("x").unwrap();
        let mut world = world.restart_with(settings);
        world.pass(3600);
        world.request("x").unwrap();
        let scopes: Vec<_> = world.forms.iter().filter_map(|form| form.get("scope")).collect();
        assert_eq!(scopes, [expected; 2], "{requested}, {granted}");
    }
}

#[test]
fn auth_a21_the_tokens_of_another_process_are_adopted_under_the_lock() {
    let mut first = signed_in();
    let stored = first.store.clone();
    first.pass(3600);
    // Another process has refreshed.
    let newer =
        stored.iter().map(|(key, text)| (key.clone(), text.replace("access-1", "access-9")));
    first.store = newer.collect();
    first.accepted = vec!["canary-access-9".into()];
    first.store.values_mut().for_each(|text| *text = text.replace("1800003600", "1800009999"));
    first.request("x").unwrap();
    assert_eq!(first.grants(), ["authorization_code"]);
}

#[test]
fn requests_of_one_renewal_do_not_count_for_the_next() {
    let mut world = signed_in();
    for _ in 0..50 {
        world.pass(3600);
        world.request("x").unwrap();
    }
    assert_eq!(world.forms.len(), 51);
}

#[test]
fn request_is_sent_four_times_at_most() {
    let mut world = signed_in();
    let refusal = Unauthorized::new(401, [&b"Bearer"[..]]);
    let mut refuse = |tries| {
        let mut sent = SentRequest::new("x");
        sent.tries = tries;
        world.authorizer.handle_refusal(world.now, &refusal, &sent)
    };
    assert_eq!(refuse(2), RefusalAdvice::Repeat);
    assert!(matches!(refuse(3), RefusalAdvice::Fail(AuthError::Refused { .. })));
}

#[test]
fn auth_a22_every_refusal_reads_the_store() {
    let mut world = signed_in();
    world.accepted = vec!["canary-access-9".into()];
    world.store.values_mut().for_each(|text| *text = text.replace("access-1", "access-9"));
    world.request("x").unwrap();
    assert_eq!(world.grants(), ["authorization_code"]);
}

#[test]
fn auth_a23_a_token_endpoint_that_is_down_costs_nothing() {
    let mut world = signed_in();
    world.pass(3600 - 30);
    let stored = world.store.clone();
    world.token_answers.push_back((503, String::new()));
    world.request("x").unwrap();
    assert_eq!((world.rows("granted").last(), &world.store), (Some(&"later"), &stored));
    // It rests for a second, and tries again.
    world.request("x").unwrap();
    assert_eq!(world.forms.len(), 2);
    world.pass(1);
    world.request("x").unwrap();
    assert_eq!(world.rows("granted").last(), Some(&"token"));
    // If the access token is over, the failure is told.
    world.pass(3600);
    world.token_answers.push_back((503, String::new()));
    let error = world.request("x").unwrap_err();
    assert!(matches!(error, AuthError::Unavailable { .. }));
    let text = error.to_string();
    assert!(text.contains("does not answer, or answers with 429 or 5xx; try again"), "{text}");
}

#[test]
fn auth_a24_an_answer_without_a_refresh_token_keeps_the_earlier_one() {
    let mut world = signed_in();
    world.gives_refresh_token = false;
    for _ in 0..3 {
        world.pass(3600);
        world.request("x").unwrap();
    }
    assert_eq!(world.forms[3]["refresh_token"], "canary-refresh-1");
}

#[test]
fn empty_refresh_token_keeps_the_earlier_one() {
    let mut world = signed_in();
    world.gives_refresh_token = false;
    world.token_members = r#","expires_in":3600,"refresh_token":"","error":"""#.into();
    for _ in 0..2 {
        world.pass(3600);
        world.request("x").unwrap();
    }
    assert_eq!(world.forms[2]["refresh_token"], "canary-refresh-1");
}

#[test]
fn auth_a25_rotated_tokens_are_stored_before_they_are_used_and_a_failure_is_told() {
    let mut world = signed_in();
    world.pass(3600);
    world.access();
    let mut kept = None;
    while kept.is_none() {
        match world.authorizer.poll_action().unwrap() {
            AuthAction::Load { id, key, .. } => {
                let record = world.store.get(&key).map(String::as_str);
                let unix = Duration::from_secs(1_800_003_600);
                world.authorizer.handle_loaded(world.now, id, unix, record);
            }
            AuthAction::Fetch(fetch) => {
                let body = br#"{"access_token":"n","token_type":"Bearer","refresh_token":"m"}"#;
                let answer = mcp_proto::auth::FetchAnswer::new(200, body);
                world.authorizer.handle_fetched(world.now, fetch.id, answer);
            }
            AuthAction::Release { id, record: Some(record), .. } => {
                assert!(record.expose().contains(r#""refresh_token":"m""#));
                kept = Some(id);
            }
            _ => {}
        }
    }
    assert_eq!(world.access(), Access::Wait);
    world.authorizer.handle_released(world.now, kept.unwrap(), Err("disk full".into()));
    let unsaved = Some("disk full".into());
    let changed = AuthAction::Changed(AuthState::Ready { unsaved });
    assert_eq!(world.authorizer.poll_action(), Some(changed));
    assert!(matches!(world.access(), Access::Ready(_)));
}

#[test]
fn auth_a26_a_spent_refresh_token_is_dropped() {
    let mut world = signed_in();
    world.pass(3600);
    world.token_answers.push_back((400, INVALID_GRANT.into()));
    world.request("x").unwrap();
    assert_eq!(world.grants(), ["authorization_code", "refresh_token", "authorization_code"]);
    assert!(world.rows("granted").contains(&"spent"));
}

/// A gateway has answered in place of the server, or the server means something else by the code.
#[test]
fn refresh_token_that_is_not_called_invalid_is_tried_again() {
    for (status, body) in [(403, "<html>"), (200, ""), (400, r#"{"error":"invalid_request"}"#)] {
        let mut world = signed_in();
        world.pass(3600);
        world.token_answers.push_back((status, body.into()));
        world.person = Person::Leaves;
        world.request("x").unwrap_err();
        world.pass(1);
        world.request("x").unwrap();
        assert_eq!(world.grants(), ["authorization_code", "refresh_token", "refresh_token"]);
        assert_eq!(world.rows("granted").last(), Some(&"token"));
    }
}

#[test]
fn server_that_is_unavailable_for_a_refresh_needs_no_person() {
    for code in ["temporarily_unavailable", "server_error", "slow_down"] {
        let mut world = signed_in();
        world.pass(3600);
        world.token_answers.push_back((400, format!(r#"{{"error":"{code}"}}"#)));
        assert!(matches!(world.request("x"), Err(AuthError::Unavailable { .. })));
        world.pass(1);
        world.request("x").unwrap();
        assert_eq!((world.forms.len(), world.pages.len()), (3, 1));
    }
}

#[test]
fn auth_a27_an_early_refresh_that_is_refused_costs_nothing() {
    let mut world = signed_in();
    world.pass(3600 - 30);
    world.token_answers.push_back((400, INVALID_GRANT.into()));
    world.request("x").unwrap();
    world.request("x").unwrap();
    assert_eq!(world.rows("granted").last(), Some(&"too-early"));
    assert_eq!((world.forms.len(), world.pages.len()), (2, 1));
}

#[test]
fn auth_a27_an_early_refresh_whose_client_is_refused_costs_nothing() {
    let changes: [fn(Config) -> Config; 2] = [|it| it, |it| it.client(ISSUER, "preset", None)];
    for change in changes {
        let mut world = World::with(change);
        world.request("x").unwrap();
        world.pass(3600 - 30);
        world.token_answers.push_back((401, r#"{"error":"invalid_client"}"#.into()));
        world.request("x").unwrap();
        world.request("x").unwrap();
        assert_eq!(world.rows("granted").last(), Some(&"too-early"));
        assert_eq!((world.forms.len(), world.pages.len()), (2, 1));
    }
}

#[test]
fn auth_a28_a_refresh_has_the_resource() {
    let mut world = signed_in();
    world.pass(3600);
    world.request("x").unwrap();
    assert_eq!(world.forms[1]["resource"], super::world::SERVER);
}

#[test]
fn auth_a29_a_refresh_has_no_scope() {
    let mut world = World::new();
    world.challenge = r#"Bearer scope="a""#.into();
    world.request("x").unwrap();
    world.pass(3600);
    world.request("x").unwrap();
    assert!(!world.forms[1].contains_key("scope"));
}

#[test]
fn auth_a30_short_tokens_are_refreshed_by_a_share_of_their_life() {
    let mut world = World::new();
    world.token_members = r#","expires_in":30"#.into();
    world.request("x").unwrap();
    world.pass(26);
    world.request("x").unwrap();
    assert_eq!(world.forms.len(), 1);
    world.pass(1);
    world.request("x").unwrap();
    assert_eq!(world.forms.len(), 2);
}

#[test]
fn auth_a31_a_request_with_an_older_token_is_sent_again() {
    let mut world = signed_in();
    let Access::Ready(old) = world.access() else { panic!() };
    world.pass(3600);
    world.request("x").unwrap();
    let refusal = Unauthorized::new(401, [&b"Bearer"[..]]);
    let mut sent = SentRequest::new("x");
    sent.token = Some(old.token);
    let advice = world.authorizer.handle_refusal(world.now, &refusal, &sent);
    assert_eq!(advice, RefusalAdvice::Repeat);
    assert_eq!(world.rows("refusal").last(), Some(&"superseded"));
}

#[test]
fn auth_a32_a_step_up_asks_for_the_union_and_does_not_refresh() {
    let mut world = World::new();
    world.challenge = r#"Bearer scope="a""#.into();
    world.needs.insert("write".into(), "b".into());
    world.request("read").unwrap();
    world.request("write").unwrap();
    assert_eq!(world.pages[1]["scope"], "a b");
    assert_eq!(world.grants(), ["authorization_code", "authorization_code"]);
    // Metadata was asked for once.
    assert_eq!(world.log.iter().filter(|line| line.starts_with("GET")).count(), 2);
}

#[test]
fn auth_a33_missing_scopes_are_told_as_such() {
    let mut world = signed_in();
    let value = br#"Bearer error="insufficient_scope", scope="a""#;
    world.needs.insert("write".into(), "a".into());
    world.person = Person::Redirects("error=access_denied");
    assert!(matches!(world.request("write"), Err(AuthError::Refused { .. })));
    // A scope that was asked for, and is asked for again.
    let mut world = World::new();
    world.challenge = r#"Bearer scope="a""#.into();
    world.request("x").unwrap();
    let Access::Ready(held) = world.access() else { panic!() };
    let refusal = Unauthorized::new(403, [&value[..]]);
    let mut sent = SentRequest::new("x");
    sent.token = Some(held.token);
    let advice = world.authorizer.handle_refusal(world.now, &refusal, &sent);
    assert!(matches!(advice, RefusalAdvice::Fail(AuthError::Scopes { .. })), "{advice:?}");
}

#[test]
fn auth_a34_a_fresh_token_that_is_refused_is_no_reason_to_ask_again() {
    let mut world = World::new();
    world.token_answers.push_back((200, r#"{"access_token":"bad","token_type":"Bearer"}"#.into()));
    assert!(matches!(world.request("x"), Err(AuthError::Refused { .. })));
    assert_eq!(
        (world.pages.len(), world.rows("refusal")),
        (1, vec!["unauthorized", "refused-again"])
    );
}

#[test]
fn auth_a35_the_refused_request_is_sent_again() {
    let world = signed_in();
    assert_eq!(world.sent, 2);
}

#[test]
fn auth_a36_zero_is_over_at_once_and_digits_are_a_number() {
    let mut world = World::new();
    world.token_members = r#","expires_in":0"#.into();
    world.authorizer.authorize(world.now, &mcp_proto::auth::Scopes::none());
    world.run().unwrap();
    // One request has it, so that such answers do not ask for tokens without end.
    assert!(matches!(world.access(), Access::Ready(_)));
    assert_eq!(world.access(), Access::Wait);
    let mut world = World::new();
    world.token_members = r#","expires_in":"100""#.into();
    world.request("x").unwrap();
    world.pass(95);
    assert_eq!(world.access(), Access::Wait);
}

#[test]
fn auth_a37_no_lifetime_is_invented() {
    let mut world = World::new();
    world.token_members = String::new();
    world.request("x").unwrap();
    world.pass(10_000_000);
    world.request("x").unwrap();
    assert_eq!(world.forms.len(), 1);
}

#[test]
fn auth_a38_an_error_behind_200_is_no_token() {
    let mut world = World::new();
    let body = r#"{"error":"bad_verification_code","access_token":"t","token_type":"Bearer"}"#;
    world.token_answers.push_back((200, body.into()));
    let error = AuthError::Refused { error: "bad_verification_code".into(), description: None };
    assert_eq!(world.request("x"), Err(error));
}

#[test]
fn a_token_of_the_store_needs_no_person() {
    let world = signed_in();
    let mut world = world.restart();
    world.request("x").unwrap();
    assert_eq!((world.pages.len(), world.sent), (1, 3));
}

#[test]
fn tokens_that_could_not_be_stored_are_kept_after_those_of_another_process() {
    let mut world = signed_in();
    world.pass(3600);
    for text in world.store.values_mut() {
        *text = text.replace("access-1", "access-9").replace("1800003600", "1800007200");
    }
    world.accepted = vec!["canary-access-9".into()];
    world.request("x").unwrap();
    world.keeps = Err("no space".into());
    for _ in 0..3 {
        world.pass(3600);
        world.request("x").unwrap();
    }
    let refreshes = ["refresh_token"; 3];
    assert_eq!(world.grants(), [&["authorization_code"][..], &refreshes].concat());
}

/// A refresh may give the same access token with another refresh token.
#[test]
fn refresh_token_of_another_process_is_used_though_the_access_token_is_the_same() {
    let mut world = signed_in();
    world.store.values_mut().for_each(|text| *text = text.replace("refresh-1", "refresh-9"));
    world.accepted = vec!["canary-access-7".into()];
    let answer = r#"{"access_token":"canary-access-7","token_type":"Bearer"}"#;
    world.token_answers.push_back((200, answer.into()));
    world.request("x").unwrap();
    assert_eq!(world.forms[1]["refresh_token"], "canary-refresh-9");
}

/// Metadata names another token endpoint; the earlier one is gone, or does not answer.
#[test]
fn refresh_follows_its_issuer_to_another_endpoint() {
    let moved = "https://a.example/v2/token";
    for (status, body) in [(404, "<html>"), (400, r#"{"error":"invalid_request"}"#), (0, "")] {
        let mut world = signed_in();
        let endpoint = format!(r#","token_endpoint":"{moved}""#);
        world.issuer(ISSUER_PLACE, ISSUER, &endpoint);
        world.pass(3600);
        world.token_answers.push_back((status, body.into()));
        world.request("x").unwrap();
        assert_eq!(world.log.last().unwrap(), &format!("POST {moved}"), "{status}");
        assert_eq!(world.grants(), ["authorization_code", "refresh_token", "refresh_token"]);
        world.pass(3600);
        world.request("x").unwrap();
        assert_eq!((world.forms.len(), world.pages.len()), (4, 1), "{status}");
    }
    // A token that is refused everywhere is spent, and an endpoint that stays is asked once.
    let mut world = signed_in();
    world.issuer(ISSUER_PLACE, ISSUER, &format!(r#","token_endpoint":"{moved}""#));
    world.pass(3600);
    world.token_answers.push_back((404, String::new()));
    world.token_answers.push_back((400, INVALID_GRANT.into()));
    world.request("x").unwrap();
    assert_eq!((world.forms.len(), world.pages.len()), (4, 2));
    let mut world = signed_in();
    world.pass(3600);
    world.token_answers.push_back((0, String::new()));
    let url = "https://a.example/token".into();
    assert_eq!(world.request("x"), Err(AuthError::Unavailable { url }));
    assert_eq!((world.forms.len(), world.pages.len()), (2, 1));
}

/// Another process has followed the server to another issuer, whose tokens are in the store.
#[test]
fn tokens_of_another_issuer_that_another_process_has_stored_are_used() {
    let mut world = signed_in();
    for text in world.store.values_mut() {
        *text = text.replace(ISSUER, "https://b.example").replace("access-1", "access-9");
        *text = text.replace("1800003600", "1800009999");
    }
    let stored = world.store.clone();
    world.accepted = vec!["canary-access-9".into()];
    world.pass(3600);
    world.request("x").unwrap();
    assert_eq!((world.grants(), &world.store), (vec!["authorization_code"], &stored));
}
