//! Sign-ins that the application requests, alone and during another flow.

use mcp_proto::auth::{
    Access, AuthAction, AuthError, AuthState, Config, RefusalAdvice, Scopes, SentRequest, SignInId,
};
use mcp_proto::http::Unauthorized;

use super::world::{ISSUER, ISSUER_PLACE, Person, RESOURCE_PLACE, SERVER, World};

const INVALID_GRANT: &str = r#"{"error":"invalid_grant"}"#;

#[test]
fn authorize_during_the_first_read_signs_in_with_its_scopes() {
    let mut world = World::new();
    assert_eq!(world.access(), Access::Wait);
    authorize(&mut world, "a");
    authorize(&mut world, "b a");
    world.run().unwrap();
    assert_eq!(scopes(&world), ["a b"]);
    assert_eq!(world.authorized, [Ok(())]);
    world.request("x").unwrap();
    assert_eq!((world.sent, world.pages.len()), (1, 1));
}

#[test]
fn authorize_during_a_read_keeps_the_stored_tokens_meanwhile() {
    let mut world = signed_in().restart();
    assert_eq!(world.access(), Access::Wait);
    authorize(&mut world, "b");
    world.person = Person::Pauses;
    world.run().unwrap();
    assert_eq!(scopes(&world), ["a", "a b"]);
    // The end of the read was reported, and the page does not stop other requests.
    assert!(matches!(world.states[..], [.., AuthState::Ready { .. }, AuthState::Asking]));
    assert!(matches!(world.access(), Access::Ready(_)));
    assert_eq!(world.authorized.len(), 1);
}

#[test]
fn authorize_during_a_refresh_signs_in_after_it() {
    let mut world = signed_in();
    world.pass(3600);
    assert_eq!(world.access(), Access::Wait);
    authorize(&mut world, "b");
    world.run().unwrap();
    assert_eq!(world.grants(), ["authorization_code", "refresh_token", "authorization_code"]);
    assert_eq!(scopes(&world), ["a", "a b"]);
    assert_eq!(world.authorized, [Ok(()), Ok(())]);
}

#[test]
fn sign_in_after_a_refused_refresh_includes_the_requested_scopes() {
    let mut world = signed_in();
    world.pass(3600);
    assert_eq!(world.access(), Access::Wait);
    authorize(&mut world, "b");
    world.token_answers.push_back((400, INVALID_GRANT.into()));
    while let Some(action) = world.authorizer.poll_action() {
        if matches!(action, AuthAction::Fetch(_)) {
            // Another request while metadata is fetched for the sign-in changes nothing.
            authorize(&mut world, "b");
        }
        if let Some(reply) = world.reply(action) {
            reply(&mut world.authorizer);
        }
    }
    assert_eq!(world.grants(), ["authorization_code", "refresh_token", "authorization_code"]);
    assert_eq!(scopes(&world), ["a", "a b"]);
    assert_eq!(world.authorized, [Ok(()), Ok(())]);
}

#[test]
fn authorize_during_a_refresh_that_fails_signs_in_after_it() {
    let mut world = signed_in();
    world.pass(3600);
    assert_eq!(world.access(), Access::Wait);
    authorize(&mut world, "b");
    world.token_answers.push_back((503, String::new()));
    world.run().unwrap();
    assert_eq!(scopes(&world), ["a", "a b"]);
    assert_eq!(world.authorized, [Ok(()), Ok(())]);
    assert!(matches!(world.states.last(), Some(AuthState::Ready { .. })));
    // Waiting requests wait for the sign-in.
    assert!(!world.states.iter().any(|state| matches!(state, AuthState::Failed(_))));
}

