//! The loop that accepts connections for a router of axum's, with a time for heads.
//!
//! `axum::serve` never ends a connection whose client sends its head slowly, or not at all: hyper
//! has a time for that, which needs a timer, and `axum::serve` gives it none. A few hundred such
//! clients use up the file descriptors of a process. With a graceful shutdown `axum::serve` also
//! waits for ever for a client that does not read its answer.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use mcp_tokio::Limits;
use tokio::net::{TcpListener, TcpStream};

/// Serves `app` until `stop` completes and the last answer is sent. A head that takes longer than
/// `Limits::head_timeout` ends its connection, and so does a pause between two requests. After
/// `stop` requests have `Limits::drain` to be answered, and clients as long again to read.
pub(crate) async fn serve(
    listener: TcpListener,
    app: Router,
    limits: &Limits,
    stop: impl Future<Output = ()>,
) {
    let (head_timeout, close_timeout) = (limits.head_timeout, limits.drain.saturating_mul(2));
    let connections = GracefulShutdown::new();
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, peer)) => {
                    connect(socket, peer, app.clone(), head_timeout, &connections);
                }
                // There may be too many open files.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            () = &mut stop => break,
        }
    }
    drop(listener);
    drop(tokio::time::timeout(close_timeout, connections.shutdown()).await);
}

/// Serves a connection in a task of its own.
fn connect(
    socket: TcpStream,
    peer: SocketAddr,
    app: Router,
    head_timeout: Duration,
    connections: &GracefulShutdown,
) {
    // `HttpService` counts what a client has by its address, and finds it here.
    let app = TowerToHyperService::new(app.layer(Extension(peer)));
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(head_timeout);
    let connection = connections.watch(server.serve_connection(TokioIo::new(socket), app));
    // What goes wrong with one connection concerns nobody else.
    tokio::spawn(async { _ = connection.await });
}
