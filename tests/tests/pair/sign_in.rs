//! A client that signs in, in virtual time: with the authorization server of `testing`.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

use mcp_proto::auth::{AuthError, AuthState};
use mcp_proto::client::{CallError, ConnectError, Negotiation};
use mcp_proto::http::{self, Url};
use mcp_proto::types::CallToolResult;
use mcp_proto::types::Implementation;
use mcp_service::auth::{MemoryVault, Secret, SignIn, Vault, VaultLock};
use mcp_service::testing::{AuthServer, Network, Pair, Person};
use mcp_service::{Call, Client, HttpClientConfig, Registry};

pub(super) const SERVER: &str = "http://localhost/mcp";
pub(super) const ISSUER: &str = "http://localhost:9000";

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

pub(super) fn registry() -> Registry {
    let mut registry = Registry::new(Implementation::new("s", "1.0.0"));
    registry.tool("t", "Tells", |Nothing {}, _| async { "told" }).unwrap();
    registry
}

fn server() -> AuthServer {
    AuthServer::new(ISSUER, SERVER)
}

pub(super) fn protected(server: &AuthServer) -> http::Config {
    let mut config = http::Config::default();
    let guard = server.clone();
    config.authorize = Some(Arc::new(move |head| guard.authorize(head)));
    config
}

/// A client with this vault and the person of the server.
fn signing_in(server: &AuthServer, vault: impl Vault + 'static) -> HttpClientConfig {
    let sign_in = SignIn::new(vault).consent(server.browser());
    HttpClientConfig::new(Url::parse(SERVER).unwrap()).sign_in(sign_in)
}

fn pair(server: AuthServer, vault: impl Vault + 'static) -> (Pair, AuthServer) {
    let pair = Pair::over_http(registry());
    let server = server.clock(pair.clock());
    let pair = pair
        .http_config(protected(&server))
        .http_client_config(signing_in(&server, vault))
        .auth_server(&server);
    (pair, server)
}

pub(super) fn call(client: &Client) -> Call<CallToolResult> {
    client.call_tool("t", &())
}

pub(super) fn count(server: &AuthServer, line: &str) -> usize {
    server.log().iter().filter(|it| *it == line).count()
}

#[test]
fn servers_of_both_eras_are_signed_in_to() {
    for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
        let (pair, server) = pair(server(), MemoryVault::new());
        let mut pair = pair.negotiation(negotiation);
        let client = pair.client();
        let result = pair.run(call(&client)).unwrap();
        assert_eq!(result.content[0].as_text(), Some("told"));
        assert_eq!(
            server.log(),
            [
                "GET /.well-known/oauth-protected-resource",
                "GET /.well-known/oauth-authorization-server",
                "POST /register",
                "GET /authorize",
                "POST /token",
            ]
        );
        // Nothing of a secret is shown.
        let wire = pair.wire();
        assert!(wire.contains("! fetch POST http://localhost:9000/token"), "{wire}");
        assert!(wire.contains("! authorized"), "{wire}");
        for secret in ["access-", "refresh-", "code-"] {
            assert!(!wire.contains(secret), "{wire}");
        }
    }
}

#[test]
fn tokens_are_refreshed_before_they_expire() {
    let (mut pair, server) = pair(server().lifetime(Duration::from_secs(600)), MemoryVault::new());
    let client = pair.client();
    for _ in 0..10 {
        pair.run(call(&client)).unwrap();
        pair.pass(Duration::from_secs(590));
    }
    assert_eq!(count(&server, "GET /authorize"), 1);
    assert_eq!(count(&server, "POST /token"), 10);
}

#[test]
fn auth_a20_calls_in_flight_share_one_refresh() {
    let (pair, server) = pair(server().lifetime(Duration::from_secs(600)), MemoryVault::new());
    let latency = Duration::from_millis(10);
    let mut pair = pair.network(Network::calm().latency(latency, latency));
    let client = pair.client();
    pair.run(call(&client)).unwrap();
    pair.pass(Duration::from_secs(590));
    let mut calls: Vec<_> = (0..20).map(|_| call(&client)).collect();
    for call in &mut calls {
        assert!(pair.poll(call).is_pending());
    }
    for call in calls {
        pair.run(call).unwrap();
    }
    assert_eq!(count(&server, "POST /token"), 2);
}

