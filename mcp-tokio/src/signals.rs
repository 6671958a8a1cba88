//! The signals that end a server: SIGINT and SIGTERM.

use std::future::Future;
use std::io;

/// Completes on SIGINT or SIGTERM; from this call on neither ends the process.
///
/// The signals are awaited in a separate task: this future is polled often, and polling a
/// channel costs less than polling two signals.
#[cfg(unix)]
pub(crate) fn stop() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (mut stop, stopped) = tokio::sync::oneshot::channel::<()>();
    drop(tokio::spawn(std::future::poll_fn(move |context| {
        let ends = interrupt.poll_recv(context).is_ready()
            | terminate.poll_recv(context).is_ready()
            | stop.poll_closed(context).is_ready();
        if ends { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })));
    Ok(async move { drop(stopped.await) })
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
