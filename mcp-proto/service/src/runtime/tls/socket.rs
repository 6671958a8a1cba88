//! A TLS socket: `futures-rustls` over a [`Socket`] of any runtime.
//!
//! In: plain bytes to write, and records from the inner [`Socket`]. Out: records to write, and
//! plain bytes. An end of the inner socket without `close_notify` is an error of kind
//! [`UnexpectedEof`](io::ErrorKind::UnexpectedEof): the stream may have been truncated.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;

use bytes::{Buf, Bytes};
use futures_io::{AsyncRead, AsyncWrite};
use futures_rustls::client::TlsStream;

use super::super::copy_input;
use crate::{Reader, Socket, Writer};

/// The size of a read of plain bytes: the longest record.
const CHUNK: usize = 16 * 1024;

impl<S: Socket + Unpin> Reader for TlsStream<Transport<S>> {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        let mut input = [0; CHUNK];
        let count = ready!(AsyncRead::poll_read(Pin::new(self), context, &mut input))?;
        Poll::Ready(Ok(copy_input(input.get(..count).unwrap_or_default())))
    }
}

impl<S: Socket + Unpin> Writer for TlsStream<Transport<S>> {
    fn poll_write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        AsyncWrite::poll_write(Pin::new(self), context, data)
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_flush(Pin::new(self), context)
    }
}

impl<S: Socket + Unpin> Socket for TlsStream<Transport<S>> {
    fn is_quiet(&self) -> bool {
        let Transport { socket, unread } = self.get_ref().0;
        unread.is_empty() && socket.is_quiet()
    }
}

/// A socket with the traits of `futures-io`.
pub(in crate::runtime) struct Transport<S> {
    pub(super) socket: S,
    /// Records that were read and not passed to TLS yet.
    pub(super) unread: Bytes,
}

impl<S: Socket + Unpin> AsyncRead for Transport<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        if self.unread.is_empty() {
            self.unread = ready!(self.socket.poll_read(context))?;
        }
        let count = self.unread.len().min(buffer.len());
        self.unread.copy_to_slice(buffer.get_mut(..count).unwrap_or_default());
        Poll::Ready(Ok(count))
    }
}

impl<S: Socket + Unpin> AsyncWrite for Transport<S> {
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

    /// Only flushes: a [`Writer`] closes when it is dropped.
    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}
