//! Discovery of the authorization server: A1 to A16.

use mcp_proto::auth::{AuthError, Config};

use super::world::{ISSUER, ISSUER_PLACE, OPENID_PLACE, RESOURCE_PLACE, ROOT_PLACE, SERVER, World};

const NO_PKCE: &str = r#","code_challenge_methods_supported":[]"#;

#[test]
fn auth_a01_the_resource_is_sent_byte_for_byte() {
    for resource in ["https://s.example", "https://s.example/", "https://S.example:443/mcp/"] {
        let mut world = World::new();
        world.resource(RESOURCE_PLACE, resource, ISSUER);
        world.request("x").unwrap();
        assert_eq!(world.pages[0]["resource"], resource);
        assert_eq!(world.forms[0]["resource"], resource);
    }
}

#[test]
fn auth_a02_the_query_of_the_server_does_not_count() {
    let mut world = World::at("https://s.example/mcp?team=7", |config| config);
    world.request("x").unwrap();
    assert_eq!(world.pages[0]["resource"], SERVER);
    // Nor without metadata.
    let mut world = World::at("https://s.example/mcp?team=7", |config| config);
    world.document(RESOURCE_PLACE, 404, "");
    world.issuer(
        "https://s.example/.well-known/oauth-authorization-server",
        "https://s.example",
        "",
    );
    world.request("x").unwrap();
    assert_eq!(world.pages[0]["resource"], SERVER);
}

#[test]
fn auth_a03_the_place_of_the_path_comes_first() {
    let mut world = World::new();
    world.request("x").unwrap();
    assert_eq!(world.log[0], format!("GET {RESOURCE_PLACE}"));
    assert!(!world.log.iter().any(|line| line.ends_with(ROOT_PLACE)));
}

#[test]
fn auth_a04_the_root_comes_after_the_path() {
    let mut world = World::new();
    world.document(RESOURCE_PLACE, 404, "");
    world.resource(ROOT_PLACE, "https://s.example", ISSUER);
    world.request("x").unwrap();
    assert_eq!(world.pages[0]["resource"], "https://s.example");
}

#[test]
fn auth_a05_a_refusal_without_a_challenge_is_enough() {
    let mut world = World::new();
    world.challenge = String::new();
    world.request("x").unwrap();
}