#[test]
fn auth_a22_another_client_uses_what_is_stored() {
    let vault = MemoryVault::new();
    let server = server();
    for _ in 0..3 {
        let (mut pair, _) = pair(server.clone(), vault.clone());
        let client = pair.client();
        pair.run(call(&client)).unwrap();
    }
    assert_eq!(count(&server, "GET /authorize"), 1);
}

#[test]
fn revoked_tokens_lead_to_the_page_again() {
    let (mut pair, server) = pair(server(), MemoryVault::new());
    let client = pair.client();
    pair.run(call(&client)).unwrap();
    server.revoke();
    pair.run(call(&client)).unwrap();
    assert_eq!(count(&server, "GET /authorize"), 2);
    // Expired ones do not: they are refreshed.
    server.expire_tokens();
    pair.run(call(&client)).unwrap();
    assert_eq!(count(&server, "GET /authorize"), 2);
}

#[test]
fn auth_a17_forgotten_client_registers_again() {
    let vault = MemoryVault::new();
    let (mut pair, server) = pair(server(), vault);
    let client = pair.client();
    pair.run(call(&client)).unwrap();
    server.forget_clients();
    server.expire_tokens();
    pair.run(call(&client)).unwrap();
    assert_eq!(count(&server, "POST /register"), 2);
}

#[test]
fn person_who_refuses_fails_the_connection() {
    let (mut pair, server) = pair(server(), MemoryVault::new());
    server.set_person(Person::Refuses);
    let states = Arc::new(Mutex::new(Vec::new()));
    let seen = states.clone();
    let client = pair.client();
    client.on_authorization(move |state| seen.lock().unwrap().push(state.clone()));
    let Err(ConnectError::Unauthorized(refusal)) = pair.run(client.connected()) else { panic!() };
    assert!(refusal.sign_in.unwrap().contains("access_denied"));
    let states = states.lock().unwrap();
    assert!(matches!(states.last(), Some(AuthState::Failed(AuthError::Refused { .. }))));
}

#[test]
fn auth_a48_without_a_person_a_client_fails_at_once() {
    let server = server();
    let config =
        HttpClientConfig::new(Url::parse(SERVER).unwrap()).sign_in(SignIn::new(MemoryVault::new()));
    let mut pair = Pair::over_http(registry())
        .http_config(protected(&server))
        .http_client_config(config)
        .auth_server(&server);
    let before = pair.now();
    let client = pair.client();
    let Err(ConnectError::Unauthorized(_)) = pair.run(client.connected()) else { panic!() };
    assert_eq!(pair.now(), before);
}

#[test]
fn application_signs_in_before_it_is_refused_and_forgets() {
    let (mut pair, server) = pair(server(), MemoryVault::new());
    let client = pair.client();
    pair.run(client.authorize("files:read")).unwrap();
    assert_eq!(count(&server, "GET /authorize"), 1);
    pair.run(call(&client)).unwrap();
    assert_eq!(count(&server, "GET /authorize"), 1);
    client.forget_authorization();
    pair.run(call(&client)).unwrap();
    assert_eq!(count(&server, "GET /authorize"), 2);
}

#[test]
fn application_signs_in_during_a_refresh() {
    let vault = MemoryVault::new();
    let (mut pair, server) = pair(server().lifetime(Duration::from_secs(600)), vault.clone());
    let client = pair.client();
    pair.run(call(&client)).unwrap();
    pair.pass(Duration::from_secs(590));
    // The refresh waits for the lock of another process.
    let other = pair.run(vault.lock("server:http://localhost/mcp")).unwrap();
    let mut waiting = call(&client);
    assert!(pair.poll(&mut waiting).is_pending());
    let mut authorized = pin!(client.authorize("files:read"));
    assert!(pair.poll(&mut authorized).is_pending());
    drop(other);
    server.set_person(Person::Leaves);
    // The refreshed token serves calls while the person is asked.
    pair.run(waiting).unwrap();
    assert!(pair.poll(&mut authorized).is_pending());
    let Err(AuthError::Consent { .. }) = pair.run(authorized) else { panic!() };
    server.set_person(Person::Consents);
    pair.run(client.authorize("files:read")).unwrap();
    assert_eq!((count(&server, "GET /authorize"), count(&server, "POST /token")), (3, 3));
}

