//! A server as a child process.
//!
//! In: a [`Command`]. Out: a process whose standard input and output are streams, whose standard
//! error goes where it was sent, and which ends in steps. Nothing that is started here is left
//! behind: whoever drops a [`Process`], or the future of its end, kills the server.
//!
//! [Specification: stdio, shutdown](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#shutdown)

use std::future::{self, Future};
use std::io;
use std::process::{ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use event_listener::{Event, EventListener};
use mcp_proto::service::Command;
use smol::Timer;
use smol::future::{or, yield_now};
use smol::io::{AsyncRead, AsyncReadExt};
use smol::process::{Child, ChildStdin, ChildStdout};

/// How much is read at once, in bytes.
const CHUNK: usize = 64 * 1024;

/// A server that runs, or has run.
///
/// Dropped, it is killed, and reaped by the thread that `async-process` has for that.
pub(crate) struct Process {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    /// Told at the end of the pipe, which may outlive the server, in a process that the server
    /// started.
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
        let stdin = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let stderr = child.stderr.take().zip(command.stderr.sink());
        let stderr = stderr.map(|(pipe, sink)| pour_aside(pipe, sink)).transpose()?;
        Ok(Self { child, stdin, stdout, stderr, grace: command.grace })
    }

    /// What the server says, and what is said to it.
    pub(crate) fn streams(&mut self) -> (&mut ChildStdout, &mut ChildStdin) {
        (&mut self.stdout, &mut self.stdin)
    }

    /// Ends the server: closes its input, and if it does not exit in its time, tells it to, and
    /// kills it in the end. Says how it has ended, once all that it said on standard error is
    /// told, or has not ended in that time.
    ///
    /// Fails if the server may not be killed, as one that has become another user's.
    pub(crate) async fn end(self) -> io::Result<ExitStatus> {
        let Self { mut child, stdin, mut stdout, stderr, grace } = self;
        drop(stdin);
        // A server that flushes what it has left is not to wait for a reader.
        let discard = async {
            pour(&mut stdout, |_| ()).await;
            future::pending().await
        };
        let status = or(exit(&mut child, grace), discard).await?;
        if let Some(stderr) = stderr {
            within(grace, stderr).await;
        }
        Ok(status)
    }
}

/// Waits for a server whose input has ended, with less and less patience.
async fn exit(child: &mut Child, grace: Duration) -> io::Result<ExitStatus> {
    if let Some(status) = within(grace, child.status()).await {
        return status;
    }
    if terminate(child)
        && let Some(status) = within(grace, child.status()).await
    {
        return status;
    }
    child.kill()?;
    child.status().await
}

/// Sends SIGTERM. The id is nobody else's: as long as there is a [`Child`], nobody but
/// [`Child::status`] reaps, and it is not polled.
#[cfg(unix)]
fn terminate(child: &Child) -> bool {
    use rustix::process::{Pid, Signal, kill_process};

    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    id.is_some_and(|id| kill_process(id, Signal::TERM).is_ok())
}

#[cfg(not(unix))]
fn terminate(_: &Child) -> bool {
    false
}

/// What a future comes to, unless that takes too long.
async fn within<T>(time: Duration, future: impl Future<Output = T>) -> Option<T> {
    let late = async {
        Timer::after(time).await;
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