#[test]
fn parameters_of_several_challenges_are_used() {
    let place = "https://s.example/custom";
    for challenge in [
        format!(r#"Bearer realm="x", Bearer resource_metadata="{place}", scope="a""#),
        format!(r#"Bearer error="invalid_token", scope="a", DPoP resource_metadata="{place}""#),
    ] {
        let mut world = World::new();
        world.challenge = challenge;
        world.documents.remove(RESOURCE_PLACE);
        world.resource(place, SERVER, ISSUER);
        world.request("x").unwrap();
        assert_eq!(
            (world.log[0].as_str(), &*world.pages[0]["scope"]),
            ("GET https://s.example/custom", "a")
        );
    }
}

#[test]
fn auth_a06_a_refused_place_counts_as_missing() {
    for status in [400, 401, 403, 404, 405] {
        let mut world = World::new();
        world.document(RESOURCE_PLACE, status, "");
        world.resource(ROOT_PLACE, SERVER, ISSUER);
        world.document(ISSUER_PLACE, status, "");
        world.issuer(OPENID_PLACE, ISSUER, "");
        world.request("x").unwrap();
    }
}

#[test]
fn auth_a07_a_page_behind_200_is_no_metadata() {
    for body in ["<!doctype html><html></html>", "", "[]", "null", r#"{"resource":7}"#] {
        let mut world = World::new();
        world.document(RESOURCE_PLACE, 200, body);
        world.resource(ROOT_PLACE, SERVER, ISSUER);
        world.document(ISSUER_PLACE, 200, body);
        world.issuer(OPENID_PLACE, ISSUER, "");
        world.request("x").unwrap();
    }
}

#[test]
fn auth_a08_named_metadata_that_fails_is_not_guessed() {
    for status in [200, 302, 404, 500, 0] {
        let mut world = World::new();
        world.challenge = r#"Bearer resource_metadata="https://s.example/custom?x=1""#.into();
        world.document("https://s.example/custom?x=1", status, "<html>");
        let url = "https://s.example/custom".into();
        assert_eq!(world.request("x"), Err(AuthError::ResourceMetadata { url }));
        assert_eq!(world.log.len(), 1);
    }
}

/// Only a challenge knows the place, and a client whose tokens have expired has none.
#[test]
fn tokens_are_renewed_though_only_the_challenge_names_the_metadata() {
    let place = "https://s.example/custom/metadata";
    let named = |world: &mut World, place: &str| {
        world.documents.retain(|url, _| url.starts_with(ISSUER));
        world.resource(place, SERVER, ISSUER);
        world.challenge = format!(r#"Bearer resource_metadata="{place}""#);
    };
    // A person signs in again after a refresh token is spent.
    let mut world = World::new();
    named(&mut world, place);
    world.request("x").unwrap();
    world.pass(3600);
    world.accepted.clear();
    world.token_answers.push_back((400, r#"{"error":"invalid_grant"}"#.into()));
    world.request("x").unwrap();
    assert_eq!(world.pages.len(), 2);
    // A service gets its next tokens, also if the place is another one.
    let mut world = World::with(|config| {
        config.client(ISSUER, "i", Some("canary-secret")).client_credentials().unattended()
    });
    world.gives_refresh_token = false;
    named(&mut world, place);
    world.request("x").unwrap();
    for place in [place, place, "https://s.example/custom/other"] {
        named(&mut world, place);
        world.pass(3600);
        world.accepted.clear();
        world.request("x").unwrap();
    }
    assert_eq!(world.grants(), ["client_credentials"; 4]);
    // Without any metadata the request fails, and no other one hangs.
    world.documents.clear();
    world.pass(3600);
    world.accepted.clear();
    let url = "https://s.example/custom/other".into();
    assert_eq!(world.request("x"), Err(AuthError::ResourceMetadata { url }));
}

#[test]
fn auth_a09_endpoints_are_not_guessed_where_there_is_metadata() {
    let mut world = World::with(Config::guesses_endpoints);
    world.document(ISSUER_PLACE, 404, "");
    assert_eq!(world.request("x"), Err(AuthError::NoIssuer { issuer: ISSUER.into() }));
    // Without any metadata they are, if the configuration says so.
    let mut world = World::with(Config::guesses_endpoints);
    world.documents.clear();
    world.request("x").unwrap();
    assert!(world.page_urls[0].starts_with("https://s.example/authorize?"));
    let mut world = World::new();
    world.documents.clear();
    assert!(matches!(world.request("x"), Err(AuthError::NoIssuer { .. })));
}

#[test]
fn auth_a10_an_openid_issuer_is_found() {
    let mut world = World::new();
    let issuer = "https://a.example/tenant1";
    let place = "https://a.example/tenant1/.well-known/openid-configuration";
    world.resource(RESOURCE_PLACE, SERVER, issuer);
    world.issuer(place, issuer, "");
    world.request("x").unwrap();
    let asked = [
        "https://a.example/.well-known/oauth-authorization-server/tenant1",
        "https://a.example/.well-known/openid-configuration/tenant1",
        place,
    ];
    assert_eq!(world.log[1..4], asked.map(|url| format!("GET {url}")));
}

#[test]
fn auth_a11_a_document_without_pkce_is_skipped() {
    let mut world = World::new();
    world.issuer(ISSUER_PLACE, ISSUER, NO_PKCE);
    world.issuer(OPENID_PLACE, ISSUER, "");
    world.request("x").unwrap();
}

#[test]
fn auth_a12_an_issuer_without_pkce_is_named_with_the_setting() {
    for last in [200, 404] {
        let mut world = World::new();
        world.issuer(ISSUER_PLACE, ISSUER, NO_PKCE);
        if last == 200 {
            world.issuer(OPENID_PLACE, ISSUER, NO_PKCE);
        }
        let error = world.request("x").unwrap_err();
        assert_eq!(error, AuthError::NoPkce { issuer: ISSUER.into() });
        assert!(error.to_string().contains(r#"assumes_s256("https://a.example")"#), "{error}");
    }
    let mut world = World::with(|config| config.assumes_s256(ISSUER));
    world.issuer(ISSUER_PLACE, ISSUER, NO_PKCE);
    world.request("x").unwrap();
    assert_eq!(world.pages[0]["code_challenge_method"], "S256");
}

#[test]
fn metadata_at_the_origin_must_list_s256() {
    let origin = "https://s.example";
    let place = "https://s.example/.well-known/oauth-authorization-server";
    let world = |change: fn(Config) -> Config| {
        let mut world = World::with(change);
        world.document(RESOURCE_PLACE, 404, "");
        world.issuer(place, origin, NO_PKCE);
        world
    };
    let mut strict = world(|config| config);
    let error = strict.request("x").unwrap_err();
    assert_eq!(error, AuthError::NoPkce { issuer: origin.into() });
    assert!(strict.pages.is_empty() && strict.registrations.is_empty());
    // The setting that the error names, and clients of 2025-03-26.
    world(|config| config.assumes_s256("https://s.example")).request("x").unwrap();
    let mut guesses = world(Config::guesses_endpoints);
    guesses.request("x").unwrap();
    assert!(guesses.page_urls[0].starts_with("https://s.example/authorize?"));
}

#[test]
fn auth_a15_a_trailing_slash_makes_another_issuer_unless_it_is_accepted() {
    let slash = "https://a.example/";
    let mut world = World::new();
    world.issuer(ISSUER_PLACE, slash, "");
    let error = world.request("x").unwrap_err();
    let expected = AuthError::Issuer { expected: ISSUER.into(), stated: slash.into() };
    assert_eq!(error, expected);
    let setting = r#"accepts_issuer("https://a.example", "https://a.example/")"#;
    assert!(error.to_string().contains(setting), "{error}");
    let mut world = World::with(|config| config.accepts_issuer(ISSUER, slash));
    let endpoint = r#","authorization_endpoint":"https://a.example/authorize","token_endpoint":"https://a.example/token","registration_endpoint":"https://a.example/register""#;
    world.issuer(ISSUER_PLACE, slash, endpoint);
    world.request("x").unwrap();
}

#[test]
fn auth_a16_the_expected_issuer_is_not_normalized() {
    let mut world = World::new();
    world.resource(RESOURCE_PLACE, SERVER, "https://A.example");
    let stated = ISSUER.into();
    let expected = AuthError::Issuer { expected: "https://A.example".into(), stated };
    assert_eq!(world.request("x"), Err(expected));
}

/// Some servers send empty strings for members that they leave out.
#[test]
fn empty_endpoint_counts_as_absent() {
    let empty = r#","registration_endpoint":"""#;
    let mut world = World::with(|config| config.client(ISSUER, "preset", None));
    world.issuer(ISSUER_PLACE, ISSUER, empty);
    world.request("x").unwrap();
    let mut world = World::new();
    world.issuer(ISSUER_PLACE, ISSUER, empty);
    assert_eq!(world.request("x"), Err(AuthError::NoClient { issuer: ISSUER.into() }));
    let mut world = World::with(|config| {
        config.client(ISSUER, "i", Some("canary-secret")).client_credentials().unattended()
    });
    world.issuer(ISSUER_PLACE, ISSUER, r#","authorization_endpoint":"""#);
    world.request("x").unwrap();
}
