//! The view of a client: what it knows of the counter because it was told that it changed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// Knowledge of a client about the counter.
#[derive(Default)]
pub struct View {
    version: AtomicU64,
    changes: AtomicU64,
    changed: Notify,
}

impl View {
    /// The newest version that was read after a change.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::SeqCst)
    }

    /// Number of notifications of a change.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// A version was read.
    pub fn read(&self, version: u64) {
        self.version.fetch_max(version, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    /// A change was told.
    pub fn told(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    /// Waits until something is true of the view. Returns whether it was in time.
    pub async fn wait(&self, until: Instant, is_true: impl Fn(&Self) -> bool) -> bool {
        loop {
            let changed = self.changed.notified();
            if is_true(self) {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            // What comes between the look and the wait is seen a little later.
            if timeout(left.min(Duration::from_millis(500)), changed).await.is_err()
                && Instant::now() >= until
            {
                return is_true(self);
            }
        }
    }
}
