//! Settings of a server over HTTP.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, DerefMut};

use super::proxies::ProxyNetwork;
use super::{RouteResponse, Routes};
use crate::frame::http1::Head;
use crate::resource_server::{ProtectedResource, TokenRefusal, Verifier};
use crate::server::{self, Extensions};
use crate::version::EraPolicy;

/// Settings of a server over HTTP.
///
/// ```
/// let mut config = mcp_proto::http::Config::default();
/// config.allowed_hosts.push("mcp.example.com".into());
/// config.allowed_origins.push("https://app.example.com".into());
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Config {
    /// Eras and bounds.
    pub server: Shared<server::Config>,
    /// The path of the endpoint; default `/mcp`. Others are answered with 404. Empty it is any
    /// path, for servers behind a router that has chosen already.
    pub path: String,
    /// The service for legacy clients; default sessions.
    ///
    /// [Specification: Session Management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management)
    pub sessions: Sessions,
    /// The hosts that requests may be for; default `localhost`, `127.0.0.1` and `[::1]`. A name
    /// without a port is that host at any port; `*` is any host, for servers behind a proxy that
    /// checks it. Others are answered with 403, so that no web page reaches the server under a
    /// name of its own (DNS rebinding).
    ///
    /// [Specification: Security](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#security-endpoint)
    pub allowed_hosts: Vec<String>,
    /// The origins whose pages may send requests and read the answers (CORS), beside those of
    /// loopback hosts, which may send them; default none. An origin is a scheme, a host and maybe
    /// a port, such as `https://app.example.com`. Others are answered with 403.
    ///
    /// [Specification: Security](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#security-endpoint)
    pub allowed_origins: Vec<String>,
    /// The check of who may send requests; default everybody.
    ///
    /// [Specification: Authorization](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization)
    pub authorize: Option<Arc<Authorize>>,
    /// The metadata of a server that wants tokens; default none. It is served at its place without
    /// a token, and named in the challenges of [`Authorization::Refuse`] and of the verifier. See
    /// [`Config::protect`].
    pub resource: Option<Arc<ProtectedResource>>,
    /// The check of the tokens of all requests, a future; default none. It takes the place of
    /// `authorize`. See [`Config::protect`].
    pub verifier: Option<Arc<dyn Verifier>>,
    /// The responses to other requests than those of clients, such as a health check; default none.
    /// A request that the function has a response for is answered with it, whatever its body is. It
    /// is checked for nothing else: not for its path, host, origin or principal. See
    /// [`Config::route`].
    pub routes: Option<Arc<Routes>>,
    /// True if handlers see the heads of their requests, by
    /// [`Peer::head`](server::Peer::head); default false. The fields `Authorization`,
    /// `Proxy-Authorization` and `Cookie` are left out.
    pub keep_head: bool,
    /// True if requests come through a proxy, so that many clients have its address; default
    /// false. Limits per holder then count principals only, and not addresses. Set it for servers
    /// behind a proxy or a load balancer.
    pub behind_proxy: bool,
    /// The proxies in front of this server, whose field `X-Forwarded-For` is believed; default
    /// none. Limits per holder then count the addresses that the proxies name. The field is ignored
    /// in requests from all other addresses.
    pub trusted_proxies: Vec<ProxyNetwork>,
}

/// A value that machines share; to change it is to change a copy.
///
/// ```
/// use mcp_proto::http::Shared;
/// use mcp_proto::server::Config;
///
/// let mut config: Shared<Config> = Config::default().into();
/// config.limits.max_depth = 32;
/// ```
#[derive(Clone, Debug, Default)]
pub struct Shared<T>(Arc<T>);

impl<T> Shared<T> {
    pub(super) fn share(&self) -> Arc<T> {
        self.0.clone()
    }
}

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

