//! A server behind axum that knows who asks: `axum_auth --listen 127.0.0.1:8000`, built with
//! `cargo build -p mcp-tokio --features tower --example axum_auth`.
//!
//! Without a token clients are answered with 401 and told where the metadata of the server is, which
//! is served beside it (RFC 9728) and names the authorization server. With a token that is good for
//! reading alone, `add_note` is answered with 403 and the scope that it takes. Handlers see whose
//! token it is, and nobody gets into the session of somebody else:
//!
//! ```text
//! $ curl -i 127.0.0.1:8000/mcp
//! HTTP/1.1 401 Unauthorized
//! www-authenticate: Bearer resource_metadata="http://127.0.0.1:8000/.well-known/oauth-protected-resource/mcp", scope="notes:read notes:write"
//! ```
//!
//! [Specification: Authorization](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization)

mod hyper_serve;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::routing::get;
use mcp_tokio::mcp_proto::headers::Mirrored;
use mcp_tokio::mcp_proto::http::Head;
use mcp_tokio::{
    Authorization, Context, Handler, HttpConfig, HttpService, Implementation, Registry, UsageError,
};
use serde_json::json;
use tokio::net::TcpListener;

/// Where metadata is looked for: the well-known prefix before the path of the server.
const METADATA: &str = "/.well-known/oauth-protected-resource/mcp";

/// Tokens, whose they are, and what for. A real server checks the signature, the audience and the
/// age of a token in place of this, or asks the authorization server that issued it.
const TOKENS: [(&str, &str, &[&str]); 3] = [
    ("alice-reads", "alice", &["notes:read"]),
    ("alice-writes", "alice", &["notes:read", "notes:write"]),
    ("bob-writes", "bob", &["notes:read", "notes:write"]),
];

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [option, listen] = &arguments[..] else { return Err(USAGE.into()) };
    if option != "--listen" {
        return Err(USAGE.into());
    }
    let listener = TcpListener::bind(listen).await?;
    // As clients know it; behind a proxy that is the proxy's URL.
    let origin = format!("http://{}", listener.local_addr()?);

    let mut config = HttpConfig::default();
    let challenge = format!("Bearer resource_metadata=\"{origin}{METADATA}\"");
    config.authorize = Some(Arc::new(move |head| authorize(head, &challenge)));
    let metadata = json!({
        "resource": format!("{origin}/mcp"),
        "authorization_servers": ["https://auth.example.com"],
        "scopes_supported": ["notes:read", "notes:write"],
        "bearer_methods_supported": ["header"],
    });
    let metadata = ([("content-type", "application/json")], metadata.to_string());

    let head_timeout = config.server.limits.head_timeout;
    let mcp = HttpService::new(registry()?, config);
    let app = Router::new()
        .route(METADATA, get(async move || metadata))
        .route_service("/mcp", mcp.clone());
    eprintln!("listening on {origin}/mcp");
    let stop = async {
        if tokio::signal::ctrl_c().await.is_ok() {
            mcp.shutdown();
        }
    };
    // Not `axum::serve`, which waits for slow heads for ever.
    hyper_serve::serve(listener, app, head_timeout, stop).await;
    // Handlers that are cancelled at the end run once more.
    mcp.finish().await;
    Ok(())
}

const USAGE: &str = "usage: axum_auth --listen ADDRESS";

/// Decides by the head of a request, before anything of its body is read.
fn authorize(head: &Head, challenge: &str) -> Authorization {
    let needed = scopes(head);
    let scope = needed.join(" ");
    let Some(token) = token(head) else {
        return Authorization::Unauthorized(format!("{challenge}, scope=\"{scope}\""));
    };
    let Some((_, principal, granted)) = TOKENS.iter().find(|(known, ..)| *known == token) else {
        let error = "error=\"invalid_token\"";
        return Authorization::Unauthorized(format!("{challenge}, {error}, scope=\"{scope}\""));
    };
    if !needed.iter().all(|scope| granted.contains(scope)) {
        let error = "error=\"insufficient_scope\"";
        return Authorization::Forbidden(format!("{challenge}, {error}, scope=\"{scope}\""));
    }
    // Sessions are bound to the principal, and handlers see it.
    Authorization::Allow(Some((*principal).into()))
}

/// The one token of a request. Two fields could be read in two ways.
fn token(head: &Head) -> Option<&str> {
    let mut fields = head.all("authorization");
    let (field, None) = (fields.next()?, fields.next()) else { return None };
    let (scheme, token) = std::str::from_utf8(field).ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then_some(token.trim())
}

/// What a token must be good for. The head of a modern request says what it asks for, and the server
/// refuses a body that asks for something else. That of a legacy request does not say it, so that
/// such a client needs a token for everything.
fn scopes(head: &Head) -> &'static [&'static str] {
    match Mirrored::of(head.fields()).claim() {
        Ok(claim) if claim.name.as_deref() == Some("add_note") => &["notes:write"],
        Ok(_) => &["notes:read"],
        Err(_) => &["notes:read", "notes:write"],
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Note {
    /// What to remember.
    text: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

/// Two tools on notes that each principal has for itself.
fn registry() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("notes", env!("CARGO_PKG_VERSION")));
    let notes = Arc::new(Mutex::new(HashMap::<Arc<str>, Vec<String>>::new()));
    let kept = notes.clone();
    registry.tool("add_note", "Keeps a note", move |note: Note, context: Context| {
        let notes = kept.clone();
        async move {
            let who = principal(&context)?;
            let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
            notes.entry(who.clone()).or_default().push(note.text);
            Ok::<_, String>(format!("noted for {who}"))
        }
    })?;
    registry.tool("list_notes", "Your notes", move |_: Nothing, context: Context| {
        let notes = notes.clone();
        async move {
            let who = principal(&context)?;
            let notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
            let mine = notes.get(&who).map(|notes| notes.join("; ")).unwrap_or_default();
            Ok::<_, String>(format!("{who}: {mine}"))
        }
    })?;
    Ok(registry)
}

/// On whose behalf the client acts. `authorize` lets nobody in without.
fn principal(context: &Context) -> Result<Arc<str>, String> {
    context.peer().principal.clone().ok_or_else(|| "nobody has authorized this request".into())
}
