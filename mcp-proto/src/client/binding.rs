//! Values shared by the binding to HTTP and the client.

use super::event::CallId;

/// Transport of a client's messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BindingKind {
    /// One stream of messages.
    Stream,
    /// One HTTP request for each request and each notification.
    Http,
}

/// Known source of a message.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MessageSource {
    /// The batch that contains the message.
    pub(super) batch: Option<u64>,
    /// The call whose HTTP response contains the message.
    pub(super) call: Option<CallId>,
    /// The status of the HTTP response that contains the message.
    pub(super) status: Option<u16>,
    /// True if the HTTP response answers a GET for the rest of an interrupted response. The server
    /// has accepted the call before the GET.
    pub(super) is_resumed: bool,
}
