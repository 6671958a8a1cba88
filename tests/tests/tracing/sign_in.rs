//! Spans and events of a client that gets tokens without a person: they have no secret.

use std::sync::Arc;
use std::time::Duration;

use mcp_proto::http::{self, Url};
use mcp_service::HttpClientConfig;
use mcp_service::auth::{
    AuthFuture, IdentityProvider, MemoryVault, ProofKey, Secret, SignIn, Signer,
};
use mcp_service::testing::{AuthServer, Pair};
use serde_json::json;

use super::collector::Collector;
use super::shop;

const SERVER: &str = "http://localhost/mcp";
const ISSUER: &str = "http://localhost:9000";

/// A key whose signatures say nothing.
struct TestKey;

impl Signer for TestKey {
    fn public_key(&self) -> ProofKey {
        ProofKey::es256([1; 32], [2; 32])
    }

    fn sign(&self, _: &[u8]) -> AuthFuture<std::io::Result<Vec<u8>>> {
        Box::pin(async { Ok(vec![7; 64]) })
    }
}

/// A company whose tokens are bound to a key, and whose client authenticates with it or with a
/// secret.
fn pair(secret: Option<&'static str>) -> (Pair, AuthServer) {
    let server = AuthServer::new(ISSUER, SERVER).client("service", secret);
    let server = server.subject("canary-subject").binds_tokens();
    let mut protected = http::Config::default();
    let guard = server.clone();
    protected.authorize = Some(Arc::new(move |head| guard.authorize(head)));
    let sign_in = SignIn::new(MemoryVault::new())
        .subject(|_| async { Ok(Secret::new("canary-subject")) })
        .client_key(TestKey, None)
        .proof_key(TestKey)
        .settings(move |settings| {
            let provider = IdentityProvider::new("http://localhost:9000/idp/token", "app");
            let settings = settings.client(ISSUER, "service", secret);
            settings.enterprise(provider.secret("canary-idp"))
        });
    let config = HttpClientConfig::new(Url::parse(SERVER).unwrap()).sign_in(sign_in);
    let pair = Pair::over_http(shop());
    let server = server.clock(pair.clock());
    let pair = pair.http_config(protected).http_client_config(config).auth_server(&server);
    (pair, server)
}

#[test]
fn auth_s12_no_secret_of_a_grant_is_in_a_span() {
    for secret in [Some("canary-secret"), None] {
        let (mut pair, server) = pair(secret);
        let ((), seen) = Collector::see(|_| {
            let client = pair.client();
            pair.run(client.call_tool("sell", &json!({}))).unwrap();
            pair.pass(Duration::from_secs(3700));
            server.refuse_next("/token", "invalid_grant");
            pair.run(client.call_tool("sell", &json!({}))).unwrap_err();
        });
        let shown = seen.shown();
        assert!(shown.contains("tools/call sell"), "{shown}");
        // The last one is how each JWT begins.
        for secret in ["canary", "access-", "assertion-", "eyJ"] {
            assert!(!shown.contains(secret), "{secret}: {shown}");
        }
    }
}
