//! A simulated authorization server, and the token checks of the server that it protects.
//!
//! In: requests, heads of requests to the protected server, and failures on demand. Out: responses,
//! and verdicts about tokens.
//!
//! | request | answer |
//! |---|---|
//! | `GET /.well-known/oauth-protected-resource…` | metadata of the protected server |
//! | `GET /.well-known/oauth-authorization-server` | its own metadata |
//! | `POST /register` | a client |
//! | `GET /authorize` | 302 with a code, or with `access_denied` |
//! | `POST /token` | tokens, for one of the grants below |
//! | `POST /idp/token` | an assertion of the company's identity provider, for a [`subject`](AuthServer::subject) |
//!
//! | grant | for |
//! |---|---|
//! | `authorization_code` | a code, with its PKCE verifier |
//! | `refresh_token` | a refresh token |
//! | `client_credentials` | a [`client`](AuthServer::client), with its secret or its key |
//! | `jwt-bearer` | a [`workload`](AuthServer::workload); or an assertion of the identity provider, of a client |
//!
//! A code, a refresh token and an assertion of the identity provider are valid once. A refresh
//! token that is used twice revokes all tokens, as servers with reuse detection do. Signatures are
//! not checked.

mod answer;
mod assertions;
mod browser;
mod clients;
mod proofs;
mod tokens;

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_proto::Duration;
use mcp_proto::http::{Authorization, Head, Url};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::clock::Clock;
use super::form::{Params, encode, params};
use crate::auth::Consent;
use crate::lock::Lock;
use assertions::Assertions;
use browser::Browser;
use clients::{AuthClients, RequestClient};
use proofs::{ProofRules, ProvenRequest};
use tokens::{IssuedGrant, IssuedTokens};

pub use answer::AuthAnswer;

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// A simulated authorization server with its protected server. Cheap to clone. See the
/// [module](super).
#[derive(Clone, Debug)]
pub struct AuthServer(Arc<Lock<AuthServerState>>);

#[derive(Debug)]
struct AuthServerState {
    issuer: String,
    resource: String,
    clock: Clock,
    scopes: String,
    person: Person,
    failures: BTreeMap<String, VecDeque<AuthAnswer>>,
    clients: AuthClients,
    codes: BTreeMap<String, Grant>,
    tokens: IssuedTokens,
    proofs: ProofRules,
    assertions: Assertions,
    log: Vec<String>,
}

/// Behaviour of the person who sees the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Person {
    /// Signs in.
    Consents,
    /// Refuses.
    Refuses,
    /// Leaves the page open, without an answer.
    Leaves,
}

#[derive(Debug)]
struct Grant {
    challenge: String,
    redirect_uri: String,
    scope: String,
}

impl AuthServer {
    /// An authorization server with this issuer, which protects the server at the URL `resource`.
    /// By default access tokens are valid for 1 hour, clients may register, and refresh tokens are
    /// issued.
    pub fn new(issuer: &str, resource: &str) -> Self {
        Self(Arc::new(Lock::new(AuthServerState {
            issuer: issuer.into(),
            resource: resource.into(),
            clock: Clock::default(),
            scopes: String::new(),
            person: Person::Consents,
            failures: BTreeMap::new(),
            clients: AuthClients::new(),
            codes: BTreeMap::new(),
            tokens: IssuedTokens::new(),
            proofs: ProofRules::default(),
            assertions: Assertions::default(),
            log: Vec::new(),
        })))
    }

    /// Sets the clock for the expiry of tokens: that of a [`Pair`](super::Pair).
    pub fn clock(self, clock: Clock) -> Self {
        self.0.lock().clock = clock;
        self
    }

    /// Sets the scopes that the protected server supports, separated by spaces.
    pub fn scopes(self, scopes: &str) -> Self {
        self.0.lock().scopes = scopes.into();
        self
    }

    /// Sets the lifetime of access tokens; default 1 hour.
    pub fn lifetime(self, lifetime: Duration) -> Self {
        self.0.lock().tokens.lifetime = lifetime;
        self
    }

    /// Issues no refresh tokens.
    pub fn without_refresh_tokens(self) -> Self {
        self.0.lock().tokens.gives_refresh_tokens = false;
        self
    }

    /// Refuses registration of clients.
    pub fn without_registration(self) -> Self {
        self.0.lock().clients.registers = false;
        self
    }

    /// Adds a pre-registered client. A client without a secret authenticates with
    /// `private_key_jwt`.
    pub fn client(self, id: &str, secret: Option<&str>) -> Self {
        self.0.lock().clients.add(id, secret);
        self
    }

    /// Adds the token of a person, which the identity provider of a company exchanges at
    /// `/idp/token` for an assertion.
    pub fn subject(self, token: &str) -> Self {
        self.0.lock().assertions.add_subject(token);
        self
    }

