//! Quoted by `docs/guide/security.md`.

use std::error::Error;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use mcp_proto::frame::http1::Head;
use mcp_proto::{Bytes, Instant};
use mcp_service::testing::Pair;
use mcp_service::{HttpServer, Part};
use mcp_tokio::{
    Authorization, CallError, Config, ConnectError, Context, Handler, HttpClientConfig, HttpConfig,
    Implementation, Negotiation, Registry, UsageError,
};
use serde_json::json;

type Outcome = Result<(), Box<dyn Error>>;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

fn registry() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("weather", "1.0.0"));
    registry.tool("whoami", "Says who asks", |_: Nothing, context: Context| async move {
        let peer = context.peer();
        peer.principal.as_deref().unwrap_or("nobody").to_owned()
    })?;
    Ok(registry)
}

/// Status for a request that passes the checks: its body is no message.
const THROUGH: u16 = 400;

/// Stands for whatever knows tokens.
fn user_of(token: &str) -> Option<&'static str> {
    match token {
        "0123" => Some("alice"),
        "4567" => Some("bob"),
        _ => None,
    }
}

fn authorize(head: &Head) -> Authorization {
    let field = head.field("authorization").and_then(|field| std::str::from_utf8(field).ok());
    match field.and_then(|field| field.strip_prefix("Bearer ")).map(user_of) {
        Some(Some(user)) => Authorization::Allow(Some(user.into())),
        Some(None) => Authorization::Unauthorized(r#"Bearer error="invalid_token""#.into()),
        None => Authorization::Unauthorized(
            r#"Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource""#
                .into(),
        ),
    }
}

fn guarded() -> HttpConfig {
    let mut config = HttpConfig::default();
    config.authorize = Some(Arc::new(authorize));
    config
}

#[test]
fn a_principal_is_told() -> Outcome {
    for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
        let server = HttpClientConfig::parse("http://localhost/mcp")?;
        let mut pair = Pair::over_http(registry()?)
            .negotiation(negotiation)
            .http_config(guarded())
            .http_client_config(server.field("Authorization", "Bearer 0123")?);
        let client = pair.client();
        let answer = pair.run(client.call_tool("whoami", &json!({})))?;
        assert_eq!(answer.content[0].as_text(), Some("alice"));

        // A session is its principal's: another one is opened for another principal.
        client.set_field("Authorization", "Bearer 4567")?;
        let other = pair.run(client.call_tool("whoami", &json!({})));
        assert_eq!(other?.content[0].as_text(), Some("bob"));
    }
    Ok(())
}

#[test]
fn a_client_is_told_what_is_wanted() -> Outcome {
    let mut pair = Pair::over_http(registry()?).http_config(guarded());
    let refused = pair.run(pair.client().connected());
    let Err(ConnectError::Unauthorized(unauthorized)) = refused else {
        return Err(format!("{refused:?}").into());
    };
    let challenge = unauthorized.bearer().ok_or("no challenge")?;
    assert_eq!(
        challenge.resource_metadata(),
        Some("https://mcp.example.com/.well-known/oauth-protected-resource")
    );
    Ok(())
}

#[test]
fn hosts_and_origins() -> Outcome {
    let mut config = HttpConfig::default();
    config.allowed_hosts.push("mcp.example.com".into());
    config.allowed_origins.push("https://app.example.com".into());
    let server = HttpServer::new(registry()?, config, || [0; 16], |_| {});
    let status = |fields: &[(&str, &str)]| {
        let mut head = Head::new("POST", "/mcp");
        for (name, value) in fields {
            head.push(name, value.as_bytes());
        }
        head.push("Content-Type", b"application/json");
        head.push("Accept", b"application/json, text/event-stream");
        let mut answer = server.answer(Instant::ZERO, head, &Bytes::from("{}"));
        match answer.turn(Instant::ZERO, Waker::noop()) {
            Some(Part::Whole(head, _)) => head.status,
            _ => 0,
        }
    };
    assert_eq!(status(&[("Host", "localhost:8000")]), THROUGH);
    assert_eq!(status(&[("Host", "mcp.example.com")]), THROUGH);
    assert_eq!(status(&[("Host", "evil.example.com")]), 403);
    assert_eq!(status(&[("Host", "localhost"), ("Origin", "http://localhost:3000")]), THROUGH);
    assert_eq!(status(&[("Host", "localhost"), ("Origin", "https://app.example.com")]), THROUGH);
    assert_eq!(status(&[("Host", "localhost"), ("Origin", "https://evil.example.com")]), 403);
    Ok(())
}

#[test]
fn limits() -> Outcome {
    let mut config = Config::default();
    config.limits.max_line_bytes = 1024 * 1024;
    config.limits.handler_timeout = Duration::from_secs(30);
    config.limits.max_in_flight = 16;

    let mut pair = Pair::new(registry()?).server_config(config);
    let long = "x".repeat(1024 * 1024);
    let refused = pair.run(pair.client().call_tool("whoami", &json!({ "x": long })));
    let Err(CallError::Error { error, .. }) = refused else {
        return Err("it was read".into());
    };
    assert_eq!(error.code.0, -32600);
    assert!(error.message.contains("max_line_bytes"), "{}", error.message);
    Ok(())
}

#[test]
fn behind_a_proxy() {
    let mut config = HttpConfig::default();
    config.behind_proxy = true;
    assert!(!HttpConfig::default().behind_proxy && config.behind_proxy);
}
