//! Interruption by ^C.
//!
//! In: a future. Out: its result, or a failure if the user interrupts it. The future is then
//! dropped, which cancels a call in flight.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::task::Poll;

use tokio::signal::ctrl_c;

use crate::failure::{Exit, Failure};

/// Awaits a future, unless the user interrupts it: by SIGINT, or its equivalent on other systems.
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
    if ctrl_c().await.is_err() {
        // The signal cannot be caught, and ends the program.
        pending::<()>().await;
    }
}
