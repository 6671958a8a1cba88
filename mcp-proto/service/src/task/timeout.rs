//! Timeouts of accesses to the store.
//!
//! In: a future and a clock. Out: the output of the future, or `None` after the time.

use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::Poll;

use crate::Clock;
use mcp_proto::Duration;

/// The timeout of an access to the store.
pub(super) const STORE_TIME: Duration = Duration::from_secs(10);

/// Returns the output of a future that completes within [`STORE_TIME`].
pub(super) async fn within<T>(
    clock: &mut (dyn Clock + Send),
    future: impl Future<Output = T>,
) -> Option<T> {
    within_time(clock, STORE_TIME, future).await
}

/// Returns the output of a future that completes within this time.
pub(super) async fn within_time<T>(
    clock: &mut (dyn Clock + Send),
    time: Duration,
    future: impl Future<Output = T>,
) -> Option<T> {
    let mut future = pin!(future);
    let until = clock.now() + time;
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => clock.poll_timer(context, until).map(|()| None),
    })
    .await
}
