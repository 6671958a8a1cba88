//! Panics of the application's code.

use alloc::boxed::Box;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::Poll;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mcp_proto::ErrorData;

/// Runs code of the application. Returns `None` if it panics.
pub(crate) fn catch_panic<T>(f: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(f)).ok()
}

/// Calls a callback of the application, if there is one. A panic is ignored.
pub(crate) fn call_back<F>(callback: Option<F>, call: impl FnOnce(F)) {
    if let Some(callback) = callback {
        catch_panic(|| call(callback));
    }
}

/// The error of a request whose handler has panicked.
pub(crate) fn panicked() -> ErrorData {
    ErrorData::internal("the handler panicked")
}

/// Runs a future with code of the application and drops it. Returns `None` if it panics.
pub(crate) async fn catch_async_panic<T>(
    mut future: Pin<Box<dyn Future<Output = T> + Send>>,
) -> Option<T> {
    let output = poll_fn(|context| {
        catch_panic(|| future.as_mut().poll(context).map(Some)).unwrap_or(Poll::Ready(None))
    })
    .await;
    catch_panic(|| drop(future));
    output
}
