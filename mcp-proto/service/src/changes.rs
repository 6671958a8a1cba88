//! Changes that a service has not published yet, bounded.
//!
//! In: changes of a [`Catalog`](super::Catalog). Out: each of them once, or, if there are too many to
//! keep, all that the client has subscribed to. That is no lie: a notification says that something
//! may be read again, and not what it says.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;

use mcp_proto::server::Change;

/// With more changes than this pending, everything has changed.
const MAX_CHANGES: usize = 256;

/// Changes that are pending.
#[derive(Debug)]
pub(super) enum Changes {
    /// These; all services of a catalog share their texts.
    These(BTreeSet<Arc<Change>>),
    /// Too many to keep.
    Everything,
}

impl Default for Changes {
    fn default() -> Self {
        Self::These(BTreeSet::new())
    }
}

impl Changes {
    pub(super) fn insert(&mut self, change: &Arc<Change>) {
        let Self::These(changes) = self else { return };
        changes.insert(change.clone());
        if changes.len() > MAX_CHANGES {
            *self = Self::Everything;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::These(changes) if changes.is_empty())
    }
}
