//! A protected server on its own HTTP stack, whose tokens are JWTs:
//!
//! ```sh
//! cargo run -p mcp-tokio --features jwt --example protected -- --listen 127.0.0.1:8000 \
//!     --url https://mcp.example.com/mcp --issuer https://auth.example.com \
//!     --jwks https://auth.example.com/jwks
//! ```
//!
//! The server listens at one address, and its metadata has the URL of the proxy in front of it,
//! which speaks TLS.

use std::error::Error;

use mcp_tokio::{
    ClaimRules, Context, HttpConfig, Implementation, JwtVerifier, ProtectedResource, Registry, Url,
    jwks, serve_http,
};
use tokio::net::TcpListener;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let required = |name: &str| option(name).ok_or_else(|| format!("{name} is missing"));
    let (url, issuer) = (required("--url")?, required("--issuer")?);
    let keys = Url::parse(&required("--jwks")?)?;

    let mut registry = Registry::new(Implementation::new("protected", env!("CARGO_PKG_VERSION")));
    registry.tool("whoami", "Says who asks", |_: Nothing, context: Context| async move {
        context.peer().principal.as_deref().unwrap_or("nobody").to_owned()
    })?;
    registry.tool("publish", "Publishes", |_: Nothing, _| async { "published" })?;
    registry.require_scopes("publish", "mcp:write")?;

    let mut config = HttpConfig::default();
    let resource = ProtectedResource::new(&url, &issuer)?.require_scopes("mcp:read");
    config.allowed_hosts.push(Url::parse(&url)?.host().into());
    config.protect(resource, JwtVerifier::new(ClaimRules::new(&issuer, &url), jwks(keys)));

    let listener = TcpListener::bind(required("--listen")?).await?;
    eprintln!("listening on {}, which is {url}", listener.local_addr()?);
    serve_http(listener, registry, config).await?;
    Ok(())
}
