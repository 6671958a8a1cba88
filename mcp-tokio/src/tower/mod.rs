//! A server as a tower service, for hyper, axum and other stacks on tower.
//!
//! In: requests from an HTTP stack, with their bodies as streams. Out: responses, whose bodies the
//! stack polls. A request runs where it is polled; only handlers of sessions are spawned.

use std::convert::Infallible;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Extensions, Request, Response};
use http_body::Body;
use mcp_proto::Limits;
use mcp_proto::http::Config;
use mcp_proto::server;
use mcp_service::runtime::{GroupedWrites, Runtime, http_server};
use mcp_service::{Catalog, HttpServer};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tower_service::Service;

use crate::runtime::Tokio;

mod body;
mod head;
mod request;

pub use body::HttpBody;
pub use request::HttpFuture;

/// A server of legacy and modern clients as a tower service, for hyper, axum and other stacks on
/// tower, over HTTP/1.1 and HTTP/2. Cheap to clone; all clones are the same server.
///
/// ```no_run
/// # async fn example(registry: mcp_tokio::Registry<mcp_tokio::Handler>) -> std::io::Result<()> {
/// use mcp_tokio::{HttpConfig, HttpService, stop_signal};
///
/// let mcp = HttpService::new(registry, HttpConfig::default());
/// let app = axum::Router::new().route_service("/mcp", mcp.clone());
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
/// let stopped = stop_signal()?;
/// let ending = mcp.clone();
/// let stop = async move {
///     stopped.await;
///     ending.shutdown();
/// };
/// axum::serve(listener, app).with_graceful_shutdown(stop).await?;
/// mcp.finish().await;
/// # Ok(())
/// # }
/// ```
///
/// `axum::serve` never ends a connection whose client sends its head slowly, and its shutdown waits
/// for every client to read its answer. The example `axum` of this crate shows a loop that ends
/// such connections, and that passes the addresses of clients.
///
/// With [`Config::protect`] the service also serves its metadata, if the router sends that path
/// here:
///
/// ```no_run
/// # fn example(mcp: mcp_tokio::HttpService, resource: mcp_tokio::ProtectedResource) -> axum::Router {
/// axum::Router::new()
///     .route_service(resource.metadata_path(), mcp.clone())
///     .route_service("/mcp", mcp)
/// # }
/// ```
///
/// The service answers at every path that the router sends here, by `Router::route_service`, or by
/// `Router::nest_service` for all paths below one. [`Config::path`] is ignored. All other settings
/// apply, including those for hosts and origins. Of [`Limits`], the stack is responsible for those
/// of heads, fields, idle connections and the number of connections.
///
/// For a server per tenant, keep a service for each tenant. A handler of the stack chooses one and
/// passes the request on, for example by `oneshot` of `tower::ServiceExt`. `MCP_WIRE` prints
/// nothing here: the stack has the bytes.
///
/// The specification's page:
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>.
#[derive(Clone)]
pub struct HttpService {
    shared: Arc<Shared>,
    peer: Arc<PeerOf>,
    extensions: Option<Arc<ExtensionsOf>>,
}

/// A timer of the runtime.
type ServiceTimer = <Tokio as Runtime>::Timer;

/// A function that copies values for handlers from the extensions of a request.
type ExtensionsOf = dyn Fn(&Extensions, &mut server::Extensions) + Send + Sync;

/// A function that finds the address of the client in the extensions of a request.
type PeerOf = dyn Fn(&Extensions) -> Option<IpAddr> + Send + Sync;

/// State that all requests of a server share.
struct Shared {
    server: HttpServer,
    runtime: Tokio,
    stopping: watch::Sender<bool>,
    background: AbortHandle,
    grouped_writes: GroupedWrites,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.background.abort();
    }
}

