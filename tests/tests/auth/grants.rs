//! Grants without a person, and tokens that are bound to a key: what is sent, what is shown, and
//! where loops end.

use mcp_proto::Duration;
use mcp_proto::auth::{
    AuthAction, AuthError, AuthState, Config, IdentityProvider, ProofKey, RefusalAdvice, Scopes,
    SentRequest,
};
use mcp_proto::http::Unauthorized;

use super::world::{ISSUER, ISSUER_PLACE, RESOURCE_PLACE, World};

type Change = fn(Config) -> Config;

const GRANTS: [(&str, Change); 5] = [
    ("secret", secret),
    ("key", key),
    ("company", company),
    ("workload", workload),
    ("bound", bound),
];

fn secret(config: Config) -> Config {
    config.client(ISSUER, "i", Some("canary-secret")).client_credentials().unattended()
}

fn key(config: Config) -> Config {
    let config = config.client(ISSUER, "i", None).client_credentials().unattended();
    config.signs_assertions(Some("k"))
}

fn company(config: Config) -> Config {
    let provider = IdentityProvider::new("https://idp.example/token", "app").secret("canary-idp");
    config.client(ISSUER, "i", Some("canary-secret")).enterprise(provider)
}

fn workload(config: Config) -> Config {
    config.workload(ISSUER)
}

fn bound(config: Config) -> Config {
    secret(config).proof_key(ProofKey::es256([1; 32], [2; 32]))
}

fn world(change: Change) -> World {
    let mut world = World::with(change);
    world.gives_refresh_token = false;
    world
}

/// The requests to token endpoints.
fn posts(world: &World) -> usize {
    world.log.iter().filter(|line| line.starts_with("POST")).count()
}

/// The requests for one grant.
fn cost(name: &str) -> usize {
    if name == "company" { 2 } else { 1 }
}