#[test]
fn failed_sign_in_after_a_failed_refresh_ends_the_wait_once() {
    for person in [Person::Redirects("error=access_denied"), Person::Leaves] {
        let mut world = signed_in();
        world.pass(3600);
        assert_eq!(world.access(), Access::Wait);
        authorize(&mut world, "b");
        world.token_answers.push_back((503, String::new()));
        world.person = person;
        assert!(matches!(world.run(), Err(AuthError::Refused { .. } | AuthError::Consent { .. })));
        world.run().unwrap();
        let failures = world.states.iter().filter(|state| matches!(state, AuthState::Failed(_)));
        assert_eq!((failures.count(), world.pages.len()), (1, 2));
        assert!(matches!(world.authorized[..], [Ok(()), Err(_)]));
        // The next request begins anew.
        world.person = Person::Consents;
        world.request("x").unwrap();
    }
}

#[test]
fn sign_in_after_metadata_that_is_unavailable_fails_once() {
    let mut world = signed_in();
    let Access::Ready(held) = world.access() else { panic!() };
    let refusal = Unauthorized::new(401, [&b"Bearer"[..]]);
    let mut sent = SentRequest::new("x");
    sent.token = Some(held.token);
    let advice = world.authorizer.handle_refusal(world.now, &refusal, &sent);
    assert_eq!(advice, RefusalAdvice::Wait);
    authorize(&mut world, "b");
    world.document(RESOURCE_PLACE, 503, "");
    assert!(matches!(world.run(), Err(AuthError::Unavailable { .. })));
    world.run().unwrap();
    assert!(matches!(world.states.last(), Some(AuthState::Failed(_))));
    assert!(matches!(world.authorized[..], [Ok(()), Err(AuthError::Unavailable { .. })]));
    // One request for the refusal, one for the sign-in.
    assert_eq!(world.log.iter().filter(|line| line.ends_with(RESOURCE_PLACE)).count(), 3);
}

#[test]
fn forgotten_authorization_starts_no_sign_in() {
    let mut world = World::new();
    assert_eq!(world.access(), Access::Wait);
    authorize(&mut world, "a");
    world.authorizer.forget();
    assert!(matches!(world.run(), Err(AuthError::Consent { .. })));
    world.run().unwrap();
    assert!(matches!(world.authorized[..], [Err(AuthError::Consent { .. })]));
    assert!(world.pages.is_empty() && world.log.is_empty(), "{:?}", world.log);
}

#[test]
fn sign_in_after_a_forgotten_one_has_its_own_report() {
    let mut world = World::new();
    let forgotten = authorize(&mut world, "a");
    assert_eq!(authorize(&mut world, "b"), forgotten);
    world.authorizer.forget();
    let last = authorize(&mut world, "c");
    assert_eq!(authorize(&mut world, "d"), last);
    assert!(matches!(world.run(), Err(AuthError::Consent { .. })));
    world.run().unwrap();
    assert_eq!(world.ended, [forgotten, last]);
    assert!(matches!(world.authorized[..], [Err(AuthError::Consent { .. }), Ok(())]));
}

