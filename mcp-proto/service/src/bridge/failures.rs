//! Failed connections of a bridge, and the pause before the next one.
//!
//! In: connections that fail during negotiation, or succeed. Out: the pause before a server is
//! started again, so that a server that cannot start is not started all the time. Also out: the
//! verdict for the next connection.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, Ordering};
use std::io;

use super::verdict::SharedVerdict;
use crate::ConnectFailure;
use mcp_proto::Duration;
use mcp_proto::client::{Client, ConnectError, Verdict};

/// The pause after the first connection that failed during negotiation. It doubles with each
/// failure in a row, up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The longest pause before a server is started again. Requests wait meanwhile.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Number of failures in a row, where connections that were made at the same time count as one.
pub(super) struct Failures {
    count: Arc<AtomicU32>,
    verdict: SharedVerdict,
}

impl Failures {
    /// No failures so far. `verdict` is that of the settings.
    pub(super) fn new(verdict: Option<Verdict>) -> Self {
        Self { count: Arc::default(), verdict: SharedVerdict::new(verdict) }
    }

    /// The pause before a server is started, if there were failures.
    pub(super) fn pause(&self) -> Option<Duration> {
        let doubled = self.count.load(Ordering::Relaxed).checked_sub(1)?.min(31);
        Some(FIRST_PAUSE.saturating_mul(1 << doubled).min(MAX_PAUSE))
    }

    /// The verdict for the next connection.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        self.verdict.get()
    }

    /// A connection that is about to be made, after the pause.
    pub(super) fn attempt(&self) -> Attempt {
        let before = self.count.load(Ordering::Relaxed);
        Attempt { failures: self.count.clone(), before, verdict: self.verdict.clone() }
    }
}

/// A connection that fails or succeeds.
pub(super) struct Attempt {
    failures: Arc<AtomicU32>,
    /// The number of failures before the pause.
    before: u32,
    verdict: SharedVerdict,
}

impl Attempt {
    /// Counts a failure, unless another connection has counted one since the pause began. The next
    /// connection finds out the era of the server.
    pub(super) fn fail(&self) {
        self.verdict.forget();
        let after = self.before.saturating_add(1);
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let _ = self.failures.compare_exchange(self.before, after, success, failure);
    }

    /// Ends the row of failures, and records the era of the server.
    pub(super) fn succeed(&self, client: &Client) {
        self.verdict.record(client);
        self.failures.store(0, Ordering::Relaxed);
    }
}

/// The error of a connection that has ended although its server was known. `error` is that of its
/// driver, which says of each end that it came before.
pub(super) fn lost(error: io::Error) -> io::Error {
    let inner = error.get_ref();
    let failure = inner.and_then(|inner| inner.downcast_ref::<ConnectFailure>());
    let is_end = inner.and_then(|inner| inner.downcast_ref()) == Some(&ConnectError::Closed);
    match failure {
        Some(failure) if failure.error == ConnectError::Closed => {
            ConnectFailure { error: ConnectError::Lost, ..failure.clone() }.into()
        }
        None if is_end => io::Error::other(ConnectError::Lost),
        Some(_) | None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Command;
    use mcp_proto::types::Implementation;

    #[test]
    fn end_of_a_known_server_is_a_loss_and_another_failure_stays() {
        let program = Command::new("program");
        let failed = |error| ConnectFailure::command(&program, error, None).into();
        let other = || io::Error::from(io::ErrorKind::TimedOut);
        for (error, expected) in [
            (failed(ConnectError::Closed), "program: the connection to the server has ended"),
            (failed(ConnectError::TimedOut), "program: the server has not answered in time"),
            (io::Error::other(ConnectError::Closed), "the connection to the server has ended"),
            (other(), &other().to_string()),
        ] {
            assert_eq!(lost(error).to_string(), expected);
        }
    }

    #[test]
    fn connections_that_fail_at_the_same_time_are_one_failure() {
        let failures = Failures::new(None);
        assert_eq!(failures.pause(), None);
        for pause in [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000] {
            let attempts: [_; 10] = core::array::from_fn(|_| failures.attempt());
            attempts.iter().for_each(Attempt::fail);
            assert_eq!(failures.pause(), Some(Duration::from_millis(pause)));
        }
        let late = failures.attempt();
        let client = Client::new(Implementation::new("client", "1.0.0").into());
        failures.attempt().succeed(&client);
        assert_eq!(failures.pause(), None);
        late.fail();
        assert_eq!(failures.pause(), None);
    }
}
