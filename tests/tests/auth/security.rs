//! Attacks on a client's authorization: S1 to S17.

use mcp_proto::auth::{Access, AuthAction, AuthError, Config, Scopes, UrlRefusal};

use super::world::{ISSUER, ISSUER_PLACE, OPENID_PLACE, Person, RESOURCE_PLACE, SERVER, World};

const PRIVATE: &[&str] = &[
    "https://169.254.169.254/x",
    "https://10.0.0.1/x",
    "https://[::ffff:10.0.0.1]/x",
    "https://[64:ff9b::a9fe:a9fe]/x",
    "https://localhost/x",
    "https://2130706433/x",
    "http://a.example/x",
    "javascript:alert(1)",
    "file:///etc/passwd",
    "data:text/html,x",
    "vscode://x",
    "-https://a.example/x",
];

#[test]
fn auth_s01_mix_up_by_iss() {
    let promise = r#","authorization_response_iss_parameter_supported":true"#;
    for (members, redirect, is_taken) in [
        ("", "code=c", true),
        ("", "code=c&iss=https%3A%2F%2Fa.example", true),
        (promise, "code=c&iss=https%3A%2F%2Fa.example", true),
        (promise, "code=c", false),
        ("", "code=c&iss=https%3A%2F%2Fevil.example", false),
        (promise, "code=c&iss=https%3A%2F%2Fa.example%2F", false),
        ("", "error=canary-error&iss=https%3A%2F%2Fevil.example", false),
    ] {
        let mut world = World::new();
        world.issuer(ISSUER_PLACE, ISSUER, members);
        world.person = Person::Redirects(redirect);
        let result = world.request("x");
        assert_eq!(result.is_ok(), is_taken, "{redirect}");
        if let Err(error) = result {
            assert_eq!(error, AuthError::Redirect { issuer: ISSUER.into() });
            assert!(world.forms.is_empty() && !world.shown.contains("canary-error"));
        }
    }
}

#[test]
fn auth_s02_mix_up_by_metadata() {
    let mut world = World::new();
    world.issuer(ISSUER_PLACE, "https://evil.example", "");
    world.issuer(OPENID_PLACE, ISSUER, "");
    assert!(matches!(world.request("x"), Err(AuthError::Issuer { .. })));
    assert!(world.pages.is_empty() && world.registrations.is_empty());
}

#[test]
fn auth_s03_foreign_resource() {
    for resource in
        ["https://evil.example/mcp", "https://s.example/mcp2", "https://s.example:8443/mcp"]
    {
        let mut world = World::new();
        world.resource(RESOURCE_PLACE, resource, ISSUER);
        assert!(matches!(world.request("x"), Err(AuthError::Resource { .. })));
        assert_eq!(world.log.len(), 1);
    }
}

#[test]
fn auth_s04_open_redirect() {
    // What begins with a hyphen is a path of the same server.
    for location in PRIVATE.iter().filter(|location| !location.starts_with('-')) {
        let mut world = World::new();
        world.redirect(RESOURCE_PLACE, location);
        world.request("x").unwrap_err();
        assert!(!world.log.iter().any(|line| line.ends_with("/x")), "{location}");
    }
    // Three are followed, a fourth is not.
    for (count, is_found) in [(3, true), (4, false)] {
        let mut world = World::new();
        let place = |number| format!("https://s.example/{number}");
        world.redirect(RESOURCE_PLACE, &place(1));
        (1..count).for_each(|number| world.redirect(&place(number), &place(number + 1)));
        world.resource(&place(count), SERVER, ISSUER);
        assert_eq!(world.request("x").is_ok(), is_found);
    }
    // One of a POST is not.
    let mut world = World::new();
    world.token_answers.push_back((307, String::new()));
    assert!(matches!(world.request("x"), Err(AuthError::Refused { .. })));
}

#[test]
fn metadata_is_not_redirected_from_https_to_plain_text() {
    let place = "http://127.0.0.1:9000/.well-known/oauth-protected-resource/mcp";
    for (last, is_asked) in [("https://127.0.0.1:9443/b", true), ("http://127.0.0.1:9000/b", false)]
    {
        let mut world = World::at("http://127.0.0.1:9000/mcp", |config| config);
        world.redirect(place, "https://127.0.0.1:9443/a");
        world.redirect("https://127.0.0.1:9443/a", last);
        world.request("x").unwrap_err();
        assert_eq!(world.log.contains(&format!("GET {last}")), is_asked, "{:?}", world.log);
    }
}

#[test]
fn auth_s05_token_passthrough() {
    let mut world = World::new();
    world.request("x").unwrap();
    world.pass(3600);
    world.request("x").unwrap();
    assert!(!world.heads.iter().any(|head| head.contains_key("Authorization")));
}

