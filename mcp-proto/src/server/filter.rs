//! Filter of a subscription: the changes that its client is notified of.
//!
//! In: the parameters of `subscriptions/listen`, and the declaration. Out: the changes that the
//! server honours, the number of subscriptions that they count as, and whether a change passes.
//!
//! [Specification: Subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;

use super::context::Context;
use crate::change::{Change, List};
use crate::error::ProtocolError;
use crate::json::Raw;
use crate::message::{Capability, Params};
use crate::types::SubscriptionFilter;
use crate::url::has_scheme;

/// Changes that a subscriber wants to be notified of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    lists: ListSet,
    uris: BTreeSet<String>,
    tasks: Option<Box<TaskFilter>>,
}

/// The tasks of a filter. Most filters name none.
#[derive(Clone, Debug, Default)]
struct TaskFilter {
    ids: BTreeSet<String>,
    /// The principal that the subscription belongs to.
    principal: Option<Arc<str>>,
}

/// A set of lists, with a bit for each. A tree would add 70 bytes to each session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct ListSet(u8);

impl ListSet {
    const fn bit(list: List) -> u8 {
        match list {
            List::Tools => 1,
            List::Prompts => 2,
            List::Resources => 4,
        }
    }

    fn contains(self, list: List) -> bool {
        self.0 & Self::bit(list) != 0
    }

    fn insert(&mut self, list: List) {
        self.0 |= Self::bit(list);
    }
}

/// Check of the limits on URIs and task ids while a filter is read.
struct LimitCheck<A> {
    admit: A,
    bytes: usize,
    result: Result<(), ProtocolError>,
}

impl Filter {
    /// The filter of a legacy session, which is notified of changes of all lists.
    pub(super) fn of_session() -> Self {
        let mut filter = Self::default();
        for list in List::ALL {
            filter.lists.insert(list);
        }
        filter
    }

    /// Reads the wanted changes, and keeps those that the server offers. The others are dropped
    /// while reading, so that millions of URIs cost no memory. `admit` gets a number of
    /// subscriptions and of bytes, and fails above a limit.
    pub(super) fn read(
        context: &Context,
        params: &Params,
        admit: impl Fn(usize, usize) -> Result<(), ProtocolError>,
    ) -> Result<Self, ProtocolError> {
        let declaration = context.declaration();
        let mut filter = Self::default();
        let mut filters = 0;
        let mut valid = true;
        let mut check = LimitCheck { admit, bytes: 0, result: Ok(()) };
        params.json().raw().members(|key, wanted| {
            if key.string().as_deref() != Some("notifications") {
                return;
            }
            filters += 1;
            valid &= wanted.is_object();
            wanted.members(|key, wanted| match key.string().as_deref() {
                Some("toolsListChanged") => valid &= filter.add_list(context, List::Tools, wanted),
                Some("promptsListChanged") => {
                    valid &= filter.add_list(context, List::Prompts, wanted);
                }
                Some("resourcesListChanged") => {
                    valid &= filter.add_list(context, List::Resources, wanted);
                }
                Some("resourceSubscriptions") => {
                    // The client may wait for a resource that does not exist yet.
                    let declares = declaration.declares(Capability::ResourceSubscriptions);
                    let honours = |uri: &str| declares && has_scheme(uri);
                    valid &= filter.add_strings(wanted, honours, |it| &mut it.uris, &mut check);
                }
                Some("taskIds") if declaration.task_subscriptions.is_some() => {
                    let honours = |_: &str| true;
                    let principal = context.principal().cloned();
                    filter.tasks =
                        Some(Box::new(TaskFilter { principal, ..TaskFilter::default() }));
                    valid &= filter.add_strings(wanted, honours, Self::task_ids_mut, &mut check);
                }
                _ => {}
            });
        });
        if filters != 1 || !valid {
            let expected = "a SubscriptionFilter";
            return Err(ProtocolError::InvalidParam { member: "notifications", expected });
        }
        check.result?;
        if !filter.is_empty() {
            (check.admit)(filter.count(), check.bytes)?;
        }
        Ok(filter)
    }

    /// Adds a list, if the client wants its changes and the declaration has them. Returns `false`
    /// if `wanted` is no boolean.
    fn add_list(&mut self, context: &Context, list: List, wanted: Raw<'_>) -> bool {
        match wanted.0 {
            b"true" if context.declaration().list_changed.contains(&list) => {
                self.lists.insert(list);
                true
            }
            wanted => matches!(wanted, b"true" | b"false"),
        }
    }

    /// Adds the strings that are honoured, as long as the limits allow. Returns `false` if `wanted`
    /// is no array of strings.
    fn add_strings<A: Fn(usize, usize) -> Result<(), ProtocolError>>(
        &mut self,
        wanted: Raw<'_>,
        honours: impl Fn(&str) -> bool,
        place: impl Fn(&mut Self) -> &mut BTreeSet<String>,
        check: &mut LimitCheck<A>,
    ) -> bool {
        let mut valid = wanted.is_array();
        wanted.elements(|text| match text.string() {
            Some(text) if check.result.is_ok() && honours(&text) => {
                if place(self).insert(String::from(&*text)) {
                    check.bytes += text.len();
                    check.result = (check.admit)(self.texts(), check.bytes);
                }
            }
            Some(_) => {}
            None => valid = false,
        });
        valid
    }