impl HttpService {
    /// A server on the current runtime, which must have its timer enabled.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn new(catalog: impl Into<Catalog>, mut config: Config) -> Self {
        config.path.clear();
        let runtime = Tokio::current();
        let server = http_server(&runtime, catalog, config);
        let background_server = server.clone();
        let mut timer = runtime.timer();
        let background =
            tokio::spawn(async move { background_server.run_background(&mut timer).await })
                .abort_handle();
        let (stopping, _) = watch::channel(false);
        let peer = |extensions: &Extensions| extensions.get::<SocketAddr>().map(SocketAddr::ip);
        let grouped_writes = GroupedWrites::new(&runtime);
        let shared = Arc::new(Shared { server, runtime, stopping, background, grouped_writes });
        Self { shared, peer: Arc::new(peer), extensions: None }
    }

    /// Sets the function that finds the address of the client in the extensions of a request, for
    /// the limits per holder. By default it reads an extension of the type [`SocketAddr`]. axum has
    /// `ConnectInfo<SocketAddr>`:
    ///
    /// ```no_run
    /// # async fn example(registry: mcp_tokio::Registry<mcp_tokio::Handler>) -> std::io::Result<()> {
    /// use std::net::SocketAddr;
    ///
    /// use axum::extract::ConnectInfo;
    /// use mcp_tokio::{HttpConfig, HttpService};
    ///
    /// let mcp = HttpService::new(registry, HttpConfig::default()).peer_from(|extensions| {
    ///     extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip())
    /// });
    /// let app = axum::Router::new().route_service("/mcp", mcp);
    /// let app = app.into_make_service_with_connect_info::<SocketAddr>();
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    /// axum::serve(listener, app).await
    /// # }
    /// ```
    #[must_use]
    pub fn peer_from(
        self,
        f: impl Fn(&Extensions) -> Option<IpAddr> + Send + Sync + 'static,
    ) -> Self {
        Self { peer: Arc::new(f), ..self }
    }

    /// Passes an extension of the type `T` of each request on to handlers, which read it by
    /// `context.peer().get::<T>()`. A layer in front of this service sets it; it may be absent.
    /// Call this method once for each type.
    ///
    /// [`Claims`](crate::Claims) also set the principal of the request, to which sessions and tasks
    /// belong. With other types the request has no principal, so any client that knows the id of a
    /// session or of a task may use it.
    #[must_use]
    pub fn extension<T: Clone + Send + Sync + 'static>(mut self) -> Self {
        let before = self.extensions.take();
        self.extensions = Some(Arc::new(move |found, extensions| {
            if let Some(before) = &before {
                before(found, extensions);
            }
            if let Some(value) = found.get::<T>() {
                extensions.insert(value.clone());
            }
        }));
        self
    }

    /// Starts the shutdown: streams without a request end, subscriptions end with their result, and
    /// requests in flight get `Limits::drain` (2 s) to be answered. The caller stops accepting
    /// connections, waits for the open ones, and then for [`finish`](Self::finish). A client may
    /// never read its answer, so the wait for connections needs a limit.
    pub fn shutdown(&self) {
        self.shared.server.shutdown(self.shared.runtime.epoch.now());
        self.shared.stopping.send_replace(true);
    }

    /// Cancels the handlers of sessions that still run, and waits for their end, for 500 ms at
    /// most. Await it after the server has stopped and before the runtime stops: a cancelled
    /// handler is polled once more.
    pub async fn finish(&self) {
        let Shared { server, runtime, .. } = &*self.shared;
        server.finish(&mut runtime.timer()).await;
    }
}

impl Shared {
    fn limits(&self) -> &Limits {
        &self.server.config().server.limits
    }
}

impl<B: Body> Service<Request<B>> for HttpService {
    type Response = Response<HttpBody>;
    type Error = Infallible;
    type Future = HttpFuture<B>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> HttpFuture<B> {
        HttpFuture::new(self.shared.clone(), request, &*self.peer, self.extensions.as_deref())
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService").field("server", &self.shared.server).finish_non_exhaustive()
    }
}
