//! Work that continues after the end of its request.
//!
//! In: a future, and the host that runs it. Out: its output, or `None` if the host drops the
//! future.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::future::{Future, poll_fn};

use super::host::TaskHost;
use crate::mailbox::Mailbox;

/// Slot for the output: `Some(None)` if the future was dropped.
type OutputSlot<T> = Arc<Mailbox<Option<Option<T>>>>;

/// The right to store the output. Dropping it stores `None`.
struct OutputTicket<T>(OutputSlot<T>);

impl<T> OutputTicket<T> {
    fn settle(&self, output: Option<T>) {
        self.0.put(|slot| {
            if slot.is_some() {
                return None;
            }
            *slot = Some(output);
            Some(())
        });
    }
}

impl<T> Drop for OutputTicket<T> {
    fn drop(&mut self) {
        self.settle(None);
    }
}

/// Runs a future to its end on a host; `None` if the host drops it. No `async fn`, which would keep
/// the future in its own state as well.
pub(super) fn detached<T: Send + 'static>(
    host: &TaskHost,
    future: impl Future<Output = T> + Send + 'static,
) -> impl Future<Output = Option<T>> {
    let slot: OutputSlot<T> = Arc::new(Mailbox::new(None));
    let ticket = OutputTicket(slot.clone());
    host.spawn(Box::pin(async move { ticket.settle(Some(future.await)) }));
    poll_fn(move |context| slot.poll(context.waker(), Option::take))
}
