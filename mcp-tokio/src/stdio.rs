//! Standard input and output, each taken for what it is.
//!
//! A pipe and a socket have readiness and are used as such, without a thread. A file and a
//! terminal have none: they are read on a thread of their own, which does not keep the process
//! alive, and written through tokio's blocking pool.

use std::io;

use mcp_proto::server::Config;
use mcp_service::Catalog;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::driver::serve_until;

/// Serves the client that started this process, over standard input and output.
///
/// Returns when the input ends, or on SIGINT or SIGTERM, once requests in flight are answered or
/// `Limits::drain` (2 s) has passed; what is not answered by then never is. From the first call on
/// the two signals are this function's for as long as the process lives. The specification's page:
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio>.
///
/// Fails with what reading or writing failed with; a client that is gone is no failure.
pub async fn serve_stdio(catalog: impl Into<Catalog>) -> io::Result<()> {
    serve_stdio_with(catalog, Config::default()).await
}

/// [`serve_stdio`] with other than the default settings.
///
/// ```no_run
/// # async fn example(registry: mcp_tokio::Registry<mcp_tokio::Handler>) -> std::io::Result<()> {
/// let mut config = mcp_tokio::Config::default();
/// config.era_policy = mcp_tokio::EraPolicy::ModernOnly;
/// config.limits.max_line_bytes = 1024 * 1024;
/// mcp_tokio::serve_stdio_with(registry, config).await
/// # }
/// ```
pub async fn serve_stdio_with(catalog: impl Into<Catalog>, config: Config) -> io::Result<()> {
    serve_until(catalog.into(), config, stdin()?, stdout()?, stop()?).await
}

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

#[cfg(unix)]
pub(crate) use on_unix::stop;
#[cfg(unix)]
use on_unix::{stdin, stdout};

#[cfg(unix)]
mod on_unix {
    use std::fs::{File, OpenOptions};
    use std::future::{Future, poll_fn};
    use std::io;
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::UnixStream as StdUnixStream;
    use std::task::Poll;

    use tokio::net::UnixStream;
    use tokio::net::unix::pipe;
    use tokio::signal::unix::{SignalKind, signal};
    use tokio::task::JoinSet;

    use super::{Reader, Writer};
    use crate::blocking::BlockingReader;

    pub(super) fn stdin() -> io::Result<Reader> {
        let file = own(io::stdin().as_fd(), File::options().read(true))?;
        let kind = file.metadata()?.file_type();
        Ok(if kind.is_fifo() {
            Box::new(pipe::Receiver::from_file(file)?)
        } else if kind.is_socket() {
            Box::new(socket(file)?)
        } else {
            Box::new(BlockingReader::new(file))
        })
    }

    pub(super) fn stdout() -> io::Result<Writer> {
        let file = own(io::stdout().as_fd(), File::options().write(true))?;
        let kind = file.metadata()?.file_type();
        Ok(if kind.is_fifo() {
            Box::new(pipe::Sender::from_file(file)?)
        } else if kind.is_socket() {
            Box::new(socket(file)?)
        } else {
            Box::new(tokio::io::stdout())
        })
    }

    /// Completes on SIGINT or SIGTERM; from now on neither ends the process.
    ///
    /// The signals are awaited in a task of their own: this is polled on every round, and a look
    /// at a task costs less than one at two signals.
    pub(crate) fn stop() -> io::Result<impl Future<Output = ()>> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut signals = JoinSet::new();
        signals.spawn(poll_fn(move |context| {
            let stopped =
                interrupt.poll_recv(context).is_ready() | terminate.poll_recv(context).is_ready();
            if stopped { Poll::Ready(()) } else { Poll::Pending }
        }));
        Ok(async move { drop(signals.join_next().await) })
    }

    /// The stream as a file that may be made non-blocking. A pipe is opened anew where the system
    /// lets us, since others (the shell, a `2>&1`) may share the description that we were given
    /// and do not expect it to change.
    fn own(stream: BorrowedFd<'_>, options: &OpenOptions) -> io::Result<File> {
        let file = File::from(stream.try_clone_to_owned()?);
        if !file.metadata()?.file_type().is_fifo() {
            return Ok(file);
        }
        let path = format!("/proc/self/fd/{}", stream.as_raw_fd());
        Ok(options.open(path).unwrap_or(file))
    }

    fn socket(file: File) -> io::Result<UnixStream> {
        let socket = StdUnixStream::from(OwnedFd::from(file));
        socket.set_nonblocking(true)?;
        UnixStream::from_std(socket)
    }
}

#[cfg(not(unix))]
fn stdin() -> io::Result<Reader> {
    Ok(Box::new(crate::blocking::BlockingReader::new(io::stdin())))
}

#[cfg(not(unix))]
fn stdout() -> io::Result<Writer> {
    Ok(Box::new(tokio::io::stdout()))
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail elsewhere")]
pub(crate) fn stop() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
