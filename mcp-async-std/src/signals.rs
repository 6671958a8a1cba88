//! The signals that end a server: SIGINT and SIGTERM.

use std::future::Future;
use std::io;

/// Completes on SIGINT or SIGTERM; from this call on neither ends the process.
#[cfg(unix)]
pub(crate) fn stop() -> io::Result<impl Future<Output = ()>> {
    use async_signal::{Signal, Signals};
    use smol::stream::StreamExt;

    let mut signals = Signals::new([Signal::Int, Signal::Term])?;
    Ok(async move { drop(signals.next().await) })
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail elsewhere")]
pub(crate) fn stop() -> io::Result<impl Future<Output = ()>> {
    Ok(std::future::pending())
}
