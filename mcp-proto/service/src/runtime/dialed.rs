//! A connection to a server, and the protocol that its handshake has chosen.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::Socket;

/// A connection that a [`Dialer`](super::Dialer) has made.
#[non_exhaustive]
pub struct Dialed {
    /// The connection.
    pub socket: Box<dyn Socket>,
    /// The protocol that the server has chosen within TLS; `None` without a choice.
    pub protocol: Option<Vec<u8>>,
}
