//! A listener for servers over HTTP, and hyper behind it.

use std::error::Error;
use std::io;

use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// A listener on a free port, which is reported on stderr as the examples `echo` do.
pub async fn listen() -> io::Result<TcpListener> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    Ok(listener)
}

/// Serves what hyper reads with `service`, on the current thread's runtime.
pub async fn serve_hyper<S, B>(listener: TcpListener, service: S) -> io::Result<()>
where
    S: Service<Request<Incoming>, Response = Response<B>, Future: Send> + Clone + Send + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let connection =
            http1::Builder::new().serve_connection(TokioIo::new(socket), service.clone());
        // The client reports what goes wrong with a connection.
        tokio::spawn(async move { drop(connection.await) });
    }
}
