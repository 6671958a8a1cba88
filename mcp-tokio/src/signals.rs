//! The signals that end a server: SIGINT and SIGTERM.

use std::future::Future;
use std::io;

/// Returns a future that completes on SIGINT or SIGTERM; on Windows on Ctrl-C. Pass it to
/// [`serve_http_until`](crate::serve_http_until), or to another HTTP stack.
///
/// After this call the signals no longer end the process, also if the future is dropped.
/// Fails if the process cannot listen for the signals. Panics outside of a tokio runtime.
pub fn stop_signal() -> io::Result<impl Future<Output = ()> + Send> {
    #[cfg(unix)]
    let stopped = {
        use tokio::signal::unix::{SignalKind, signal};
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let (mut stop, stopped) = tokio::sync::oneshot::channel::<()>();
        // In a task, because polling a channel costs less than polling two signals.
        drop(tokio::spawn(std::future::poll_fn(move |context| {
            let ends = interrupt.poll_recv(context).is_ready()
                | terminate.poll_recv(context).is_ready()
                | stop.poll_closed(context).is_ready();
            if ends { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })));
        async move { drop(stopped.await) }
    };
    #[cfg(windows)]
    let stopped = {
        let mut ctrl_c = tokio::signal::windows::ctrl_c()?;
        async move { _ = ctrl_c.recv().await }
    };
    Ok(stopped)
}
