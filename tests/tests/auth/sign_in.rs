//! Clients, pages and scopes: A14, A17 to A19, A40 to A48.

use mcp_proto::Instant;
use mcp_proto::auth::{AuthError, Config, Scopes};

use super::world::{ISSUER, ISSUER_PLACE, Person, RESOURCE_PLACE, SERVER, World};

const INVALID_CLIENT: &str = r#"{"error":"invalid_client"}"#;
const DOCUMENT: &str = "https://app.example/client.json";

fn later_login(world: World) -> World {
    let mut world = world.restart();
    world.store.retain(|key, _| key.starts_with("client:"));
    world
}

#[test]
fn auth_a14_the_port_of_the_registration_is_asked_for_and_another_one_is_registered() {
    let mut world = World::new();
    world.request("x").unwrap();
    let mut world = later_login(world);
    world.request("x").unwrap();
    assert_eq!(world.ports_asked, [None, Some(49152)]);
    assert_eq!(world.registrations.len(), 1);
    let mut world = later_login(world);
    world.port = 50000;
    world.request("x").unwrap();
    assert_eq!(world.registrations.len(), 2);
    assert!(world.registrations[1].contains("http://127.0.0.1:50000/callback"));
}

#[test]
fn auth_a17_a_client_that_is_gone_is_registered_again_once() {
    let mut world = World::new();
    world.request("x").unwrap();
    world.registration = (201, r#"{"client_id":"second"}"#.into());
    let mut world = later_login(world);
    world.token_answers.push_back((401, INVALID_CLIENT.into()));
    world.request("x").unwrap();
    assert_eq!(world.pages.last().unwrap()["client_id"], "second");
    assert_eq!(world.rows("granted"), ["client-gone", "token"]);
    // One that is refused again is a failure.
    let mut world = later_login(world);
    world.token_answers.extend([(401, INVALID_CLIENT.into()), (401, INVALID_CLIENT.into())]);
    assert!(matches!(world.request("x"), Err(AuthError::Refused { .. })));
}

#[test]
fn client_that_is_gone_at_the_page_is_registered_again_once() {
    for (error, redirect) in [
        ("unauthorized_client", "error=unauthorized_client"),
        ("invalid_client", "error=invalid_client&error_description=unknown"),
    ] {
        let mut world = World::new();
        world.request("x").unwrap();
        world.registration = (201, r#"{"client_id":"second"}"#.into());
        let mut world = later_login(world);
        world.redirects.push_back(redirect);
        world.request("x").unwrap();
        assert_eq!(world.pages.last().unwrap()["client_id"], "second");
        assert_eq!((world.registrations.len(), world.pages.len()), (2, 3));
        assert!(
            world.store["client:https://a.example http://127.0.0.1/callback"].contains("second")
        );
        // One that was just registered and is refused is a failure.
        let mut world = later_login(world);
        world.redirects.extend([redirect, redirect]);
        let refusal = world.request("x").unwrap_err();
        assert!(matches!(refusal, AuthError::Refused { error: own, .. } if own == error));
        assert_eq!(world.registrations.len(), 3);
    }
    // A configured client is not replaced.
    let mut world = World::with(|config| config.client(ISSUER, "preset", None));
    world.redirects.push_back("error=unauthorized_client");
    assert!(matches!(world.request("x"), Err(AuthError::Refused { .. })));
    assert!(world.registrations.is_empty());
}

#[test]
fn auth_a18_a_client_is_kept_until_another_one_is_registered() {
    let mut world = World::new();
    world.request("x").unwrap();
    let stored = world.store.clone();
    world.pass(3600);
    world.token_answers.push_back((401, INVALID_CLIENT.into()));
    world.registration = (503, String::new());
    assert!(matches!(world.request("x"), Err(AuthError::Registration { .. })));
    assert_eq!(world.store, stored);
}

#[test]
fn auth_a19_a_registration_is_stored_by_issuer() {
    let mut world = World::new();
    world.request("x").unwrap();
    let key = "client:https://a.example http://127.0.0.1/callback";
    assert!(world.store.contains_key(key), "{:?}", world.store.keys());
    let mut world = later_login(world);
    world.request("x").unwrap();
    assert_eq!(world.registrations.len(), 1);
    assert_eq!(world.rows("registration"), ["stored"]);
}

#[test]
fn auth_a39_answers_of_token_endpoints_are_asked_for_as_json() {
    let mut world = World::new();
    world.request("x").unwrap();
    assert!(world.heads.iter().all(|head| head["Accept"] == "application/json"));
}

#[test]
fn documents_are_requested_without_a_content_coding() {
    let mut world = World::new();
    world.request("x").unwrap();
    assert_eq!(world.heads.len(), 4);
    for head in &world.heads {
        assert_eq!(head["Accept-Encoding"], "identity");
    }
}

#[test]
fn registration_without_an_id_is_none() {
    for answer in [r#"{"client_id":""}"#, r#"{"client_secret":"s"}"#] {
        let mut world = World::new();
        world.registration = (201, answer.into());
        assert!(matches!(world.request("x"), Err(AuthError::Registration { .. })), "{answer}");
        assert!(world.pages.is_empty(), "{answer}");
    }
}

#[test]
fn auth_a40_the_method_of_the_registration_is_used() {
    for (answer, basic, secret) in [
        (r#"{"client_id":"i","client_secret":"s"}"#, true, false),
        (
            r#"{"client_id":"i","client_secret":"s","token_endpoint_auth_method":"client_secret_post"}"#,
            false,
            true,
        ),
        (r#"{"client_id":"i"}"#, false, false),
        (r#"{"client_id":"i","client_secret":""}"#, false, false),
    ] {
        let mut world = World::new();
        world.registration = (200, answer.into());
        world.request("x").unwrap();
        assert_eq!(world.heads.last().unwrap().contains_key("Authorization"), basic, "{answer}");
        assert_eq!(world.forms[0].contains_key("client_secret"), secret, "{answer}");
        assert_eq!(world.forms[0].contains_key("client_id"), !basic, "{answer}");
    }
}

#[test]
fn auth_a41_a_public_client_says_so() {
    let mut world = World::new();
    world.request("x").unwrap();
    let body = &world.registrations[0];
    assert!(body.contains(r#""token_endpoint_auth_method":"none""#), "{body}");
    assert!(body.contains(r#""application_type":"native""#), "{body}");
}

#[test]
fn auth_a42_offline_access_is_asked_for_where_it_is_listed() {
    let mut world = World::new();
    world.issuer(ISSUER_PLACE, ISSUER, r#","scopes_supported":["offline_access","admin"]"#);
    world.request("x").unwrap();
    assert_eq!(world.pages[0]["scope"], "offline_access");
}

#[test]
fn offline_access_asks_for_consent() {
    let page = |members: &str| {
        let mut world = World::new();
        world.issuer(ISSUER_PLACE, ISSUER, members);
        world.request("x").unwrap();
        world.pages.remove(0)
    };
    let offline = r#","scopes_supported":["offline_access"]"#;
    assert_eq!(page(offline)["prompt"], "consent");
    assert!(!page("").contains_key("prompt"));
    // What the endpoint says is not said twice.
    let endpoint = r#","authorization_endpoint":"https://a.example/authorize?prompt=login""#;
    assert_eq!(page(&format!("{offline}{endpoint}"))["prompt"], "login");
}

#[test]
fn auth_a43_scopes_are_those_of_the_challenge_or_of_the_server() {
    let supported = format!(
        r#"{{"resource":"{SERVER}","authorization_servers":["{ISSUER}"],"scopes_supported":["a","b"]}}"#
    );
    for (challenge, scopes) in [("Bearer", "a b"), (r#"Bearer scope="c""#, "c")] {
        let mut world = World::new();
        world.document(RESOURCE_PLACE, 200, &supported);
        world.issuer(ISSUER_PLACE, ISSUER, r#","scopes_supported":["admin"]"#);
        world.challenge = challenge.into();
        world.request("x").unwrap();
        assert_eq!(world.pages[0]["scope"], scopes);
    }
    let mut world = World::new();
    world.request("x").unwrap();
    assert!(!world.pages[0].contains_key("scope"));
    // What the client has added is left out if it is refused.
    let mut world = World::new();
    world.issuer(ISSUER_PLACE, ISSUER, r#","scopes_supported":["offline_access"]"#);
    world.token_answers.push_back((400, r#"{"error":"invalid_scope"}"#.into()));
    world.request("x").unwrap();
    assert_eq!(world.pages.len(), 2);
    assert!(!world.pages[1].contains_key("scope"));
}

#[test]
fn registration_names_the_scopes_that_are_requested() {
    for (challenge, members, scope) in [
        (r#"Bearer scope="b a""#, "", Some("b a")),
        (
            r#"Bearer scope="a""#,
            r#","scopes_supported":["offline_access","c"]"#,
            Some("a offline_access"),
        ),
        ("Bearer", "", None),
    ] {
        let mut world = World::new();
        world.challenge = challenge.into();
        world.issuer(ISSUER_PLACE, ISSUER, members);
        world.request("x").unwrap();
        let member = scope.map(|scope| format!(r#""scope":"{scope}""#));
        let body = &world.registrations[0];
        assert_eq!(body.contains("scope"), member.is_some(), "{body}");
        assert!(body.contains(&member.unwrap_or_default()), "{body}");
        assert_eq!(world.pages[0].get("scope").map(String::as_str), scope);
    }
}

#[test]
fn refused_registration_is_repeated_without_scopes() {
    let refusal = (400, r#"{"error":"invalid_client_metadata"}"#.to_owned());
    let mut world = World::new();
    world.challenge = r#"Bearer scope="a""#.into();
    world.registration = refusal.clone();
    assert!(matches!(world.request("x"), Err(AuthError::Registration { .. })));
    assert_eq!(world.registrations.len(), 2);
    assert!(!world.registrations[1].contains("scope"));
    // Without scopes there is nothing to leave out.
    let mut world = World::new();
    world.registration = refusal;
    assert!(matches!(world.request("x"), Err(AuthError::Registration { .. })));
    assert_eq!(world.registrations.len(), 1);
}

#[test]
fn step_up_beyond_the_registered_scopes_registers_again() {
    let mut world = World::new();
    world.issuer(ISSUER_PLACE, ISSUER, r#","scopes_supported":["offline_access"]"#);
    world.challenge = r#"Bearer scope="a""#.into();
    world.needs.insert("write".into(), "b".into());
    world.request("read").unwrap();
    world.registration = (201, r#"{"client_id":"second"}"#.into());
    world.redirects.push_back("error=invalid_scope");
    world.request("write").unwrap();
    assert!(
        world.registrations[1].contains(r#""scope":"a offline_access b""#),
        "{:?}",
        world.registrations
    );
    let last = world.pages.last().unwrap();
    assert_eq!((&*last["client_id"], &*last["scope"]), ("second", "a offline_access b"));
    // A client that was registered for the scopes is not registered again.
    let mut world = World::new();
    world.challenge = r#"Bearer scope="a""#.into();
    world.redirects.push_back("error=invalid_scope");
    assert!(matches!(world.request("x"), Err(AuthError::Refused { .. })));
    assert_eq!(world.registrations.len(), 1);
}

#[test]
fn auth_a44_the_query_of_the_endpoint_stays() {
    let mut world = World::new();
    let endpoint = r#","authorization_endpoint":"https://a.example/authorize?tenant=7""#;
    world.issuer(ISSUER_PLACE, ISSUER, endpoint);
    world.request("x").unwrap();
    assert_eq!(world.pages[0]["tenant"], "7");
    assert_eq!(world.pages[0]["response_type"], "code");
}

#[test]
fn auth_a45_the_resource_can_be_left_out_and_the_error_says_how() {
    let mut world = World::with(Config::omits_resource);
    world.request("x").unwrap();
    assert!(!world.pages[0].contains_key("resource") && !world.forms[0].contains_key("resource"));
    let mut world = World::new();
    world.token_answers.push_back((400, r#"{"error":"invalid_target"}"#.into()));
    let error = world.request("x").unwrap_err();
    assert!(error.to_string().contains("omits_resource()"), "{error}");
}

#[test]
fn auth_a46_a_client_document_is_used_where_it_is_usable() {
    let supported = r#","client_id_metadata_document_supported":true"#;
    let secrets = r#","client_id_metadata_document_supported":true,"token_endpoint_auth_methods_supported":["client_secret_basic"]"#;
    for (members, redirect_uri, id) in [
        (supported, "http://127.0.0.1/callback", DOCUMENT),
        ("", "http://127.0.0.1/callback", "dynamic"),
        (secrets, "http://127.0.0.1/callback", "dynamic"),
        (supported, "http://127.0.0.1/other", "dynamic"),
        (supported, "http://localhost/callback", "dynamic"),
    ] {
        let mut world = World::with(|config| config.client_metadata(DOCUMENT, [redirect_uri]));
        world.issuer(ISSUER_PLACE, ISSUER, members);
        world.request("x").unwrap();
        assert_eq!(world.pages[0]["client_id"], id, "{members} {redirect_uri}");
    }
}

#[test]
fn auth_a47_another_state_is_ignored_and_the_wait_goes_on() {
    let mut world = World::new();
    world.person = Person::Redirects("code=evil&state=other&x");
    // Both states are in the redirect: a repeated parameter is refused.
    assert!(matches!(world.request("x"), Err(AuthError::Redirect { .. })));
    let mut world = World::new();
    world.person = Person::Leaves;
    assert!(matches!(world.request("x"), Err(AuthError::Consent { .. })));
    assert_eq!(world.now, Instant::ZERO + std::time::Duration::from_secs(300));
}

#[test]
fn auth_a48_without_a_person_it_fails_at_once() {
    let mut world = World::with(Config::unattended);
    let expected = AuthError::ConsentNeeded { issuer: ISSUER.into() };
    assert_eq!(world.request("x"), Err(expected));
    assert_eq!(world.now, Instant::ZERO);
    assert!(world.registrations.is_empty() && world.pages.is_empty());
}

/// The page of an authorization server that does not know the client has no redirect.
#[test]
fn page_that_nobody_answers_names_the_remedy_for_an_unknown_client() {
    let mut world = World::new();
    world.person = Person::Leaves;
    let new = world.request("x").unwrap_err().to_string();
    let stored = world.request("x").unwrap_err().to_string();
    assert_eq!(world.registrations.len(), 1);
    assert!(!new.contains("forget"), "{new}");
    assert!(stored.contains("forget the authorization"), "{stored}");
}

#[test]
fn http_redirect_uri_of_another_host_is_refused() {
    let uri = "http://app.example/callback";
    let mut world = World::with(|config| config.redirect_uri(uri));
    let error = world.request("x").unwrap_err();
    assert_eq!(error, AuthError::RedirectUri { uri: uri.into() });
    assert!(error.to_string().contains("redirect_uri(…)"), "{error}");
    assert!(world.ports_asked.is_empty() && world.registrations.is_empty());
}

#[test]
fn a_configured_client_is_used_at_its_issuer_only() {
    let mut world = World::with(|config| config.client(ISSUER, "preset", Some("s")));
    world.request("x").unwrap();
    assert_eq!(world.pages[0]["client_id"], "preset");
    assert!(world.heads.last().unwrap()["Authorization"].starts_with("Basic "));
    let mut world = World::with(|config| config.client("https://b.example", "preset", None));
    let expected = AuthError::ClientOfAnotherIssuer { issuer: ISSUER.into() };
    assert_eq!(world.request("x"), Err(expected));
}

#[test]
fn configured_client_of_an_accepted_issuer_may_have_either_name() {
    let stated = "https://a.example/";
    let other = "https://b.example";
    for name in [ISSUER, stated] {
        let mut world = World::with(|config| {
            config.accepts_issuer(ISSUER, stated).client(name, "preset", Some("canary-secret"))
        });
        let body =
            format!(r#"{{"resource":"{SERVER}","authorization_servers":["{other}","{ISSUER}"]}}"#);
        world.document(RESOURCE_PLACE, 200, &body);
        world.issuer("https://b.example/.well-known/oauth-authorization-server", other, "");
        let endpoints = r#","authorization_endpoint":"https://a.example/authorize","token_endpoint":"https://a.example/token""#;
        world.issuer(ISSUER_PLACE, stated, endpoints);
        world.request("x").unwrap();
        assert_eq!(world.pages[0]["client_id"], "preset", "{name}");
        // The refresh has the secret too, and the issuer of the tokens is chosen again.
        world.accepted.clear();
        world.request("x").unwrap();
        assert_eq!(world.grants(), ["authorization_code", "refresh_token"], "{name}");
        assert!(world.heads.last().unwrap()["Authorization"].starts_with("Basic "), "{name}");
    }
    // The pair has a direction: the client of one issuer is not used at another one.
    let mut world = World::with(|config| {
        config.accepts_issuer(ISSUER, other).client(ISSUER, "preset", Some("canary-secret"))
    });
    world.resource(RESOURCE_PLACE, SERVER, stated);
    world.issuer(ISSUER_PLACE, stated, "");
    let expected = AuthError::ClientOfAnotherIssuer { issuer: stated.into() };
    assert_eq!(world.request("x"), Err(expected));
}

#[test]
fn a_login_needs_no_refusal_and_forget_drops_all() {
    let mut world = World::new();
    world.authorizer.authorize(world.now, &Scopes::words("a"));
    world.run().unwrap();
    assert_eq!(world.pages[0]["scope"], "a");
    world.request("x").unwrap();
    assert_eq!((world.sent, world.pages.len()), (1, 1));
    world.authorizer.forget();
    world.run().unwrap();
    assert!(world.store.is_empty());
}

#[test]
fn forget_drops_the_registration_of_a_sign_in_that_failed() {
    let mut world = World::new();
    world.person = Person::Redirects("error=access_denied");
    world.request("x").unwrap_err();
    assert_eq!(world.store.len(), 1);
    world.authorizer.forget();
    world.run().unwrap();
    assert!(world.store.is_empty(), "{:?}", world.store.keys());
}

/// The refresh token belongs to the client that the application had before.
#[test]
fn tokens_of_a_client_that_is_not_configured_any_more_are_replaced() {
    let invalid_client = || (401, r#"{"error":"invalid_client"}"#.to_owned());
    let sign_in = || {
        let mut world = World::with(|config| config.client(ISSUER, "old", Some("canary-secret")));
        world.request("x").unwrap();
        world.pass(3600);
        world.token_answers.push_back(invalid_client());
        world
    };
    let mut world =
        sign_in().restart_with(|config| config.client(ISSUER, "new", Some("canary-secret")));
    world.request("x").unwrap();
    assert_eq!(world.pages[1]["client_id"], "new");
    assert_eq!(world.grants(), ["authorization_code", "refresh_token", "authorization_code"]);
    // A client that is still configured is refused for another reason, which a person cannot mend.
    let mut world = sign_in();
    assert!(matches!(world.request("x"), Err(AuthError::Refused { .. })));
    assert_eq!(world.pages.len(), 1);
}
