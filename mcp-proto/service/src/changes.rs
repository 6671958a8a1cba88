//! Bounded queue of changes that a service has not published yet.
//!
//! In: changes of a [`Catalog`](super::Catalog). Out: each change once, or, if there are too many,
//! all changes that the client has subscribed to. Extra notifications are harmless: they only make
//! the client read again. Of a task only the last state is kept. Only watched tasks are published,
//! whose number is bounded; while a subscription is looked up, all tasks that change are.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;

use mcp_proto::server::{Change, TaskUpdate};

/// The most pending changes; beyond them everything counts as changed.
const MAX_CHANGES: usize = 256;

/// Pending changes.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The changes; all services of a catalog share their texts.
    pending: BTreeSet<Arc<Change>>,
    /// True if there were too many changes.
    has_overflowed: bool,
    /// Last states, by the ids of the tasks.
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
        } else if !self.has_overflowed {
            self.pending.insert(change.clone());
            if self.pending.len() > MAX_CHANGES {
                self.has_overflowed = true;
                self.pending = BTreeSet::new();
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.tasks.is_empty() && !self.has_overflowed
    }

    /// Publishes all changes; `publish(None)` stands for everything.
    pub(super) fn publish(self, mut publish: impl FnMut(Option<&Change>)) {
        let Self { pending, has_overflowed, tasks } = self;
        if has_overflowed {
            publish(None);
        }
        for change in &pending {
            publish(Some(change));
        }
        for update in tasks.into_values() {
            publish(Some(&Change::TaskUpdated(update)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use mcp_proto::Json;

    #[test]
    fn the_latest_state_of_a_task_waits_whatever_comes_last() {
        let state = |order| {
            let times = "\"createdAt\":\"\",\"lastUpdatedAt\":\"\",\"ttlMs\":null";
            let task = alloc::format!("{{\"taskId\":\"t\",\"status\":\"working\",{times}}}");
            let update = TaskUpdate::new(Json::parse(task).unwrap(), order, None).unwrap();
            Arc::new(Change::TaskUpdated(Arc::new(update)))
        };
        // Two threads that change a task may publish its states in any order.
        for orders in [[1, 3, 2], [3, 2, 1], [2, 1, 3]] {
            let mut changes = Changes::default();
            for order in orders {
                changes.insert(&state(order));
            }
            let mut published = Vec::new();
            changes.publish(|change| published.extend(change.cloned()));
            assert_eq!(published, [(*state(3)).clone()]);
        }
    }
}
