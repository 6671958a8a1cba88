//! Reading what has no readiness.

use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::thread;

use bytes::Bytes;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc;

/// Reads on a thread that nobody waits for: a read from a terminal may never return, and must
/// not keep the runtime from ending.
pub(crate) struct BlockingReader {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    rest: Bytes,
}

impl BlockingReader {
    pub(crate) fn new(mut reader: impl Read + Send + 'static) -> Self {
        let (sender, chunks) = mpsc::channel(1);
        thread::spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            loop {
                let chunk = match reader.read(&mut buffer) {
                    Ok(count) => Ok(Bytes::copy_from_slice(buffer.get(..count).unwrap_or(&[]))),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let last = chunk.as_ref().map_or(true, Bytes::is_empty);
                if sender.blocking_send(chunk).is_err() || last {
                    return;
                }
            }
        });
        Self { chunks, rest: Bytes::new() }
    }
}

impl AsyncRead for BlockingReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.rest.is_empty() {
            match ready!(self.chunks.poll_recv(context)) {
                Some(chunk) => self.rest = chunk?,
                None => return Poll::Ready(Ok(())),
            }
        }
        let count = self.rest.len().min(buffer.remaining());
        buffer.put_slice(&self.rest.split_to(count));
        Poll::Ready(Ok(()))
    }
}
