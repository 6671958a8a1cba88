//! Clients of any era in front of a server of any era, as futures.
//!
//! In: requests and notifications of a server that forwards, and a way to connect to the server behind
//! it. Out: a [`Catalog`] to serve. The translation is `mcp_proto::bridge`; here are the connections.
//!
//! | file | owns |
//! |---|---|
//! | `pool` | the connections to the server, by whom they belong to; their number, their end |
//! | `upstream` | one connection: the machine of the bridge, the requests that wait for it |
//! | `sink` | what a client leaves to the bridge |
//!
//! | a connection belongs to | until |
//! |---|---|
//! | the session of a legacy client | the end of the session, or of the byte stream |
//! | all clients without a session, of an era and a principal, that declare the same capabilities | [`BridgeConfig::idle_timeout`] without a request |
//! | everybody, with [`Sharing::Shared`] | [`Bridge::close`] |

mod pool;
mod sink;
mod upstream;

use mcp_proto::Duration;
use mcp_proto::client;
use mcp_proto::types::Implementation;

pub use pool::Bridge;
pub(crate) use pool::Connect;
pub(crate) use sink::EventSink;

/// The clients that share a connection to the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Sharing {
    /// A legacy client has a connection of its own, which declares its capabilities. Modern clients
    /// share one if they have the same principal and the same capabilities.
    #[default]
    PerClient,
    /// All share one, for a server that keeps nothing about a client. It declares the capabilities of
    /// [`BridgeConfig::client`]. What a legacy server asks without saying for which call goes to the
    /// only client that it may be for, or is refused.
    Shared,
}

/// Settings of a bridge.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BridgeConfig {
    /// The settings of the connections to the server. The name and the capabilities are those of the
    /// clients where a connection belongs to one.
    pub client: client::Config,
    /// The clients that share a connection; default [`Sharing::PerClient`].
    pub sharing: Sharing,
    /// The most connections to the server; default 64. A request that needs another one is answered
    /// with -32603. Connections that have ended, and have been replaced, may come on top, as many again.
    pub max_upstreams: usize,
    /// The time after which a connection of modern clients is closed if no request needs it, to twice
    /// that; default 5 minutes.
    pub idle_timeout: Duration,
}

impl BridgeConfig {
    /// The default settings of a bridge with this name.
    pub fn new(info: Implementation) -> Self {
        Self {
            client: client::Config::new(info),
            sharing: Sharing::default(),
            max_upstreams: 64,
            idle_timeout: Duration::from_secs(5 * 60),
        }
    }
}
