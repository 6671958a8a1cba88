//! Panics of the application's code that have no one to be reported to.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs code of the application and ignores a panic.
pub(crate) fn catch_panic(f: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(f));
}
