//! Servers that want tokens: metadata, verdicts that take their time, and scopes of tools.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_proto::http::Config;
use mcp_proto::resource_server::{Claims, ProtectedResource, TokenRefusal, VerifiedToken};
use serde_json::{Value, json};

use super::server::Stop;
use super::{Check, Named, Serve, Server};

pub(super) const CHECKS: &[Named] = &[
    ("auth_a49_metadata_is_where_the_challenge_says", metadata_is_where_the_challenge_says),
    ("auth_s20_a_session_is_its_principals", a_session_is_its_principals),
    ("a_request_waits_for_its_verdict", a_request_waits_for_its_verdict),
    ("a_verdict_that_does_not_come_is_not_waited_for", a_verdict_that_does_not_come),
    ("a_tool_requires_scopes", a_tool_requires_scopes),
];

const ISSUER: &str = "https://auth.example.com";
const OTHER_ISSUER: &str = "https://other.example.com";
const CHALLENGE: &str =
    "resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\"";

/// A configuration whose tokens are verified by `verify`.
fn protected<Fut>(verify: impl Fn(String) -> Fut + Send + Sync + 'static) -> Config
where
    Fut: Future<Output = VerifiedToken> + Send + 'static,
{
    let mut config = Config::default();
    if let Ok(resource) = ProtectedResource::new("https://mcp.example.com/mcp", ISSUER) {
        config.protect(resource, verify);
    }
    config
}

/// The tokens of the suite: an issuer, a user, and scopes.
fn known(token: &str) -> VerifiedToken {
    match token {
        "alice" => Ok(Claims::new(ISSUER, "alice")),
        "alice-echo" => Ok(Claims::new(ISSUER, "alice").with_scopes("echo:use other")),
        "other-alice" => Ok(Claims::new(OTHER_ISSUER, "alice").with_scopes("echo:use")),
        _ => Err(TokenRefusal::invalid("the token is unknown")),
    }
}

fn metadata_is_where_the_challenge_says(serve: Serve) -> Check {
    let server = Server::start(serve, protected(|token| async move { known(&token) }))?;
    let mut client = server.connect()?;
    client.call("echo", &json!({"message": "a"}))?;
    let refused = client.response()?;
    refused.expect(401)?;
    assert_eq!(refused.field("www-authenticate")?, format!("Bearer {CHALLENGE}"));

    // Without a token, and with one that is refused elsewhere.
    for field in ["", "Authorization: Bearer stolen\r\n"] {
        let path = "/.well-known/oauth-protected-resource/mcp";
        client.raw(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{field}\r\n"))?;
        let response = client.response()?;
        response.expect(200)?;
        assert_eq!(response.field("content-type")?, "application/json");
        let metadata: Value = serde_json::from_str(&response.body)?;
        let member = |name: &str| metadata.get(name).cloned().unwrap_or_default();
        assert_eq!(member("resource"), "https://mcp.example.com/mcp");
        assert_eq!(member("authorization_servers"), json!([ISSUER]));
    }
    client.token = Some("stolen".into());
    client.call("echo", &json!({"message": "a"}))?;
    let refused = client.response()?;
    refused.expect(401)?;
    assert!(refused.field("www-authenticate")?.contains("error=\"invalid_token\""));
    client.token = Some("alice".into());
    client.call("echo", &json!({"message": "a"}))?;
    assert_eq!(client.response()?.text()?, "a");
    server.end()
}

fn a_session_is_its_principals(serve: Serve) -> Check {
    let server = Server::start(serve, protected(|token| async move { known(&token) }))?;
    let mut client = server.connect()?;
    client.token = Some("alice".into());
    client.initialize()?;
    for (token, status) in [("alice-echo", 200), ("other-alice", 404), ("stolen", 401)] {
        client.token = Some(token.into());
        client.call("echo", &json!({"message": "a"}))?;
        client.response()?.expect(status)?;
    }
    server.end()
}

fn a_request_waits_for_its_verdict(serve: Serve) -> Check {
    let gate = Stop::default();
    let asked = Arc::new(AtomicUsize::new(0));
    let (opens, counted) = (gate.clone(), asked.clone());
    let config = protected(move |token| {
        counted.fetch_add(1, Ordering::Relaxed);
        let opens = opens.clone();
        async move {
            if token == "alice-echo" {
                opens.await;
            }
            known(&token)
        }
    });
    let server = Server::start(serve, config)?;
    let mut slow = server.connect()?;
    slow.token = Some("alice-echo".into());
    slow.call("echo", &json!({"message": "slow"}))?;
    assert!(slow.is_silent()?);
    // Others do not wait for it.
    let mut quick = server.connect()?;
    quick.token = Some("alice".into());
    quick.call("echo", &json!({"message": "quick"}))?;
    assert_eq!(quick.response()?.text()?, "quick");
    gate.now();
    for message in ["slow", "again"] {
        assert_eq!(slow.response()?.text()?, message);
        if message == "slow" {
            slow.call("echo", &json!({"message": "again"}))?;
        }
    }
    // Each request is verified once.
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    server.end()
}

fn a_verdict_that_does_not_come(serve: Serve) -> Check {
    let mut config = protected(|token| async move {
        if token == "slow" {
            std::future::pending::<()>().await;
        }
        known(&token)
    });
    config.server.limits.verify_timeout = Duration::from_millis(100);
    let server = Server::start(serve, config)?;
    let mut client = server.connect()?;
    client.token = Some("slow".into());
    client.call("echo", &json!({"message": "a"}))?;
    let refused = client.response()?;
    refused.expect(503)?;
    assert!(refused.field("retry-after").is_ok() && refused.field("www-authenticate").is_err());
    client.token = Some("alice".into());
    client.call("echo", &json!({"message": "a"}))?;
    assert_eq!(client.response()?.text()?, "a");
    server.end()
}

fn a_tool_requires_scopes(serve: Serve) -> Check {
    let server = Server::start(serve, protected(|token| async move { known(&token) }))?;
    server.catalog.update(|registry| {
        registry.require_scopes("echo", "echo:use")?;
        Ok(())
    })?;
    let mut modern = server.connect()?;
    let mut legacy = server.connect()?;
    legacy.token = Some("alice".into());
    legacy.initialize()?;
    for client in [&mut modern, &mut legacy] {
        client.token = Some("alice".into());
        client.call("echo", &json!({"message": "a"}))?;
        let refused = client.response()?;
        refused.expect(403)?;
        assert_eq!(
            refused.field("www-authenticate")?,
            format!(
                "Bearer error=\"insufficient_scope\", error_description=\"the token lacks \
                 scopes\", scope=\"echo:use\", {CHALLENGE}"
            )
        );
        client.token = Some("alice-echo".into());
        client.call("echo", &json!({"message": "a"}))?;
        assert_eq!(client.response()?.text()?, "a");
    }
    server.end()
}