#[test]
fn application_signs_in_while_the_empty_store_is_read() {
    let vault = SlowVault::default();
    let (mut pair, server) = pair(server(), vault.clone());
    let client = pair.client();
    let mut waiting = call(&client);
    assert!(pair.poll(&mut waiting).is_pending());
    let mut authorized = pin!(client.authorize("files:read"));
    assert!(pair.poll(&mut authorized).is_pending());
    server.set_person(Person::Refuses);
    vault.answer();
    assert!(matches!(pair.run(authorized), Err(AuthError::Refused { .. })));
    assert!(pair.run(waiting).is_err());
    assert_eq!(count(&server, "GET /authorize"), 1);
}

#[test]
fn forgotten_authorization_fails_a_sign_in_that_waits() {
    let vault = SlowVault::default();
    let (mut pair, server) = pair(server(), vault.clone());
    let client = pair.client();
    let mut waiting = call(&client);
    assert!(pair.poll(&mut waiting).is_pending());
    let authorized = client.authorize("files:read");
    client.forget_authorization();
    assert!(matches!(pair.run(authorized), Err(AuthError::Consent { .. })));
    assert_eq!(count(&server, "GET /authorize"), 0);
}

#[test]
fn each_request_to_sign_in_gets_its_own_result() {
    // The calls of one turn, in each order: true is `authorize`, false is `forget_authorization`.
    for number in 2..64_u32 {
        let calls: Vec<bool> = (0..number.ilog2()).map(|bit| number >> bit & 1 == 1).collect();
        for has_tokens in [false, true] {
            let (mut pair, _) = pair(server(), MemoryVault::new());
            let client = pair.client();
            if has_tokens {
                pair.run(call(&client)).unwrap();
            }
            let make = |authorizes: &bool| match authorizes {
                true => Some(client.authorize("")),
                false => {
                    client.forget_authorization();
                    None
                }
            };
            let futures: Vec<_> = calls.iter().map(make).collect();
            for (place, future) in futures.into_iter().enumerate() {
                let Some(future) = future else { continue };
                let is_forgotten = calls.iter().skip(place).any(|authorizes| !authorizes);
                match pair.run(future) {
                    Err(AuthError::Consent { .. }) => assert!(is_forgotten, "{calls:?} {place}"),
                    result => assert!(result.is_ok() && !is_forgotten, "{calls:?} {place}"),
                }
            }
        }
    }
}

#[test]
fn client_without_a_sign_in_says_so() {
    let mut pair = Pair::over_http(registry());
    let client = pair.client();
    let Err(AuthError::Consent { reason }) = pair.run(client.authorize("")) else { panic!() };
    assert!(reason.contains("no sign-in"), "{reason}");
    pair.run(client.close());
    assert!(pair.run(client.authorize("")).is_err());
}

#[test]
fn call_waits_for_the_person_longer_than_its_time() {
    let (mut pair, server) = pair(server(), MemoryVault::new());
    let client = pair.client();
    pair.run(call(&client)).unwrap();
    server.revoke();
    server.set_person(Person::Leaves);
    let mut waiting = call(&client);
    assert!(pair.poll(&mut waiting).is_pending());
    pair.pass(Duration::from_secs(280));
    assert!(pair.poll(&mut waiting).is_pending());
    // Then the page has had its time.
    let Err(CallError::Unauthorized(refusal)) = pair.run(waiting) else { panic!() };
    assert!(refusal.sign_in.is_some());
    server.set_person(Person::Consents);
    pair.run(call(&client)).unwrap();
}

