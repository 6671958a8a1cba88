//! Queue of the exchanges that were woken, and the wakers that fill it.
//!
//! Each exchange has its own waker, so that a turn polls only the exchanges that were woken.

use alloc::sync::Arc;
use alloc::task::Wake;
use alloc::vec::Vec;
use core::mem;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Waker;

use crate::mailbox::Mailbox;
use mcp_proto::http::client::ExchangeId;

/// Queue of woken exchanges, shared by the wakers and the driver.
#[derive(Default)]
pub(super) struct ReadyQueue(Mailbox<Vec<ExchangeId>>);

/// Waker of one exchange.
pub(super) struct ExchangeWaker {
    id: ExchangeId,
    woken: Arc<ReadyQueue>,
    /// True if the exchange is in the queue.
    is_queued: AtomicBool,
}

impl ReadyQueue {
    pub(super) fn begin_turn(&self, waker: &Waker) {
        self.0.begin_turn(waker, |_| ());
    }

    /// Ends the turn; the driver is woken again if an exchange was woken meanwhile.
    pub(super) fn end_turn(&self) {
        self.0.end_turn(|ids| !ids.is_empty());
    }

    /// Swaps the queue with `ids`, which must be empty.
    pub(super) fn take(&self, ids: &mut Vec<ExchangeId>) {
        self.0.with(|woken| mem::swap(woken, ids));
    }
}

impl ExchangeWaker {
    pub(super) fn new(id: ExchangeId, woken: &Arc<ReadyQueue>) -> Arc<Self> {
        Arc::new(Self { id, woken: woken.clone(), is_queued: AtomicBool::new(false) })
    }

    pub(super) fn wake_exchange(&self) {
        if self.is_queued.swap(true, Ordering::AcqRel) {
            return;
        }
        self.woken.0.update(|ids| ids.push(self.id));
    }

    /// Lets the next wake queue the exchange again. Called before a poll.
    pub(super) fn reset(&self) {
        // The poll must see what came before a wake that found the exchange queued.
        self.is_queued.swap(false, Ordering::AcqRel);
    }
}

impl Wake for ExchangeWaker {
    fn wake(self: Arc<Self>) {
        self.wake_exchange();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_exchange();
    }
}
