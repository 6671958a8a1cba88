//! Changes that a service has not published yet, bounded.
//!
//! In: changes of a [`Catalog`](super::Catalog). Out: each of them once, or, if there are too many to
//! keep, all that the client has subscribed to. Extra notifications are harmless: each only tells the
//! client to read something again. Of a task the last state is kept; the number of tasks that are
//! told of is bounded where they are watched.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;

use mcp_proto::server::{Change, TaskUpdate};

/// With more changes than this pending, everything has changed.
const MAX_CHANGES: usize = 256;

/// Changes that are pending.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// All services of a catalog share their texts.
    these: BTreeSet<Arc<Change>>,
    /// True if there were too many to keep.
    everything: bool,
    /// By the ids of the tasks.
    tasks: BTreeMap<String, Arc<TaskUpdate>>,
}

impl Changes {
    pub(super) fn insert(&mut self, change: &Arc<Change>) {
        if let Change::TaskUpdated(update) = &**change {
            let pending = self.tasks.entry(update.task_id().into());
            let pending = pending.or_insert_with(|| update.clone());
            if **pending < **update {
                *pending = update.clone();
            }
        } else if !self.everything {
            self.these.insert(change.clone());
            if self.these.len() > MAX_CHANGES {
                self.everything = true;
                self.these = BTreeSet::new();
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.these.is_empty() && self.tasks.is_empty() && !self.everything
    }

    /// Publishes all of them, each one or everything.
    pub(super) fn publish(self, mut publish: impl FnMut(Option<&Change>)) {
        let Self { these, everything, tasks } = self;
        if everything {
            publish(None);
        }
        for change in &these {
            publish(Some(change));
        }
        for update in tasks.into_values() {
            publish(Some(&Change::TaskUpdated(update)));
        }
    }
}
