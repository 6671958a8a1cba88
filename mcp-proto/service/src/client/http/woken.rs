//! Which exchanges have something to do.
//!
//! Each has a waker of its own, so that a turn polls those that were woken and no others.

use alloc::sync::Arc;
use alloc::task::Wake;
use alloc::vec::Vec;
use core::mem;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Waker;

use super::super::super::driver::{Driver, wake};
use super::super::super::lock::Lock;
use mcp_proto::http::client::ExchangeId;

/// What wakers and the driver share.
#[derive(Default)]
pub(super) struct Woken {
    state: Lock<State>,
}

#[derive(Default)]
struct State {
    ids: Vec<ExchangeId>,
    driver: Driver,
}

/// Wakes one exchange.
pub(super) struct Bell {
    id: ExchangeId,
    woken: Arc<Woken>,
    /// Whether it is among those that were woken.
    is_rung: AtomicBool,
}

impl Woken {
    pub(super) fn begin_turn(&self, waker: &Waker) {
        let before = self.state.lock().driver.begin_turn(waker);
        drop(before);
    }

    /// Ends the turn; who was woken meanwhile asks for another one.
    pub(super) fn end_turn(&self) {
        let mut state = self.state.lock();
        let has_work = !state.ids.is_empty();
        let driver = state.driver.end_turn(has_work);
        drop(state);
        wake(driver);
    }

    /// Takes those that were woken, and leaves `ids`, which are none, for more.
    pub(super) fn take(&self, ids: &mut Vec<ExchangeId>) {
        mem::swap(&mut self.state.lock().ids, ids);
    }
}

impl Bell {
    pub(super) fn new(id: ExchangeId, woken: &Arc<Woken>) -> Arc<Self> {
        Arc::new(Self { id, woken: woken.clone(), is_rung: AtomicBool::new(false) })
    }

    pub(super) fn ring(&self) {
        if self.is_rung.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut state = self.woken.state.lock();
        state.ids.push(self.id);
        let driver = state.driver.sleeping();
        drop(state);
        wake(driver);
    }

    /// The exchange is about to be polled: a wake from here on is another one.
    pub(super) fn reset(&self) {
        self.is_rung.store(false, Ordering::Release);
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}
