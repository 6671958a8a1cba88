//! Panics of the application's code that have no one to be reported to.

use alloc::boxed::Box;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::Poll;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs code of the application and ignores a panic.
pub(crate) fn catch_panic(f: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(f));
}

/// Runs a future with code of the application and drops it. Returns `None` if it panics.
pub(crate) async fn catch_async_panic<T>(
    mut future: Pin<Box<dyn Future<Output = T> + Send>>,
) -> Option<T> {
    let output = poll_fn(|context| {
        catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context).map(Some)))
            .unwrap_or(Poll::Ready(None))
    })
    .await;
    catch_panic(|| drop(future));
    output
}
