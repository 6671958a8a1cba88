//! A server as a child process.
//!
//! In: a [`Command`]. Out: a process whose standard input and output are streams, whose standard
//! error goes where it was sent, and which ends in the steps of a [`ProcessGroup`]. Nothing that is
//! started here is left behind: whoever drops a [`Process`], or the future of its end, kills the
//! server and every process in its group.
//!
//! [Specification: stdio, shutdown](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#shutdown)

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use mcp_service::{Command, ProcessGroup};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time;

use crate::driver::{Clock, Timer};

/// How much is read at once, in bytes.
const CHUNK: usize = 64 * 1024;

/// A server that runs, or has run.
///
/// Dropped, it is killed. It stays a zombie until a runtime looks after such processes again,
/// which happens whenever one that has its drivers enabled goes to sleep; if none ever does, until
/// this process ends.
pub(crate) struct Process {
    /// Dropped before the child, whose id is its own until it is reaped.
    group: ProcessGroup,
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    /// Ends with the pipe, which may outlive the server, in a process that has left its group.
    stderr: Option<JoinHandle<()>>,
    grace: Duration,
}

impl Process {
    /// Starts a server. Must be called on a runtime.
    ///
    /// Fails with what starting it failed with, and names it.
    pub(crate) fn start(command: &Command) -> io::Result<Self> {
        let mut child = tokio::process::Command::from(command.to_std())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| command.not_started(&error))?;
        let group = ProcessGroup::of(child.id().ok_or(io::ErrorKind::NotFound)?);
        let stdin = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let stderr = child.stderr.take().zip(command.stderr.sink());
        let stderr = stderr.map(|(pipe, sink)| tokio::spawn(pour(pipe, sink)));
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
        let status = group.end(child.wait(), discard, timer, grace).await?;
        if let Some(stderr) = stderr {
            let _ = time::timeout(grace, stderr).await;
        }
        Ok(status)
    }
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
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use mcp_tests::children::Child;
    use tokio::io::AsyncWriteExt;
    use tokio::runtime::{Builder, Runtime};

    use super::*;

    /// It outlives what is dropped by a test, as it does in a program.
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
        Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
    });

    impl Child for Process {
        fn start(command: &Command) -> io::Result<Self> {
            RUNTIME.block_on(async { Self::start(command) })
        }

        fn write(&mut self, data: &[u8]) -> io::Result<()> {
            RUNTIME.block_on(self.streams().1.write_all(data))
        }

        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            RUNTIME.block_on(self.streams().0.read(buffer))
        }

        fn end(self) -> io::Result<ExitStatus> {
            RUNTIME.block_on(self.end())
        }

        fn begin_to_end(self) {
            RUNTIME.block_on(async {
                time::timeout(Duration::ZERO, self.end()).await.expect_err("it has ended")
            });
        }
    }

    mcp_tests::child_tests!(Process);
}
