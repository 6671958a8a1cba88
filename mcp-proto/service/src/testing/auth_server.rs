//! An authorization server, and the checks of the server that it protects, without sockets.
//!
//! In: requests to it, heads of requests to the protected server, and failures on demand. Out: answers,
//! and verdicts about tokens.
//!
//! | request | answer |
//! |---|---|
//! | `GET /.well-known/oauth-protected-resource…` | metadata of the protected server |
//! | `GET /.well-known/oauth-authorization-server` | its own metadata |
//! | `POST /register` | a client |
//! | `GET /authorize` | 302 with a code, or with `access_denied` |
//! | `POST /token` | tokens, for a code with its PKCE verifier or for a refresh token |
//!
//! A code and a refresh token are good once. A refresh token that comes a second time revokes all
//! tokens, as servers with reuse detection do.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::future::{pending, ready};
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_proto::auth::ConsentPage;
use mcp_proto::http::{Authorization, Head, Url};
use mcp_proto::{Duration, Instant};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::clock::Clock;
use super::form::{Params, encode, params};
use crate::auth::{AuthFuture, Consent, PendingConsent};
use crate::lock::Lock;

/// An authorization server and its protected server, cheap to clone. See the [module](super).
#[derive(Clone, Debug)]
pub struct AuthServer(Arc<Lock<AuthServerState>>);

#[derive(Debug)]
struct AuthServerState {
    issuer: String,
    resource: String,
    clock: Clock,
    scopes: String,
    lifetime: Duration,
    gives_refresh_tokens: bool,
    registers: bool,
    person: Person,
    failures: BTreeMap<String, VecDeque<u16>>,
    clients: Vec<String>,
    codes: BTreeMap<String, Grant>,
    tokens: BTreeMap<String, Token>,
    /// Refresh tokens with their scopes; `None` for one that was used.
    refresh_tokens: BTreeMap<String, Option<String>>,
    serials: u64,
    log: Vec<String>,
}

/// A person in front of the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Person {
    /// Signs in.
    Consents,
    /// Says no.
    Refuses,
    /// Leaves the page open.
    Leaves,
}

/// An answer to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuthAnswer {
    /// The status.
    pub status: u16,
    /// The value of `Location`, if there is one.
    pub location: Option<String>,
    /// The body: JSON, or nothing.
    pub body: String,
}

#[derive(Debug)]
struct Grant {
    challenge: String,
    redirect_uri: String,
    scope: String,
}

#[derive(Debug)]
struct Token {
    scope: String,
    expires_at: Instant,
}

impl AuthServer {
    /// An authorization server with this issuer, which protects the server at this URL. Access tokens
    /// live for an hour, clients may register, and there are refresh tokens.
    pub fn new(issuer: &str, resource: &str) -> Self {
        Self(Arc::new(Lock::new(AuthServerState {
            issuer: issuer.into(),
            resource: resource.into(),
            clock: Clock::default(),
            scopes: String::new(),
            lifetime: Duration::from_secs(3600),
            gives_refresh_tokens: true,
            registers: true,
            person: Person::Consents,
            failures: BTreeMap::new(),
            clients: Vec::new(),
            codes: BTreeMap::new(),
            tokens: BTreeMap::new(),
            refresh_tokens: BTreeMap::new(),
            serials: 0,
            log: Vec::new(),
        })))
    }

    /// Lets tokens expire by the time of a [`Pair`](super::Pair).
    pub fn clock(self, clock: Clock) -> Self {
        self.0.lock().clock = clock;
        self
    }

    /// Sets the scopes that the protected server supports, with blanks between them.
    pub fn scopes(self, scopes: &str) -> Self {
        self.0.lock().scopes = scopes.into();
        self
    }

    /// Sets the lifetime of access tokens.
    pub fn lifetime(self, lifetime: Duration) -> Self {
        self.0.lock().lifetime = lifetime;
        self
    }

    /// Gives no refresh tokens.
    pub fn without_refresh_tokens(self) -> Self {
        self.0.lock().gives_refresh_tokens = false;
        self
    }

    /// Registers no clients.
    pub fn without_registration(self) -> Self {
        self.0.lock().registers = false;
        self
    }

    /// Sets the person in front of the page.
    pub fn set_person(&self, person: Person) {
        self.0.lock().person = person;
    }

    /// Answers the next request to a path with this status.
    pub fn fail_next(&self, path: &str, status: u16) {
        self.0.lock().failures.entry(path.into()).or_default().push_back(status);
    }

    /// Refuses all access tokens from now on.
    pub fn expire_tokens(&self) {
        self.0.lock().tokens.clear();
    }