/// The service for legacy clients.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Sessions {
    /// A session each, with an `Mcp-Session-Id`.
    #[default]
    Sessions,
    /// Each POST stands alone: no session, no stream but its own, no request to the client.
    Stateless,
    /// Nothing: modern clients alone are served.
    Off,
}

/// Decides about a request by its head.
pub type Authorize = dyn Fn(&Head) -> Authorization + Send + Sync;

/// The decision about a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Authorization {
    /// It is served. With a principal, its session is bound to it, and handlers are told.
    Allow(Option<Arc<str>>),
    /// The same, with values that handlers find by their types in
    /// [`Peer::extensions`](server::Peer::extensions), such as claims and scopes. They belong to
    /// this request, also in a session.
    AllowWith(Option<Arc<str>>, Extensions),
    /// It is answered as the refusal says, with the metadata of [`Config::resource`] in its
    /// challenge.
    Refuse(TokenRefusal),
    /// It is answered with 401: the client is to authenticate. The value of `WWW-Authenticate`.
    Unauthorized(String),
    /// It is answered with 403: the client may not do that. The value of `WWW-Authenticate`.
    Forbidden(String),
}

impl Default for Config {
    fn default() -> Self {
        Self {
            server: Shared::default(),
            path: "/mcp".into(),
            sessions: Sessions::default(),
            allowed_hosts: ["localhost", "127.0.0.1", "[::1]"].map(String::from).into(),
            allowed_origins: Vec::new(),
            authorize: None,
            resource: None,
            verifier: None,
            routes: None,
            keep_head: false,
            behind_proxy: false,
            trusted_proxies: Vec::new(),
        }
    }
}

impl Config {
    /// Sets [`Config::routes`].
    ///
    /// ```
    /// use mcp_proto::http::{Config, RouteResponse};
    ///
    /// let mut config = Config::default();
    /// config.route(|head| match (head.method(), head.path()) {
    ///     ("GET" | "HEAD", "/health") => Some(RouteResponse::text("ok")),
    ///     _ => None,
    /// });
    /// ```
    pub fn route(
        &mut self,
        routes: impl Fn(&Head) -> Option<RouteResponse> + Send + Sync + 'static,
    ) -> &mut Self {
        self.routes = Some(Arc::new(routes));
        self
    }

    /// Protects the server: sets [`Config::resource`] and [`Config::verifier`].
    ///
    /// Requests without a token get 401. Others wait until `verifier` has a verdict, before their
    /// bodies are read. Handlers find the claims by [`Peer::claims`](server::Peer::claims), and the
    /// issuer and the subject are the principal of sessions and limits. Tokens are not passed on.
    ///
    /// [Specification: Authorization](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization)
    pub fn protect(
        &mut self,
        resource: ProtectedResource,
        verifier: impl Verifier + 'static,
    ) -> &mut Self {
        self.resource = Some(Arc::new(resource));
        self.verifier = Some(Arc::new(verifier));
        self
    }

    /// The eras that are served over HTTP.
    pub(super) fn policy(&self) -> EraPolicy {
        match self.sessions {
            Sessions::Sessions | Sessions::Stateless => self.server.era_policy,
            Sessions::Off => EraPolicy::ModernOnly,
        }
    }

    /// Returns whether legacy clients have sessions, and so GET and DELETE.
    pub(super) fn has_sessions(&self) -> bool {
        self.sessions == Sessions::Sessions && self.policy() != EraPolicy::ModernOnly
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("server", &self.server)
            .field("path", &self.path)
            .field("sessions", &self.sessions)
            .field("allowed_hosts", &self.allowed_hosts)
            .field("allowed_origins", &self.allowed_origins)
            .field("authorize", &self.authorize.is_some())
            .field("resource", &self.resource)
            .field("verifier", &self.verifier.is_some())
            .field("routes", &self.routes.is_some())
            .field("keep_head", &self.keep_head)
            .field("behind_proxy", &self.behind_proxy)
            .field("trusted_proxies", &self.trusted_proxies)
            .finish()
    }
}
