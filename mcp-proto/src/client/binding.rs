//! Values that the binding to HTTP and the client share.

use super::event::CallId;

/// The way that a client's messages travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TransportKind {
    /// One stream of them.
    Stream,
    /// Each request, and each notification, on an HTTP request of its own.
    Http,
}

/// Origin of a message, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MessageSource {
    /// The batch that it is part of.
    pub(super) batch: Option<u64>,
    /// The call whose HTTP response it came on.
    pub(super) call: Option<CallId>,
    /// The status of the HTTP response that it came on.
    pub(super) status: Option<u16>,
    /// True if that is the response to a GET for the rest of an answer: the call had been accepted
    /// before.
    pub(super) is_resumed: bool,
}
