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
    /// Settings that are independent of HTTP, such as the eras and [`Limits`](crate::Limits).
    pub server: Shared<server::Config>,
    /// The path of the endpoint; default `/mcp`. The leading slash may be left out. Requests for
    /// other paths get 404, also for `/mcp/`. An empty text accepts every path, for servers behind
    /// a router.
    pub path: String,
    /// Treatment of legacy clients; default: with sessions.
    ///
    /// [Specification: Session Management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management)
    pub sessions: Sessions,
    /// The hosts that requests may name; default `localhost`, `127.0.0.1` and `[::1]`. A name
    /// without a port matches every port of that host. `*` matches every host, for servers behind a
    /// proxy that checks the host. Other hosts get 403, so that no web page reaches the server
    /// under a name of its own (DNS rebinding).
    ///
    /// [Specification: Security](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#security-endpoint)
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may send requests and read the answers (CORS); default none. An
    /// origin is a scheme, a host and optionally a port, such as `https://app.example.com`.
    /// `https://*.example.com` allows all subdomains of `example.com`, at any depth, but not
    /// `example.com` itself. An entry with `*` in another place allows no page. Other origins get
    /// 403.
    ///
    /// Requests of pages of loopback hosts are never refused for their origin. Without an entry
    /// they get no CORS headers, so a browser lets only pages of the server's own origin send them.
    ///
    /// [Specification: Security](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#security-endpoint)
    pub allowed_origins: Vec<String>,
    /// The check that decides if a client may send requests; default: every client may.
    ///
    /// [Specification: Authorization](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization)
    pub authorize: Option<Arc<Authorize>>,
    /// The metadata of a server that requires tokens; default none. The metadata is served without
    /// a token at its well-known path. The challenges of [`Authorization::Refuse`] and of the
    /// verifier name that path. See [`Config::protect`].
    pub resource: Option<Arc<ProtectedResource>>,
    /// The asynchronous check of the tokens of all requests; default none. The check replaces
    /// `authorize`. See [`Config::protect`].
    pub verifier: Option<Arc<dyn Verifier>>,
    /// The function that answers other requests, such as health checks; default none. The responses
    /// of the function skip all checks of path, host, origin and principal, so return nothing
    /// secret. With a `verifier`, the function may be called twice for one request. See
    /// [`Config::route`].
    pub routes: Option<Arc<Routes>>,
    /// True if handlers can read the heads of their requests with
    /// [`Peer::head`](server::Peer::head); default false. The fields `Authorization`,
    /// `Proxy-Authorization` and `Cookie` are left out.
    pub keep_head: bool,
    /// True if requests come through a proxy, so that many clients share its address; default
    /// false. Limits per holder then count only principals, not addresses. Set this for servers
    /// behind a proxy or a load balancer.
    pub behind_proxy: bool,
    /// The proxies in front of this server whose field `X-Forwarded-For` is trusted; default none.
    /// Limits per holder then count the addresses that these proxies name. The field is ignored in
    /// requests from all other addresses.
    pub trusted_proxies: Vec<ProxyNetwork>,
}

/// A value shared by several machines. A change through one handle does not affect the others.
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

/// Treatment of legacy clients.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Sessions {
    /// Each client has a session, with an `Mcp-Session-Id`.
    #[default]
    Stateful,
    /// Each POST is independent: it has no session, no stream except its own, and no requests to
    /// the client. So `initialize` offers no notifications of changes, and `resources/subscribe` is
    /// answered with -32601. A level of `logging/setLevel` applies to its own POST only.
    Stateless,
    /// Legacy clients are not served.
    Off,
}

/// Function that decides about a request by its head.
pub type Authorize = dyn Fn(&Head) -> Authorization + Send + Sync;

/// The decision about a request.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Authorization {
    /// The request is served. If there is a principal, the session is bound to the principal, and
    /// handlers can read the principal.
    Allow(Option<Arc<str>>),
    /// The request is served, with values that handlers find by type in
    /// [`Peer::extensions`](server::Peer::extensions), such as claims and scopes. The values belong
    /// to this request only, also in a session.
    AllowWith(Option<Arc<str>>, Extensions),
    /// The request gets the response of the refusal, with the metadata of [`Config::resource`] in
    /// its challenge.
    Refuse(TokenRefusal),
    /// The request gets 401: the client must authenticate. Holds the value of `WWW-Authenticate`.
    Unauthorized(String),
    /// The request gets 403: the client has no permission. Holds the value of `WWW-Authenticate`.
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
    /// Requests without a token get 401. The server reads the body of any other request only after
    /// `verifier` has checked the token. Handlers find the claims with
    /// [`Peer::claims`](server::Peer::claims). The issuer and the subject are the principal of
    /// sessions and limits. Handlers never see tokens.
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
            Sessions::Stateful | Sessions::Stateless => self.server.era_policy,
            Sessions::Off => EraPolicy::ModernOnly,
        }
    }

    /// Returns whether the steps of a head depend on nothing but the head and these settings: no
    /// code of the application takes part.
    pub(super) fn decides_alone(&self) -> bool {
        let Self { authorize, resource, verifier, routes, keep_head, .. } = self;
        let asks = authorize.is_some() || verifier.is_some() || routes.is_some();
        !asks && resource.is_none() && !keep_head
    }

    /// Returns whether legacy clients have sessions, and therefore GET and DELETE.
    pub(super) fn has_sessions(&self) -> bool {
        self.sessions == Sessions::Stateful && self.policy() != EraPolicy::ModernOnly
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
