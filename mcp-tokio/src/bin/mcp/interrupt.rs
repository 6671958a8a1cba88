//! Interruption by ^C, or by SIGTERM.
//!
//! In: a future. Out: its result, or a failure if the user interrupts it. The future is then
//! dropped, which cancels a call in flight. If that takes too long, a watchdog ends the program.

use std::future::{Future, pending, poll_fn};
#[cfg(unix)]
use std::io;
use std::pin::pin;
use std::task::Poll;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Exit, Failure};
#[cfg(unix)]
use crate::watchdog;

/// Awaits a future, unless SIGINT, SIGTERM, or the equivalent of another system interrupts it.
pub(crate) async fn unless_interrupted<T>(
    f: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    #[cfg(unix)]
    let listener = watchdog::Listener::new();
    let mut f = pin!(f);
    let mut interrupted = pin!(interrupted());
    poll_fn(|context| {
        // Polled first: the same key may have ended the server, and that is not the reason.
        if interrupted.as_mut().poll(context).is_ready() {
            #[cfg(unix)]
            listener.notice();
            return Poll::Ready(Err(Failure::new(Exit::Interrupted, "interrupted")));
        }
        f.as_mut().poll(context)
    })
    .await
}

#[cfg(unix)]
async fn interrupted() {
    match Signals::new() {
        Ok(mut signals) => signals.next().await,
        // The signals cannot be caught, and end the program.
        Err(_) => pending().await,
    }
}

#[cfg(windows)]
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        pending::<()>().await;
    }
}

/// SIGINT and SIGTERM: `timeout` and runners of tests send the latter. The server has a process
/// group of its own, so the signals do not reach it.
#[cfg(unix)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

#[cfg(unix)]
impl Signals {
    /// The signals from now on, which no longer end the process by themselves.
    pub(crate) fn new() -> io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: signal(SignalKind::terminate())? })
    }

    /// Completes at the next signal.
    pub(crate) async fn next(&mut self) {
        poll_fn(|context| {
            let is_caught = self.interrupt.poll_recv(context).is_ready()
                | self.terminate.poll_recv(context).is_ready();
            if is_caught { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}
