//! The sessions with subscriptions to resources.
//!
//! In: sessions after each change. Out: the sessions that an update of a resource may concern. Most
//! sessions have no subscription, and an update does not look at them.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::session::Session;

/// The scopes of the sessions.
#[derive(Debug, Default)]
pub(super) struct Subscribers(BTreeSet<usize>);

impl Subscribers {
    /// Updates the set after a change of a session.
    pub(super) fn note<W: Clone>(&mut self, session: &mut Session<W>) {
        let subscribes = session.server.has_subscriptions();
        if subscribes != session.is_subscriber {
            session.is_subscriber = subscribes;
            let scope = session.server.scope();
            if subscribes {
                self.0.insert(scope);
            } else {
                self.0.remove(&scope);
            }
        }
    }

    /// Removes a session that has ended.
    pub(super) fn forget<W>(&mut self, session: &Session<W>) {
        if session.is_subscriber {
            self.0.remove(&session.server.scope());
        }
    }

    pub(super) fn scopes(&self) -> Vec<usize> {
        self.0.iter().copied().collect()
    }
}
