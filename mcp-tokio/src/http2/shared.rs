//! One connection with HTTP/2, which many requests share.
//!
//! In: a connection on which the server has chosen `h2`; then requests. Out: the responses, and the
//! room for more requests.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::client::conn::http2::{Builder, Connection, SendRequest};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use mcp_service::Socket;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::request_body::RequestBody;

/// Interval of the pings while requests are in flight, and the time for their answers.
const PING: Duration = Duration::from_secs(20);

/// An idle connection takes no request after this time: it may be broken by then.
const IDLE: Duration = Duration::from_secs(30);

/// The most bytes of a response's head. The client checks its own limit on the pipe.
const MAX_HEAD_BYTES: u32 = 1024 * 1024;

/// Request for the state of the connection. The reply is the most streams that the server allows.
type Check = oneshot::Sender<usize>;

/// Room of a connection for another request, as far as is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Room {
    Free,
    /// All streams that the server allows are in use. hyper would queue the request.
    Full,
    /// The connection takes no more requests.
    Closed,
}

/// A connection. It ends when nothing refers to it, or when the server ends it.
pub(super) struct SharedConnection {
    sender: SendRequest<RequestBody>,
    checks: mpsc::UnboundedSender<Check>,
    /// End of the last request.
    used: Mutex<Instant>,
}

impl SharedConnection {
    pub(super) async fn start(socket: Box<dyn Socket>) -> io::Result<Arc<Self>> {
        let mut builder = Builder::new(TokioExecutor::new());
        builder.timer(TokioTimer::new()).keep_alive_interval(PING).keep_alive_timeout(PING);
        // A request waits until the server has sent the number of streams that it allows.
        builder.initial_max_send_streams(0).max_header_list_size(MAX_HEAD_BYTES);
        let socket = HyperSocket { socket, unread: Bytes::new() };
        let (sender, connection) = builder.handshake(socket).await.map_err(io::Error::other)?;
        let (checks, checked) = mpsc::unbounded_channel();
        tokio::spawn(drive(connection, checked));
        Ok(Arc::new(Self { sender, checks, used: Mutex::new(Instant::now()) }))
    }

    /// The room for another request. The caller has the only reference that belongs to no request.
    pub(super) async fn room(self: &Arc<Self>) -> Room {
        let streams = Arc::strong_count(self) - 1;
        if streams == 0 && self.used().elapsed() > IDLE {
            return Room::Closed;
        }
        let (sender, answer) = oneshot::channel();
        // If the receiver is gone, the sender is dropped, and `answer` fails.
        let _ = self.checks.send(sender);
        match answer.await {
            Ok(max_streams) if streams < max_streams => Room::Free,
            Ok(_) => Room::Full,
            Err(_) => Room::Closed,
        }
    }

    pub(super) fn sender(&self) -> SendRequest<RequestBody> {
        self.sender.clone()
    }

    /// Records the end of a request.
    pub(super) fn end_request(&self) {
        *self.used() = Instant::now();
    }

    fn used(&self) -> MutexGuard<'_, Instant> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drives a connection. Answers questions once the settings of the server are known, until the
/// server takes no more requests. After a `GOAWAY` the old streams go on, and only a poll shows
/// that new ones fail.
async fn drive(
    connection: Connection<HyperSocket, RequestBody, TokioExecutor>,
    mut checks: mpsc::UnboundedReceiver<Check>,
) {
    let mut connection = pin!(connection);
    let mut has_settings = false;
    poll_fn(|context| {
        loop {
            if connection.as_mut().poll(context).is_ready() {
                return Poll::Ready(());
            }
            has_settings |= connection.current_max_send_streams() > 0;
            if !has_settings {
                return Poll::Pending;
            }
            match ready!(checks.poll_recv(context)) {
                Some(answer) => drop(answer.send(connection.current_max_send_streams())),
                None => return connection.as_mut().poll(context).map(drop),
            }
        }
    })
    .await;
}

/// A socket with the traits of hyper.
struct HyperSocket {
    socket: Box<dyn Socket>,
    /// Bytes that were read, and that hyper has not taken.
    unread: Bytes,
}

impl Read for HyperSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.unread.is_empty() {
            self.unread = ready!(self.socket.poll_read(context))?;
        }
        let count = self.unread.len().min(buffer.remaining());
        buffer.put_slice(&self.unread.split_to(count));
        Poll::Ready(Ok(()))
    }
}

impl Write for HyperSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.socket.poll_write(context, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_flush(context)
    }

    /// A socket closes when it is dropped.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}
