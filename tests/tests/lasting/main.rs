//! Law 5 over time: whatever has ended leaves nothing behind. Here it is measured.
//!
//! Each test does the same thing again and again, in virtual time, and compares the memory that is
//! in use after the first rounds with the memory that is in use at the end. All deadlines pass
//! before each measurement.

#![expect(clippy::print_stdout, reason = "the figures are worth knowing")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod bridge;
mod clients;
mod endings;

use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_proto::Duration;
use mcp_tests::bridge::world::VirtualRuntime as World;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The allocator counts for the whole process: one test at a time, from its first allocation on.
static ALONE: Mutex<()> = Mutex::new(());

const KIB: usize = 1024;

/// The rounds before the first measurement, which fill what is kept for reuse, and those after it.
const FIRST: usize = 1_200;
const ROUNDS: usize = 500;

/// Most bytes that rounds may leave: ten for each.
const MAX_LEFT: usize = 10 * ROUNDS;

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn in_use() -> usize {
    ALLOCATOR.current_usage()
}

/// Runs rounds, and checks that the later ones leave nothing behind.
async fn assert_lasting(world: &World, what: &str, mut round: impl AsyncFnMut(usize)) {
    let mut before = 0;
    for count in [FIRST, ROUNDS] {
        for number in 0..count {
            round(number).await;
        }
        world.sleep(Duration::from_secs(4 * 60 * 60)).await;
        let left = in_use().saturating_sub(before);
        if before > 0 {
            println!("{what}: {left} bytes after {count} rounds");
            assert!(left < MAX_LEFT, "{what}: {left} bytes are left by {count} rounds");
        }
        before = in_use();
    }
}

/// The arguments of the tools.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}
