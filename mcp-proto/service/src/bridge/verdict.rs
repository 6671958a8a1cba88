//! Verdict about the server of a bridge, for its next connections.
//!
//! In: connections that succeed or fail. Out: the verdict for the next connection.
//!
//! A client waits 5 s for the answer of a legacy server that ignores `server/discover`. So the next
//! connection to such a server begins with `initialize`. A server that answers is asked again each
//! time, which costs a round trip: its next process may be of another era.
//!
//! | a connection | leaves |
//! |---|---|
//! | is legacy, and `server/discover` got no answer | a legacy verdict |
//! | is legacy, and a modern answer to `server/discover` came late | no legacy verdict |
//! | is of another era than the verdict says | no verdict |
//! | fails before the server is known | no verdict |

use alloc::sync::Arc;

use crate::lock::Lock;
use mcp_proto::Era;
use mcp_proto::client::probe::ProbeOutcome;
use mcp_proto::client::{Client, Verdict};

/// The verdict that the connections of a bridge share.
#[derive(Clone, Default)]
pub(super) struct SharedVerdict(Arc<Lock<Option<Verdict>>>);

impl SharedVerdict {
    /// The verdict in the settings of the bridge.
    pub(super) fn new(verdict: Option<Verdict>) -> Self {
        Self(Arc::new(Lock::new(verdict)))
    }

    /// The verdict for the next connection.
    pub(super) fn get(&self) -> Option<Verdict> {
        self.0.lock().clone()
    }

    /// Records the server of a client that has connected.
    pub(super) fn record(&self, client: &Client) {
        let Some(found) = client.verdict() else { return };
        let has = |outcome| client.decisions().iter().any(|decision| decision.outcome == outcome);
        let is_silent = has(ProbeOutcome::Silence) || has(ProbeOutcome::Eof);
        let is_late = has(ProbeOutcome::Late);
        let mut verdict = self.0.lock();
        if found.era() == Era::Legacy && is_silent && !is_late {
            *verdict = Some(found);
        } else if verdict.as_ref().is_some_and(|it| it.era() != found.era()) {
            *verdict = None;
        }
    }

    /// Forgets the verdict, which may be wrong.
    pub(super) fn forget(&self) {
        *self.0.lock() = None;
    }
}
