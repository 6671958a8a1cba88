//! Settings of an authorizer.
//!
//! In: the URL of the server, registrations of the client, and exceptions that an application
//! allows. Out: the settings for each issuer.

use alloc::string::String;
use alloc::vec::Vec;

use super::client_document::ClientDocument;
use super::grant_kind::GrantKind;
use super::identity_provider::IdentityProvider;
use super::issuer_binding::IssuerBinding;
use super::jwt::ProofKey;
use super::metadata::IssuerMetadata;
use super::policy::UrlPolicy;
use super::record::ServerRecord;
use super::registration::{AuthMethod, Preset, RegisteredClient};
use super::scopes::Scopes;
use super::secret::Secret;
use crate::url::Url;

/// The settings for one server.
///
/// ```
/// use mcp_proto::auth::Config;
/// use mcp_proto::http::Url;
///
/// let config = Config::new(Url::parse("https://mcp.example.com/mcp")?)
///     .client_name("editor")
///     .client("https://auth.example.com", "id", Some("secret"))
///     .scopes("files:read");
/// # Ok::<(), mcp_proto::http::UrlError>(())
/// ```
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent setting")]
pub struct Config {
    pub(super) server: Url,
    pub(super) policy: UrlPolicy,
    pub(super) redirect_uri: String,
    pub(super) client_name: String,
    clients: Vec<PresetClient>,
    document: Option<ClientDocument>,
    pub(super) scopes: Scopes,
    s256_issuers: Vec<String>,
    pub(super) accepted_issuers: Vec<(String, String)>,
    profile: Option<String>,
    pub(super) omits_resource: bool,
    pub(super) repeats_scopes: bool,
    pub(super) guesses_endpoints: bool,
    pub(super) unattended: bool,
    pub(super) grant: GrantKind,
    workload: IssuerBinding,
    pub(super) provider: Option<IdentityProvider>,
    pub(super) client_key: Option<ClientKey>,
    pub(super) proof_key: Option<ProofKey>,
}

/// A key with which the client authenticates.
#[derive(Clone, Debug)]
pub(super) struct ClientKey {
    /// The name of the key, for the header of an assertion.
    pub(super) id: Option<String>,
}

/// A client that was registered by hand.
#[derive(Clone, Debug)]
struct PresetClient {
    binding: IssuerBinding,
    id: String,
    secret: Option<Secret>,
    method: Option<AuthMethod>,
}

impl Config {
    /// Settings with the redirect URI `http://127.0.0.1/callback` and no client.
    pub fn new(server: Url) -> Self {
        Self {
            policy: UrlPolicy::new(server.clone()),
            server,
            redirect_uri: "http://127.0.0.1/callback".into(),
            client_name: "MCP client".into(),
            clients: Vec::new(),
            document: None,
            scopes: Scopes::none(),
            s256_issuers: Vec::new(),
            accepted_issuers: Vec::new(),
            profile: None,
            omits_resource: false,
            repeats_scopes: false,
            guesses_endpoints: false,
            unattended: false,
            grant: GrantKind::Code,
            workload: IssuerBinding::default(),
            provider: None,
            client_key: None,
            proof_key: None,
        }
    }

    /// Sets the redirect URI. A loopback URI needs no port: without one, the listener chooses it.
    /// Some authorization servers only accept `http://localhost/…`, others only
    /// `http://127.0.0.1/…`.
    ///
    /// A sign-in fails with [`AuthError::RedirectUri`](super::AuthError::RedirectUri) if the scheme
    /// is `http` and the host is not this machine. A scheme that is private to the application,
    /// such as `com.example.app:/callback`, is allowed ([RFC 8252, section
    /// 7.1](https://www.rfc-editor.org/rfc/rfc8252#section-7.1)).
    pub fn redirect_uri(mut self, uri: &str) -> Self {
        self.redirect_uri = uri.into();
        self
    }

    /// Sets the name that a person reads on the page of the authorization server.
    pub fn client_name(mut self, name: &str) -> Self {
        self.client_name = name.into();
        self
    }

    /// Adds a client that was registered by hand at this issuer. The client is never used at
    /// another issuer.
    pub fn client(mut self, issuer: &str, id: &str, secret: Option<&str>) -> Self {
        self.add_client(Some(issuer), id, secret, None);
        self
    }

