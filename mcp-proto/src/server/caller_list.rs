//! A list that depends on its caller.
//!
//! In: the entries of a list, each with its filters; a caller. Out: a page of the entries that the
//! caller sees. Cursors only count visible entries, so they do not reveal the number of hidden
//! ones.

use alloc::vec::Vec;

use super::access::{CallerFilter, CallerFilters, ListEntry};
use super::event::Peer;
use super::pages::{entries_before, write_page};
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

    /// The page for a caller at this cursor; `None` if the cursor is unknown. Only this page is
    /// written: a client requests all pages, one by one.
    pub(super) fn page(&self, cursor: Option<&str>, caller: &Peer) -> Option<Json> {
        let is_visible = |(_, filters): &&(Json, Vec<CallerFilter>)| {
            filters.iter().all(|filter| filter.admits(caller))
        };
        let before = entries_before(cursor, self.size)?;
        let visible = self.entries.iter().filter(is_visible).map(|(json, _)| json);
        let mut rest = visible.skip(before);
        let page: Vec<&Json> = rest.by_ref().take(self.size).collect();
        if page.is_empty() && before > 0 {
            return None;
        }
        let next = rest.next().map(|_| before + self.size);
        Some(write_page(self.member, page.into_iter(), next))
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::sync::Arc;
    use core::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::server::Extensions;
    use crate::server::access::EntryAccess;
    use crate::version::ProtocolVersion;

    #[test]
    fn page_of_a_long_list_asks_no_filters_of_later_pages() {
        let peer = Peer {
            version: ProtocolVersion::V2025_11_25,
            client_info: None,
            capabilities: Json::EMPTY_OBJECT,
            principal: None,
            extensions: Extensions::default(),
            is_http: false,
        };
        let calls = Arc::new(AtomicUsize::new(0));
        let mut access = EntryAccess::default();
        let entries: Vec<(ListEntry, Json)> = (0..1000)
            .map(|number| (ListEntry::tool(format!("{number}")), Json::EMPTY_OBJECT))
            .collect();
        for (number, (entry, _)) in entries.iter().enumerate() {
            let calls = calls.clone();
            access.restrict(entry.clone(), move |_| {
                calls.fetch_add(1, Ordering::Relaxed);
                // Every third entry is hidden.
                number % 3 > 0
            });
        }
        let list = CallerList::new("tools", &entries, 10, &access.filters).unwrap();
        let page = |cursor: Option<&str>| {
            calls.store(0, Ordering::Relaxed);
            let page = list.page(cursor, &peer).map(|page| page.as_str().matches("{}").count());
            (page, calls.load(Ordering::Relaxed))
        };
        assert_eq!(page(None), (Some(10), 17));
        assert_eq!(page(Some("10")), (Some(10), 32));
        assert_eq!(page(Some("660")), (Some(6), 1000));
        assert_eq!(page(Some("670")), (None, 1000));
        assert_eq!(page(Some("15")), (None, 0));
    }
}