    /// Adds the token of a workload, which the token endpoint accepts as an assertion.
    pub fn workload(self, token: &str) -> Self {
        self.0.lock().assertions.add_workload(token);
        self
    }

    /// Binds tokens to the keys of clients; challenges use the scheme `DPoP`.
    pub fn binds_tokens(self) -> Self {
        self.0.lock().proofs.binds = true;
        self
    }

    /// Requires a new nonce in proofs at the token endpoint from now on.
    pub fn renew_nonce(&self) {
        self.0.lock().proofs.renew_nonce();
    }

    /// Sets the behaviour of the person who sees the page.
    pub fn set_person(&self, person: Person) {
        self.0.lock().person = person;
    }

    /// Answers the next request to a path with this status.
    pub fn fail_next(&self, path: &str, status: u16) {
        self.0.lock().fail_next(path, AuthAnswer::new(status, ""));
    }

    /// Refuses the next request to a path with this error code, such as `invalid_client`. With
    /// `use_dpop_nonce` the response has a nonce.
    pub fn refuse_next(&self, path: &str, error: &str) {
        let nonce = (error == "use_dpop_nonce").then(|| String::from("refused"));
        let answer = AuthAnswer { nonce, ..AuthAnswer::error(error) };
        self.0.lock().fail_next(path, answer);
    }

    /// Invalidates all access tokens.
    pub fn expire_tokens(&self) {
        self.0.lock().tokens.expire();
    }

    /// Invalidates all access tokens and refresh tokens.
    pub fn revoke(&self) {
        self.0.lock().tokens.revoke();
    }

    /// Removes the clients that have registered.
    pub fn forget_clients(&self) {
        self.0.lock().clients.forget();
    }

    /// The methods and paths of all requests, in order.
    pub fn log(&self) -> Vec<String> {
        self.0.lock().log.clone()
    }

    /// A simulated browser with the person, as a [`Consent`].
    pub fn browser(&self) -> impl Consent + use<> {
        let server = self.clone();
        Browser::new(move |page| {
            let answer = server.answer("GET", &page.url, "");
            (server.0.lock().person != Person::Leaves).then_some(answer)
        })
    }

    /// Answers a request without headers, to the authorization server or for metadata of the
    /// protected server.
    pub fn answer(&self, method: &str, url: &Url, body: &str) -> AuthAnswer {
        self.answer_to(&Head::new(method, url.target()), url, body)
    }

    /// Answers a request with the headers `Authorization` and `DPoP` of `head`.
    pub fn answer_to(&self, head: &Head, url: &Url, body: &str) -> AuthAnswer {
        let target = url.target();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let method = head.method();
        let mut state = self.0.lock();
        state.log.push(format!("{method} {path}"));
        if let Some(answer) = state.failures.get_mut(path).and_then(VecDeque::pop_front) {
            return answer;
        }
        match (method, path) {
            ("GET", "/.well-known/oauth-authorization-server") => state.metadata(),
            ("GET", _) if path.starts_with("/.well-known/oauth-protected-resource") => {
                state.resource_metadata()
            }
            ("GET", "/authorize") => state.authorize(&params(query)),
            ("POST", "/register") if state.clients.registers => {
                let id = state.tokens.text("client");
                state.clients.register(id, body)
            }
            ("POST", "/idp/token") => state.exchange(&params(body)),
            ("POST", "/token") => state.token(&params(body), head),
            _ => AuthAnswer::new(404, ""),
        }
    }

    /// The verdict about a request to the protected server, for
    /// [`http::Config::authorize`](mcp_proto::http::Config::authorize). The principal is `person`.
    pub fn authorize(&self, head: &Head) -> Authorization {
        self.authorize_for(head, "")
    }

    /// The verdict about a request that needs scopes, separated by spaces.
    pub fn authorize_for(&self, head: &Head, scopes: &str) -> Authorization {
        self.0.lock().check_token(head, scopes)
    }
}

impl AuthServerState {
    fn fail_next(&mut self, path: &str, answer: AuthAnswer) {
        self.failures.entry(path.into()).or_default().push_back(answer);
    }

