//! The bridge: it opens, drives and ends connections to the server.
//!
//! In: requests, notifications and ends of sessions from the [`Catalog`]; functions of a runtime.
//! Out: requests on the connections of their clients; the end of idle and replaced connections.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use std::io;

use super::connections::{PooledConnections, Unavailable};
use super::failures::Failures;
use super::owner::Owner;
use super::reports::Reports;
use super::upstream::{Spawn, Upstream, unless_set};
use super::{BridgeConfig, Sharing};
use crate::lock::Lock;
use crate::panics::{CaughtFuture, catch_panic};
use crate::{Catalog, Client, Context, Handler, Registry, Session, Spawned};
use mcp_proto::bridge;
use mcp_proto::ext::TASKS;
use mcp_proto::message::Method;
use mcp_proto::server::{Outcome, Peer, SessionRef};
use mcp_proto::types::Implementation;
use mcp_proto::{Duration, Era, ErrorData, Json, ProtocolError, client};

/// The failure that is reported after a panic.
const PANICKED: &str = "the code that drives the connection to the server has panicked";

/// The least idle time after which a connection is closed.
const MIN_IDLE: Duration = Duration::from_secs(1);

/// Drives a connection until its conversation has ended.
pub(crate) type Driving = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// Functions of a runtime for a bridge.
pub(crate) struct Connect {
    /// Connects a client and drives it until its conversation has ended; the error says why.
    /// Reports a known server that is lost meanwhile.
    pub(crate) drive: Box<dyn Fn(Client, Reports) -> Driving + Send + Sync>,
    pub(crate) spawn: Spawn,
    pub(crate) sleep: Box<dyn Fn(Duration) -> Spawned + Send + Sync>,
    pub(crate) random: fn() -> [u8; 16],
}

/// A bridge: clients of any era in front of a server of any era. Clones share the connections.
///
/// Created by an adapter or `runtime::bridge`. Serve its [`Bridge::catalog`] like any other
/// catalog. A server is started, or connected to, when a client needs it.
#[derive(Clone)]
pub struct Bridge(Arc<Pool>);

struct Pool {
    config: BridgeConfig,
    connect: Connect,
    /// The settings of the bridge's machines.
    machine: Lock<bridge::Config>,
    connections: Lock<PooledConnections>,
    reports: Reports,
    failures: Failures,
}

impl Bridge {
    pub(crate) fn new(mut config: BridgeConfig, mut connect: Connect) -> Self {
        config.max_upstreams = config.max_upstreams.max(1);
        let spawn = connect.spawn.clone();
        // A future that cannot be spawned is dropped.
        connect.spawn = Arc::new(move |future| {
            catch_panic(|| spawn(future));
        });
        let mut machine = bridge::Config::new(Box::new(connect.random));
        machine.limits = config.client.limits.clone();
        let machine = Lock::new(machine);
        let failures = Failures::new(config.client.verdict.clone());
        let connections = Lock::default();
        let reports = Reports::default();
        Self(Arc::new(Pool { config, connect, machine, connections, reports, failures }))
    }

    /// The catalog to serve, over byte streams, HTTP, or both. Over HTTP with
    /// [`Config::keep_head`](mcp_proto::http::Config::keep_head), the `Mcp-Param-*` headers of a
    /// call are compared with its arguments, once the tool was listed.
    pub fn catalog(&self) -> Catalog {
        let only = self.clone();
        Self::catalog_of([self.clone()], move |_| Some(only.clone()))
    }

    /// One catalog for several bridges, such as one for each path of a server over HTTP. `choose`
    /// returns the bridge for a client, always the same one for the same principal; if it returns
    /// `None`, requests get -32603. [`Config::authorize`] must give clients of different bridges
    /// different principals, so that a client cannot use a session of another bridge.
    ///
    /// [`Config::authorize`]: mcp_proto::http::Config::authorize
    pub fn catalog_of(
        bridges: impl IntoIterator<Item = Self>,
        choose: impl Fn(&Peer) -> Option<Self> + Send + Sync + 'static,
    ) -> Catalog {
        let bridges: Vec<Self> = bridges.into_iter().collect();
        let info = bridges.first().map(|bridge| bridge.0.config.client.client_info.clone());
        let info = info.unwrap_or_else(|| Implementation::new("bridge", ""));
        let mut registry = Registry::new(info);
        let all = bridges.clone();
        let handler = Handler::forward(
            move |method, params, context: Context| {
                let chosen = choose(context.peer());
                async move {
                    match chosen {
                        Some(bridge) => bridge.request(method, params, context).await,
                        None => Outcome::Error(ErrorData::internal(
                            "there is no server for this client",
                        )),
                    }
                }
            },
            move |method, params, session| {
                // A client is known to the bridge that got its requests. A notification of a modern
                // client over HTTP names no connection.
                let of_session = bridges.iter().find_map(|bridge| bridge.upstream_of(&session));
                let of_all = || bridges.first().filter(|_| bridges.len() == 1)?.shared_upstream();
                if let Some(upstream) = of_session.or_else(of_all) {
                    upstream.notification(method, params, session.id());
                }
            },
        );
        let handler = handler.on_session_end(move |session| {
            for bridge in &all {
                bridge.end_session(session);
            }
        });
        registry.forward(handler);
        registry.into()
    }

