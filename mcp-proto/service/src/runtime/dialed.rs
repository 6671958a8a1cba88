//! A connection to a server, and the protocol that its handshake has chosen.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use crate::Socket;

/// A connection that a [`Dialer`](super::Dialer) has made.
#[non_exhaustive]
pub struct Dialed {
    /// The connection.
    pub socket: Box<dyn Socket>,
    /// The protocol that the server has chosen within TLS; `None` without a choice.
    pub protocol: Option<Vec<u8>>,
}

impl fmt::Debug for Dialed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialed").field("protocol", &self.protocol).finish_non_exhaustive()
    }
}
