//! Connections to servers over HTTP: TCP, and with the feature `tls` TLS.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use mcp_proto::http::{Scheme, Url};
use mcp_service::{Connecting, Connector, HttpClientConfig, Socket};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::driver::poll_read;
#[cfg(feature = "tls")]
use crate::tls::Tls;

/// Makes the connections of one client.
pub(crate) struct Connections {
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
}

impl Connections {
    /// Fails if the URL needs TLS and there is none, or if the certificates to trust cannot be read.
    #[cfg(feature = "tls")]
    pub(crate) fn new(config: &HttpClientConfig) -> io::Result<Self> {
        Ok(Self {
            tls: match config.url.scheme() {
                Scheme::Http => None,
                Scheme::Https => Some(Tls::new(config.trusted.as_deref())?),
            },
        })
    }

    /// Fails if the URL needs TLS.
    #[cfg(not(feature = "tls"))]
    pub(crate) fn new(config: &HttpClientConfig) -> io::Result<Self> {
        match config.url.scheme() {
            Scheme::Http => Ok(Self {}),
            Scheme::Https => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "an https URL needs the feature `tls` of mcp-tokio",
            )),
        }
    }
}

impl Connector for Connections {
    fn connect(&mut self, url: &Url) -> Connecting {
        let (host, port) = (url.host().to_owned(), url.port());
        #[cfg(feature = "tls")]
        let tls = self.tls.clone();
        Box::pin(async move {
            // All of its addresses are tried.
            let stream = TcpStream::connect((&*host, port)).await?;
            // Without it a request might wait for the acknowledgement of an earlier one.
            let _ = stream.set_nodelay(true);
            #[cfg(feature = "tls")]
            if let Some(tls) = tls {
                return Ok(Box::new(Stream(tls.wrap(&host, stream).await?)) as Box<dyn Socket>);
            }
            Ok(Box::new(Stream(stream)) as Box<dyn Socket>)
        })
    }
}

struct Stream<S>(S);

/// The socket of a connection.
trait Tcp {
    fn tcp(&self) -> &TcpStream;
}

impl Tcp for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

#[cfg(feature = "tls")]
impl Tcp for tokio_rustls::client::TlsStream<TcpStream> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

impl<S: Tcp + AsyncRead + AsyncWrite + Send + Unpin> Socket for Stream<S> {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        poll_read(&mut self.0, context)
    }

    fn poll_write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, data)
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn is_quiet(&self) -> bool {
        // It is non-blocking.
        SockRef::from(self.0.tcp())
            .peek(&mut [MaybeUninit::uninit()])
            .is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }
}
