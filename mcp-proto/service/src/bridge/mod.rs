//! Async bridge: clients of any era in front of a server of any era.
//!
//! In: requests and notifications of the clients, and functions that connect to the server. Out: a
//! [`Catalog`] to serve. `mcp_proto::bridge` translates; this module owns the connections.
//!
//! | file | owns |
//! |---|---|
//! | `pool` | the bridge: it opens, drives and ends connections |
//! | `connections` | the connections to the server, by owner; which of them makes room |
//! | `owner` | the clients that a connection belongs to |
//! | `failures` | the pause before a server is started again that could not start |
//! | `reports` | the functions of the application, for failures, faults and lines |
//! | `verdict` | the era of a server that does not answer `server/discover` |
//! | `upstream` | one connection: the machine of the bridge, the pending requests |
//! | `queue` | messages of clients on their way to this machine |
//! | `state` | the state of a connection, behind its lock |
//! | `sink` | the trait for events that a client passes to the bridge |
//!
//! | a connection belongs to | until |
//! |---|---|
//! | the session of a legacy client | the end of the session, or of the byte stream |
//! | all clients without a session, of an era and a principal, that declare the same capabilities | [`BridgeConfig::idle_timeout`] without a request, and the TTL of each task |
//! | all clients, with [`Sharing::Shared`] | [`Bridge::close`] |
//!
//! A connection may end earlier, such as with its server process. The next request of its clients
//! opens another connection, which takes over the sessions of legacy clients. Their subscriptions
//! are renewed then, and changes that they may have missed are reported.

mod connections;
mod failures;
mod owner;
mod pool;
mod queue;
mod reports;
mod sink;
mod state;
mod upstream;
mod verdict;

use mcp_proto::Duration;
use mcp_proto::client;
use mcp_proto::types::Implementation;

pub use pool::Bridge;
pub(crate) use pool::{Connect, Driving};
pub(crate) use reports::Reports;
pub(crate) use sink::EventSink;

/// The default of the most sockets of a connection to the server over HTTP. Half of them may be
/// subscriptions.
const MAX_SOCKETS: usize = 512;

/// The clients that share a connection to the server.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Sharing {
    /// Each legacy client has its own connection, which declares the client's capabilities. Modern
    /// clients with the same principal and the same capabilities share a connection.
    #[default]
    PerClient,
    /// All clients share one connection, for a server without state about clients. The connection
    /// declares the capabilities of [`BridgeConfig::client`]. A legacy server's request that names
    /// no call goes to the only client that it can be for, or is refused.
    Shared,
}

/// Settings of a bridge.
///
/// ```
/// use mcp_proto::types::Implementation;
/// use mcp_service::runtime::BridgeTarget;
/// use mcp_service::{BridgeConfig, Command, Sharing};
///
/// // A server in a child process that knows nothing about its clients.
/// let target = BridgeTarget::Command(Command::new("weather-server"));
/// let mut config = BridgeConfig::new(Implementation::new("gateway", "1.0.0"));
/// config.sharing = Sharing::Shared;
/// // `mcp_tokio::bridge(target, config)` returns the bridge; serve its `catalog()`.
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BridgeConfig {
    /// The configuration of the connections to the server. With [`Sharing::PerClient`] a connection
    /// has the capabilities of its clients instead, and that of a legacy client its name.
    ///
    /// The default of `Limits::max_client_connections` is 512 here, because many clients may share
    /// a connection. Over HTTP it has a socket for each of their requests and subscriptions.
    pub client: client::Config,
    /// The clients that share a connection; default [`Sharing::PerClient`].
    pub sharing: Sharing,
    /// The most connections to the server; default 64, at least 1. A request that needs another one
    /// closes the connection of clients without a session that is idle and was used least recently,
    /// those with tasks last. If there is none, the request ends an idle session of a legacy client
    /// over HTTP: of those of one listener, the one that was used least recently. Idle is a session
    /// without a request in flight, an open stream, or an unread answer that is kept for its
    /// client. If there is none either, the request is answered with -32603. A connection that
    /// replaces one which is still closing may exceed the limit, up to twice as many in total.
    pub max_upstreams: usize,
    /// The idle time after which a connection of clients without a session is closed; default 5
    /// minutes, at least 1 s. The close may come after up to twice this time. While the server has
    /// tasks whose TTL has not passed, the connection stays. A task counts for a day at most, also
    /// if it has no TTL.
    pub idle_timeout: Duration,
}

impl BridgeConfig {
    /// The default settings of a bridge with this name.
    pub fn new(info: Implementation) -> Self {
        let mut client = client::Config::new(info);
        client.limits.max_client_connections = MAX_SOCKETS;
        Self {
            client,
            sharing: Sharing::default(),
            max_upstreams: 64,
            idle_timeout: Duration::from_secs(5 * 60),
        }
    }
}
