//! The code of `docs/guide/sign-in.md`.

use std::error::Error;
use std::sync::Arc;

use mcp_tokio::auth::{
    AuthState, FileVault, IdentityProvider, Loopback, MemoryVault, Secret, SignIn,
};
use mcp_tokio::testing::{AuthServer, Pair};
use mcp_tokio::{Client, HttpClientConfig, HttpConfig, Implementation, Registry, Url};

/// Never run: it would ask a person.
#[expect(dead_code, reason = "it compiles, which is what the page needs")]
fn interactive() -> Result<HttpClientConfig, Box<dyn Error>> {
    let vault = FileVault::open("/home/me/.config/my-app/credentials")?;
    let sign_in = SignIn::new(vault)
        .consent(Loopback::new())
        .settings(|settings| settings.client_name("My app").scopes("files:read"));
    let config = HttpClientConfig::parse("https://mcp.example.com/mcp")?.sign_in(sign_in);
    Ok(config)
}

#[expect(dead_code, reason = "it compiles, which is what the page needs")]
fn unattended() -> Result<SignIn, Box<dyn Error>> {
    let vault = FileVault::open("/home/me/.config/my-app/credentials")?;
    let sign_in = SignIn::new(vault);
    Ok(sign_in)
}

#[expect(dead_code, reason = "it compiles, which is what the page needs")]
fn registered_by_hand(sign_in: SignIn) -> SignIn {
    sign_in.settings(|settings| {
        settings
            .client("https://login.example.com/tenant", "my-client-id", None)
            .redirect_uri("http://localhost/callback")
            // Its metadata does not say so, and it supports PKCE.
            .assumes_s256("https://login.example.com/tenant")
            // It refuses the parameter `resource`.
            .omits_resource()
    })
}

#[expect(dead_code, reason = "it compiles, which is what the page needs")]
fn of_a_service() -> Result<SignIn, Box<dyn Error>> {
    let vault = FileVault::open("/var/lib/my-service/credentials")?;
    let secret = std::env::var("CLIENT_SECRET")?;
    let sign_in = SignIn::new(vault).settings(move |settings| {
        settings
            .client("https://auth.example.com", "my-service", Some(&secret))
            .client_credentials()
    });
    Ok(sign_in)
}

#[expect(dead_code, reason = "it compiles, which is what the page needs")]
fn of_a_workload(sign_in: SignIn) {
    let sign_in = sign_in
        .subject(|issuer| async move { workload_token(&issuer) })
        .settings(|settings| settings.workload("https://auth.example.com"));
    drop(sign_in);
}

fn workload_token(issuer: &str) -> std::io::Result<Secret> {
    let token = std::fs::read_to_string("/run/tokens/mcp")?;
    Ok(Secret::new(format!("{token} for {issuer}")))
}

#[expect(dead_code, reason = "it compiles, which is what the page needs")]
fn of_a_company(sign_in: SignIn) {
    let sign_in = sign_in.subject(|_| async { id_token() }).settings(|settings| {
        let provider = IdentityProvider::new("https://idp.example.com/token", "my-app");
        settings.client("https://auth.example.com", "my-app-there", None).enterprise(provider)
    });
    drop(sign_in);
}

fn id_token() -> std::io::Result<Secret> {
    std::env::var("ID_TOKEN").map(|token| Secret::new(&token)).map_err(std::io::Error::other)
}

fn watch(client: &Client) {
    client.on_authorization(|state| match state {
        AuthState::Asking => eprintln!("please look at the browser"),
        AuthState::Ready { unsaved: Some(reason) } => eprintln!("not stored: {reason}"),
        AuthState::Failed(error) => eprintln!("no sign-in: {error}"),
        _ => {}
    });
}

#[test]
fn a_test_signs_in_without_sockets() -> Result<(), Box<dyn Error>> {
    let registry = Registry::new(Implementation::new("files", "1.0.0"));
    let server = AuthServer::new("http://localhost:9000", "http://localhost/mcp");
    let guard = server.clone();
    let mut protected = HttpConfig::default();
    protected.authorize = Some(Arc::new(move |head| guard.authorize(head)));
    let sign_in = SignIn::new(MemoryVault::new()).consent(server.browser());
    let config = HttpClientConfig::new(Url::parse("http://localhost/mcp")?).sign_in(sign_in);

    let mut pair = Pair::over_http(registry)
        .http_config(protected)
        .http_client_config(config)
        .auth_server(&server);
    let client = pair.client();
    watch(&client);
    pair.run(client.connected())?;
    assert_eq!(server.log().last().map(String::as_str), Some("POST /token"));
    Ok(())
}
