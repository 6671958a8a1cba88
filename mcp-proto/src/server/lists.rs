//! The lists that a server declares, as the machines send them.
//!
//! In: the registered entries; an era, a cursor and a caller. Out: a page. Pages are serialised
//! beforehand, unless the list depends on its caller.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::access::{CallerFilters, EntryAccess, ListEntry};
use super::cacheable::Cacheable;
use super::caller_list::CallerList;
use super::entries::{Entries, Listed};
use super::event::Peer;
use super::legacy::wrapped_schema;
use super::pages::Pages;
use super::registered::Registered;
use crate::change::List;
use crate::json::Json;
use crate::schema::has_type_object;
use crate::types::Tool;
use crate::version::Era;

/// The lists of all kinds.
#[derive(Debug)]
pub(super) struct Lists {
    tools: Pages,
    /// The tools for legacy clients, if they differ.
    legacy_tools: Option<Pages>,
    resources: Pages,
    templates: Pages,
    prompts: Pages,
    /// The lists with entries that only some callers see.
    by_caller: BTreeMap<Cacheable, CallerList>,
    /// The list of tools for legacy clients, if it differs and has such entries.
    legacy_by_caller: Option<CallerList>,
    filters: CallerFilters,
}

impl Lists {
    pub(super) fn new(registered: &Registered) -> Self {
        let Registered { page_size, access, tools, resources, templates, prompts, .. } = registered;
        let size = *page_size;
        let filters = &access.filters;
        let tools = EncodedList::new("tools", tools, access, encode);
        // Few servers have a tool that differs for legacy clients.
        let differs = registered.tools.enabled(access).any(|(tool, _)| legacy_tool(tool).is_some());
        let legacy = differs.then(|| {
            EncodedList::new("tools", &registered.tools, access, |tool| {
                legacy_tool(tool).as_ref().map_or_else(|| encode(tool), encode)
            })
        });
        let resources = EncodedList::new("resources", resources, access, encode);
        let templates = EncodedList::new("resourceTemplates", templates, access, encode);
        let prompts = EncodedList::new("prompts", prompts, access, encode);
        let by_caller = [
            (Cacheable::Tools, &tools),
            (Cacheable::Resources, &resources),
            (Cacheable::ResourceTemplates, &templates),
            (Cacheable::Prompts, &prompts),
        ];
        let by_caller = by_caller
            .into_iter()
            .filter_map(|(list, encoded)| Some((list, encoded.by_caller(size, filters)?)));
        Self {
            by_caller: by_caller.collect(),
            legacy_by_caller: legacy.as_ref().and_then(|tools| tools.by_caller(size, filters)),
            legacy_tools: legacy.map(|tools| tools.pages(size)),
            tools: tools.pages(size),
            resources: resources.pages(size),
            templates: templates.pages(size),
            prompts: prompts.pages(size),
            filters: filters.clone(),
        }
    }

    /// The page of a list at this cursor; `None` if the cursor is unknown.
    pub(super) fn page(
        &self,
        era: Era,
        list: Cacheable,
        cursor: Option<&str>,
        caller: &dyn Fn() -> Arc<Peer>,
    ) -> Option<Json> {
        let is_legacy_tools = era == Era::Legacy && list == Cacheable::Tools;
        let by_caller = match &self.legacy_by_caller {
            Some(tools) if is_legacy_tools => Some(tools),
            _ => self.by_caller.get(&list),
        };
        if let Some(list) = by_caller {
            return list.page(cursor, &caller());
        }
        let pages = match list {
            Cacheable::Tools if is_legacy_tools => {
                self.legacy_tools.as_ref().unwrap_or(&self.tools)
            }
            Cacheable::Tools => &self.tools,
            Cacheable::Prompts => &self.prompts,
            Cacheable::Resources => &self.resources,
            Cacheable::ResourceTemplates => &self.templates,
            Cacheable::Discover | Cacheable::Contents => return None,
        };
        pages.at(cursor).cloned()
    }

    /// The lists whose entries, or whose filters, differ in `other`.
    pub(super) fn differences<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = List> + 'a {
        List::ALL.into_iter().filter(|list| {
            let differ = match list {
                List::Tools => self.tools != other.tools,
                List::Prompts => self.prompts != other.prompts,
                List::Resources => {
                    self.resources != other.resources || self.templates != other.templates
                }
            };
            differ || self.filters.differ(&other.filters, *list)
        })
    }
}

/// The entries of a list that are enabled, encoded.
struct EncodedList {
    member: &'static str,
    entries: Vec<(ListEntry, Json)>,
}

impl EncodedList {
    fn new<T: Listed>(
        member: &'static str,
        entries: &Entries<T>,
        access: &EntryAccess,
        encode: impl Fn(&T) -> Json,
    ) -> Self {
        let enabled = entries.enabled(access);
        let entries = enabled.map(|(item, _)| (T::entry(item.key()), encode(item)));
        Self { member, entries: entries.collect() }
    }

    fn pages(&self, size: usize) -> Pages {
        let entries: Vec<Json> = self.entries.iter().map(|(_, entry)| entry.clone()).collect();
        Pages::new(self.member, &entries, size)
    }

    fn by_caller(&self, size: usize, filters: &CallerFilters) -> Option<CallerList> {
        CallerList::new(self.member, &self.entries, size, filters)
    }
}

/// The tool for legacy clients, if it differs.
fn legacy_tool(tool: &Tool) -> Option<Tool> {
    let schema = tool.output_schema.as_ref().filter(|schema| !has_type_object(schema))?;
    Some(tool.clone().output_schema(wrapped_schema(schema)))
}

/// Plain structs of strings and raw JSON always encode.
pub(super) fn encode<T: serde::Serialize>(value: &T) -> Json {
    Json::encode(value).unwrap_or(Json::EMPTY_OBJECT)
}
