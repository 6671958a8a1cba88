//! Executor for tests: polls the futures that were woken.
//!
//! In: futures. They are polled in the order in which they were spawned, so that a run is
//! reproducible from its seed.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Waker};

use super::super::woken::Woken;

#[derive(Default)]
pub(in super::super) struct TestTasks {
    all: Vec<TestTask>,
}

struct TestTask {
    future: Pin<Box<dyn Future<Output = ()>>>,
    woken: Arc<Woken>,
    waker: Waker,
}

impl TestTasks {
    /// Adds a future, which counts as woken.
    pub(in super::super) fn spawn(&mut self, future: Pin<Box<dyn Future<Output = ()>>>) {
        let woken = Arc::<Woken>::default();
        let waker = Waker::from(woken.clone());
        waker.wake_by_ref();
        self.all.push(TestTask { future, woken, waker });
    }

    /// Polls each woken future once; returns whether there was any.
    pub(in super::super) fn run(&mut self) -> bool {
        let mut ran = false;
        self.all.retain_mut(|task| {
            if !task.woken.take() {
                return true;
            }
            ran = true;
            let mut context = Context::from_waker(&task.waker);
            task.future.as_mut().poll(&mut context).is_pending()
        });
        ran
    }
}