    /// Refuses all access tokens and refresh tokens from now on.
    pub fn revoke(&self) {
        self.0.lock().revoke();
    }

    /// Forgets the clients that have registered.
    pub fn forget_clients(&self) {
        self.0.lock().clients.clear();
    }

    /// The methods and paths of the requests to it, in order.
    pub fn log(&self) -> Vec<String> {
        self.0.lock().log.clone()
    }

    /// A browser with the person, which goes to the page without a socket.
    pub fn browser(&self) -> impl Consent + use<> {
        Browser(self.clone())
    }

    /// Answers a request to the authorization server, or for metadata of the protected server.
    pub fn answer(&self, method: &str, url: &Url, body: &str) -> AuthAnswer {
        let target = url.target();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut state = self.0.lock();
        state.log.push(format!("{method} {path}"));
        if let Some(status) = state.failures.get_mut(path).and_then(VecDeque::pop_front) {
            return AuthAnswer::new(status, "");
        }
        match (method, path) {
            ("GET", "/.well-known/oauth-authorization-server") => state.metadata(),
            ("GET", _) if path.starts_with("/.well-known/oauth-protected-resource") => {
                state.resource_metadata()
            }
            ("GET", "/authorize") => state.authorize(&params(query)),
            ("POST", "/register") if state.registers => state.register(body),
            ("POST", "/token") => state.token(&params(body)),
            _ => AuthAnswer::new(404, ""),
        }
    }

    /// The verdict about a request to the protected server; a function for
    /// [`http::Config::authorize`](mcp_proto::http::Config::authorize). The principal is `person`.
    pub fn authorize(&self, head: &Head) -> Authorization {
        let state = self.0.lock();
        let given = head.field("Authorization").and_then(|it| core::str::from_utf8(it).ok());
        let token = given.and_then(|given| given.strip_prefix("Bearer "));
        let metadata = format!("resource_metadata=\"{}\"", state.metadata_url());
        let now = state.clock.now();
        match token.map(|token| state.tokens.get(token)) {
            None => Authorization::Unauthorized(format!("Bearer {metadata}")),
            Some(Some(token)) if now < token.expires_at => {
                Authorization::Allow(Some("person".into()))
            }
            Some(_) => {
                Authorization::Unauthorized(format!("Bearer error=\"invalid_token\", {metadata}"))
            }
        }
    }

    /// The same for an operation that needs scopes, with blanks between them.
    pub fn authorize_for(&self, head: &Head, scopes: &str) -> Authorization {
        let verdict = self.authorize(head);
        let given = head.field("Authorization").and_then(|it| core::str::from_utf8(it).ok());
        let token = given.and_then(|given| given.strip_prefix("Bearer "));
        let state = self.0.lock();
        let granted = token.and_then(|token| state.tokens.get(token));
        let granted = granted.map_or("", |token| token.scope.as_str());
        let has = |scope: &str| granted.split(' ').any(|own| own == scope);
        match verdict {
            Authorization::Allow(_) if !scopes.split(' ').all(has) => Authorization::Forbidden(
                format!("Bearer error=\"insufficient_scope\", scope=\"{scopes}\""),
            ),
            verdict => verdict,
        }
    }
}