#[test]
fn auth_s07_pkce_downgrade() {
    for methods in ["", r#""plain""#] {
        let mut world = World::new();
        let members = format!(r#","code_challenge_methods_supported":[{methods}]"#);
        world.issuer(ISSUER_PLACE, ISSUER, &members);
        assert!(matches!(world.request("x"), Err(AuthError::NoPkce { .. })));
        assert!(world.pages.is_empty());
    }
    // A verifier and a state are used once.
    let mut world = World::new();
    world.challenge = r#"Bearer scope="a""#.into();
    world.needs.insert("write".into(), "b".into());
    world.request("read").unwrap();
    world.request("write").unwrap();
    for name in ["code_challenge", "state"] {
        assert_ne!(world.pages[0][name], world.pages[1][name]);
    }
    assert_ne!(world.forms[0]["code_verifier"], world.forms[1]["code_verifier"]);
    assert!(world.pages.iter().all(|page| page["code_challenge_method"] == "S256"));
}

#[test]
fn auth_s08_metadata_ssrf() {
    for url in PRIVATE {
        let mut world = World::new();
        world.challenge = format!(r#"Bearer resource_metadata="{url}""#);
        assert!(matches!(world.request("x"), Err(AuthError::Url { .. })), "{url}");
        let mut world = World::new();
        world.resource(RESOURCE_PLACE, SERVER, url);
        assert!(matches!(world.request("x"), Err(AuthError::Url { .. })), "{url}");
        for member in ["token_endpoint", "registration_endpoint"] {
            let mut world = World::new();
            world.issuer(ISSUER_PLACE, ISSUER, &format!(r#","{member}":"{url}""#));
            assert!(matches!(world.request("x"), Err(AuthError::Url { .. })), "{member} {url}");
        }
    }
}

#[test]
fn redirect_in_plain_text_stays_on_this_machine() {
    for (uri, is_good) in [
        ("http://a.example/callback", false),
        ("http://10.0.0.1/callback", false),
        ("HTTP://a.example/callback", false),
        ("http://localhost:49152/callback", true),
        ("http://[::1]:49152/callback", true),
        ("https://a.example/callback", true),
        ("com.example.app:/callback", true),
    ] {
        let mut world = World::with(|config| config.redirect_uri(uri));
        world.authorizer.authorize(world.now, &Scopes::none());
        while let Some(action) = world.authorizer.poll_action() {
            if matches!(action, AuthAction::Listen { .. }) {
                world.authorizer.handle_listening(world.now, Ok(uri.into()));
            } else if let Some(reply) = world.reply(action) {
                reply(&mut world.authorizer);
            }
        }
        assert_eq!(world.registrations.len(), usize::from(is_good), "{uri}");
        assert_eq!(world.pages.len(), usize::from(is_good), "{uri}");
        let [end] = &world.authorized[..] else { panic!("{uri}") };
        let refuses = matches!(end, Err(AuthError::RedirectUri { .. }));
        assert!(if is_good { end.is_ok() } else { refuses }, "{uri} {end:?}");
    }
}

#[test]
fn nothing_secret_goes_to_another_machine_in_plain_text() {
    let server = "http://10.0.0.5:8000/mcp";
    let place = "http://10.0.0.5:8000/.well-known/oauth-protected-resource/mcp";
    let service = |config: Config| {
        let config = config.client("http://10.0.0.5:8000", "i", Some("canary-secret"));
        config.client_credentials().unattended().guesses_endpoints()
    };
    let is_refused = |result: Result<(), AuthError>| {
        matches!(result, Err(AuthError::Url { reason: UrlRefusal::NotHttps, .. }))
    };
    // Endpoints are guessed where there is no metadata.
    let mut world = World::at(server, service);
    assert!(is_refused(world.request("x")) && world.log.is_empty(), "{:?}", world.log);
    // Metadata is refused whoever names it; whoever is on the way could choose the issuer.
    for challenge in ["Bearer".into(), format!(r#"Bearer resource_metadata="{place}""#)] {
        let mut world = World::at(server, |config| config);
        world.challenge = challenge;
        world.resource(place, server, ISSUER);
        assert!(is_refused(world.request("x")) && world.log.is_empty(), "{:?}", world.log);
    }
    // The setting that the error names.
    let mut world = World::at(server, |config| service(config).allow_http("10.0.0.5"));
    world.request("x").unwrap();
    assert_eq!(world.log.last().unwrap(), "POST http://10.0.0.5:8000/token");
    // Without it the stored tokens are not sent.
    world.authorizer = World::at(server, service).authorizer;
    assert_eq!(world.access(), Access::Wait);
    world.run().unwrap();
    assert_eq!(world.access(), Access::None);
    assert!(is_refused(world.request("x")));
    // No peer named the server's own host, whatever it is.
    for origin in ["https://0.0.0.0", "http://0.0.0.0:8000"] {
        let (server, place) =
            (format!("{origin}/mcp"), format!("{origin}/.well-known/oauth-protected-resource/mcp"));
        let mut world = World::at(&server, |config| config.allow_http("0.0.0.0"));
        world.resource(&place, &server, ISSUER);
        world.issuer(ISSUER_PLACE, ISSUER, "");
        world.request("x").unwrap();
    }
    // Within this machine nobody listens.
    let mut world = World::at("http://127.0.0.1:8000/mcp", Config::guesses_endpoints);
    world.request("x").unwrap();
}

#[test]
fn auth_s10_state_before_error() {
    let mut world = World::new();
    world.person = Person::Pauses;
    world.authorizer.authorize(world.now, &Scopes::none());
    world.run().unwrap();
    world.authorizer.handle_redirect(world.now, "error=access_denied&state=other");
    world.authorizer.handle_redirect(world.now, "error=access_denied");
    let state = world.pages[0]["state"].clone();
    world.authorizer.handle_redirect(world.now, &format!("code=c&state={state}"));
    world.run().unwrap();
    world.request("x").unwrap();
}

#[test]
fn auth_s11_browser_injection() {
    for url in PRIVATE.iter().chain(&[r#"https://x/\"&calc"#, "https://x/`id`"]) {
        let mut world = World::new();
        world.issuer(ISSUER_PLACE, ISSUER, &format!(r#","authorization_endpoint":"{url}""#));
        world.request("x").unwrap_err();
        assert!(world.pages.is_empty(), "{url}");
    }
}

#[test]
fn auth_s12_leaks() {
    let mut world = World::new();
    world.registration = (201, r#"{"client_id":"i","client_secret":"canary-secret"}"#.into());
    world.request("x").unwrap();
    world.pass(3600);
    world.request("x").unwrap();
    world.pass(3600);
    world.token_answers.push_back((400, r#"{"error":"invalid_grant"}"#.into()));
    world.request("x").unwrap();
    let secrets = world.pages.iter().map(|page| &page["state"]);
    let verifiers = world.forms.iter().filter_map(|form| form.get("code_verifier"));
    for secret in secrets.chain(verifiers) {
        assert!(!world.shown.contains(secret.as_str()), "{secret}");
    }
    assert!(!world.shown.contains("canary"), "{}", world.shown);
    assert!(world.shown.len() > 1000);
}

#[test]
fn auth_s13_credentials_across_issuers() {
    let mut world = World::new();
    world.registration = (201, r#"{"client_id":"old","client_secret":"old-secret"}"#.into());
    world.challenge = r#"Bearer scope="a""#.into();
    world.request("x").unwrap();
    let other = "https://b.example";
    world.resource(RESOURCE_PLACE, SERVER, other);
    world.issuer("https://b.example/.well-known/oauth-authorization-server", other, "");
    world.registration = (201, r#"{"client_id":"new"}"#.into());
    world.challenge = r#"Bearer scope="b""#.into();
    world.accepted.clear();
    world.request("x").unwrap();
    assert_eq!((world.registrations.len(), world.forms.len()), (2, 2));
    assert_eq!((&*world.pages[1]["client_id"], &*world.pages[1]["scope"]), ("new", "b"));
    assert_eq!(world.grants(), ["authorization_code", "authorization_code"]);
    assert!(!world.heads.last().unwrap().contains_key("Authorization"));
}

#[test]
fn auth_s13_step_up_of_adopted_tokens_asks_their_issuer() {
    let mut world = World::new();
    world.challenge = r#"Bearer scope="a""#.into();
    world.request("read").unwrap();
    // Another process has followed the server to another issuer.
    let other = "https://b.example";
    world.resource(RESOURCE_PLACE, SERVER, other);
    world.issuer("https://b.example/.well-known/oauth-authorization-server", other, "");
    for text in world.store.values_mut() {
        *text = text.replace(ISSUER, other).replace("access-1", "access-9");
    }
    world.accepted = vec!["canary-access-9".into()];
    world.request("read").unwrap();
    assert_eq!(world.pages.len(), 1);
    world.needs.insert("write".into(), "b".into());
    world.request("write").unwrap();
    assert!(world.page_urls[1].starts_with("https://b.example/authorize?"));
}

#[test]
fn client_of_server_belongs_to_the_first_issuer() {
    let preset = |config: Config| config.client_of_server("preset", Some("canary-secret"));
    let other = "https://b.example";
    let refusal = || Err(AuthError::ClientOfAnotherIssuer { issuer: other.into() });
    let migrate = |world: &mut World| {
        world.resource(RESOURCE_PLACE, SERVER, other);
        world.issuer("https://b.example/.well-known/oauth-authorization-server", other, "");
        world.accepted.clear();
    };
    let uses_other = |world: &World| world.log.iter().any(|it| it.contains("b.example/token"));
    let mut world = World::with(preset);
    world.request("x").unwrap();
    migrate(&mut world);
    assert_eq!(world.request("x"), refusal());
    // The stored record binds the client as well, however a sign-in begins.
    let mut world = world.restart_with(preset);
    assert_eq!(world.request("x"), refusal());
    let mut world = world.restart_with(preset);
    world.authorizer.authorize(world.now, &Scopes::none());
    assert_eq!(world.run(), refusal());
    assert!(world.pages.len() == 1 && !uses_other(&world));
    // Another client is free, and so is one whose authorization was forgotten.
    let mut world = world.restart_with(|config| config.client_of_server("second", None));
    world.request("x").unwrap();
    let mut world = world.restart_with(|config| config.client_of_server("second", None));
    world.resource(RESOURCE_PLACE, SERVER, ISSUER);
    world.accepted.clear();
    assert!(matches!(world.request("x"), Err(AuthError::ClientOfAnotherIssuer { .. })));
    world.authorizer.forget();
    world.request("x").unwrap();
    // A page that was only shown counts.
    let mut world = World::with(preset);
    world.person = Person::Leaves;
    world.request("x").unwrap_err();
    migrate(&mut world);
    world.person = Person::Consents;
    assert_eq!(world.request("x"), refusal());
    // Grants without a person are bound in the same way.
    let mut world = World::with(|config| preset(config).client_credentials().unattended());
    world.request("x").unwrap();
    migrate(&mut world);
    assert_eq!(world.request("x"), refusal());
    assert!(!uses_other(&world));
}

#[test]
fn auth_s14_stored_endpoint() {
    for url in PRIVATE {
        let mut world = World::new();
        world.request("x").unwrap();
        let mut world = world.restart();
        for text in world.store.values_mut() {
            *text = text.replace("https://a.example/token", url);
        }
        world.pass(3600);
        world.request("x").unwrap();
        assert_eq!(world.grants(), ["authorization_code", "authorization_code"]);
        assert!(!world.log.iter().any(|line| line.ends_with("/x")), "{url}");
    }
}

#[test]
fn auth_s15_loops() {
    // 401 for ever.
    let mut world = World::new();
    world.token_members = String::new();
    for _ in 0..9 {
        let bad = r#"{"access_token":"bad","token_type":"Bearer","refresh_token":"r"}"#;
        world.token_answers.push_back((200, bad.into()));
    }
    world.request("x").unwrap_err();
    assert!(world.sent <= 4 && world.log.len() <= 40, "{:?}", world.log);
    // 403 with ever new scopes.
    let mut world = World::new();
    world.request("x").unwrap();
    let mut asked = 0;
    let error = loop {
        asked += 1;
        world.needs.insert("write".into(), format!("unknown{asked} never{asked}"));
        world.person = Person::Redirects("error=access_denied");
        match world.request("write") {
            Err(AuthError::Refused { .. }) => {}
            Err(error) => break error,
            Ok(()) => panic!("accepted"),
        }
    };
    assert!(matches!(error, AuthError::Scopes { .. }), "{error}");
    assert_eq!(world.pages.len(), 1 + 3);
    // Redirects in a circle.
    let mut world = World::new();
    world.redirect(RESOURCE_PLACE, RESOURCE_PLACE);
    world.request("x").unwrap_err();
    assert_eq!(world.log.iter().filter(|line| line.ends_with(RESOURCE_PLACE)).count(), 4);
}

#[test]
fn auth_s16_floods() {
    let many: Vec<String> = (0..10_000).map(|number| format!("\"s{number}\"")).collect();
    let mut world = World::new();
    let body = format!(
        r#"{{"resource":"{SERVER}","authorization_servers":["{ISSUER}",{}],"scopes_supported":[{}]}}"#,
        many.join(","),
        many.join(",")
    );
    world.document(RESOURCE_PLACE, 200, &body);
    world.request("x").unwrap();
    assert_eq!(world.pages[0]["scope"].split(' ').count(), 256);
    for body in ["[".repeat(100_000), format!("{{\"a\":\"{}\"}}", "x".repeat(1 << 20))] {
        let mut world = World::new();
        world.document(RESOURCE_PLACE, 200, &body);
        assert!(matches!(world.request("x"), Err(AuthError::NoIssuer { .. })));
    }
}

#[test]
fn auth_s17_scope_injection() {
    let mut world = World::new();
    world.challenge = r#"Bearer scope="a\"b c&d=e f\\g""#.into();
    world.request("x").unwrap();
    assert_eq!(world.pages[0]["scope"], "c&d=e");
    assert!(!world.pages[0].contains_key("d"));
}
