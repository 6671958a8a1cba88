//! A list of what a server offers: in the order in which it was added, each entry with a key of
//! its own and its handler.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::HandlerId;
use crate::error::UsageError;
use crate::types::{Prompt, Resource, ResourceTemplate, Tool};

/// Entry of a list.
pub(super) trait Listed {
    /// Name of the kind of entry in [`UsageError::Duplicate`].
    const KIND: &'static str;

    /// Key that clients request the entry by.
    fn key(&self) -> &str;
}

impl Listed for Tool {
    const KIND: &'static str = "tool";

    fn key(&self) -> &str {
        &self.name
    }
}

impl Listed for Resource {
    const KIND: &'static str = "resource";

    fn key(&self) -> &str {
        &self.uri
    }
}

impl Listed for ResourceTemplate {
    const KIND: &'static str = "resource template";

    fn key(&self) -> &str {
        &self.uri_template
    }
}

impl Listed for Prompt {
    const KIND: &'static str = "prompt";

    fn key(&self) -> &str {
        &self.name
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

    /// Fails with [`UsageError::Duplicate`] if there is one of this key.
    pub(super) fn check(&self, item: &T) -> Result<(), UsageError> {
        if self.keys.contains(item.key()) {
            return Err(UsageError::Duplicate { kind: T::KIND, name: item.key().to_string() });
        }
        Ok(())
    }

    /// Adds what has been checked.
    pub(super) fn add(&mut self, item: T, handler: HandlerId) {
        self.keys.insert(item.key().to_string());
        self.list.push((item, handler));
    }

    /// Takes the entry of this key out and returns its handler.
    pub(super) fn remove(&mut self, key: &str) -> Option<HandlerId> {
        let at = self.list.iter().position(|(item, _)| item.key() == key)?;
        self.keys.remove(key);
        Some(self.list.remove(at).1)
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
}
