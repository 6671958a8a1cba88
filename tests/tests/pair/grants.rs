//! Clients without a person, and clients with a key, in virtual time: with the authorization server
//! of `testing`.

use std::io::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_proto::auth::IdentityProvider;
use mcp_proto::client::{CallError, ConnectError, Negotiation};
use mcp_proto::http::Url;
use mcp_service::auth::{
    AuthFuture, Config, FileVault, MemoryVault, ProofKey, Secret, SignIn, Signer, Vault, VaultLock,
};
use mcp_service::testing::{AuthServer, Network, Pair};
use mcp_service::{Client, HttpClientConfig};

use super::sign_in::{ISSUER, SERVER, call, count, protected, registry};

const PROVIDER: &str = "http://localhost:9000/idp/token";

/// A way to get tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Secret,
    Key,
    Company,
    Workload,
    /// With a secret, and bound to a key.
    Bound,
}

const KINDS: [Kind; 5] = [Kind::Secret, Kind::Key, Kind::Company, Kind::Workload, Kind::Bound];

impl Kind {
    fn server(self) -> AuthServer {
        let server = AuthServer::new(ISSUER, SERVER).lifetime(Duration::from_secs(600));
        match self {
            Self::Secret => server.client("service", Some("canary-secret")),
            Self::Key => server.client("service", None),
            Self::Company => {
                server.client("service", Some("canary-secret")).subject("canary-subject")
            }
            Self::Workload => server.workload("canary-subject"),
            Self::Bound => server.client("service", Some("canary-secret")).binds_tokens(),
        }
    }

    fn settings(self, config: Config) -> Config {
        let with_secret = |config: Config| config.client(ISSUER, "service", Some("canary-secret"));
        match self {
            Self::Secret | Self::Bound => with_secret(config).client_credentials(),
            Self::Key => config.client(ISSUER, "service", None).client_credentials(),
            Self::Company => {
                let provider = IdentityProvider::new(PROVIDER, "app");
                with_secret(config).enterprise(provider.secret("canary-idp"))
            }
            Self::Workload => config.workload(ISSUER),
        }
    }

    fn sign_in(self, vault: impl Vault + 'static) -> SignIn {
        let sign_in = SignIn::new(vault).settings(move |config| self.settings(config)).subject(
            move |issuer| async move {
                // The token is given for its receiver only.
                let receiver = if self == Self::Company { PROVIDER } else { ISSUER };
                let is_meant = issuer == receiver;
                is_meant.then(|| Secret::new("canary-subject")).ok_or_else(|| Error::other(issuer))
            },
        );
        match self {
            Self::Key => sign_in.client_key(TestKey::default(), Some("k")),
            Self::Bound => sign_in.proof_key(TestKey::default()),
            Self::Secret | Self::Company | Self::Workload => sign_in,
        }
    }

    /// The requests for one grant.
    fn cost(self) -> &'static [&'static str] {
        if self == Self::Company { &["POST /idp/token", "POST /token"] } else { &["POST /token"] }
    }

    fn pair(self, server: &AuthServer, vault: impl Vault + 'static) -> Pair {
        let config = HttpClientConfig::new(Url::parse(SERVER).unwrap());
        let pair = Pair::over_http(registry());
        let _ = server.clone().clock(pair.clock());
        pair.http_config(protected(server))
            .http_client_config(config.sign_in(self.sign_in(vault)))
            .auth_server(server)
    }
}

/// A key whose signatures say nothing, and how many it has made.
#[derive(Clone, Default)]
struct TestKey(Arc<AtomicUsize>);

impl Signer for TestKey {
    fn public_key(&self) -> ProofKey {
        ProofKey::es256([1; 32], [2; 32])
    }

    fn sign(&self, input: &[u8]) -> AuthFuture<std::io::Result<Vec<u8>>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        // Both parts of what is signed are there.
        assert_eq!(input.split(|byte| *byte == b'.').count(), 2);
        Box::pin(async { Ok(vec![7; 64]) })
    }
}

/// A store of files that has answered when the virtual time goes on.
struct Blocking(FileVault);

impl Vault for Blocking {
    fn read(&self, key: &str) -> AuthFuture<std::io::Result<Option<Secret>>> {
        block(self.0.read(key))
    }

    fn write(&self, key: &str, record: &Secret) -> AuthFuture<std::io::Result<()>> {
        block(self.0.write(key, record))
    }

    fn remove(&self, key: &str) -> AuthFuture<std::io::Result<()>> {
        block(self.0.remove(key))
    }

    fn lock(&self, key: &str) -> AuthFuture<std::io::Result<VaultLock>> {
        block(self.0.lock(key))
    }
}

fn block<T: Send + 'static>(mut future: AuthFuture<T>) -> AuthFuture<T> {
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return Box::pin(std::future::ready(value));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn grants(server: &AuthServer) -> usize {
    count(server, "POST /token")
}

