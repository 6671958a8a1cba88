//! Panics of the application's code.

use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
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

/// A future with code of the application; its output is `None` if the future panics. A panic of its
/// drop is ignored, also if the drop is early.
pub(crate) struct CaughtFuture<'a, T>(Option<Pin<Box<dyn Future<Output = T> + Send + 'a>>>);

impl<'a, T> CaughtFuture<'a, T> {
    pub(crate) fn new(future: Pin<Box<dyn Future<Output = T> + Send + 'a>>) -> Self {
        Self(Some(future))
    }

    fn discard(&mut self) {
        let future = self.0.take();
        catch_panic(|| drop(future));
    }
}

impl<T> Future for CaughtFuture<'_, T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let Some(future) = &mut self.0 else { return Poll::Ready(None) };
        let output = match catch_panic(|| future.as_mut().poll(context)) {
            Some(Poll::Pending) => return Poll::Pending,
            Some(Poll::Ready(output)) => Some(output),
            None => None,
        };
        self.discard();
        Poll::Ready(output)
    }
}

impl<T> Drop for CaughtFuture<'_, T> {
    fn drop(&mut self) {
        self.discard();
    }
}

/// A value of the application. A panic of its drop is ignored.
pub(crate) struct CaughtDrop<T>(Option<T>);

impl<T> CaughtDrop<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Some(value))
    }

    /// The value; `None` only during the drop.
    pub(crate) fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// The value; `None` only during the drop.
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_mut()
    }
}

impl<T> Drop for CaughtDrop<T> {
    fn drop(&mut self) {
        let value = self.0.take();
        catch_panic(|| drop(value));
    }
}