    /// Adds a client that was registered by hand, for the issuer that the server names. Use this
    /// only for a server that you trust with the secret; prefer [`client`](Self::client).
    ///
    /// The client belongs to the first issuer at which it is used; the record of the tokens names
    /// this issuer. If the server names another issuer later, a sign-in fails with
    /// [`AuthError::ClientOfAnotherIssuer`](super::AuthError::ClientOfAnotherIssuer), until the
    /// authorization is [forgotten](super::Authorizer::forget).
    pub fn client_of_server(mut self, id: &str, secret: Option<&str>) -> Self {
        self.add_client(None, id, secret, None);
        self
    }

    /// Does the same as [`client`](Self::client), with a method of authentication at the token
    /// endpoint.
    pub fn client_with_method(
        mut self,
        issuer: &str,
        id: &str,
        secret: Option<&str>,
        method: AuthMethod,
    ) -> Self {
        self.add_client(Some(issuer), id, secret, Some(method));
        self
    }

    /// Sets the URL of a client metadata document and its redirect URIs. Ports of loopback redirect
    /// URIs are ignored.
    ///
    /// [Specification: Client ID Metadata
    /// Documents](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#client-id-metadata-documents)
    pub fn client_metadata<'a>(
        mut self,
        url: &str,
        redirect_uris: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let redirect_uris = redirect_uris.into_iter().map(String::from).collect();
        self.document = Some(ClientDocument { url: url.into(), redirect_uris });
        self
    }

    /// Sets scopes that are always requested, separated by spaces.
    pub fn scopes(mut self, scopes: &str) -> Self {
        self.scopes = Scopes::words(scopes);
        self
    }

    /// Allows endpoints at this host even if its address is private, such as an identity provider
    /// in an internal network.
    pub fn allow_host(mut self, host: &str) -> Self {
        self.policy = self.policy.allow_host(host);
        self
    }

    /// Allows `http` for this host, which is not on this machine, such as the server's own behind
    /// an encrypted tunnel. Without encryption, whoever is on the way reads secrets and tokens, and
    /// chooses the authorization server. By the specification, all endpoints of an authorization
    /// server MUST use `https`.
    pub fn allow_http(mut self, host: &str) -> Self {
        self.policy = self.policy.allow_http(host);
        self
    }

    /// Assumes that this issuer supports PKCE with `S256`, although its metadata does not list
    /// `S256`.
    pub fn assumes_s256(mut self, issuer: &str) -> Self {
        self.s256_issuers.push(issuer.into());
        self
    }

    /// Accepts metadata whose issuer differs from the requested issuer, for example without a
    /// trailing slash. A [`client`](Self::client) of this issuer may have either name.
    pub fn accepts_issuer(mut self, expected: &str, stated: &str) -> Self {
        self.accepted_issuers.push((expected.into(), stated.into()));
        self
    }

    /// Omits the parameter `resource`, for issuers that reject it. By the specification, clients
    /// MUST send the parameter.
    pub fn omits_resource(mut self) -> Self {
        self.omits_resource = true;
        self
    }

    /// Sends the granted scopes with each refresh, for issuers that otherwise refuse the refresh or
    /// issue a token with other scopes. These are the scopes in the answer to the sign-in, and the
    /// requested scopes if the answer has none. A requested `offline_access` is sent even if the
    /// answer leaves it out. Some issuers refuse the parameter.
    ///
    /// [RFC 6749, section 6](https://www.rfc-editor.org/rfc/rfc6749#section-6)
    pub fn repeats_scopes(mut self) -> Self {
        self.repeats_scopes = true;
        self
    }

    /// Uses `/authorize`, `/token` and `/register` at a server without metadata, like clients of
    /// 2025-03-26. Metadata at the server's origin then need not list `S256`.
    pub fn guesses_endpoints(mut self) -> Self {
        self.guesses_endpoints = true;
        self
    }

    /// Declares that there is no person: an authorization that needs a person fails at once.
    pub fn unattended(mut self) -> Self {
        self.unattended = true;
        self
    }

    /// Lets the client get tokens with its own credentials. The client does so if there is no
    /// person ([`unattended`](Self::unattended)), or if the authorization server issues no codes.
    /// The grant needs [`client`](Self::client), with a secret or with
    /// [`signs_assertions`](Self::signs_assertions).
    ///
    /// [Specification: OAuth Client
    /// Credentials](https://modelcontextprotocol.io/extensions/auth/oauth-client-credentials)
    pub fn client_credentials(mut self) -> Self {
        self.grant = GrantKind::ClientCredentials;
        self
    }

    /// Uses a person's sign-in at the identity provider of a company; no person is asked again. The
    /// application supplies the ID token ([`AuthAction::Subject`](super::AuthAction::Subject)). The
    /// provider exchanges the ID token for an assertion, and the authorization server exchanges the
    /// assertion for an access token. The grant needs [`client`](Self::client) for the
    /// authorization server.
    ///
    /// [Specification: Enterprise-Managed
    /// Authorization](https://modelcontextprotocol.io/extensions/auth/enterprise-managed-authorization)
    pub fn enterprise(mut self, provider: IdentityProvider) -> Self {
        self.grant = GrantKind::Enterprise;
        self.provider = Some(provider);
        self
    }

    /// Exchanges the token of a workload ([`AuthAction::Subject`](super::AuthAction::Subject)) for
    /// a token of the server at this issuer, without a client. The workload's token is never sent
    /// to another issuer. The extension is a draft, and may change.
    ///
    /// [RFC 7523, section 2.1](https://www.rfc-editor.org/rfc/rfc7523#section-2.1)
    pub fn workload(mut self, issuer: &str) -> Self {
        self.grant = GrantKind::Workload;
        self.workload = IssuerBinding::new(Some(issuer));
        self
    }

    /// Does the same as [`workload`](Self::workload), at the issuer that the server names. Whoever
    /// receives a workload's token can use it as the workload. So use this only if each token is
    /// made for the issuer in the action, or for a server that you trust with the token.
    ///
    /// The workload belongs to the first issuer at which it is used, as a
    /// [`client_of_server`](Self::client_of_server) does.
    pub fn workload_of_server(mut self) -> Self {
        self.grant = GrantKind::Workload;
        self.workload = IssuerBinding::new(None);
        self
    }

    /// Declares that the client has a key, with an optional name. A client without a secret then
    /// authenticates by `private_key_jwt` ([`AuthAction::Sign`](super::AuthAction::Sign)).
    pub fn signs_assertions(mut self, key_id: Option<&str>) -> Self {
        self.client_key = Some(ClientKey { id: key_id.map(String::from) });
        self
    }

    /// Sets the key for tokens that are bound to a key (`DPoP`), for servers that require them. The
    /// extension is a draft, and may change.
    ///
    /// [RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)
    pub fn proof_key(mut self, key: ProofKey) -> Self {
        self.proof_key = Some(key);
        self
    }

    /// Sets a name that separates the tokens of this authorizer from others for the same server.
    pub fn profile(mut self, name: &str) -> Self {
        self.profile = Some(name.into());
        self
    }

    /// Adds a client for an issuer, or for any issuer if `None`. Replaces an earlier client for the
    /// same issuer.
    pub(super) fn add_client(
        &mut self,
        issuer: Option<&str>,
        id: &str,
        secret: Option<&str>,
        method: Option<AuthMethod>,
    ) {
        self.clients.retain(|client| client.binding.named() != issuer);
        let (binding, secret) = (IssuerBinding::new(issuer), secret.map(Secret::new));
        self.clients.push(PresetClient { binding, id: id.into(), secret, method });
    }

    /// Binds the workload, and the client with this id, to the issuer at which they are used.
    pub(super) fn bind(&mut self, id: &str, issuer: &str) {
        self.workload.bind(issuer);
        let own = self.clients.iter_mut().filter(|client| client.id == id);
        own.for_each(|client| client.binding.bind(issuer));
    }

    /// Lets a workload and a client for any issuer be used at any issuer again.
    pub(super) fn unbind(&mut self) {
        self.workload.unbind();
        self.clients.iter_mut().for_each(|client| client.binding.unbind());
    }

    /// The key under which the tokens are stored.
    pub(super) fn server_key(&self) -> String {
        let mut key = alloc::format!("server:{}", self.server);
        if let Some(profile) = &self.profile {
            key.extend(["#", profile]);
        }
        key
    }

    /// The key under which a registration is stored.
    pub(super) fn registration_key(&self, issuer: &str) -> String {
        alloc::format!("client:{issuer} {}", self.redirect_uri)
    }

    /// Returns whether clients are configured, for this issuer or for others. A workload may belong
    /// to another issuer as well.
    pub(super) fn preset(&self, grant: GrantKind, issuer: &str) -> Preset {
        if grant == GrantKind::Workload && !self.is_of(&self.workload, issuer) {
            Preset::Elsewhere
        } else if self.clients.is_empty() {
            Preset::Absent
        } else if self.clients.iter().any(|client| self.is_of(&client.binding, issuer)) {
            Preset::Own
        } else {
            Preset::Elsewhere
        }
    }

    /// The configured client for an issuer.
    pub(super) fn preset_client(&self, issuer: &IssuerMetadata) -> Option<RegisteredClient> {
        let own = || self.clients.iter().filter(|it| self.is_of(&it.binding, &issuer.issuer));
        let client = own().find(|client| client.binding.named().is_some()).or(own().next())?;
        let method = client.method.unwrap_or_else(|| match client.secret {
            Some(_) => AuthMethod::of_secret(issuer),
            None if self.client_key.is_some() => AuthMethod::PrivateKeyJwt,
            None => AuthMethod::None,
        });
        Some(RegisteredClient { id: client.id.clone(), secret: client.secret.clone(), method })
    }

    /// The secret of a configured client.
    pub(super) fn preset_secret(&self, issuer: &str, id: &str) -> Option<Secret> {
        let mut clients = self.clients.iter();
        let client = clients.find(|it| self.is_of(&it.binding, issuer) && it.id == id)?;
        client.secret.clone()
    }

    /// Returns whether the client of a record is configured. A workload has no client.
    pub(super) fn has_client_of(&self, record: &ServerRecord) -> bool {
        let (issuer, client) = (&record.issuer, &record.client);
        let is_document = self.document.as_ref().is_some_and(|own| own.url == client.id);
        let is_own = |own: &PresetClient| own.id == client.id && self.is_of(&own.binding, issuer);
        client.is_of_workload() || is_document || self.clients.iter().any(is_own)
    }

    /// The client of the metadata document, if the issuer accepts it with this redirect URI.
    pub(super) fn document_client(
        &self,
        issuer: &IssuerMetadata,
        redirect_uri: &str,
    ) -> Option<RegisteredClient> {
        self.document.as_ref()?.client(issuer, redirect_uri)
    }

    /// Reads the stored record of a server, unless its tokens could be read on the way, or are
    /// bound to another key than [`proof_key`](Self::proof_key).
    pub(super) fn read_record(&self, text: &str) -> Option<ServerRecord> {
        let record = ServerRecord::read_for(text, self.thumbprint().as_deref());
        record.filter(|_| !self.policy.exposes_tokens())
    }

    /// The name of the key to which tokens are bound.
    pub(super) fn thumbprint(&self) -> Option<String> {
        self.proof_key.as_ref().map(ProofKey::thumbprint)
    }

    /// True if PKCE is assumed.
    pub(super) fn assumes_pkce(&self, issuer: &str) -> bool {
        self.s256_issuers.iter().any(|own| own == issuer)
    }

    /// The authorization server to use: that of the current tokens, else that of a configured
    /// client or workload, else the first one offered.
    pub(super) fn choose_issuer<'a>(
        &self,
        offered: &'a [String],
        current: Option<&str>,
    ) -> Option<&'a str> {
        let own = offered.iter().find(|offered| current.is_some_and(|it| self.names(offered, it)));
        let is_workload = self.grant == GrantKind::Workload;
        let bindings = || {
            let workload = is_workload.then_some(&self.workload);
            workload.into_iter().chain(self.clients.iter().map(|client| &client.binding))
        };
        let is_of = |own: &IssuerBinding, offered: &str| {
            own.issuer().is_none_or(|issuer| self.names(offered, issuer))
        };
        let preset = || offered.iter().find(|it| bindings().any(|own| is_of(own, it)));
        own.or_else(preset).or(offered.first()).map(String::as_str)
    }

    /// True if the metadata of the issuer `expected` may state this issuer.
    fn names(&self, expected: &str, stated: &str) -> bool {
        let mut accepted = self.accepted_issuers.iter();
        expected == stated || accepted.any(|(own, other)| own == expected && other == stated)
    }

    /// True if credentials belong to an issuer, which the application names as it is expected, or
    /// as its metadata states it.
    fn is_of(&self, binding: &IssuerBinding, stated: &str) -> bool {
        binding.issuer().is_none_or(|own| self.names(own, stated))
    }
}