    /// Calls `f` with the lines of the conversations with the server, on connections that are
    /// opened from now on; see [`Client::on_wire`].
    pub fn on_wire(&self, f: impl Fn(&str) + Send + Sync + 'static) {
        self.0.reports.on_wire(f);
    }

    /// Calls `f` when the server could not be started, was not connected to, or has ended by
    /// itself, with the reason: often a [`ConnectFailure`](crate::ConnectFailure) inside of an
    /// error. The errors of clients do not name programs and their exit status. A panic of a
    /// stream, or of the function that opens the stream, is reported too. So is each loss of a
    /// server that is started again, as [`client::Config::restart`] says, or reached again over
    /// HTTP. So are credentials of a sign-in that cannot be stored.
    pub fn on_failure(&self, f: impl Fn(&io::Error) + Send + Sync + 'static) {
        self.0.reports.on_failure(f);
    }

    /// Calls `f` with each protocol error of the server, such as a line on standard output that is
    /// not a message. The call of an invalid response fails as well. Neither the number nor the
    /// rate of the errors is limited.
    pub fn on_fault(&self, f: impl Fn(&ProtocolError) + Send + Sync + 'static) {
        self.0.reports.on_fault(f);
    }

    /// Closes all connections to the server at once. Completes when they have ended. A request that
    /// comes later opens another connection, so stop serving the catalog before.
    ///
    /// The connections close also if the future is dropped.
    pub fn close(&self) -> impl Future<Output = ()> + Send + use<> {
        let PooledConnections { open, closing, ended: _ended, .. } =
            core::mem::take(&mut *self.0.connections.lock());
        let upstreams = open.into_values().chain(closing);
        let closing: Vec<_> = upstreams.map(|upstream| upstream.close()).collect();
        async move {
            for closed in closing {
                closed.await;
            }
        }
    }

    async fn request(self, method: Method, params: Json, context: Context) -> Outcome {
        let found = match self.upstream(&context) {
            Err(Unavailable::Full(_)) => Box::pin(self.make_room(&context)).await,
            found => found,
        };
        match found {
            Ok(upstream) => upstream.request(method, params, context).await,
            Err(Unavailable::Full(error) | Unavailable::Refused(error)) => Outcome::Error(error),
        }
    }

    /// The connection for a request while all connections are in use: ends idle sessions of legacy
    /// clients until there is room.
    async fn make_room(&self, context: &Context) -> Result<Upstream, Unavailable> {
        loop {
            let idle = self.0.connections.lock().idle_sessions();
            let Some(ended) = Session::end_idle(idle).await else {
                return self.upstream(context);
            };
            // The server may report the end of the session later.
            self.end_session(ended);
            match self.upstream(context) {
                Err(Unavailable::Full(_)) => {}
                found => return found,
            }
        }
    }

    /// The connection of a client that has sent a request here.
    fn upstream_of(&self, session: &Session) -> Option<Upstream> {
        self.0.connections.lock().of_client(session.id()).cloned()
    }

    /// The connection that all clients share, if it is open.
    fn shared_upstream(&self) -> Option<Upstream> {
        self.0.connections.lock().open.get(&Owner::Everybody).cloned()
    }

    /// Returns the connection for a request; opens one if there is none.
    fn upstream(&self, context: &Context) -> Result<Upstream, Unavailable> {
        let peer = context.peer();
        let session = context.session().filter(|_| !context.about().is_lone());
        let owner = Owner::of(context, &self.0.config)?;
        // What has ended is dropped after the lock.
        let (upstream, replaced, _ended) = {
            let connections = &mut *self.0.connections.lock();
            connections.requests += 1;
            let number = connections.requests;
            connections.record_stream(context, &owner);
            let found = connections.open.get(&owner).filter(|upstream| !upstream.has_ended());
            connections.check_session(found, session.as_ref())?;
            if let Some(upstream) = found {
                upstream.begin_request(number, session);
                return Ok(upstream.clone());
            }
            let replaced = connections.make_room(&owner, self.0.config.max_upstreams)?;
            let upstream = self.open(peer);
            upstream.begin_request(number, session);
            let earlier = connections.open.insert(owner.clone(), upstream.clone());
            let ended = connections.ended.remove(&owner);
            if let Some(earlier) = earlier.as_ref().or(ended.as_ref()) {
                upstream.take_over(earlier);
            }
            // The driver of the earlier connection may not have ended yet.
            connections.closing.extend(earlier);
            (upstream, replaced, ended)
        };
        if let Some(replaced) = replaced {
            (self.0.connect.spawn)(Box::pin(replaced.close()));
        }
        self.drive(owner, &upstream);
        Ok(upstream)
    }

