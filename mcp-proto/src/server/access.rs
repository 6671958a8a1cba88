//! Access to the entries of lists: disabled entries, and entries that only some callers see.
//!
//! In: entries, and functions that decide by the sender of a request. Out: whether an entry is in
//! the declaration, and whether it is hidden from a caller. For this caller, a hidden entry is like
//! one that is not registered. The server does not list, call, read or complete the entry, and
//! sends no notification of its changes.
//!
//! Without disabled entries and filters, the only cost is a lookup in an empty map.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::event::Peer;
use crate::change::List;

/// An entry of a list.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum ListEntry {
    /// The tool of this name.
    Tool(String),
    /// The resource of this URI.
    Resource(String),
    /// The resource template of this `uriTemplate`.
    ResourceTemplate(String),
    /// The prompt of this name.
    Prompt(String),
}

impl ListEntry {
    /// The tool of this name.
    pub fn tool(name: impl Into<String>) -> Self {
        Self::Tool(name.into())
    }

    /// The resource of this URI.
    pub fn resource(uri: impl Into<String>) -> Self {
        Self::Resource(uri.into())
    }

    /// The resource template of this `uriTemplate`.
    pub fn resource_template(uri_template: impl Into<String>) -> Self {
        Self::ResourceTemplate(uri_template.into())
    }

    /// The prompt of this name.
    pub fn prompt(name: impl Into<String>) -> Self {
        Self::Prompt(name.into())
    }

    /// The list that changes with the entry.
    fn list(&self) -> List {
        match self {
            Self::Tool(_) => List::Tools,
            Self::Resource(_) | Self::ResourceTemplate(_) => List::Resources,
            Self::Prompt(_) => List::Prompts,
        }
    }
}

/// A function that decides whether a caller sees an entry.
#[derive(Clone)]
pub(super) struct CallerFilter(Arc<dyn Fn(&Peer) -> bool + Send + Sync>);

impl CallerFilter {
    pub(super) fn admits(&self, peer: &Peer) -> bool {
        (self.0)(peer)
    }
}

/// Two filters are equal if they share one function.
impl PartialEq for CallerFilter {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for CallerFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallerFilter")
    }
}

/// The filters of entries; a caller sees an entry if all of its filters admit it.
#[derive(Clone, Default, Debug)]
pub(super) struct CallerFilters(BTreeMap<ListEntry, Vec<CallerFilter>>);

impl CallerFilters {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn of(&self, entry: &ListEntry) -> &[CallerFilter] {
        self.0.get(entry).map_or(&[], Vec::as_slice)
    }

    /// Returns whether an entry is hidden from the caller. `entry` is only called if there are
    /// filters.
    pub(super) fn hide(
        &self,
        entry: impl FnOnce() -> ListEntry,
        caller: impl FnOnce() -> Arc<Peer>,
    ) -> bool {
        if self.is_empty() {
            return false;
        }
        let filters = self.of(&entry());
        if filters.is_empty() {
            return false;
        }
        let peer = caller();
        !filters.iter().all(|filter| filter.admits(&peer))
    }

    /// Returns whether `other` has different filters for the entries of this list.
    pub(super) fn differ(&self, other: &Self, list: List) -> bool {
        let of_list = |(entry, _): &(&ListEntry, &Vec<CallerFilter>)| entry.list() == list;
        !self.0.iter().filter(of_list).eq(other.0.iter().filter(of_list))
    }

    /// Returns whether an entry that `is_in_list` accepts has a filter.
    pub(super) fn has(&self, is_in_list: impl Fn(&ListEntry) -> bool) -> bool {
        self.0.keys().any(is_in_list)
    }
}

/// Access to the entries of a registry.
#[derive(Clone, Default, Debug)]
pub(super) struct EntryAccess {
    disabled: BTreeSet<ListEntry>,
    pub(super) filters: CallerFilters,
}

impl EntryAccess {
    /// Returns whether an entry is offered. `entry` is only called if some entries are disabled.
    pub(super) fn is_enabled(&self, entry: impl FnOnce() -> ListEntry) -> bool {
        self.disabled.is_empty() || !self.disabled.contains(&entry())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.disabled.is_empty() && self.filters.is_empty()
    }

    /// Adds a filter of an entry.
    pub(super) fn restrict(
        &mut self,
        entry: ListEntry,
        filter: impl Fn(&Peer) -> bool + Send + Sync + 'static,
    ) {
        self.filters.0.entry(entry).or_default().push(CallerFilter(Arc::new(filter)));
    }

    pub(super) fn disable(&mut self, entry: ListEntry) {
        self.disabled.insert(entry);
    }

    pub(super) fn enable(&mut self, entry: &ListEntry) {
        self.disabled.remove(entry);
    }

    /// Removes the settings of an entry.
    pub(super) fn remove(&mut self, entry: &ListEntry) {
        self.disabled.remove(entry);
        self.filters.0.remove(entry);
    }

    /// Adds the settings of the entries of another registry. `rename` gives their names in this
    /// registry.
    pub(super) fn extend(&mut self, other: Self, rename: impl Fn(ListEntry) -> ListEntry) {
        self.disabled.extend(other.disabled.into_iter().map(&rename));
        let filters = other.filters.0.into_iter();
        self.filters.0.extend(filters.map(|(entry, filters)| (rename(entry), filters)));
    }
}