#[test]
fn each_grant_signs_in_to_servers_of_both_eras() {
    for kind in KINDS {
        for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
            let server = kind.server();
            let mut pair = kind.pair(&server, MemoryVault::new()).negotiation(negotiation);
            let client = pair.client();
            let result = pair.run(call(&client)).unwrap();
            assert_eq!(result.content[0].as_text(), Some("told"), "{kind:?}");
            let metadata = [
                "GET /.well-known/oauth-protected-resource",
                "GET /.well-known/oauth-authorization-server",
            ];
            let expected: Vec<_> = metadata.iter().chain(kind.cost()).copied().collect();
            assert_eq!(server.log(), expected, "{kind:?}");
        }
    }
}

#[test]
fn auth_s12_no_secret_of_a_grant_is_on_the_wire() {
    for kind in KINDS {
        let server = kind.server();
        let mut pair = kind.pair(&server, MemoryVault::new());
        let client = pair.client();
        pair.run(call(&client)).unwrap();
        pair.pass(Duration::from_secs(700));
        server.refuse_next("/token", "invalid_client");
        let error = pair.run(call(&client)).unwrap_err();
        pair.run(call(&client)).unwrap();
        let shown = format!("{} {error} {error:?} {client:?}", pair.wire());
        assert!(shown.contains("! fetch POST http://localhost:9000/token"), "{shown}");
        // The last one is how each JWT begins, and so each proof and assertion.
        for secret in ["canary", "access-", "assertion-", "eyJ"] {
            assert!(!shown.contains(secret), "{kind:?} {secret}: {shown}");
        }
    }
}

#[test]
fn spent_tokens_are_asked_for_again() {
    for kind in KINDS {
        let server = kind.server();
        let mut pair = kind.pair(&server, MemoryVault::new());
        let client = pair.client();
        for round in 1..=4 {
            pair.run(call(&client)).unwrap();
            pair.run(call(&client)).unwrap();
            assert_eq!(grants(&server), round, "{kind:?}");
            pair.pass(Duration::from_secs(610));
        }
    }
}

#[test]
fn auth_a20_calls_in_flight_share_one_grant() {
    for kind in KINDS {
        let server = kind.server();
        let latency = Duration::from_millis(10);
        let network = Network::calm().latency(latency, latency);
        let mut pair = kind.pair(&server, MemoryVault::new()).network(network);
        let client = pair.client();
        pair.run(call(&client)).unwrap();
        for round in 2..=3 {
            pair.pass(Duration::from_secs(610));
            let mut calls: Vec<_> = (0..20).map(|_| call(&client)).collect();
            for call in &mut calls {
                assert!(pair.poll(call).is_pending());
            }
            for call in calls {
                pair.run(call).unwrap();
            }
            assert_eq!(grants(&server), round, "{kind:?}");
        }
    }
}

#[test]
fn failures_are_told_and_the_next_call_tries_again() {
    for kind in KINDS {
        for path in kind.cost().iter().filter_map(|line| line.strip_prefix("POST ")) {
            let server = kind.server();
            let mut pair = kind.pair(&server, MemoryVault::new());
            server.fail_next(path, 503);
            let client = pair.client();
            let Err(ConnectError::Unauthorized(refusal)) = pair.run(client.connected()) else {
                panic!("{kind:?}")
            };
            let reason = refusal.sign_in.unwrap();
            assert!(reason.contains("does not answer"), "{kind:?}: {reason}");

            let mut pair = kind.pair(&server, MemoryVault::new());
            let client = pair.client();
            pair.run(call(&client)).unwrap();
            for error in ["invalid_grant", "invalid_client", "invalid_scope"] {
                server.expire_tokens();
                server.refuse_next(path, error);
                let Err(CallError::Unauthorized(refusal)) = pair.run(call(&client)) else {
                    panic!("{kind:?}")
                };
                let reason = refusal.sign_in.unwrap();
                assert!(reason.contains(error), "{kind:?}: {reason}");
                pair.run(call(&client)).unwrap();
            }
        }
    }
}

#[test]
fn auth_a22_clients_of_one_vault_use_the_tokens_of_each_other() {
    for kind in KINDS {
        let (server, vault) = (kind.server(), MemoryVault::new());
        share(kind, &server, || vault.clone());
    }
}