impl AuthServerState {
    fn metadata(&self) -> AuthAnswer {
        let issuer = &self.issuer;
        let mut metadata = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
            "token_endpoint_auth_methods_supported": ["none"],
        });
        if self.registers
            && let Some(members) = metadata.as_object_mut()
        {
            members.insert("registration_endpoint".into(), format!("{issuer}/register").into());
        }
        AuthAnswer::new(200, &metadata.to_string())
    }

    fn resource_metadata(&self) -> AuthAnswer {
        let scopes: Vec<&str> = self.scopes.split_whitespace().collect();
        let metadata = json!({
            "resource": self.resource,
            "authorization_servers": [self.issuer],
            "scopes_supported": scopes,
        });
        AuthAnswer::new(200, &metadata.to_string())
    }

    fn metadata_url(&self) -> String {
        format!("{}/.well-known/oauth-protected-resource", self.issuer)
    }

    fn register(&mut self, body: &str) -> AuthAnswer {
        let Ok(Value::Object(request)) = serde_json::from_str(body) else {
            return AuthAnswer::error("invalid_client_metadata");
        };
        let id = self.text("client");
        self.clients.push(id.clone());
        let uris = request.get("redirect_uris").cloned().unwrap_or_default();
        let client = json!({
            "client_id": id, "redirect_uris": uris, "token_endpoint_auth_method": "none",
        });
        AuthAnswer::new(201, &client.to_string())
    }

    fn authorize(&mut self, params: &Params) -> AuthAnswer {
        let text = |name: &str| params.get(name).cloned().unwrap_or_default();
        let redirect_uri = text("redirect_uri");
        let is_known = !self.registers || self.clients.contains(&text("client_id"));
        if !is_known || redirect_uri.is_empty() || text("code_challenge_method") != "S256" {
            return AuthAnswer::error("invalid_request");
        }
        let answer = if self.person == Person::Consents {
            let code = self.text("code");
            let grant = Grant {
                challenge: text("code_challenge"),
                redirect_uri: redirect_uri.clone(),
                scope: text("scope"),
            };
            self.codes.insert(code.clone(), grant);
            format!("code={code}")
        } else {
            "error=access_denied".to_owned()
        };
        let (state, issuer) = (encode(&text("state")), encode(&self.issuer));
        let location = format!("{redirect_uri}?{answer}&state={state}&iss={issuer}");
        AuthAnswer { location: Some(location), ..AuthAnswer::new(302, "") }
    }

    fn token(&mut self, params: &Params) -> AuthAnswer {
        let text = |name: &str| params.get(name).map_or("", String::as_str);
        if text("resource") != self.resource {
            return AuthAnswer::error("invalid_target");
        }
        let scope = match text("grant_type") {
            "authorization_code" => {
                let verifier = Sha256::digest(text("code_verifier").as_bytes());
                let challenge = URL_SAFE_NO_PAD.encode(verifier);
                let grant = self.codes.remove(text("code")).filter(|grant| {
                    grant.challenge == challenge && grant.redirect_uri == text("redirect_uri")
                });
                grant.map(|grant| grant.scope)
            }
            "refresh_token" if self.registers && self.clients.is_empty() => {
                return AuthAnswer::new(401, r#"{"error":"invalid_client"}"#);
            }
            "refresh_token" => match self.refresh_tokens.get_mut(text("refresh_token")) {
                Some(scope @ Some(_)) => scope.take(),
                Some(None) => {
                    self.revoke();
                    None
                }
                None => None,
            },
            _ => return AuthAnswer::error("unsupported_grant_type"),
        };
        match scope {
            Some(scope) => self.issue(scope),
            None => AuthAnswer::error("invalid_grant"),
        }
    }

    fn issue(&mut self, scope: String) -> AuthAnswer {
        let access_token = self.text("access");
        let expires_at = self.clock.now() + self.lifetime;
        self.tokens.insert(access_token.clone(), Token { scope: scope.clone(), expires_at });
        let mut answer = json!({
            "access_token": access_token, "token_type": "Bearer",
            "expires_in": self.lifetime.as_secs(), "scope": scope,
        });
        if self.gives_refresh_tokens
            && let Some(members) = answer.as_object_mut()
        {
            let refresh_token = self.text("refresh");
            self.refresh_tokens.insert(refresh_token.clone(), Some(scope));
            members.insert("refresh_token".into(), refresh_token.into());
        }
        AuthAnswer::new(200, &answer.to_string())
    }

    fn revoke(&mut self) {
        self.tokens.clear();
        self.refresh_tokens.clear();
    }

    /// A text that nothing else has.
    fn text(&mut self, name: &str) -> String {
        self.serials += 1;
        format!("{name}-{}", self.serials)
    }
}

impl AuthAnswer {
    fn new(status: u16, body: &str) -> Self {
        Self { status, location: None, body: body.into() }
    }

    fn error(error: &str) -> Self {
        Self::new(400, &json!({ "error": error }).to_string())
    }
}

struct Browser(AuthServer);

impl Consent for Browser {
    fn prepare(
        &self,
        redirect_uri: &str,
        _: Option<u16>,
    ) -> AuthFuture<io::Result<Box<dyn PendingConsent>>> {
        let tab = Tab { server: self.0.clone(), redirect_uri: redirect_uri.into() };
        Box::pin(ready(Ok(Box::new(tab) as Box<dyn PendingConsent>)))
    }
}

struct Tab {
    server: AuthServer,
    redirect_uri: String,
}

impl PendingConsent for Tab {
    fn redirect_uri(&self) -> String {
        self.redirect_uri.clone()
    }

    fn ask(&mut self, page: ConsentPage) -> AuthFuture<Result<String, String>> {
        let answer = self.server.answer("GET", &page.url, "");
        if self.server.0.lock().person == Person::Leaves {
            return Box::pin(pending());
        }
        Box::pin(ready(answer.location.ok_or(answer.body)))
    }
}
