//! Clients of an authorization server, and their authentication.
//!
//! In: registrations, and requests to the token endpoint. Out: the client of a request.
//!
//! | client | authenticates with |
//! |---|---|
//! | registered by itself | its id |
//! | added with a secret | `client_secret_basic` or `client_secret_post` |
//! | added without a secret | `private_key_jwt` |
//!
//! Claims of assertions are checked, signatures are not: a server for tests needs no cryptography.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::form::{Params, decode};
use super::answer::AuthAnswer;
use super::proofs::claims;

/// The clients, and the assertions that were received.
#[derive(Debug)]
pub(super) struct AuthClients {
    pub(super) registers: bool,
    registered: BTreeSet<String>,
    /// Secrets by id; `None` for a client with a key.
    added: BTreeMap<String, Option<String>>,
    assertions: BTreeSet<String>,
}

/// The client of a request to the token endpoint.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum RequestClient {
    /// It is authenticated.
    Proved,
    /// It has only an id.
    Named(String),
    /// The request names no client.
    Absent,
}

impl AuthClients {
    /// No clients; they may register.
    pub(super) fn new() -> Self {
        Self {
            registers: true,
            registered: BTreeSet::new(),
            added: BTreeMap::new(),
            assertions: BTreeSet::new(),
        }
    }

    pub(super) fn add(&mut self, id: &str, secret: Option<&str>) {
        self.added.insert(id.into(), secret.map(String::from));
    }

    /// Registers a client under this id.
    pub(super) fn register(&mut self, id: String, body: &str) -> AuthAnswer {
        let Ok(Value::Object(request)) = serde_json::from_str(body) else {
            return AuthAnswer::error("invalid_client_metadata");
        };
        let uris = request.get("redirect_uris").cloned().unwrap_or_default();
        let client = json!({
            "client_id": id, "redirect_uris": uris, "token_endpoint_auth_method": "none",
        });
        self.registered.insert(id);
        AuthAnswer::new(201, &client.to_string())
    }

    pub(super) fn forget(&mut self) {
        self.registered.clear();
    }

    /// Returns whether clients must register, and none is registered or added.
    pub(super) fn are_gone(&self) -> bool {
        self.registers && self.registered.is_empty() && self.added.is_empty()
    }

    /// Returns whether the page is shown for this client.
    pub(super) fn is_known(&self, id: &str) -> bool {
        !self.registers || self.registered.contains(id) || self.added.contains_key(id)
    }

    /// The methods of authentication, for the metadata.
    pub(super) fn methods(&self) -> Vec<&'static str> {
        let mut methods = Vec::from(["none"]);
        if self.added.values().any(Option::is_some) {
            methods.extend(["client_secret_basic", "client_secret_post"]);
        }
        if self.added.values().any(Option::is_none) {
            methods.push("private_key_jwt");
        }
        methods
    }

    /// The client of a request; `None` if its authentication fails.
    pub(super) fn identify(
        &mut self,
        params: &Params,
        authorization: Option<&str>,
        issuer: &str,
    ) -> Option<RequestClient> {
        let text = |name: &str| params.get(name).map(String::as_str);
        if let Some(authorization) = authorization {
            let pair = STANDARD.decode(authorization.strip_prefix("Basic ")?).ok()?;
            let pair = String::from_utf8(pair).ok()?;
            let (id, secret) = pair.split_once(':')?;
            return self.prove(&decode(id), &decode(secret));
        }
        if let Some(secret) = text("client_secret") {
            return self.prove(text("client_id")?, secret);
        }
        if let Some(assertion) = text("client_assertion") {
            let (_, claims) = claims(assertion)?;
            let claim = |name: &str| claims.get(name).and_then(Value::as_str).unwrap_or_default();
            let is_good = matches!(self.added.get(claim("iss")), Some(None))
                && claim("sub") == claim("iss")
                && claim("aud") == issuer
                && self.assertions.insert(claim("jti").to_string());
            return is_good.then_some(RequestClient::Proved);
        }
        Some(text("client_id").map_or(RequestClient::Absent, |id| RequestClient::Named(id.into())))
    }

    fn prove(&self, id: &str, secret: &str) -> Option<RequestClient> {
        let known = self.added.get(id)?.as_deref()?;
        (known == secret).then_some(RequestClient::Proved)
    }
}