#[test]
fn auth_a21_processes_with_one_folder_use_the_tokens_of_each_other() {
    let folder = std::env::temp_dir().join(format!("mcp-grants-{}", std::process::id()));
    for kind in KINDS {
        let folder = folder.join(format!("{kind:?}"));
        share(kind, &kind.server(), || Blocking(FileVault::open(&folder).unwrap()));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Two clients with one store, whose times pass together: one of them gets tokens, the other one
/// finds them.
fn share<V: Vault + 'static>(kind: Kind, server: &AuthServer, vault: impl Fn() -> V) {
    let mut first = kind.pair(server, vault());
    let one = first.client();
    first.run(call(&one)).unwrap();
    // Their proofs are not the same.
    let mut second = kind.pair(server, vault()).seed(1);
    let two = second.client();
    second.run(call(&two)).unwrap();
    assert_eq!(grants(server), 1, "{kind:?}: {:?}", server.log());
    for round in 2..=5 {
        // The server has the time of the second client, which is never ahead of that of the first.
        first.pass(Duration::from_secs(610));
        second.pass(Duration::from_secs(610));
        first.run(call(&one)).unwrap();
        second.run(call(&two)).unwrap();
        assert_eq!(grants(server), round, "{kind:?}: {:?}", server.log());
    }
}

#[test]
fn nonce_of_the_token_endpoint_is_sent_and_wanted_once() {
    let kind = Kind::Bound;
    let server = kind.server();
    server.renew_nonce();
    let mut pair = kind.pair(&server, MemoryVault::new());
    let client = pair.client();
    pair.run(call(&client)).unwrap();
    assert_eq!(grants(&server), 2);
    // The nonce is known by now.
    pair.pass(Duration::from_secs(610));
    pair.run(call(&client)).unwrap();
    assert_eq!(grants(&server), 3);
    // It is another one.
    server.renew_nonce();
    pair.pass(Duration::from_secs(610));
    pair.run(call(&client)).unwrap();
    assert_eq!(grants(&server), 5);
    // One that is wanted for ever is an error.
    pair.pass(Duration::from_secs(610));
    server.refuse_next("/token", "use_dpop_nonce");
    server.refuse_next("/token", "use_dpop_nonce");
    let Err(CallError::Unauthorized(refusal)) = pair.run(call(&client)) else { panic!() };
    assert!(refusal.sign_in.unwrap().contains("use_dpop_nonce"));
    assert_eq!(grants(&server), 7);
    pair.run(call(&client)).unwrap();
}

#[test]
fn each_request_has_its_own_proof() {
    let server = Kind::Bound.server();
    let key = TestKey::default();
    let sign_in = Kind::Bound.sign_in(MemoryVault::new()).proof_key(key.clone());
    let config = HttpClientConfig::new(Url::parse(SERVER).unwrap()).sign_in(sign_in);
    let mut pair = Pair::over_http(registry())
        .http_config(protected(&server))
        .http_client_config(config)
        .auth_server(&server);
    let client = pair.client();
    pair.run(client.connected()).unwrap();
    let before = key.0.load(Ordering::Relaxed);
    // The server refuses a proof that comes twice.
    let calls: Vec<_> = (0..10).map(|_| call(&client)).collect();
    for call in calls {
        pair.run(call).unwrap();
    }
    assert_eq!(key.0.load(Ordering::Relaxed) - before, 10);
    assert_eq!(grants(&server), 1);
}

#[test]
fn person_signs_in_for_tokens_that_are_bound_to_a_key() {
    let server = AuthServer::new(ISSUER, SERVER).lifetime(Duration::from_secs(600)).binds_tokens();
    let sign_in =
        SignIn::new(MemoryVault::new()).consent(server.browser()).proof_key(TestKey::default());
    let config = HttpClientConfig::new(Url::parse(SERVER).unwrap()).sign_in(sign_in);
    let pair = Pair::over_http(registry());
    let server = server.clock(pair.clock());
    let mut pair =
        pair.http_config(protected(&server)).http_client_config(config).auth_server(&server);
    let client: Client = pair.client();
    for _ in 0..3 {
        pair.run(call(&client)).unwrap();
        pair.pass(Duration::from_secs(590));
    }
    assert_eq!((count(&server, "GET /authorize"), grants(&server)), (1, 3));
}

#[test]
fn wrong_credentials_get_nothing() {
    for (kind, server) in [
        (Kind::Secret, AuthServer::new(ISSUER, SERVER).client("service", Some("other"))),
        (Kind::Secret, AuthServer::new(ISSUER, SERVER).client("service", None)),
        (Kind::Key, AuthServer::new(ISSUER, SERVER).client("other", None)),
        (Kind::Key, AuthServer::new(ISSUER, SERVER).client("service", Some("other"))),
        (Kind::Company, AuthServer::new(ISSUER, SERVER).subject("canary-subject")),
        (Kind::Company, Kind::Secret.server()),
        (Kind::Workload, AuthServer::new(ISSUER, SERVER).workload("other")),
        (Kind::Secret, Kind::Bound.server()),
    ] {
        let mut pair = kind.pair(&server, MemoryVault::new());
        let client = pair.client();
        let Err(ConnectError::Unauthorized(refusal)) = pair.run(client.connected()) else {
            panic!("{kind:?}")
        };
        let reason = refusal.sign_in.unwrap();
        assert!(!reason.contains("canary"), "{reason}");
        assert!(grants(&server) <= 1, "{kind:?}: {:?}", server.log());
    }
}
