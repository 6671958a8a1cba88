//! Stub without the feature `tls`.

use std::io;

use crate::Socket;
use crate::runtime::dialed::Dialed;

/// The TLS settings of a client, which cannot be created.
#[derive(Clone)]
pub(in crate::runtime) struct Tls(());

impl Tls {
    /// Fails: the feature is missing.
    pub(in crate::runtime) fn new(_trusted: Option<&[u8]>) -> io::Result<Self> {
        Err(unsupported())
    }

    pub(in crate::runtime) fn offering(&self, _protocols: &[&[u8]]) -> Self {
        self.clone()
    }

    #[expect(clippy::unused_async, reason = "it is async with the feature")]
    pub(in crate::runtime) async fn handshake(
        &self,
        _host: &str,
        _socket: impl Socket,
    ) -> io::Result<Dialed> {
        Err(unsupported())
    }
}

fn unsupported() -> io::Error {
    let text = "an https URL needs the feature `tls` of mcp-tokio or mcp-async-std";
    io::Error::new(io::ErrorKind::Unsupported, text)
}