#[test]
fn auth_s12_no_secret_of_a_grant_is_shown() {
    for (name, change) in GRANTS {
        let mut world = world(change);
        world.challenge = if name == "bound" { "DPoP" } else { "Bearer" }.into();
        world.request("x").unwrap();
        world.pass(3600);
        world.request("x").unwrap();
        world.accepted.clear();
        world.token_answers.push_back((401, r#"{"error":"invalid_client"}"#.into()));
        let refused = world.request("x").unwrap_err();
        world.token_answers.push_back((503, String::new()));
        let unavailable = world.request("x").unwrap_err();
        world.authorizer.forget();
        world.run().unwrap();
        let shown = format!("{} {refused} {refused:?} {unavailable}", world.shown);
        assert!(!shown.contains("canary"), "{name}: {shown}");
        // What is signed is a secret too: whoever has it can use it.
        let assertions = world.forms.iter().filter_map(|form| form.get("client_assertion"));
        let proofs = world.heads.iter().filter_map(|head| head.get("DPoP"));
        let basics = world.heads.iter().filter_map(|head| head.get("Authorization"));
        for value in assertions.chain(proofs).chain(basics) {
            let part = value.get(value.len() - 24..).unwrap();
            assert!(!shown.contains(part), "{name}: {part}");
        }
        assert!(shown.len() > 1000);
    }
}

#[test]
fn each_grant_sends_what_its_server_needs_and_no_more() {
    for (name, change) in GRANTS {
        let mut world = world(change);
        world.challenge = r#"Bearer scope="a""#.into();
        world.request("x").unwrap();
        let last = world.forms.last().unwrap();
        let has = |parameter: &str| last.contains_key(parameter);
        assert_eq!(has("assertion"), matches!(name, "company" | "workload"), "{name}");
        assert_eq!(has("resource"), name != "company", "{name}");
        assert_eq!(has("scope"), name != "company", "{name}");
        assert!(!has("client_id") && !has("client_secret"), "{name}");
        let basic = world.heads.last().unwrap().contains_key("Authorization");
        assert_eq!(basic, matches!(name, "secret" | "company" | "bound"), "{name}");
        assert_eq!(world.forms.len(), cost(name), "{name}");
        assert!(world.pages.is_empty() && world.registrations.is_empty(), "{name}");
    }
}

#[test]
fn spent_tokens_are_bound_again_though_nobody_challenges() {
    let mut world = world(bound);
    world.challenge = "DPoP".into();
    for _ in 0..3 {
        world.request("x").unwrap();
        world.pass(3600);
    }
    let posts: Vec<_> = world.heads.iter().filter(|it| it.contains_key("Content-Type")).collect();
    assert_eq!(posts.len(), 3);
    assert!(posts.iter().all(|head| head.contains_key("DPoP")), "{posts:?}");
    // So are those of a refresh token that is of no use.
    let mut world = world_with_refresh(bound);
    world.challenge = "DPoP".into();
    world.request("x").unwrap();
    world.pass(3600);
    world.token_answers.push_back((400, r#"{"error":"invalid_grant"}"#.into()));
    world.request("x").unwrap();
    let posts: Vec<_> = world.heads.iter().filter(|it| it.contains_key("Content-Type")).collect();
    assert_eq!(posts.len(), 3);
    assert!(posts.iter().all(|head| head.contains_key("DPoP")), "{posts:?}");
}

fn world_with_refresh(change: Change) -> World {
    let mut world = world(change);
    world.gives_refresh_token = true;
    world
}

#[test]
fn refresh_of_a_workload_names_no_client() {
    let mut world = world_with_refresh(workload);
    world.request("x").unwrap();
    world.pass(3600);
    world.request("x").unwrap();
    let refresh = world.forms.last().unwrap();
    assert_eq!(refresh["grant_type"], "refresh_token");
    assert!(!refresh.contains_key("client_id"), "{refresh:?}");
}

#[test]
fn auth_s15_nonce_that_is_wanted_for_ever_costs_one_grant() {
    let mut world = world(bound);
    world.challenge = "DPoP".into();
    world.request("x").unwrap();
    let (sent, before) = (world.sent, posts(&world));
    world.nonces_wanted = 100;
    assert!(matches!(world.request("x"), Err(AuthError::Refused { .. })));
    assert_eq!((world.sent - sent, posts(&world) - before), (3, 1));
    // One that is wanted once costs none.
    world.nonces_wanted = 1;
    let before = posts(&world);
    world.request("x").unwrap();
    assert_eq!(posts(&world), before);
    // The same at the token endpoint: once more, then it is an error.
    let wants = r#"{"error":"use_dpop_nonce"}"#;
    for (count, is_granted) in [(1, true), (2, false)] {
        let mut world = self::world(bound);
        world.challenge = "DPoP".into();
        world.token_answers.extend((0..count).map(|_| (400, wants.into())));
        assert_eq!(world.request("x").is_ok(), is_granted);
        assert_eq!(posts(&world), 2);
    }
}

#[test]
fn auth_s15_refusals_for_ever_are_bounded_for_each_grant() {
    for (name, change) in GRANTS {
        let mut world = world(change);
        for _ in 0..100 {
            let (bad, jag) = (
                r#"{"access_token":"bad","token_type":"Bearer"}"#,
                r#"{"access_token":"bad","token_type":"N_A","issued_token_type":"urn:ietf:params:oauth:token-type:id-jag"}"#,
            );
            let bodies = if name == "company" { [jag, bad] } else { [bad, bad] };
            world.token_answers.extend(bodies.map(|body| (200, body.into())));
        }
        for _ in 0..3 {
            let (sent, asked) = (world.sent, world.log.len());
            assert!(matches!(world.request("x"), Err(AuthError::Refused { .. })), "{name}");
            assert!(world.sent - sent <= 4 && world.log.len() - asked <= 16, "{name}");
        }
    }
}

#[test]
fn auth_s15_lifetime_of_nothing_costs_one_grant_for_each_request() {
    for (name, change) in GRANTS {
        let mut world = world(change);
        world.token_members = r#","expires_in":0"#.into();
        for count in 1..=5 {
            world.request("x").unwrap();
            assert_eq!(posts(&world), count * cost(name), "{name}");
        }
    }
}

#[test]
fn auth_a21_grants_of_two_processes_are_one() {
    for (name, change) in GRANTS {
        let [mut first, mut second] = [(); 2].map(|()| world(change));
        // Both have found the store empty when the first takes the lock.
        let [one, two] = [&mut first, &mut second].map(|world| {
            let refusal = Unauthorized::new(401, [world.challenge.as_bytes()]);
            let sent = SentRequest::new("x");
            world.access();
            world.run().unwrap();
            let advice = world.authorizer.handle_refusal(world.now, &refusal, &sent);
            assert_eq!(advice, RefusalAdvice::Wait);
            run_to_lock(world)
        });
        let reply = first.reply(one).unwrap();
        reply(&mut first.authorizer);
        first.run().unwrap();
        assert_eq!(first.forms.len(), cost(name), "{name}");
        // The second gets the lock when the first has stored its tokens.
        second.store = first.store.clone();
        let reply = second.reply(two).unwrap();
        reply(&mut second.authorizer);
        second.run().unwrap();
        second.accepted = first.accepted.clone();
        second.request("x").unwrap();
        assert!(second.forms.is_empty(), "{name}: {:?}", second.forms);
    }
}

/// Does all actions up to the lock of the record.
pub(super) fn run_to_lock(world: &mut World) -> AuthAction {
    loop {
        let action = world.authorizer.poll_action().unwrap();
        if matches!(action, AuthAction::Load { locks: true, .. }) {
            return action;
        }
        if let Some(reply) = world.reply(action) {
            reply(&mut world.authorizer);
        }
    }
}

#[test]
fn tokens_of_another_process_are_adopted_only_if_they_are_as_good() {
    for (change, from, to, is_adopted) in [
        ("as they are", "", "", true),
        ("expired", "1800003600", "1700000000", false),
        ("fewer scopes", r#""asked":"a""#, r#""asked":"""#, false),
        (
            "another issuer",
            r#""issuer":"https://a.example""#,
            r#""issuer":"https://b.example""#,
            false,
        ),
        ("bound to a key", r#""client_id""#, r#""proof_key":"k","client_id""#, false),
    ] {
        let mut first = world(secret);
        first.challenge = r#"Bearer scope="a""#.into();
        first.request("x").unwrap();
        let mut second = world(secret);
        second.authorizer.authorize(second.now, &Scopes::words("a"));
        let lock = run_to_lock(&mut second);
        let stored = first.store.iter().map(|(key, text)| (key.clone(), text.replace(from, to)));
        second.store = stored.collect();
        let reply = second.reply(lock).unwrap();
        reply(&mut second.authorizer);
        second.run().unwrap();
        assert_eq!(second.forms.is_empty(), is_adopted, "{change}");
    }
}

#[test]
fn lock_that_nobody_gets_is_no_reason_to_wait_for_ever() {
    for (name, change) in GRANTS {
        let mut world = world(change);
        world.authorizer.authorize(world.now, &Scopes::none());
        // The store does not answer: time passes.
        run_to_lock(&mut world);
        world.run().unwrap();
        assert_eq!(world.forms.len(), cost(name), "{name}");
        assert_eq!(world.now, mcp_proto::Instant::ZERO + Duration::from_secs(10));
    }
}

#[test]
fn tokens_that_could_not_be_stored_are_not_given_up_for_older_ones() {
    let mut world = World::new();
    world.request("x").unwrap();
    world.keeps = Err("no space".into());
    for _ in 0..3 {
        world.pass(3600);
        world.request("x").unwrap();
    }
    // The server has forgotten the access token, too.
    world.accepted.clear();
    world.request("x").unwrap();
    assert_eq!((world.pages.len(), world.forms.len()), (1, 5));
    let unsaved = AuthState::Ready { unsaved: Some("no space".into()) };
    assert_eq!(world.states.last(), Some(&unsaved));
}

#[test]
fn restarted_service_uses_what_is_stored() {
    for (name, change) in GRANTS {
        let mut world = world(change);
        world.challenge = if name == "bound" { "DPoP" } else { "Bearer" }.into();
        world.request("x").unwrap();
        let before = posts(&world);
        let mut world = world.restart_with(change);
        world.request("x").unwrap();
        assert_eq!(posts(&world), before, "{name}");
        // Without the key a bound token is of no use, and is not sent.
        if name == "bound" {
            let mut world = world.restart_with(secret);
            let error = world.request("x");
            assert!(matches!(error, Err(AuthError::NoProofKey { .. })), "{error:?}");
        }
    }
}

#[test]
fn service_follows_its_server_to_another_issuer_with_nothing_of_the_old_one() {
    for (name, change) in GRANTS {
        let mut world = world(change);
        world.request("x").unwrap();
        let other = "https://b.example";
        world.resource(RESOURCE_PLACE, super::world::SERVER, other);
        world.issuer("https://b.example/.well-known/oauth-authorization-server", other, "");
        world.document(ISSUER_PLACE, 500, "");
        world.accepted.clear();
        let (result, before) = (world.request("x"), world.forms.len());
        let expected = AuthError::ClientOfAnotherIssuer { issuer: other.into() };
        assert_eq!((result, before), (Err(expected), cost(name)), "{name}");
    }
}

/// The metadata of the server names another authorization server from now on.
fn migrate(world: &mut World, issuer: &str) {
    world.resource(RESOURCE_PLACE, super::world::SERVER, issuer);
    world.issuer(&format!("{issuer}/.well-known/oauth-authorization-server"), issuer, "");
    world.accepted.clear();
}

#[test]
fn token_of_a_workload_goes_only_to_its_issuer() {
    let other = "https://b.example";
    let refusal = || Err(AuthError::ClientOfAnotherIssuer { issuer: other.into() });
    // The server is hostile from the beginning, or changes.
    let mut world = world(workload);
    migrate(&mut world, other);
    assert_eq!(world.request("x"), refusal());
    assert!(world.subject_issuers.is_empty() && world.forms.is_empty());
    assert_eq!(world.rows("registration"), ["preset-elsewhere"]);
    migrate(&mut world, ISSUER);
    world.request("x").unwrap();
    migrate(&mut world, other);
    assert_eq!(world.request("x"), refusal());
    assert_eq!(world.subject_issuers, [ISSUER]);
    // Of several issuers the workload's is used.
    let mut world = self::world(workload);
    let both = format!(r#"["{other}","{ISSUER}"]"#);
    let body = format!(r#"{{"resource":"https://s.example","authorization_servers":{both}}}"#);
    world.document(RESOURCE_PLACE, 200, &body);
    world.request("x").unwrap();
    assert_eq!(world.subject_issuers, [ISSUER]);
}

#[test]
fn workload_of_server_belongs_to_the_first_issuer() {
    let other = "https://b.example";
    let refusal = || Err(AuthError::ClientOfAnotherIssuer { issuer: other.into() });
    let mut world = world(Config::workload_of_server);
    world.request("x").unwrap();
    migrate(&mut world, other);
    assert_eq!(world.request("x"), refusal());
    // The stored record binds it as well, until it is forgotten.
    let mut world = world.restart_with(Config::workload_of_server);
    assert_eq!(world.request("x"), refusal());
    assert_eq!(world.subject_issuers, [ISSUER]);
    world.authorizer.forget();
    world.request("x").unwrap();
    assert_eq!(world.subject_issuers, [ISSUER, other]);
}

#[test]
fn token_of_a_person_is_wanted_for_the_identity_provider() {
    let mut world = world(company);
    world.request("x").unwrap();
    assert_eq!(world.subject_issuers, ["https://idp.example/token"]);
}
