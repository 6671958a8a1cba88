//! Registration of restrictions: entries for some callers only, and entries that are disabled.
//!
//! In: an entry that is registered, and a filter. Out: the same entry, restricted; `access` has the
//! effects.

use alloc::borrow::ToOwned;

use super::access::ListEntry;
use super::event::Peer;
use super::registered::Registered;
use super::registry::Registry;
use crate::error::UsageError;

impl<H> Registry<H> {
    /// Offers an entry only to callers for whom `filter` returns true. From others the entry is
    /// hidden. It is in no list, requests for it are answered as if it did not exist, and its updates
    /// are not told. An entry with several filters needs all of them.
    ///
    /// The filter is called with each list and each request for the entry, and with each update of a
    /// resource for each of its subscribers. It gets the sender: over HTTP with its principal and its
    /// claims, with a subscription as it was when the client subscribed. It must not block, and it
    /// goes with the entry. A page of MCP Apps is a resource of its own.
    ///
    /// Modern clients are told that the list, and the contents of resources if they are filtered, are
    /// for them alone (`cacheScope` is `private`), whatever [`Registry::cache`] says.
    ///
    /// Fails with [`UsageError::UnknownEntry`].
    pub fn only_for(
        &mut self,
        entry: ListEntry,
        filter: impl Fn(&Peer) -> bool + Send + Sync + 'static,
    ) -> Result<&mut Self, UsageError> {
        self.registered.check_entry(&entry)?;
        self.registered.access.restrict(entry, filter);
        Ok(self)
    }

    /// Takes an entry out of what is offered, and keeps it for [`Registry::enable`]: until then it is
    /// as if it did not exist. Disabling twice is the same as once.
    ///
    /// Fails with [`UsageError::UnknownEntry`].
    pub fn disable(&mut self, entry: ListEntry) -> Result<&mut Self, UsageError> {
        self.registered.check_entry(&entry)?;
        self.registered.access.disable(entry);
        Ok(self)
    }

    /// Offers an entry again, in its former place.
    ///
    /// Fails with [`UsageError::UnknownEntry`].
    pub fn enable(&mut self, entry: &ListEntry) -> Result<&mut Self, UsageError> {
        self.registered.check_entry(entry)?;
        self.registered.access.enable(entry);
        Ok(self)
    }
}

impl Registered {
    fn check_entry(&self, entry: &ListEntry) -> Result<(), UsageError> {
        let (kind, name, is_known) = match entry {
            ListEntry::Tool(name) => ("tool", name, self.tools.has(name)),
            ListEntry::Resource(uri) => ("resource", uri, self.resources.has(uri)),
            ListEntry::ResourceTemplate(template) => {
                ("resource template", template, self.templates.has(template))
            }
            ListEntry::Prompt(name) => ("prompt", name, self.prompts.has(name)),
        };
        if is_known {
            Ok(())
        } else {
            Err(UsageError::UnknownEntry { kind, name: name.to_owned() })
        }
    }
}
