//! Law 5 over HTTP: everything is bounded, whatever clients do. Here it is measured on the
//! machines.
//!
//! The driver reads chunks of 64 KiB, takes all actions after each and visits when it is to; it
//! reads no more while `wants_read()` is false, and does nothing at all for a client that does not
//! read. What the test holds by itself is small.

#![expect(clippy::print_stdout, reason = "the figures are worth knowing")]
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test that cannot go on ends")]

mod behind_stack;
mod bounds;
mod budget;
mod changes;
mod floods;
mod idle;
mod site;
mod streams;
mod together;

use std::sync::{Mutex, MutexGuard, PoisonError};

use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The allocator counts for the whole process: one test at a time, from its first allocation on.
static ALONE: Mutex<()> = Mutex::new(());

const KIB: usize = 1024;
const MIB: usize = 1024 * 1024;

/// One test's measurements.
struct Meter {
    _alone: MutexGuard<'static, ()>,
    before: usize,
}

impl Meter {
    fn start() -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut meter = Self { _alone: alone, before: 0 };
        meter.restart();
        meter
    }

    /// Sets the present usage as the zero of the meter.
    fn restart(&mut self) {
        ALLOCATOR.reset_peak_usage();
        self.before = ALLOCATOR.current_usage();
    }

    /// The bytes in use beyond the start.
    fn used(&self) -> usize {
        ALLOCATOR.current_usage().saturating_sub(self.before)
    }

    /// The most that there were.
    fn peak(&self) -> usize {
        ALLOCATOR.peak_usage().saturating_sub(self.before)
    }

    #[track_caller]
    fn assert_used(&self, what: &str, bound: usize) {
        let used = self.used();
        println!("{what}: {used} of {bound} bytes");
        assert!(used <= bound, "{what}: {used} of {bound} bytes");
    }

    #[track_caller]
    fn assert_peak(&self, what: &str, bound: usize) {
        let peak = self.peak();
        println!("{what}: peak {peak} of {bound} bytes");
        assert!(peak <= bound, "{what}: peak {peak} of {bound} bytes");
    }
}
