//! The connections of a bridge: whom each belongs to, and when it ends.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::Future;
use core::pin::Pin;

use super::upstream::{Spawn, Upstream};
use super::{BridgeConfig, Sharing};
use crate::lock::Lock;
use crate::{Catalog, Client, Context, Handler, Registry, Session};
use mcp_proto::bridge;
use mcp_proto::message::Method;
use mcp_proto::server::{Outcome, Peer, SessionRef};
use mcp_proto::types::Implementation;
use mcp_proto::{Duration, Era, ErrorData, Json, client};

type Driving = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The uses of a runtime, for any runtime.
pub(crate) struct Connect {
    /// Drives a client until the conversation with its server has ended.
    pub(crate) drive: Box<dyn Fn(Client) -> Driving + Send + Sync>,
    pub(crate) spawn: Spawn,
    pub(crate) sleep: Box<dyn Fn(Duration) -> Driving + Send + Sync>,
    pub(crate) random: fn() -> [u8; 16],
}

/// Clients of any era in front of a server of any era. Clones are the same bridge.
///
/// Made by an adapter, or by `runtime::bridge`; what [`Bridge::catalog`] returns is served like any
/// other catalog. A server is started, or connected to, when a client needs it.
#[derive(Clone)]
pub struct Bridge(Arc<Pool>);

struct Pool {
    config: BridgeConfig,
    connect: Connect,
    open: Lock<BTreeMap<Owner, Upstream>>,
}

/// Whom a connection belongs to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Everybody,
    Session(SessionRef),
    Modern { principal: Option<Arc<str>>, capabilities: Vec<u8> },
}

impl Bridge {
    pub(crate) fn new(config: BridgeConfig, connect: Connect) -> Self {
        Self(Arc::new(Pool { config, connect, open: Lock::default() }))
    }

    /// The catalog to serve, over a byte stream or HTTP, or both.
    pub fn catalog(&self) -> Catalog {
        let mut registry = Registry::new(self.0.config.client.client_info.clone());
        let (here, there) = (self.clone(), self.clone());
        registry.forward(Handler::forward(
            move |method, params, context| here.clone().request(method, params, context),
            move |method, params, session| there.notification(method, params, &session),
        ));
        registry.into()
    }

    /// Closes all connections to the server, and waits until they are.
    pub async fn close(&self) {
        let open = core::mem::take(&mut *self.0.open.lock());
        for upstream in open.into_values() {
            upstream.client.close().await;
        }
    }

    async fn request(self, method: Method, params: Json, context: Context) -> Outcome {
        match self.upstream(&context) {
            Ok(upstream) => upstream.request(method, params, context).await,
            Err(error) => Outcome::Error(error),
        }
    }

    fn notification(&self, method: Method, params: Json, session: &Session) {
        // Modern clients have no state that a notification could change.
        let owners = [Owner::Session(session.id()), Owner::Everybody];
        let upstream = {
            let open = self.0.open.lock();
            owners.iter().find_map(|owner| open.get(owner)).cloned()
        };
        if let Some(upstream) = upstream {
            upstream.notification(method, params, session.id());
        }
    }

    /// The connection for a request, which may be another one.
    fn upstream(&self, context: &Context) -> Result<Upstream, ErrorData> {
        let peer = context.peer();
        let owner = match (self.0.config.sharing, peer.version.era()) {
            (Sharing::Shared, _) => Owner::Everybody,
            (Sharing::PerClient, Era::Legacy) => Owner::Session(context.about().session()),
            (Sharing::PerClient, Era::Modern) => Owner::Modern {
                principal: peer.principal.clone(),
                capabilities: peer.capabilities.as_bytes().to_vec(),
            },
        };
        let upstream = {
            let mut open = self.0.open.lock();
            if let Some(upstream) = open.get(&owner).filter(|upstream| !upstream.has_ended()) {
                return Ok(upstream.clone());
            }
            let max_upstreams = self.0.config.max_upstreams;
            if open.len() >= max_upstreams && !open.contains_key(&owner) {
                let why = alloc::format!(
                    "the bridge has as many connections to the server as it may: {max_upstreams}"
                );
                return Err(ErrorData::internal(why));
            }
            let upstream = self.open(peer);
            open.insert(owner.clone(), upstream.clone());
            upstream
        };
        self.drive(owner, &upstream, context.about().is_shared());
        Ok(upstream)
    }

    fn open(&self, peer: &Peer) -> Upstream {
        let Pool { config, connect, .. } = &*self.0;
        let mut settings: client::Config = config.client.clone();
        if config.sharing == Sharing::PerClient {
            settings.capabilities = peer.capabilities.decode().unwrap_or_default();
            let info = peer.client_info.as_ref();
            let info = info.and_then(|info| info.decode::<Implementation>().ok());
            if let Some(info) = info.filter(|_| peer.version.era() == Era::Legacy) {
                settings.client_info = info;
            }
        }
        let mut machine = bridge::Config::new(Box::new(connect.random));
        machine.limits = settings.limits.clone();
        Upstream::new(settings, machine, connect.spawn.clone())
    }

    /// Drives a connection in a task of its own, and closes it once nobody needs it.
    fn drive(&self, owner: Owner, upstream: &Upstream, is_http: bool) {
        let Pool { config, connect, .. } = &*self.0;
        let driving = (connect.drive)(upstream.client.clone());
        let (pool, ended, key) = (self.clone(), upstream.clone(), owner.clone());
        (connect.spawn)(Box::pin(async move {
            driving.await;
            pool.forget(&key, &ended);
            ended.end();
        }));
        let idle = match owner {
            Owner::Modern { .. } => config.idle_timeout,
            Owner::Session(_) if is_http => config.client.limits.session_idle_timeout,
            Owner::Session(_) | Owner::Everybody => return,
        };
        let (pool, upstream) = (self.clone(), upstream.clone());
        (connect.spawn)(Box::pin(async move {
            let mut before = None;
            loop {
                (pool.0.connect.sleep)(idle).await;
                let (is_idle, requests) = upstream.use_count();
                if upstream.has_ended() {
                    return;
                }
                if is_idle && before.replace(requests) == Some(requests) {
                    pool.forget(&owner, &upstream);
                    return upstream.client.close().await;
                }
            }
        }));
    }

    /// A connection is over, or about to be: the next request needs another one.
    fn forget(&self, owner: &Owner, upstream: &Upstream) {
        let mut open = self.0.open.lock();
        if open.get(owner).is_some_and(|it| it.is(upstream)) {
            open.remove(owner);
        }
    }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge").field("config", &self.0.config).finish_non_exhaustive()
    }
}
