//! Common start of the clocks of a process.

use std::sync::OnceLock;
use std::time::Instant;

/// The time of the first call in this process, as an epoch for the clocks of a
/// [`Runtime`](super::Runtime).
#[expect(clippy::disallowed_methods, reason = "it is a clock of runtimes, not of a machine")]
pub fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(Instant::now)
}
