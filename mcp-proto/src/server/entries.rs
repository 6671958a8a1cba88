//! List of the tools, resources, templates or prompts of a server, in the order of registration.
//! Each entry has a unique key and a handler.

use alloc::collections::BTreeSet;
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

#[derive(Clone, Debug)]
pub(super) struct Entries<T> {
    list: Vec<(T, HandlerId)>,
    keys: BTreeSet<String>,
}

impl<T: Listed> Entries<T> {
    pub(super) fn new() -> Self {
        Self { list: Vec::new(), keys: BTreeSet::new() }
    }

    /// Fails with [`UsageError::Duplicate`] if the list has an entry with this key.
    pub(super) fn check(&self, item: &T) -> Result<(), UsageError> {
        if self.keys.contains(item.key()) {
            return Err(UsageError::Duplicate { kind: T::KIND, name: item.key().to_string() });
        }
        Ok(())
    }

    /// Adds an entry that was checked.
    pub(super) fn add(&mut self, item: T, handler: HandlerId) {
        self.keys.insert(item.key().to_string());
        self.list.push((item, handler));
    }

    /// Removes the entry with this key, and returns its handler.
    pub(super) fn remove(&mut self, key: &str) -> Option<HandlerId> {
        let at = self.list.iter().position(|(item, _)| item.key() == key)?;
        self.keys.remove(key);
        Some(self.list.remove(at).1)
    }

    /// Replaces the entry with this key by the result of `change`, which must keep the key.
    pub(super) fn change(&mut self, key: &str, change: impl FnOnce(T) -> T)
    where
        T: Clone,
    {
        if let Some((item, _)) = self.list.iter_mut().find(|(item, _)| item.key() == key) {
            *item = change(item.clone());
        }
    }

    pub(super) fn into_list(self) -> Vec<(T, HandlerId)> {
        self.list
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(T, HandlerId)> {
        self.list.iter()
    }

    pub(super) fn handlers_mut(&mut self) -> impl Iterator<Item = &mut HandlerId> {
        self.list.iter_mut().map(|(_, handler)| handler)
    }

    /// The entries that are not disabled.
    pub(super) fn enabled(&self, access: &EntryAccess) -> impl Iterator<Item = &(T, HandlerId)> {
        self.list.iter().filter(|(item, _)| access.is_enabled(|| T::entry(item.key())))
    }
}