    fn open(&self, peer: &Peer) -> Upstream {
        let Pool { config, connect, machine, failures, reports, .. } = &*self.0;
        let mut settings: client::Config = config.client.clone();
        settings.verdict = failures.verdict();
        if config.sharing == Sharing::PerClient {
            settings.capabilities = peer.client_capabilities();
            if peer.version.era() == Era::Legacy {
                // "Servers MUST NOT treat this capability as enabling tasks under that protocol
                // version." A modern server would.
                settings.capabilities.extensions.remove(TASKS);
                settings.client_info = peer.client().unwrap_or(settings.client_info);
            }
        }
        let machine = machine.lock().for_connection(Box::new(connect.random));
        let upstream = Upstream::new(settings, machine, connect.spawn.clone(), failures.attempt());
        reports.watch(&upstream.client);
        upstream
    }

    /// Spawns the tasks that drive a connection, and close it if it is idle.
    fn drive(&self, owner: Owner, upstream: &Upstream) {
        let Pool { config, connect, .. } = &*self.0;
        let (pool, own) = (self.clone(), upstream.clone());
        let driver = UpstreamDriver { pool, owner: owner.clone(), upstream: own };
        (connect.spawn)(Box::pin(driver.run()));
        let idle = match owner {
            Owner::Sessionless { .. } => config.idle_timeout.max(MIN_IDLE),
            // The end of a session is reported.
            Owner::Session(_) | Owner::Everybody => return,
        };
        let (pool, weak, ended) = (self.clone(), upstream.downgrade(), upstream.end_flag());
        (connect.spawn)(Box::pin(async move {
            let mut before = None;
            // The task ends with the connection: it keeps the capabilities of the owner.
            while unless_set(&ended, (pool.0.connect.sleep)(idle)).await.is_some() {
                let Some(upstream) = weak.upgrade().filter(|it| !it.has_ended()) else { return };
                if pool.retire_if_idle(&owner, &upstream, &mut before) {
                    return upstream.close().await;
                }
            }
        }));
    }

    /// Removes a connection that has ended: the next request opens another one.
    fn forget(&self, owner: &Owner, upstream: &Upstream) {
        let PooledConnections { open, closing, ended, .. } = &mut *self.0.connections.lock();
        if open.get(owner).is_some_and(|it| it.is(upstream)) {
            open.remove(owner);
            if upstream.has_sessions() {
                ended.insert(owner.clone(), upstream.clone());
            }
        }
        closing.retain(|it| !it.is(upstream));
    }

    /// Removes a connection that has no request and no task, and had no request since the last
    /// call. Returns true if that is so; the caller then closes the connection.
    fn retire_if_idle(&self, owner: &Owner, upstream: &Upstream, before: &mut Option<u64>) -> bool {
        let connections = &mut *self.0.connections.lock();
        // No race: requests are numbered while the pool is locked.
        let last = upstream.last_use().filter(|(has_tasks, _)| !has_tasks);
        let is_unused = last.is_some_and(|(_, last)| before.replace(last) == Some(last));
        if is_unused {
            connections.retire(owner, upstream);
        }
        is_unused
    }

    /// Ends the session of a client: closes or drops its own connection, or removes the session
    /// from a shared one.
    fn end_session(&self, session: SessionRef) {
        let owner = Owner::Session(session);
        let (own, shared, _ended) = {
            let connections = &mut *self.0.connections.lock();
            connections.end_session(session);
            connections.streams.remove(&session);
            let own = connections.open.get(&owner).cloned();
            if let Some(upstream) = &own {
                connections.retire(&owner, upstream);
            }
            let PooledConnections { open, ended, .. } = connections;
            let of_all = open.get(&Owner::Everybody).or(ended.get(&Owner::Everybody));
            (own, of_all.cloned(), ended.remove(&owner))
        };
        if let Some(shared) = shared.filter(|shared| shared.has_session(session)) {
            shared.end_session(session);
        }
        if let Some(upstream) = own {
            // The connection closes even if the runtime runs no more tasks.
            (self.0.connect.spawn)(Box::pin(upstream.close()));
        }
    }
}

/// The driver of a connection. Dropping it ends the connection: a runtime that ends, or has no room
/// for another task, drops the driver early.
struct UpstreamDriver {
    pool: Bridge,
    owner: Owner,
    upstream: Upstream,
}

impl UpstreamDriver {
    /// Drives the connection, and reports its failure.
    async fn run(self) {
        let Pool { connect, reports, failures, .. } = &*self.pool.0;
        if let Some(pause) = failures.pause() {
            (connect.sleep)(pause).await;
        }
        if !self.upstream.begin() {
            return;
        }
        let driving = (connect.drive)(self.upstream.client.clone(), reports.clone());
        let failure = match CaughtFuture::new(driving).await {
            Some(Ok(())) => None,
            Some(Err(error)) => self.upstream.failure(error),
            None => Some(io::Error::other(PANICKED)),
        };
        if let Some(failure) = failure {
            reports.report_failure(&failure);
        }
    }
}

impl Drop for UpstreamDriver {
    fn drop(&mut self) {
        self.pool.forget(&self.owner, &self.upstream);
        self.upstream.end();
    }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge").field("config", &self.0.config).finish_non_exhaustive()
    }
}
