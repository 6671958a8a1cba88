//! A protected server behind axum:
//!
//! ```sh
//! cargo run -p mcp-tokio --features tower --example axum_auth -- --listen 127.0.0.1:8000
//! ```
//!
//! A request without a token gets 401 with the URL of the server's metadata (RFC 9728), which names
//! the authorization server. `add_note` needs a token with the scope `notes:write`; a call without
//! this scope gets 403, which names the scope. Handlers can read the owner of the token, and a
//! session belongs to this owner:
//!
//! ```text
//! $ curl -i -X POST 127.0.0.1:8000/mcp
//! HTTP/1.1 401 Unauthorized
//! www-authenticate: Bearer scope="notes:read", resource_metadata="http://127.0.0.1:8000/.well-known/oauth-protected-resource/mcp"
//! ```
//!
//! [Specification: Authorization](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization)

mod hyper_serve;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use mcp_tokio::{
    Claims, Context, Handler, HttpConfig, HttpService, Implementation, ProtectedResource, Registry,
    TokenRefusal, UsageError, VerifiedToken, stop_signal,
};
use tokio::net::TcpListener;

/// The authorization server, which issues the tokens.
const ISSUER: &str = "https://auth.example.com";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [option, listen] = &arguments[..] else { return Err(USAGE.into()) };
    if option != "--listen" {
        return Err(USAGE.into());
    }
    let listener = TcpListener::bind(listen).await?;
    // As clients know it; behind a proxy that is the proxy's URL.
    let public_url = format!("http://{}/mcp", listener.local_addr()?);

    let resource = ProtectedResource::new(&public_url, ISSUER)?
        .scopes("notes:read notes:write")
        .require_scopes("notes:read");
    let metadata = resource.metadata_path().to_owned();
    let mut config = HttpConfig::default();
    config.protect(resource, verify);

    let limits = config.server.limits.clone();
    let mcp = HttpService::new(registry()?, config);
    let app =
        Router::new().route_service(&metadata, mcp.clone()).route_service("/mcp", mcp.clone());
    let stopped = stop_signal()?;
    eprintln!("listening on {public_url}");
    let stop = async {
        stopped.await;
        mcp.shutdown();
    };
    // Not `axum::serve`, which waits for slow clients for ever.
    hyper_serve::serve(listener, app, &limits, stop).await;
    // Handlers that are cancelled at the end run once more.
    mcp.finish().await;
    Ok(())
}

const USAGE: &str = "usage: axum_auth --listen ADDRESS";

/// Knows three tokens. A real server asks the authorization server, or verifies a signature:
/// `JwtVerifier` of the feature `jwt` does that.
async fn verify(token: String) -> VerifiedToken {
    match token.as_str() {
        "alice-reads" => Ok(Claims::new(ISSUER, "alice").with_scopes("notes:read")),
        "alice-writes" => Ok(Claims::new(ISSUER, "alice").with_scopes("notes:read notes:write")),
        "bob-writes" => Ok(Claims::new(ISSUER, "bob").with_scopes("notes:read notes:write")),
        _ => Err(TokenRefusal::invalid("the token is unknown")),
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Note {
    /// The text to remember.
    text: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

/// The notes that each principal has for itself.
#[derive(Default)]
struct Notes(Mutex<HashMap<Arc<str>, Vec<String>>>);

#[expect(clippy::unused_async, reason = "a handler is async")]
impl Notes {
    async fn add(&self, note: Note, context: Context) -> Result<String, String> {
        let who = principal(&context)?;
        self.lock().entry(who.clone()).or_default().push(note.text);
        Ok(format!("noted for {who}"))
    }

    async fn list(&self, _: Nothing, context: Context) -> Result<String, String> {
        let who = principal(&context)?;
        let mine = self.lock().get(&who).map(|notes| notes.join("; ")).unwrap_or_default();
        Ok(format!("{who}: {mine}"))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Vec<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn registry() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("notes", env!("CARGO_PKG_VERSION")));
    registry.with(Arc::new(Notes::default())).tool("add_note", "Keeps a note", Notes::add)?.tool(
        "list_notes",
        "Your notes",
        Notes::list,
    )?;
    registry.require_scopes("add_note", "notes:write")?;
    Ok(registry)
}

/// The issuer and the user of the token. Nobody gets here without one.
fn principal(context: &Context) -> Result<Arc<str>, String> {
    context.peer().principal.clone().ok_or_else(|| "the request has no token".into())
}
