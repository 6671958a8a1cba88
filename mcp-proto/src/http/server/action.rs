//! Actions of exchanges and of the endpoint that they share.

use alloc::collections::VecDeque;

use bytes::Bytes;

use crate::frame::http1::ResponseHead;
use crate::server::ServerEvent;

/// Output of an [`Exchange`](super::Exchange), for its driver to carry out.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExchangeAction {
    /// Send the head of the answer.
    Head(ResponseHead),
    /// Send a piece of the body.
    Data(Bytes),
    /// The answer is complete.
    End,
    /// Report an event to the application.
    Event(ServerEvent),
}

/// Output of an [`Endpoint`](super::Endpoint), for its driver to carry out.
#[derive(Debug)]
#[non_exhaustive]
pub enum EndpointAction<W> {
    /// Wake the exchange with this handle: a visit to the endpoint is due.
    Wake(W),
    /// Report an event to the application.
    Event(ServerEvent),
}

/// Queue of the actions that the driver of an endpoint has not taken yet.
pub(super) type Queue<W> = VecDeque<EndpointAction<W>>;
