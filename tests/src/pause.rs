//! A pause of a future, in tests that have no runtime.

use core::future::poll_fn;
use core::mem;
use core::task::Poll;

/// Lets other futures run first.
pub async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| {
        context.waker().wake_by_ref();
        if mem::replace(&mut has_yielded, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