/// The refresh of the flow may end it, or the refusal of its requests.
#[test]
fn sign_in_that_is_requested_during_the_discovery_of_a_renewal_asks_a_person() {
    for (status, body) in [(400, INVALID_GRANT), (404, "<html>"), (0, "")] {
        let mut world = signed_in();
        world.pass(3600);
        world.issuer(ISSUER_PLACE, ISSUER, r#","token_endpoint":"https://a.example/v2/token""#);
        world.token_answers.push_back((status, body.into()));
        assert_eq!(world.access(), Access::Wait);
        let (pages, ends) = (world.pages.len(), world.authorized.len());
        let mut id = None;
        while let Some(action) = world.authorizer.poll_action() {
            let is_discovery = matches!(&action, AuthAction::Fetch(fetch) if fetch.method == "GET");
            if is_discovery && id.is_none() {
                id = Some(authorize(&mut world, "b"));
            }
            if let Some(reply) = world.reply(action) {
                reply(&mut world.authorizer);
            }
        }
        assert_eq!((&world.authorized[ends..], world.ended.last()), (&[Ok(())][..], id.as_ref()));
        assert_eq!(world.pages.len(), pages + 1, "{status}");
        assert!(world.pages[pages]["scope"].contains('b'), "{status}");
    }
}

#[test]
fn sign_in_after_an_earlier_one_asks_the_metadata_that_a_challenge_has_named() {
    let place = "https://s.example/custom/metadata";
    let mut world = World::new();
    world.documents.remove(RESOURCE_PLACE);
    world.resource(place, SERVER, ISSUER);
    world.challenge = format!(r#"Bearer resource_metadata="{place}""#);
    world.request("x").unwrap();
    authorize(&mut world, "b");
    world.run().unwrap();
    let mut world = world.restart();
    authorize(&mut world, "c");
    world.run().unwrap();
    assert_eq!([&world.pages[1]["scope"], &world.pages[2]["scope"]], ["b", "b c"]);
    // A later challenge names no place: the usual one counts.
    world.challenge = "Bearer".into();
    world.documents.remove(place);
    world.resource(RESOURCE_PLACE, SERVER, ISSUER);
    world.accepted.clear();
    world.request("x").unwrap();
    authorize(&mut world, "d");
    world.run().unwrap();
    // A stored place is checked again.
    let mut world = world.restart();
    for text in world.store.values_mut() {
        *text = text.replace("\"v\":1", r#""v":1,"metadata":"https://10.0.0.1/x""#);
    }
    authorize(&mut world, "e");
    assert!(matches!(world.run(), Err(AuthError::Url { .. })));
}

/// The server or the person may refuse more scopes; what another process has renewed stays good.
#[test]
fn abandoned_sign_in_keeps_the_tokens_of_another_process() {
    let mut world = signed_in();
    for text in world.store.values_mut() {
        *text = text.replace("access-1", "access-9").replace("refresh-1", "refresh-9");
        *text = text.replace("1800003600", "1800009999");
    }
    world.accepted = vec!["canary-access-9".into()];
    world.person = Person::Leaves;
    authorize(&mut world, "b");
    world.run().unwrap_err();
    world.pass(3600);
    world.request("x").unwrap();
    // The earlier refresh token is spent.
    assert_eq!(world.grants(), ["authorization_code"]);
}

#[test]
fn abandoned_sign_in_before_any_request_keeps_the_stored_tokens() {
    let mut world = signed_in().restart();
    world.person = Person::Leaves;
    authorize(&mut world, "b");
    world.run().unwrap_err();
    let pages = world.pages.len();
    world.request("x").unwrap();
    assert_eq!((world.pages.len(), world.grants()), (pages, vec!["authorization_code"]));
}

#[test]
fn authorize_joins_a_sign_in() {
    let mut world = World::new();
    world.person = Person::Pauses;
    authorize(&mut world, "a");
    world.run().unwrap();
    authorize(&mut world, "b");
    let redirect = format!("?code=canary-code&state={}", world.pages[0]["state"]);
    world.authorizer.handle_redirect(world.now, &redirect);
    while let Some(action) = world.authorizer.poll_action() {
        if matches!(action, AuthAction::Release { .. }) {
            // The sign-in ends when its tokens are stored.
            authorize(&mut world, "c");
        }
        if let Some(reply) = world.reply(action) {
            reply(&mut world.authorizer);
        }
    }
    assert_eq!(scopes(&world), ["a"]);
    assert_eq!(world.authorized, [Ok(())]);
}

#[test]
fn unattended_client_fails_a_queued_sign_in() {
    let mut world = World::with(Config::unattended);
    assert_eq!(world.access(), Access::Wait);
    authorize(&mut world, "");
    assert!(matches!(world.run(), Err(AuthError::ConsentNeeded { .. })));
    world.run().unwrap();
    assert!(matches!(world.authorized[..], [Err(AuthError::ConsentNeeded { .. })]));
}

fn authorize(world: &mut World, scopes: &str) -> SignInId {
    world.authorizer.authorize(world.now, &Scopes::words(scopes))
}

/// A world with tokens for the scope `a`.
fn signed_in() -> World {
    let mut world = World::new();
    authorize(&mut world, "a");
    world.run().unwrap();
    world.request("x").unwrap();
    world
}

/// The scopes of the pages.
fn scopes(world: &World) -> Vec<&str> {
    world.pages.iter().map(|page| page["scope"].as_str()).collect()
}