    fn metadata(&self) -> AuthAnswer {
        let issuer = &self.issuer;
        let mut metadata = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
            "token_endpoint_auth_methods_supported": self.clients.methods(),
        });
        if self.clients.registers
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

    fn authorize(&mut self, params: &Params) -> AuthAnswer {
        let text = |name: &str| params.get(name).cloned().unwrap_or_default();
        let redirect_uri = text("redirect_uri");
        let is_known = self.clients.is_known(&text("client_id"));
        if !is_known || redirect_uri.is_empty() || text("code_challenge_method") != "S256" {
            return AuthAnswer::error("invalid_request");
        }
        let answer = if self.person == Person::Consents {
            let code = self.tokens.text("code");
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

    /// The token endpoint of the identity provider.
    fn exchange(&mut self, params: &Params) -> AuthAnswer {
        let assertion = self.tokens.text("assertion");
        self.assertions.exchange(params, (&self.issuer, &self.resource), &assertion)
    }

    /// The token endpoint.
    fn token(&mut self, params: &Params, head: &Head) -> AuthAnswer {
        let client = self.clients.identify(params, text(head, "Authorization"), &self.issuer);
        let Some(client) = client else { return AuthAnswer::error("invalid_client") };
        let mut key = None;
        if self.proofs.binds {
            let url = format!("{}/token", self.issuer);
            let request = ProvenRequest { method: head.method(), url: &url, token: None };
            match self.proofs.check(text(head, "DPoP"), &request) {
                Ok(name) => key = Some(name),
                Err(error) => {
                    return AuthAnswer { nonce: self.proofs.nonce(), ..AuthAnswer::error(error) };
                }
            }
        }
        match self.granted(params, &client) {
            Ok((scope, may_refresh)) => {
                let grant = IssuedGrant { scope, key, may_refresh };
                self.tokens.issue(self.clock.now(), grant)
            }
            Err(error) => AuthAnswer::error(error),
        }
    }

    /// The scopes of a grant, and whether it may be refreshed. Fails with an error code.
    fn granted(
        &mut self,
        params: &Params,
        client: &RequestClient,
    ) -> Result<(String, bool), &'static str> {
        let text = |name: &str| params.get(name).map_or("", String::as_str);
        let grant_type = text("grant_type");
        if grant_type == JWT_BEARER
            && let Some(scope) = self.assertions.redeem(text("assertion"))
        {
            let is_proved = *client == RequestClient::Proved;
            return is_proved.then_some((scope, false)).ok_or("invalid_client");
        }
        if text("resource") != self.resource {
            return Err("invalid_target");
        }
        let scope = match grant_type {
            "authorization_code" => self.redeem(params),
            "refresh_token" if self.clients.are_gone() => return Err("invalid_client"),
            "refresh_token" => self.tokens.redeem(text("refresh_token")),
            "client_credentials" if *client == RequestClient::Proved => Some(text("scope").into()),
            "client_credentials" => return Err("invalid_client"),
            JWT_BEARER if *client != RequestClient::Absent => return Err("invalid_client"),
            JWT_BEARER => {
                let is_known = self.assertions.has_workload(text("assertion"));
                is_known.then(|| text("scope").into())
            }
            _ => return Err("unsupported_grant_type"),
        };
        let may_refresh = matches!(grant_type, "authorization_code" | "refresh_token");
        scope.map(|scope| (scope, may_refresh)).ok_or("invalid_grant")
    }

    /// Redeems a code; returns its scopes.
    fn redeem(&mut self, params: &Params) -> Option<String> {
        let text = |name: &str| params.get(name).map_or("", String::as_str);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(text("code_verifier").as_bytes()));
        let grant = self.codes.remove(text("code")).filter(|grant| {
            grant.challenge == challenge && grant.redirect_uri == text("redirect_uri")
        });
        grant.map(|grant| grant.scope)
    }

    /// The verdict about a request to the protected server.
    fn check_token(&mut self, head: &Head, scopes: &str) -> Authorization {
        let scheme = if self.proofs.binds { "DPoP" } else { "Bearer" };
        let place = format!("{}/.well-known/oauth-protected-resource", self.issuer);
        let metadata = format!("resource_metadata=\"{place}\"");
        let given = text(head, "Authorization").and_then(|it| it.split_once(' '));
        let Some((_, token)) = given.filter(|(own, _)| *own == scheme) else {
            return Authorization::Unauthorized(format!("{scheme} {metadata}"));
        };
        let invalid = |error: &str| {
            Authorization::Unauthorized(format!("{scheme} error=\"{error}\", {metadata}"))
        };
        let mut key = None;
        if self.proofs.binds {
            let url = self.resource.split('?').next().unwrap_or_default();
            let request = ProvenRequest { method: head.method(), url, token: Some(token) };
            match self.proofs.check(text(head, "DPoP"), &request) {
                Ok(name) => key = Some(name),
                Err(error) => return invalid(error),
            }
        }
        let granted = self.tokens.check(self.clock.now(), token, key.as_deref());
        let Some(granted) = granted else { return invalid("invalid_token") };
        let has = |scope: &str| granted.split(' ').any(|own| own == scope);
        if scopes.split_whitespace().all(has) {
            return Authorization::Allow(Some("person".into()));
        }
        let error = format!("{scheme} error=\"insufficient_scope\", scope=\"{scopes}\"");
        Authorization::Forbidden(error)
    }
}

/// The value of a header, if it is UTF-8.
fn text<'a>(head: &'a Head, name: &str) -> Option<&'a str> {
    head.field(name).and_then(|value| core::str::from_utf8(value).ok())
}
