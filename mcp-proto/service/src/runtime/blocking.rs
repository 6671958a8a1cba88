//! Streams and functions that block, on threads of their own.
//!
//! In: blocking readers, writers and functions. Out: a [`Reader`], a [`Writer`], a future. Threads
//! are never joined: a read from a terminal may never return, and must not keep the process alive.
//!
//! Each thread has a channel with one slot to its task, and blocks while the slot is full; a
//! [`Mailbox`] wakes the task.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use core::fmt;
use core::future::poll_fn;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll, ready};
use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

use bytes::Bytes;

use crate::mailbox::Mailbox;
use crate::{Duplex, Reader, Socket, Writer};

/// The size of a buffer that a thread reads into, in bytes.
const CHUNK: usize = 64 * 1024;

/// Reads a stream whose reads block, one chunk ahead.
pub struct BlockingReader {
    /// `None` once it runs.
    thread: Option<Box<dyn FnOnce() + Send>>,
    chunks: Inbox<io::Result<Bytes>>,
}

impl BlockingReader {
    /// A reader whose first read starts a thread. The thread reads until the end, an error, or the
    /// drop of this reader.
    pub fn new(reader: impl Read + Send + 'static) -> Self {
        let (post, chunks) = channel();
        Self { thread: Some(Box::new(move || read_ahead(reader, &post))), chunks }
    }
}

impl Reader for BlockingReader {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        if let Some(thread) = self.thread.take() {
            spawn(thread)?;
        }
        // Without a thread the end has been read.
        self.chunks.poll(context).map(|chunk| chunk.unwrap_or(Ok(Bytes::new())))
    }
}

impl fmt::Debug for BlockingReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BlockingReader")
    }
}

impl Socket for Duplex<BlockingReader, BlockingWriter> {
    fn is_quiet(&self) -> bool {
        self.reader.chunks.is_empty()
    }
}

fn read_ahead(mut reader: impl Read, post: &Post<io::Result<Bytes>>) {
    let mut buffer = vec![0; CHUNK];
    loop {
        let chunk = match reader.read(&mut buffer) {
            Ok(count) => Ok(Bytes::copy_from_slice(buffer.get(..count).unwrap_or(&[]))),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_last = chunk.as_ref().map_or(true, Bytes::is_empty);
        if !post.send(chunk) || is_last {
            return;
        }
    }
}

/// Writes to a stream whose writes block, one chunk at a time.
#[derive(Debug)]
pub struct BlockingWriter {
    chunks: SyncSender<Bytes>,
    written: Inbox<io::Result<()>>,
    is_writing: bool,
    /// The reason why there is no thread, until a write fails with it.
    failure: Option<io::Error>,
}

impl BlockingWriter {
    /// Starts a thread that writes and flushes each chunk, until this writer is dropped.
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        Self::with_end(writer, drop)
    }

    /// Like [`BlockingWriter::new`], but the thread calls `end` when it ends: for a socket, to stop
    /// the thread that reads from it.
    pub fn with_end<W: Write + Send + 'static>(
        mut writer: W,
        end: impl FnOnce(W) + Send + 'static,
    ) -> Self {
        let (chunks, given) = sync_channel::<Bytes>(1);
        let (post, written) = channel();
        let spawned = spawn(move || {
            while let Ok(chunk) = given.recv() {
                if !post.send(writer.write_all(&chunk).and_then(|()| writer.flush())) {
                    break;
                }
            }
            end(writer);
        });
        Self { chunks, written, is_writing: false, failure: spawned.err() }
    }
}

impl Writer for BlockingWriter {
    fn poll_write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        if let Some(error) = self.failure.take() {
            return Poll::Ready(Err(error));
        }
        ready!(self.poll_flush(context))?;
        if self.chunks.send(Bytes::copy_from_slice(data)).is_err() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        self.is_writing = true;
        Poll::Ready(Ok(data.len()))
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_writing {
            let written = ready!(self.written.poll(context));
            self.is_writing = false;
            written.unwrap_or(Err(io::ErrorKind::BrokenPipe.into()))?;
        }
        Poll::Ready(Ok(()))
    }
}

/// Runs a blocking function on its own thread. Dropping the future does not stop the function.
///
/// Fails if the function panics, or if the system has no room for another thread.
pub async fn unblock<T: Send + 'static>(
    f: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (post, mut done) = channel();
    spawn(move || {
        post.send(f());
    })?;
    let done = poll_fn(|context| done.poll(context)).await;
    done.unwrap_or_else(|| Err(io::Error::other("a blocking function has panicked")))
}

/// Starts a thread. Fails if the system has no room for another one.
pub(crate) fn spawn(f: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().spawn(f).map(drop)
}

fn channel<T>() -> (Post<T>, Inbox<T>) {
    let (values, receiver) = sync_channel(1);
    let shared = Arc::<ChannelShared>::default();
    (Post { values: Some(values), shared: shared.clone() }, Inbox { receiver, taken: 0, shared })
}

/// State that both ends of a channel share.
#[derive(Debug, Default)]
struct ChannelShared {
    arrivals: Mailbox<()>,
    /// Number of values sent; incremented before a value waits for the slot.
    sent: AtomicUsize,
}

/// The task's end of a channel.
#[derive(Debug)]
struct Inbox<T> {
    receiver: Receiver<T>,
    taken: usize,
    shared: Arc<ChannelShared>,
}

impl<T> Inbox<T> {
    /// The next value; `None` once the thread has ended.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.shared.arrivals.poll(context.waker(), |()| match self.receiver.try_recv() {
            Ok(value) => {
                self.taken = self.taken.wrapping_add(1);
                Some(Some(value))
            }
            Err(TryRecvError::Disconnected) => Some(None),
            Err(TryRecvError::Empty) => None,
        })
    }

    /// Returns whether all sent values were taken.
    fn is_empty(&self) -> bool {
        self.shared.sent.load(Ordering::Acquire) == self.taken
    }
}

/// The thread's end of a channel.
struct Post<T> {
    /// `None` only while this is dropped.
    values: Option<SyncSender<T>>,
    shared: Arc<ChannelShared>,
}

impl<T> Post<T> {
    /// Sends a value; returns false if the task's end is dropped.
    fn send(&self, value: T) -> bool {
        self.shared.sent.fetch_add(1, Ordering::AcqRel);
        let is_sent = self.values.as_ref().is_some_and(|values| values.send(value).is_ok());
        self.shared.arrivals.wake();
        is_sent
    }
}

impl<T> Drop for Post<T> {
    fn drop(&mut self) {
        self.values = None;
        self.shared.arrivals.wake();
    }
}
