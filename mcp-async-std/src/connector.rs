//! Connections to servers over HTTP: TCP, and with the feature `tls` TLS.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use mcp_proto::http::{Scheme, Url};
use mcp_service::{Connecting, Connector, HttpClientConfig, Socket};
use smol::Async;
use smol::io::{AsyncRead, AsyncWrite};
use smol::unblock;

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
                "an https URL needs the feature `tls` of mcp-async-std",
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
            let stream = dial(&host, port).await?;
            // Without it a request might wait for the acknowledgement of an earlier one.
            let _ = stream.get_ref().set_nodelay(true);
            #[cfg(feature = "tls")]
            if let Some(tls) = tls {
                return Ok(Box::new(Stream(tls.wrap(&host, stream).await?)) as Box<dyn Socket>);
            }
            Ok(Box::new(Stream(stream)) as Box<dyn Socket>)
        })
    }
}

/// Tries all addresses of a host, one after the other.
async fn dial(host: &str, port: u16) -> io::Result<Async<TcpStream>> {
    let name = (host.to_owned(), port);
    let addresses = unblock(move || name.to_socket_addrs()).await?;
    let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
    for address in addresses {
        match Async::<TcpStream>::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

struct Stream<S>(S);

/// The socket of a connection.
trait Tcp {
    fn tcp(&self) -> &Async<TcpStream>;
}

impl Tcp for Async<TcpStream> {
    fn tcp(&self) -> &Async<TcpStream> {
        self
    }
}

#[cfg(feature = "tls")]
impl Tcp for futures_rustls::client::TlsStream<Async<TcpStream>> {
    fn tcp(&self) -> &Async<TcpStream> {
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
        let peeked = self.0.tcp().get_ref().peek(&mut [0]);
        peeked.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }
}
