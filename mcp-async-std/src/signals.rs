//! The signals that end a server: SIGINT and SIGTERM.

use std::future::Future;
use std::io;

/// Returns a future that completes on SIGINT or SIGTERM, and never on other systems than Unix. Pass
/// it to [`serve_http_on`](crate::serve_http_on). After this call the signals no longer end the
/// process. Fails if the process cannot listen for them.
pub fn stop_signal() -> io::Result<impl Future<Output = ()> + Send> {
    #[cfg(unix)]
    let stopped = {
        use async_signal::{Signal, Signals};
        use smol::stream::StreamExt;
        let mut signals = Signals::new([Signal::Int, Signal::Term])?;
        async move { drop(signals.next().await) }
    };
    #[cfg(not(unix))]
    let stopped = std::future::pending();
    Ok(stopped)
}
