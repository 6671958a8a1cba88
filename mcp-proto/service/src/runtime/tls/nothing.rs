//! No TLS, without the feature `tls`.

use std::io;

use crate::Socket;

/// The TLS settings of a client: there are none.
#[derive(Clone)]
pub(in crate::runtime) enum Tls {}

impl Tls {
    /// Fails: the feature is missing.
    pub(in crate::runtime) fn new(_trusted: Option<&[u8]>) -> io::Result<Self> {
        let text = "an https URL needs the feature `tls` of mcp-tokio or mcp-async-std";
        Err(io::Error::new(io::ErrorKind::Unsupported, text))
    }

    #[expect(clippy::unused_async, reason = "it waits with the feature")]
    pub(in crate::runtime) async fn handshake<S: Socket>(
        &self,
        _host: &str,
        _socket: S,
    ) -> io::Result<S> {
        match *self {}
    }
}
