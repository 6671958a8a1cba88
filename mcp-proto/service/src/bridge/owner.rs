//! Owner of a connection to the server of a bridge: one client, or several that share it.
//!
//! In: a request. Out: its owner.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{BridgeConfig, Sharing};
use crate::Context;
use mcp_proto::server::SessionRef;
use mcp_proto::{Era, ErrorData};

/// Owner of a connection.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    Everybody,
    Session(SessionRef),
    /// The clients without a session that declare the same capabilities.
    Sessionless {
        is_modern: bool,
        principal: Option<Arc<str>>,
        capabilities: Vec<u8>,
    },
}

impl Owner {
    /// The owner of the connection for a request. Fails if the capabilities of the client are too
    /// long.
    pub(super) fn of(context: &Context, config: &BridgeConfig) -> Result<Self, ErrorData> {
        let (peer, about) = (context.peer(), context.about());
        let era = peer.version.era();
        if config.sharing == Sharing::Shared {
            return Ok(Self::Everybody);
        }
        if era == Era::Legacy && !about.is_lone() {
            return Ok(Self::Session(about.session()));
        }
        let capabilities = peer.capabilities.as_bytes();
        let max = config.client.limits.max_client_bytes;
        if capabilities.len() > max {
            return Err(ErrorData::invalid_params(alloc::format!(
                "params: the client's capabilities are longer than Limits::max_client_bytes = {max}"
            )));
        }
        Ok(Self::Sessionless {
            is_modern: era == Era::Modern,
            principal: peer.principal.clone(),
            capabilities: capabilities.to_vec(),
        })
    }
}
