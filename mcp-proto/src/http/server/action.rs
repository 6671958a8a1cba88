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
    /// Send some of its body.
    Data(Bytes),
    /// The answer is complete.
    End,
    /// Tell the application.
    Event(ServerEvent),
}

/// Output of an [`Endpoint`](super::Endpoint), for its driver to carry out.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "the large one is a request that goes to the application, and not kept"
)]
#[non_exhaustive]
pub enum EndpointAction<W> {
    /// Have the exchange of this visit again.
    Wake(W),
    /// Tell the application.
    Event(ServerEvent),
}

/// Actions of an endpoint that nobody has taken yet.
pub(super) type Queue<W> = VecDeque<EndpointAction<W>>;
