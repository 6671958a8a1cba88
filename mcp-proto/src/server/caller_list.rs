//! A list that depends on its caller.
//!
//! In: the entries of a list, each with its filters; a caller. Out: a page of the entries that the
//! caller sees. Cursors only count visible entries, so they do not reveal the number of hidden
//! ones.

use alloc::vec::Vec;

use super::access::{CallerFilter, CallerFilters, ListEntry};
use super::event::Peer;
use super::pages::Pages;
use crate::json::Json;

#[derive(Debug)]
pub(super) struct CallerList {
    member: &'static str,
    entries: Vec<(Json, Vec<CallerFilter>)>,
    size: usize,
}

impl CallerList {
    /// The list of these entries, if any of them has a filter.
    pub(super) fn new(
        member: &'static str,
        entries: &[(ListEntry, Json)],
        size: usize,
        filters: &CallerFilters,
    ) -> Option<Self> {
        if filters.is_empty() || entries.iter().all(|(entry, _)| filters.of(entry).is_empty()) {
            return None;
        }
        let with_filters =
            |(entry, json): &(ListEntry, Json)| (json.clone(), filters.of(entry).to_vec());
        Some(Self { member, entries: entries.iter().map(with_filters).collect(), size })
    }

    /// The page for a caller at this cursor; `None` if the cursor is unknown.
    pub(super) fn page(&self, cursor: Option<&str>, caller: &Peer) -> Option<Json> {
        let is_visible = |(_, filters): &&(Json, Vec<CallerFilter>)| {
            filters.iter().all(|filter| filter.admits(caller))
        };
        let visible: Vec<Json> =
            self.entries.iter().filter(is_visible).map(|(json, _)| json.clone()).collect();
        Pages::new(self.member, &visible, self.size).at(cursor).cloned()
    }
}
