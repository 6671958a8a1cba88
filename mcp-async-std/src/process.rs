//! A server as a child process.
//!
//! In: a [`Command`]. Out: a process whose standard input and output are streams, whose standard
//! error goes where it was sent, and which ends in the steps of a [`ProcessGroup`]. Nothing that is
//! started here is left behind: whoever drops a [`Process`], or the future of its end, kills the
//! server and every process in its group.
//!
//! [Specification: stdio, shutdown](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#shutdown)

use std::future::Future;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use event_listener::{Event, EventListener};
use mcp_service::{Command, ProcessGroup};
use smol::future::{or, yield_now};
use smol::io::{AsyncRead, AsyncReadExt};
use smol::process::{Child, ChildStdin, ChildStdout};

use crate::driver::{Clock, Timer};

/// How much is read at once, in bytes.
const CHUNK: usize = 64 * 1024;

/// A server that runs, or has run.
///
/// Dropped, it is killed, and reaped by the thread that `async-process` has for that.
pub(crate) struct Process {
    /// Dropped before the child, whose id is its own until it is reaped.
    group: ProcessGroup,
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    /// Notified at the end of the pipe, which may outlive the server, in a process that has left its
    /// group.
    stderr: Option<EventListener>,
    grace: Duration,
}

impl Process {
    /// Starts a server.
    ///
    /// Fails with what starting it failed with, and names it.
    pub(crate) fn start(command: &Command) -> io::Result<Self> {
        // The conversion drops what the standard streams are.
        let mut child = smol::process::Command::from(command.to_std())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(command.stderr.stdio())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| command.not_started(&error))?;
        let group = ProcessGroup::of(child.id());
        let stdin = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let stderr = child.stderr.take().zip(command.stderr.sink());
        let stderr = stderr.map(|(pipe, sink)| pour_aside(pipe, sink)).transpose()?;
        Ok(Self { group, child, stdin, stdout, stderr, grace: command.grace })
    }

    /// What the server says, and what is said to it.
    pub(crate) fn streams(&mut self) -> (&mut ChildStdout, &mut ChildStdin) {
        (&mut self.stdout, &mut self.stdin)
    }

    /// Ends the server and its group: closes its input, sends SIGTERM after the grace, kills after
    /// another. Returns its exit status once its standard error has ended, or has not ended in that
    /// time.
    ///
    /// Fails if the server may not be killed, as one that has become another user's.
    pub(crate) async fn end(self) -> io::Result<ExitStatus> {
        let Self { mut child, group, stdin, mut stdout, stderr, grace } = self;
        drop(stdin);
        // A server that flushes what it has left is not to wait for a reader.
        let discard = pour(&mut stdout, |_| ());
        let timer = Timer::new(Clock::start());
        let status = group.end(child.status(), discard, timer, grace).await?;
        if let Some(stderr) = stderr {
            within(grace, stderr).await;
        }
        Ok(status)
    }
}

/// What a future comes to, unless that takes too long.
async fn within<T>(time: Duration, future: impl Future<Output = T>) -> Option<T> {
    let late = async {
        smol::Timer::after(time).await;
        None
    };
    or(async { Some(future.await) }, late).await
}

/// [`pour`] on a thread: there may be no executor, and whoever polls the rest may wait for what
/// the server does not say before its standard error is read. The event is the end.
fn pour_aside(
    pipe: impl AsyncRead + Send + Unpin + 'static,
    sink: impl FnMut(&[u8]) + Send + 'static,
) -> io::Result<EventListener> {
    let end = Event::new();
    let ended = end.listen();
    thread::Builder::new().name("mcp-stderr".to_owned()).spawn(move || {
        smol::block_on(pour(pipe, sink));
        end.notify(usize::MAX);
    })?;
    Ok(ended)
}

/// Reads to the end, which is an empty chunk for `sink`; an error is an end like any other.
async fn pour(mut pipe: impl AsyncRead + Unpin, mut sink: impl FnMut(&[u8])) {
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = pipe.read(&mut chunk).await.unwrap_or(0);
        sink(chunk.get(..count).unwrap_or_default());
        if count == 0 {
            return;
        }
        // A pipe that is never empty leaves no time for anything else.
        yield_now().await;
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use mcp_tests::children::Child;
    use smol::block_on;
    use smol::future::poll_once;
    use smol::io as streams;
    use smol::io::AsyncWriteExt;

    use super::*;

    impl Child for Process {
        fn start(command: &Command) -> io::Result<Self> {
            Self::start(command)
        }

        fn write(&mut self, data: &[u8]) -> io::Result<()> {
            block_on(self.streams().1.write_all(data))
        }

        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            block_on(self.streams().0.read(buffer))
        }

        fn end(self) -> io::Result<ExitStatus> {
            block_on(self.end())
        }

        fn begin_to_end(self) {
            assert!(block_on(poll_once(self.end())).is_none(), "it has ended");
        }
    }

    mcp_tests::child_tests!(Process);

    #[test]
    fn an_endless_stream_leaves_time_for_others() {
        assert!(block_on(poll_once(pour(streams::repeat(b'x'), |_| ()))).is_none());
    }
}
