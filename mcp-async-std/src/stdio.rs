//! Standard input and output, each taken for what it is.
//!
//! A pipe and a socket have readiness and are used as such, without a thread. A file and a
//! terminal have none: they go through smol's pool of threads for what blocks.

use std::io;

use mcp_proto::server::Config;
use mcp_service::{Catalog, Service};
use smol::Unblock;
use smol::io::{AsyncRead, AsyncWrite};

use crate::driver::serve_until;

/// How much is read ahead from what has no readiness, and written to it at a time, in bytes.
const CHUNK: usize = 64 * 1024;

/// Serves the client that started this process, over standard input and output. A handler that
/// does not end at once is spawned on smol's threads.
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
/// # async fn example(registry: mcp_async_std::Registry<mcp_async_std::Handler>) -> std::io::Result<()> {
/// let mut config = mcp_async_std::Config::default();
/// config.era_policy = mcp_async_std::EraPolicy::ModernOnly;
/// config.limits.max_line_bytes = 1024 * 1024;
/// mcp_async_std::serve_stdio_with(registry, config).await
/// # }
/// ```
pub async fn serve_stdio_with(catalog: impl Into<Catalog>, config: Config) -> io::Result<()> {
    let mut service = Service::new(catalog, config);
    service.spawn_with(|handler| smol::spawn(handler).detach());
    serve_until(service, stdin()?, stdout()?, stop()?).await
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
    use std::future::Future;
    use std::io;
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
    use std::os::unix::fs::FileTypeExt;

    use async_signal::{Signal, Signals};
    use smol::Async;
    use smol::stream::StreamExt;

    use super::{CHUNK, Reader, Unblock, Writer};

    pub(super) fn stdin() -> io::Result<Reader> {
        Ok(match with_readiness(io::stdin().as_fd(), File::options().read(true))? {
            Some(stream) => Box::new(stream),
            None => Box::new(Unblock::with_capacity(CHUNK, io::stdin())),
        })
    }

    pub(super) fn stdout() -> io::Result<Writer> {
        Ok(match with_readiness(io::stdout().as_fd(), File::options().write(true))? {
            Some(stream) => Box::new(stream),
            None => Box::new(Unblock::with_capacity(CHUNK, io::stdout())),
        })
    }

    /// Completes on SIGINT or SIGTERM; from now on neither ends the process.
    pub(crate) fn stop() -> io::Result<impl Future<Output = ()>> {
        let mut signals = Signals::new([Signal::Int, Signal::Term])?;
        Ok(async move { drop(signals.next().await) })
    }

    /// The stream if it has readiness. A pipe is opened anew where the system lets us, since
    /// others (the shell, a `2>&1`) may share the description that we were given and do not expect
    /// it to become non-blocking.
    fn with_readiness(
        stream: BorrowedFd<'_>,
        options: &OpenOptions,
    ) -> io::Result<Option<Async<File>>> {
        let file = File::from(stream.try_clone_to_owned()?);
        let kind = file.metadata()?.file_type();
        if kind.is_fifo() {
            let path = format!("/proc/self/fd/{}", stream.as_raw_fd());
            return Async::new(options.open(path).unwrap_or(file)).map(Some);
        }
        if kind.is_socket() { Async::new(file).map(Some) } else { Ok(None) }
    }
}

#[cfg(not(unix))]
fn stdin() -> io::Result<Reader> {
    Ok(Box::new(Unblock::with_capacity(CHUNK, io::stdin())))
}

#[cfg(not(unix))]
fn stdout() -> io::Result<Writer> {
    Ok(Box::new(Unblock::with_capacity(CHUNK, io::stdout())))
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail elsewhere")]
pub(crate) fn stop() -> io::Result<impl Future<Output = ()>> {
    Ok(std::future::pending())
}
