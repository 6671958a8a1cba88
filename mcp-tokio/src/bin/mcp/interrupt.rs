//! Interruption by ^C, or by SIGTERM.
//!
//! In: a future. Out: its result, or a failure if the user interrupts it. The future is then
//! dropped, which cancels a call in flight.

use std::future::{Future, pending, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;

use crate::failure::{Exit, Failure};

/// Awaits a future, unless SIGINT, SIGTERM, or the equivalent of another system interrupts it.
pub(crate) async fn unless_interrupted<T>(
    f: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let mut f = pin!(f);
    let mut interrupted = pin!(interrupted());
    poll_fn(|context| {
        // Polled first: the same key may have ended the server, and that is not the reason.
        if interrupted.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(Failure::new(Exit::Interrupted, "interrupted")));
        }
        f.as_mut().poll(context)
    })
    .await
}

async fn interrupted() {
    if caught().await.is_err() {
        // The signals cannot be caught, and end the program.
        pending::<()>().await;
    }
}

/// Completes at SIGINT, and at SIGTERM: `timeout` and runners of tests send that. The server has a
/// process group of its own, so the signal does not reach it.
#[cfg(unix)]
async fn caught() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    poll_fn(|context| {
        let is_caught =
            interrupt.poll_recv(context).is_ready() | terminate.poll_recv(context).is_ready();
        if is_caught { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await
}

#[cfg(windows)]
async fn caught() -> io::Result<()> {
    tokio::signal::ctrl_c().await
}
