//! The code of `docs/guide/protect.md`.

use std::error::Error;
use std::time::Duration;

use mcp_proto::frame::http1::Head;
use mcp_proto::resource_server::bearer;
use mcp_tokio::testing::Pair;
use mcp_tokio::{
    Authorization, CallError, ClaimRules, Claims, ConnectError, Context, Handler, HttpClientConfig,
    HttpConfig, Implementation, MissingScopes, ProtectedResource, ProxyNetwork, Registry,
    TokenRefusal, UsageError, VerifiedToken,
};
use serde_json::json;

type Outcome = Result<(), Box<dyn Error>>;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct File {
    name: String,
}

async fn verify(token: String) -> VerifiedToken {
    match token.as_str() {
        "0123" => Ok(Claims::new("https://auth.example.com", "alice").with_scopes("files:read")),
        _ => Err(TokenRefusal::invalid("the token is unknown")),
    }
}

#[derive(serde::Deserialize)]
struct Introspection {
    active: bool,
}

/// Reads the answer of an introspection endpoint. `now` is the time since the Unix epoch.
fn read_introspection(answer: &[u8], now: Duration, rules: &ClaimRules) -> VerifiedToken {
    match serde_json::from_slice(answer) {
        Ok(Introspection { active: true }) => {}
        Ok(_) => return Err(TokenRefusal::invalid("the token is not active")),
        // The endpoint has failed: the client gets 503, and keeps its token.
        Err(_) => return Err(TokenRefusal::unavailable()),
    }
    let unreadable = "its claims cannot be read, or have no issuer";
    let claims = Claims::read(answer).ok_or_else(|| TokenRefusal::invalid(unreadable))?;
    claims.check(now, rules)?;
    Ok(claims)
}

fn protected() -> Result<HttpConfig, Box<dyn Error>> {
    let resource =
        ProtectedResource::new("https://mcp.example.com/mcp", "https://auth.example.com")?
            .scopes("files:read files:write");
    let mut config = HttpConfig::default();
    config.allowed_hosts.push("mcp.example.com".into());
    config.protect(resource, verify);
    Ok(config)
}

fn registry() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("files", "1.0.0"));
    registry.tool("whoami", "Says who asks", |_: Nothing, context: Context| async move {
        let claims = context.peer().claims();
        claims.and_then(|claims| claims.subject.clone()).unwrap_or_default()
    })?;
    registry.tool("delete", "Deletes a file", |file: File, _| async move {
        format!("{} is gone", file.name)
    })?;
    registry.require_scopes("delete", "files:write")?;
    registry.tool("open", "Opens a file", open)?;
    Ok(registry)
}

async fn open(file: File, context: Context) -> Result<String, MissingScopes> {
    if file.name.starts_with("secret/") {
        context.require_scopes("files:secret")?;
    }
    Ok(format!("{} is open", file.name))
}

/// Decides at once, for applications without futures.
fn by_head(resource: ProtectedResource) -> HttpConfig {
    let mut config = HttpConfig::default();
    config.resource = Some(resource.into());
    config.authorize = Some(std::sync::Arc::new(|head: &Head| match bearer(head) {
        Ok(Some("0123")) => Authorization::Allow(Some("alice".into())),
        Ok(Some(_)) => Authorization::Refuse(TokenRefusal::invalid("the token is unknown")),
        Ok(None) => Authorization::Refuse(TokenRefusal::missing()),
        Err(malformed) => Authorization::Refuse(malformed),
    }));
    config
}

fn behind_proxies(config: &mut HttpConfig) -> Outcome {
    config.trusted_proxies.push("10.0.0.0/8".parse()?);
    Ok(())
}

#[test]
fn a_protected_server_knows_who_asks() -> Outcome {
    let server = HttpClientConfig::parse("http://localhost/mcp")?;
    let mut pair = Pair::over_http(registry()?)
        .http_config(protected()?)
        .http_client_config(server.field("Authorization", "Bearer 0123")?);
    let client = pair.client();
    let answer = pair.run(client.call_tool("whoami", &json!({})))?;
    assert_eq!(answer.content[0].as_text(), Some("alice"));

    let refused = pair.run(client.call_tool("delete", &json!({ "name": "a" })));
    let Err(CallError::Unauthorized(refused)) = refused else {
        return Err(format!("{refused:?}").into());
    };
    let challenge = refused.bearer().ok_or("no challenge")?;
    assert_eq!((refused.status, challenge.scope()), (403, Some("files:write")));

    let answer = pair.run(client.call_tool("open", &json!({ "name": "secret/a" })))?;
    assert!(answer.is_error);
    let answer = pair.run(client.call_tool("open", &json!({ "name": "a" })))?;
    assert_eq!(answer.content[0].as_text(), Some("a is open"));
    Ok(())
}

#[test]
fn without_a_token_the_metadata_is_named() -> Outcome {
    let resource =
        ProtectedResource::new("https://mcp.example.com/mcp", "https://auth.example.com")?;
    for config in [protected()?, by_head(resource)] {
        let mut pair = Pair::over_http(registry()?).http_config(config);
        let refused = pair.run(pair.client().connected());
        let Err(ConnectError::Unauthorized(refused)) = refused else {
            return Err(format!("{refused:?}").into());
        };
        let metadata = refused.bearer().and_then(|challenge| challenge.resource_metadata());
        assert_eq!(
            metadata,
            Some("https://mcp.example.com/.well-known/oauth-protected-resource/mcp")
        );
    }
    Ok(())
}

#[test]
fn introspection_needs_an_active_token_for_this_server() -> Outcome {
    let rules = ClaimRules::new("https://auth.example.com", "https://mcp.example.com/mcp");
    let read = |answer: &str| read_introspection(answer.as_bytes(), Duration::from_secs(9), &rules);
    let token = r#"{"active":true,"iss":"https://auth.example.com","sub":"alice",
        "aud":"https://mcp.example.com/mcp","scope":"files:read","exp":99}"#;
    assert_eq!(read(token)?.subject.as_deref(), Some("alice"));
    for refused in [
        token.replace("true", "false"),
        token.replace("mcp.example.com", "other.example.com"),
        r#"{"active":true}"#.to_owned(),
        token.replace(r#""iss":"https://auth.example.com","#, ""),
        token.replace(r#""aud":"https://mcp.example.com/mcp","#, ""),
        token.replace(r#","exp":99"#, ""),
        token.replace("99", r#""soon""#),
    ] {
        assert_ne!(refused, token);
        assert_eq!(read(&refused).map_err(|refusal| refusal.status()).err(), Some(401));
    }
    let failed = read("<html>").map_err(|refusal| refusal.status());
    assert_eq!(failed.err(), Some(503));
    Ok(())
}

#[test]
fn proxies_are_networks() -> Outcome {
    let mut config = HttpConfig::default();
    behind_proxies(&mut config)?;
    assert_eq!(config.trusted_proxies, ["10.0.0.0/8".parse::<ProxyNetwork>()?]);
    Ok(())
}
