//! Parts of a server that may change while it runs: servers report changes, clients are notified.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::json::Json;
use crate::types::{Task, shown_id};

/// A list that a server offers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum List {
    /// The tools.
    Tools,
    /// The prompts.
    Prompts,
    /// The resources and the resource templates.
    Resources,
}

impl List {
    pub(crate) const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Resources];

    /// The notification of a change of the list.
    pub(crate) fn notification(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
        }
    }

    /// The capability that declares changes of the list.
    pub(crate) fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools.listChanged",
            Self::Prompts => "prompts.listChanged",
            Self::Resources => "resources.listChanged",
        }
    }
}

/// A change that clients may ask to be notified of.
///
/// [Specification: Subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Change {
    /// A list has changed; a client requests it again.
    ListChanged(List),
    /// The resource with this URI has changed; a client reads it again. Subscribers of exactly this
    /// URI are notified.
    ResourceUpdated(String),
    /// A task has another state. Clients with the task's principal that subscribed to its id are
    /// notified.
    TaskUpdated(Arc<TaskUpdate>),
}

/// A state of a task, for subscribers of the task; part of the extension
/// [`ext::TASKS`](crate::ext::TASKS). Two updates are equal if they are the same state of the same
/// task. [`Debug`](fmt::Debug) shows 8 characters of the id.
#[derive(Clone)]
pub struct TaskUpdate {
    task_id: String,
    /// The principal that the task belongs to.
    owner: Option<Arc<str>>,
    /// Of two states of a task, the later state has the larger number.
    order: u64,
    is_last: bool,
    task: Json,
}

impl TaskUpdate {
    /// The state in the JSON of a [`DetailedTask`](crate::types::DetailedTask) that belongs to this
    /// principal. Of two states of a task, the later state has the larger `order`. `None` if the
    /// JSON is not a task.
    pub fn new(task: Json, order: u64, owner: Option<&str>) -> Option<Self> {
        let Task { task_id, status, .. } = task.decode_lossy().ok()?;
        let (owner, is_last) = (owner.map(Into::into), status.is_terminal());
        Some(Self { task_id, owner, order, is_last, task })
    }

    /// The id of the task.
    pub fn task_id(&self) -> &str {
        &self.task_id
    }

    /// The task, a [`DetailedTask`](crate::types::DetailedTask).
    pub fn task(&self) -> &Json {
        &self.task
    }

    /// Returns whether the task has ended, so that no other state follows.
    pub fn is_last(&self) -> bool {
        self.is_last
    }

    /// The same state, with its number in the order of the states that a client is notified of.
    pub(crate) fn with_order(&self, order: u64) -> Self {
        Self { order, ..self.clone() }
    }

    /// Returns whether the task belongs to this principal.
    pub(crate) fn belongs_to(&self, principal: Option<&str>) -> bool {
        self.owner.as_deref() == principal
    }

    /// The number that orders the states of a task; no state follows the last one.
    pub(crate) fn order(&self) -> u64 {
        if self.is_last { u64::MAX } else { self.order }
    }

    fn key(&self) -> (&str, u64) {
        (&self.task_id, self.order())
    }
}

impl PartialEq for TaskUpdate {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for TaskUpdate {}

impl PartialOrd for TaskUpdate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TaskUpdate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Hash for TaskUpdate {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl fmt::Debug for TaskUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskUpdate")
            .field("task_id", &shown_id(&self.task_id))
            .field("is_last", &self.is_last)
            .finish_non_exhaustive()
    }
}

/// Changes that a subscriber was not notified of yet: each once, and only the latest state of a
/// task.
#[derive(Debug, Default)]
pub(crate) struct PendingChanges {
    changes: BTreeSet<Change>,
    /// The states of tasks, by task id. Few subscribers name tasks.
    #[expect(clippy::box_collection, reason = "8 bytes in place of 24 where there is none")]
    tasks: Option<Box<BTreeMap<String, Arc<TaskUpdate>>>>,
}

impl PendingChanges {
    pub(crate) fn insert(&mut self, change: Change) {
        let Change::TaskUpdated(update) = change else {
            self.changes.insert(change);
            return;
        };
        let tasks = self.tasks.get_or_insert_default();
        match tasks.get_mut(update.task_id()) {
            Some(pending) if pending.order() >= update.order() => {}
            Some(pending) => *pending = update,
            None => {
                tasks.insert(update.task_id().into(), update);
            }
        }
    }

    pub(crate) fn remove(&mut self, change: &Change) {
        self.changes.remove(change);
    }

    pub(crate) fn pop_first(&mut self) -> Option<Change> {
        let first = self.changes.pop_first();
        first.or_else(|| {
            let (_, update) = self.tasks.as_mut()?.pop_first()?;
            Some(Change::TaskUpdated(update))
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.tasks.as_ref().is_none_or(|tasks| tasks.is_empty())
    }
}

/// Returns whether the resource `uri` is `whole` or a part of it. An updated resource "might be a
/// sub-resource of the one that the client actually subscribed to". Only the URIs show this
/// relation.
pub(crate) fn is_part(uri: &str, whole: &str) -> bool {
    uri.strip_prefix(whole).is_some_and(|rest| {
        rest.is_empty() || whole.ends_with('/') || rest.starts_with(['/', '?', '#'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn an_earlier_state_of_a_task_does_not_replace_a_later_one() {
        let state = |order, status: &str| {
            let times = "\"createdAt\":\"\",\"lastUpdatedAt\":\"\",\"ttlMs\":null";
            let task = format!("{{\"taskId\":\"t\",\"status\":\"{status}\",{times}}}");
            let update = TaskUpdate::new(Json::parse(task).unwrap(), order, None).unwrap();
            Change::TaskUpdated(Arc::new(update))
        };
        let states = [state(1, "working"), state(3, "completed"), state(2, "working")];
        let mut pending = PendingChanges::default();
        for state in &states {
            pending.insert(state.clone());
        }
        assert_eq!(pending.pop_first().as_ref(), states.get(1));
        assert!(pending.is_empty());
    }

    #[test]
    fn a_part_begins_where_a_name_ends() {
        for part in
            ["file:///dir", "file:///dir/", "file:///dir/a", "file:///dir?a", "file:///dir#a"]
        {
            assert!(is_part(part, "file:///dir"), "{part}");
        }
        assert!(is_part("file:///dir/a", "file:///dir/"));
        assert!(!is_part("file:///directory", "file:///dir"));
        assert!(!is_part("file:///dir", "file:///dir/"));
        assert!(!is_part("file:///other", "file:///dir"));
    }
}
