//! Queue of the exchanges that have something to do, and the wakers that fill it.
//!
//! Each has a waker of its own, so that a turn polls those that were woken and no others.

use alloc::sync::Arc;
use alloc::task::Wake;
use alloc::vec::Vec;
use core::mem;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Waker;

use crate::mailbox::Mailbox;
use mcp_proto::http::client::ExchangeId;

/// Queue that wakers and the driver share: the exchanges that were woken.
#[derive(Default)]
pub(super) struct ReadyQueue(Mailbox<Vec<ExchangeId>>);

/// Wakes one exchange.
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

    /// Ends the turn; who was woken meanwhile asks for another one.
    pub(super) fn end_turn(&self) {
        self.0.end_turn(|ids| !ids.is_empty());
    }

    /// Takes those that were woken, and leaves `ids`, which are none, for more.
    pub(super) fn take(&self, ids: &mut Vec<ExchangeId>) {
        self.0.look(|woken| mem::swap(woken, ids));
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
        self.woken.0.put(|ids| {
            ids.push(self.id);
            Some(())
        });
    }

    /// The exchange is about to be polled: a wake from here on is another one.
    pub(super) fn reset(&self) {
        self.is_queued.store(false, Ordering::Release);
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