    fn task_ids_mut(&mut self) -> &mut BTreeSet<String> {
        &mut self.tasks.get_or_insert_default().ids
    }

    /// The number of URIs and task ids.
    pub(super) fn texts(&self) -> usize {
        self.uris.len() + self.tasks.as_ref().map_or(0, |tasks| tasks.ids.len())
    }

    fn task_ids(&self) -> impl Iterator<Item = &String> {
        self.tasks.iter().flat_map(|tasks| &tasks.ids)
    }

    pub(crate) fn admits(&self, change: &Change) -> bool {
        match change {
            Change::ListChanged(list) => self.lists.contains(*list),
            Change::ResourceUpdated(uri) => self.uris.contains(uri),
            Change::TaskUpdated(update) => {
                self.tasks.as_deref().is_some_and(|TaskFilter { ids, principal }| {
                    ids.contains(update.task_id()) && update.belongs_to(principal.as_deref())
                })
            }
        }
    }

    /// A number for what a change concerns: a list, a resource or a task. Others may have the same
    /// number, since a text is reduced to 64 bits.
    pub(crate) fn topic(change: &Change) -> u64 {
        match change {
            Change::ListChanged(list) => u64::from(ListSet::bit(*list)),
            Change::ResourceUpdated(uri) => text_topic(uri),
            Change::TaskUpdated(update) => text_topic(update.task_id()),
        }
    }

    /// The topics of all changes that the filter admits.
    pub(crate) fn topics(&self) -> impl Iterator<Item = u64> {
        let lists = self.lists;
        let lists = List::ALL.into_iter().filter(move |list| lists.contains(*list));
        let lists = lists.map(|list| u64::from(ListSet::bit(list)));
        lists.chain(self.uris.iter().chain(self.task_ids()).map(|text| text_topic(text)))
    }

    /// All changes of lists and resources that the filter admits. A change of a task is left out,
    /// because it needs the task's new state.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Change> {
        let lists = self.lists;
        let lists = List::ALL.into_iter().filter(move |list| lists.contains(*list));
        let lists = lists.map(Change::ListChanged);
        lists.chain(self.uris.iter().cloned().map(Change::ResourceUpdated))
    }

    /// The number of subscriptions that the filter counts as: one per URI and task, and at least
    /// one.
    pub(crate) fn count(&self) -> usize {
        self.texts().max(1)
    }

    /// The units that the filter counts as over HTTP, where listeners share the memory of an
    /// endpoint. Each URI and each task id counts one unit per 128 bytes, rounded up. The minimum
    /// is one unit.
    pub(crate) fn units(&self) -> usize {
        let texts = self.uris.iter().chain(self.task_ids());
        texts.map(|text| text.len().div_ceil(128).max(1)).sum::<usize>().max(1)
    }

    /// The bytes of all URIs and task ids of the filter.
    pub(crate) fn bytes(&self) -> usize {
        self.uris.iter().chain(self.task_ids()).map(String::len).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lists == ListSet::default() && self.uris.is_empty() && self.task_ids().next().is_none()
    }

    /// Adds a resource; returns `false` if the filter already has it.
    pub(super) fn insert_uri(&mut self, uri: &str) -> bool {
        self.uris.insert(uri.into())
    }

    pub(super) fn has_uri(&self, uri: &str) -> bool {
        self.uris.contains(uri)
    }

    pub(super) fn remove_uri(&mut self, uri: &str) -> bool {
        self.uris.remove(uri)
    }

    /// Removes the tasks that `keeps` rejects.
    pub(super) fn retain_tasks(&mut self, keeps: impl Fn(&str) -> bool) {
        if let Some(tasks) = &mut self.tasks {
            tasks.ids.retain(|id| keeps(id));
        }
    }

    /// Frees memory, if the filter has no resources. (An empty set keeps a node.)
    pub(super) fn shrink(&mut self) {
        if self.uris.is_empty() {
            self.uris = BTreeSet::new();
        }
    }

    /// The filter as an acknowledgement names it.
    pub(super) fn acknowledged(&self) -> SubscriptionFilter {
        SubscriptionFilter {
            tools_list_changed: self.lists.contains(List::Tools),
            prompts_list_changed: self.lists.contains(List::Prompts),
            resources_list_changed: self.lists.contains(List::Resources),
            resource_subscriptions: self.uris.iter().cloned().collect(),
            task_ids: self.task_ids().cloned().collect(),
        }
    }
}

/// The topic of a URI or the id of a task: its hash by FNV-1a. Clients that choose texts with equal
/// hashes make each change look at the listeners of all of them, and no more than that.
fn text_topic(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    text.bytes().fold(0xCBF2_9CE4_8422_2325, mix)
}
