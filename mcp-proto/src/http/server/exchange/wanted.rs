//! Requests that wait for a visit to the endpoint.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::net::IpAddr;

use super::super::sessions::RequestContext;
use crate::frame::http1::Head;
use crate::message::{Incoming, RequestId};
use crate::server::{self, Extensions};

/// A request that the endpoint answers.
#[derive(Debug)]
pub(super) enum Wanted {
    /// A legacy POST, in a session or to open one.
    Post { context: RequestContext, incoming: Incoming },
    /// A legacy GET, for a stream of a session.
    Get { context: RequestContext, last_event_id: Option<String> },
    /// A legacy DELETE, which ends a session.
    Delete { context: RequestContext },
    /// A modern `subscriptions/listen`.
    Listen {
        incoming: Incoming,
        head: Box<Head>,
        principal: Option<Arc<str>>,
        extensions: Extensions,
        peer: Option<IpAddr>,
    },
}

impl Wanted {
    pub(super) fn set_peer(&mut self, from: IpAddr) {
        match self {
            Self::Post { context, .. } => context.peer = Some(from),
            Self::Listen { peer, .. } => *peer = Some(from),
            // These requests open no session and no listener, so the address is not needed.
            Self::Get { .. } | Self::Delete { .. } => {}
        }
    }

    pub(super) fn request_id(&self) -> Option<RequestId> {
        match self {
            Self::Post { incoming, .. } | Self::Listen { incoming, .. } => {
                server::request_id(incoming)
            }
            Self::Get { .. } | Self::Delete { .. } => None,
        }
    }
}
