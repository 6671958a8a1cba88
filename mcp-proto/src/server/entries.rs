//! List of the tools, resources, templates or prompts of a server, in the order of registration.
//! Each entry has a unique key and a handler.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::HandlerId;
use super::access::{EntryAccess, ListEntry};
use crate::error::UsageError;
use crate::types::{Prompt, Resource, ResourceTemplate, Tool};

/// Entry of a list.
pub(super) trait Listed {
    /// Name of the kind of entry in [`UsageError::Duplicate`].
    const KIND: &'static str;

    /// Key by which clients request the entry.
    fn key(&self) -> &str;

    /// The entry of a key.
    fn entry(key: &str) -> ListEntry;
}

impl Listed for Tool {
    const KIND: &'static str = "tool";

    fn key(&self) -> &str {
        &self.name
    }

    fn entry(key: &str) -> ListEntry {
        ListEntry::tool(key)
    }
}

impl Listed for Resource {
    const KIND: &'static str = "resource";

    fn key(&self) -> &str {
        &self.uri
    }

    fn entry(key: &str) -> ListEntry {
        ListEntry::resource(key)
    }
}

impl Listed for ResourceTemplate {
    const KIND: &'static str = "resource template";

    fn key(&self) -> &str {
        &self.uri_template
    }

    fn entry(key: &str) -> ListEntry {
        ListEntry::resource_template(key)
    }
}

impl Listed for Prompt {
    const KIND: &'static str = "prompt";

    fn key(&self) -> &str {
        &self.name
    }

    fn entry(key: &str) -> ListEntry {
        ListEntry::prompt(key)
    }
}

/// Entries in the order of their registration. An entry is found and removed without a search
/// through the others.
#[derive(Clone, Debug)]
pub(super) struct Entries<T> {
    /// The entries; `None` in the places of removed ones, until there are too many of these.
    list: Vec<Option<(T, HandlerId)>>,
    /// The places by the keys of the entries.
    keys: BTreeMap<String, usize>,
    /// The places by the handlers of the entries.
    handlers: BTreeMap<HandlerId, usize>,
}

impl<T: Listed> Entries<T> {
    pub(super) fn new() -> Self {
        Self { list: Vec::new(), keys: BTreeMap::new(), handlers: BTreeMap::new() }
    }

    /// Fails with [`UsageError::Duplicate`] if the list has an entry with this key.
    pub(super) fn check(&self, item: &T) -> Result<(), UsageError> {
        if self.has(item.key()) {
            return Err(UsageError::Duplicate { kind: T::KIND, name: item.key().to_string() });
        }
        Ok(())
    }

    /// Adds an entry that was checked.
    pub(super) fn add(&mut self, item: T, handler: HandlerId) {
        self.keys.insert(item.key().to_string(), self.list.len());
        self.handlers.insert(handler, self.list.len());
        self.list.push(Some((item, handler)));
    }

    /// Removes the entry with this key, and returns its handler.
    pub(super) fn remove(&mut self, key: &str) -> Option<HandlerId> {
        let (_, handler) = self.list.get_mut(self.keys.remove(key)?)?.take()?;
        self.handlers.remove(&handler);
        if self.list.len() > 2 * self.keys.len() {
            self.close_gaps();
        }
        Some(handler)
    }

    /// Removes the places of removed entries.
    fn close_gaps(&mut self) {
        self.list.retain(Option::is_some);
        for (at, (item, handler)) in self.list.iter().flatten().enumerate() {
            if let Some(place) = self.keys.get_mut(item.key()) {
                *place = at;
            }
            self.handlers.insert(*handler, at);
        }
    }

    /// Replaces the entry with this key by the result of `change`, which must keep the key.
    pub(super) fn change(&mut self, key: &str, change: impl FnOnce(T) -> T)
    where
        T: Clone,
    {
        let place = self.keys.get(key);
        if let Some(Some((item, _))) = place.and_then(|at| self.list.get_mut(*at)) {
            *item = change(item.clone());
        }
    }

    /// The entry with this key, and its handler.
    pub(super) fn get(&self, key: &str) -> Option<(&T, HandlerId)> {
        let (item, handler) = self.list.get(*self.keys.get(key)?)?.as_ref()?;
        Some((item, *handler))
    }

    /// The entry with this handler.
    pub(super) fn of_handler(&self, handler: HandlerId) -> Option<&T> {
        self.list.get(*self.handlers.get(&handler)?)?.as_ref().map(|(item, _)| item)
    }

    pub(super) fn into_list(self) -> impl Iterator<Item = (T, HandlerId)> {
        self.list.into_iter().flatten()
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(T, HandlerId)> {
        self.list.iter().flatten()
    }

    /// Gives each handler the id that `renew` returns for its old one.
    pub(super) fn renew_handlers(&mut self, mut renew: impl FnMut(HandlerId) -> HandlerId) {
        for (_, handler) in self.list.iter_mut().flatten() {
            *handler = renew(*handler);
        }
        self.handlers.clear();
        self.close_gaps();
    }

    /// The entries that are not disabled.
    pub(super) fn enabled(&self, access: &EntryAccess) -> impl Iterator<Item = &(T, HandlerId)> {
        self.iter().filter(|(item, _)| access.is_enabled(|| T::entry(item.key())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    /// An entry that counts the reads of its key.
    struct Counted<'a> {
        key: String,
        reads: &'a Cell<usize>,
    }

    impl Listed for Counted<'_> {
        const KIND: &'static str = "entry";

        fn key(&self) -> &str {
            self.reads.set(self.reads.get() + 1);
            &self.key
        }

        fn entry(key: &str) -> ListEntry {
            ListEntry::tool(key)
        }
    }

    #[test]
    fn entry_is_found_and_removed_without_a_search_through_the_others() {
        let reads = Cell::new(0);
        let mut entries = Entries::new();
        let mut handlers = Vec::new();
        let names: Vec<String> = (0..1000).map(|n| alloc::format!("{n}")).collect();
        for name in &names {
            let item = Counted { key: name.clone(), reads: &reads };
            entries.check(&item).unwrap();
            handlers.push(HandlerId::new(false));
            entries.add(item, *handlers.last().unwrap());
        }
        entries.renew_handlers(|handler| HandlerId::new(handler.asks));
        let renewed: Vec<_> = entries.iter().map(|(_, handler)| *handler).collect();
        for ((name, handler), old) in names.iter().zip(renewed).zip(handlers).rev() {
            assert_eq!(entries.get(name).unwrap().1, handler);
            assert_eq!(&entries.of_handler(handler).unwrap().key, name);
            assert!(entries.of_handler(old).is_none());
            assert_eq!(entries.remove(name), Some(handler));
            assert!(entries.remove(name).is_none() && entries.of_handler(handler).is_none());
        }
        assert!(entries.is_empty());
        assert!(reads.get() <= 4 * names.len(), "{} reads", reads.get());
    }
}