#[test]
fn auth_a23_server_that_is_down_costs_no_tokens() {
    let (mut pair, server) = pair(server().lifetime(Duration::from_secs(600)), MemoryVault::new());
    let client = pair.client();
    pair.run(call(&client)).unwrap();
    // Ahead of the end, the token still works.
    pair.pass(Duration::from_secs(560));
    server.fail_next("/token", 503);
    pair.run(call(&client)).unwrap();
    pair.pass(Duration::from_secs(20));
    pair.run(call(&client)).unwrap();
    assert_eq!(count(&server, "GET /authorize"), 1);
}

/// An empty vault that answers no read before [`SlowVault::answer`].
#[derive(Clone, Default)]
struct SlowVault(Arc<Mutex<SlowReads>>);

#[derive(Default)]
struct SlowReads {
    answers: bool,
    waiting: Vec<Waker>,
}

impl SlowVault {
    fn answer(&self) {
        let mut reads = self.0.lock().unwrap();
        reads.answers = true;
        reads.waiting.drain(..).for_each(Waker::wake);
    }
}

impl Vault for SlowVault {
    fn read(&self, _: &str) -> mcp_service::auth::AuthFuture<std::io::Result<Option<Secret>>> {
        let reads = self.0.clone();
        Box::pin(poll_fn(move |context| {
            let mut reads = reads.lock().unwrap();
            if reads.answers {
                return Poll::Ready(Ok(None));
            }
            reads.waiting.push(context.waker().clone());
            Poll::Pending
        }))
    }

    fn write(&self, _: &str, _: &Secret) -> mcp_service::auth::AuthFuture<std::io::Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn remove(&self, _: &str) -> mcp_service::auth::AuthFuture<std::io::Result<()>> {
        Box::pin(async { Ok(()) })
    }
}

/// A vault that fails.
struct BrokenVault;

impl Vault for BrokenVault {
    fn read(&self, _: &str) -> mcp_service::auth::AuthFuture<std::io::Result<Option<Secret>>> {
        Box::pin(async { Err(std::io::Error::other("no disk")) })
    }

    fn write(&self, _: &str, _: &Secret) -> mcp_service::auth::AuthFuture<std::io::Result<()>> {
        Box::pin(async { Err(std::io::Error::other("no disk")) })
    }

    fn remove(&self, _: &str) -> mcp_service::auth::AuthFuture<std::io::Result<()>> {
        Box::pin(async { Err(std::io::Error::other("no disk")) })
    }

    fn lock(&self, _: &str) -> mcp_service::auth::AuthFuture<std::io::Result<VaultLock>> {
        Box::pin(async { Err(std::io::Error::other("no disk")) })
    }
}

#[test]
fn auth_a25_vault_that_fails_is_reported_and_costs_no_call() {
    let (mut pair, _) = pair(server(), BrokenVault);
    let states = Arc::new(Mutex::new(Vec::new()));
    let seen = states.clone();
    let client = pair.client();
    client.on_authorization(move |state| seen.lock().unwrap().push(state.clone()));
    pair.run(call(&client)).unwrap();
    let states = states.lock().unwrap();
    let unsaved = states.iter().find_map(|state| match state {
        AuthState::Ready { unsaved } => unsaved.clone(),
        AuthState::Asking | AuthState::Failed(_) | _ => None,
    });
    assert_eq!(unsaved.as_deref(), Some("no disk"));
}

#[test]
fn auth_a21_clients_of_one_vault_never_lose_a_refresh_token() {
    let vault = MemoryVault::new();
    let server = server().lifetime(Duration::from_secs(600));
    // Two clients whose times pass together: both find the token about to expire.
    let (mut one, _) = pair(server.clone(), vault.clone());
    let first = one.client();
    one.run(call(&first)).unwrap();
    let (mut two, _) = pair(server.clone(), vault);
    let second = two.client();
    two.run(call(&second)).unwrap();
    for _ in 0..5 {
        one.pass(Duration::from_secs(580));
        two.pass(Duration::from_secs(580));
        one.run(call(&first)).unwrap();
        two.run(call(&second)).unwrap();
    }
    assert_eq!(count(&server, "GET /authorize"), 1, "{:?}", server.log());
}
