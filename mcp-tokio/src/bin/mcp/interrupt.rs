//! ^C.
//!
//! In: what is waited for. Out: what comes of it; or, if the user has had enough, that. What was waited
//! for is dropped then, which cancels a call that is out.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::task::Poll;

use tokio::signal::ctrl_c;

use crate::failure::{Exit, Failure};

/// Waits, unless the user interrupts it: by SIGINT, or by what a system has in its place.
pub(crate) async fn unless_interrupted<T>(
    f: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let mut f = pin!(f);
    let mut interrupted = pin!(interrupted());
    poll_fn(|context| {
        // First: the same key may have ended the server, and that is not the reason.
        if interrupted.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(Failure::new(Exit::Interrupted, "interrupted")));
        }
        f.as_mut().poll(context)
    })
    .await
}

async fn interrupted() {
    if ctrl_c().await.is_err() {
        // It cannot be heard, and ends the program.
        pending::<()>().await;
    }
}
