//! Failed connections of a bridge, and the pause before the next one.
//!
//! In: connections that fail during negotiation, or succeed. Out: the pause before a server is
//! started again, so that a server that cannot start is not started all the time.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, Ordering};

use mcp_proto::Duration;

/// The pause after the first connection that failed during negotiation. It doubles with each
/// failure in a row, up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The longest pause before a server is started again. Requests wait meanwhile.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Number of connections in a row that have failed during negotiation. Clones share the count.
#[derive(Clone, Default)]
pub(super) struct Failures(Arc<AtomicU32>);

impl Failures {
    /// The pause before a server is started, if there were failures.
    pub(super) fn pause(&self) -> Option<Duration> {
        let doubled = self.0.load(Ordering::Relaxed).checked_sub(1)?.min(31);
        Some(FIRST_PAUSE.saturating_mul(1 << doubled).min(MAX_PAUSE))
    }

    pub(super) fn add(&self) {
        let add = |count: u32| Some(count.saturating_add(1));
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }

    pub(super) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}
